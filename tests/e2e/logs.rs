//! The log: only on stderr, one line per transition, safe for a terminal. It never blocks the server.

use harness::agent::StdioAgent;
use harness::server::Server;
use serde_json::{Value, json};
use tungstenite::Message;

use crate::plugin::Plugin;

#[test]
fn each_transition_is_one_line_with_its_ids_and_what_peers_say_is_escaped() {
    let mut server = Server::start_with(
        &["--stdio", "--port", "0", "--log-level", "debug", "--log-format", "json"],
        |_| {},
    );
    let mut agent = StdioAgent::new(&mut server);
    let line = server.wait_for_line("listening on");
    let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
    let evil = "1\u{1b}[2J\r\n2026 ERROR forged\u{202e}";
    let hello = json!({ "state": "ready", "plugin_version": evil });
    let mut plugin = Plugin::hello(port.parse().unwrap(), hello);
    plugin.socket.send(Message::text(format!("{{\"{evil}\""))).unwrap();
    plugin.expect("error");
    let call = agent.call("read_console", json!({ "client_request_id": "mine" }));
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, evil);
    agent.outcome(call).unwrap();
    let job = agent.run("run_tests", json!({})).unwrap();
    plugin.expect("submit_job");
    agent.close_stdin();
    plugin.expect_close();
    server.assert_ends_cleanly();
    let log = server.whole_log();
    let log: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &log {
        let shown = line.to_string();
        assert!(!shown.contains("\\u001b") && !shown.contains('\u{202e}'), "{shown}");
    }
    let find = |message: &str| {
        let found = log.iter().find(|line| line["message"] == message);
        found.unwrap_or_else(|| panic!("{message} in {log:#?}"))
    };
    let connected = find("agent connected");
    assert_eq!((&connected["transport"], &connected["level"]), (&json!("stdio"), &json!("INFO")));
    assert!(connected["client"].is_string() && connected["version"].is_string(), "{connected}");
    assert_eq!(find("agent left")["transport"], "stdio");
    let session = &find("unity connected")["session"];
    let sent = find("execute sent to unity");
    assert_eq!((&sent["session"], &sent["client_request_id"]), (session, &json!("mine")));
    assert_eq!(sent["request_id"], execute["request_id"]);
    let done = find("call succeeded");
    assert_eq!(done["request_id"], execute["request_id"]);
    assert_eq!(done["client_request_id"], "mine");
    for number in ["waited_ms", "elapsed_ms"] {
        assert!(done[number].is_u64(), "{done}");
    }
    let submitted_at = done["submitted_at"].as_str().unwrap();
    assert!(submitted_at.starts_with("20") && submitted_at.ends_with('Z'), "{done}");
    assert_eq!(find("job changed")["job_id"], job["job_id"]);
    assert_eq!(find("stopped")["level"], "INFO");
}

#[test]
fn the_whole_life_of_a_job_can_be_found_by_its_ids() {
    let mut server = Server::start_with(
        &["--stdio", "--port", "0", "--log-level", "debug", "--log-format", "json"],
        |_| {},
    );
    let mut agent = StdioAgent::new(&mut server);
    let line = server.wait_for_line("listening on");
    let port = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap();
    let mut plugin = Plugin::hello(port.parse().unwrap(), json!({ "state": "compiling" }));
    let call = agent.call("run_tests", json!({ "wait_ms": 60_000, "client_request_id": "mine" }));
    server.wait_for_line("call waits");
    plugin.say(json!({ "type": "editor_status", "state": "ready", "seq": 7 }));
    let submit = plugin.expect("submit_job");
    let request_id = &submit["request_id"];
    plugin.say(json!({
        "type": "submit_job_result", "request_id": request_id, "status": "accepted", "job_id": "u1",
    }));
    let asked = plugin.expect("get_job_status");
    agent.cancel(call);
    plugin.say(json!({
        "type": "job_status", "request_id": asked["request_id"], "job_id": "u1", "state": "running",
    }));
    let cancel = plugin.expect("cancel");
    plugin.say(json!({
        "type": "cancel_result", "request_id": cancel["request_id"], "job_id": "u1",
        "status": "cancelled",
    }));
    server.wait_for_line("\"cancelled\"");
    agent.close_stdin();
    plugin.expect_close();
    server.assert_ends_cleanly();

    let log = server.whole_log();
    let log: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |message: &str| {
        let found = log.iter().find(|line| line["message"] == message);
        found.unwrap_or_else(|| panic!("{message} in {log:#?}"))
    };
    let job_id = &find("job submitted")["job_id"];
    for (message, request_id, client_request_id) in [
        ("job submitted", request_id, json!("mine")),
        ("submit_job sent to unity", request_id, json!("mine")),
        ("unity sent submit_job_result", request_id, json!("mine")),
        ("get_job_status sent to unity", &asked["request_id"], Value::Null),
        ("unity sent job_status", &asked["request_id"], Value::Null),
        ("call cancelled", request_id, json!("mine")),
        ("cancel sent to unity", &cancel["request_id"], Value::Null),
        ("unity sent cancel_result", &cancel["request_id"], Value::Null),
    ] {
        let line = find(message);
        assert_eq!(&line["job_id"], job_id, "{line}");
        assert_eq!(&line["request_id"], request_id, "{line}");
        assert_eq!(line["client_request_id"], client_request_id, "{line}");
    }
    assert!(job_id.is_string());
    let waits = find("call waits");
    assert_eq!(waits["waiting_reason"], "compiling");
    assert_eq!(&waits["request_id"], request_id);
    let states: Vec<&Value> = log
        .iter()
        .filter(|line| line["message"] == "state changed")
        .map(|line| &line["editor_state"])
        .collect();
    assert_eq!(states[..3], [&json!("unknown"), &json!("compiling"), &json!("ready")]);
}

#[test]
fn a_session_that_ends_without_a_pong_is_a_warning_that_says_how_long() {
    let mut server = Server::start(&[
        "--stdio",
        "--heartbeat-interval-ms",
        "50",
        "--heartbeat-timeout-ms",
        "120",
    ]);
    let mut agent = StdioAgent::new(&mut server);
    let mut plugin = Plugin::ready(server.port());
    plugin.expect_close();
    let line = server.wait_for_line("unity disconnected");
    assert!(line.contains("WARN") && line.contains("reason=no_pong"), "{line}");
    let silent = line.split("silent_ms=").nth(1).unwrap().split(' ').next().unwrap();
    assert!(silent.trim().parse::<u64>().unwrap() >= 120, "{line}");
    agent.close_stdin();
    server.assert_ends_cleanly();
}

#[test]
fn a_flood_from_a_peer_is_cut() {
    let began = std::time::Instant::now();
    let mut server = Server::start(&["--stdio", "--log-level", "debug"]);
    let mut agent = StdioAgent::new(&mut server);
    let mut plugin = Plugin::ready(server.port());
    for n in 0..5_000 {
        plugin.say(json!({ "type": "shrug", "n": n }));
        plugin.expect("error");
    }
    agent.close_stdin();
    plugin.expect_close();
    server.assert_ends_cleanly();
    let log = server.whole_log();
    // 1,000 at once, 100 in each second, and the lines that say how many were left out. Without the limit: 10,000.
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    assert!(log.len() < 1_500 + 110 * seconds, "{} lines in {seconds} s", log.len());
    assert!(log.iter().any(|line| line.contains("lines were left out")));
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let mut command_stderr = None;
    let mut server =
        Server::start_with(&["--stdio", "--port", "0", "--log-level", "trace"], |command| {
            // A pipe that stays open and is never read.
            let (reader, writer) = std::io::pipe().unwrap();
            command.stderr(writer);
            command_stderr = Some(reader);
        });
    let mut agent = StdioAgent::new(&mut server);
    for _ in 0..3_000 {
        agent.run("get_editor_state", json!({})).unwrap();
    }
    agent.close_stdin();
    let (took, status) = server.wait_for_end();
    assert!(status.success() && took < harness::server::END_MAX, "{took:?}");
}
