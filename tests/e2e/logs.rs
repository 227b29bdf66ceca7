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
    let session = &find("unity connected")["session"];
    let sent = find("execute sent to unity");
    assert_eq!((&sent["session"], &sent["client_request_id"]), (session, &json!("mine")));
    assert_eq!(sent["request_id"], execute["request_id"]);
    let done = find("call succeeded");
    assert_eq!(done["request_id"], execute["request_id"]);
    assert_eq!(done["client_request_id"], "mine");
    assert_eq!(find("job changed")["job_id"], job["job_id"]);
    assert_eq!(find("stopped")["level"], "INFO");
}

#[test]
fn a_flood_from_a_peer_is_cut() {
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
    assert!(log.len() < 4_000, "{} lines", log.len()); // Without the limit: ten thousand.
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
