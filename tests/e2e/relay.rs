//! A second start: another unity-mcp, or another program, holds the port.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use harness::agent::{HttpAgent, StdioAgent, brief, message_of, outcome};
use harness::server::{Server, TIMEOUT};
use serde_json::{Value, json};

use crate::plugin::{Plugin, console};

fn second(port: u16) -> (Server, StdioAgent) {
    // On a busy machine the plugin may take long to reconnect.
    let flags = ["--stdio", "--request-reconnect-wait-ms", "15000", "--port", &port.to_string()];
    let mut server = Server::start_with(&flags, |_| {});
    let agent = StdioAgent::new(&mut server);
    (server, agent)
}

#[test]
fn a_second_start_relays_its_agent_to_the_first_and_takes_over_when_that_ends() {
    let mut first = Server::start(&["--stdio"]);
    let port = first.port();
    let mut plugin = Plugin::ready(port);
    let (mut server, mut agent) = second(port);
    let line = server.wait_for_line("calls are relayed");
    assert!(line.contains(&format!("pid {}", first.process.id())), "{line}");

    assert_eq!(agent.run("get_editor_state", json!({})).unwrap()["connected"], true);
    let call = agent.call("read_console", json!({ "client_request_id": "far" }));
    let execute = plugin.expect("execute");
    assert_eq!(execute["client_request_id"], "far");
    plugin.answer_console(&execute, "relayed");
    assert_eq!(agent.outcome(call), Ok(console("relayed")));
    let error = agent.run("get_job_status", json!({ "job_id": "job-x-1" })).unwrap_err();
    assert_eq!(brief(&error), "ERR_JOB_NOT_FOUND not_executed");

    // The relay passes on progress and cancel.
    plugin.status("compiling", 1);
    agent.wait_for("editor_state", "compiling");
    let call = agent.call_with_progress("read_console", json!({}));
    let report = agent.next_message().unwrap();
    assert!(message_of(&report).starts_with("waiting: Unity is compiling, "), "{report}");
    agent.cancel(call);
    agent.wait_for("queue_length", 0);
    plugin.status("ready", 2);
    agent.wait_for("editor_state", "ready");

    // The first server dies during a call: the relay cannot know whether it ran.
    let call = agent.call("read_console", json!({}));
    plugin.expect("execute");
    first.process.kill().unwrap();
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_UNITY_DISCONNECTED unknown");
    assert_eq!(plugin.executed.len(), 2);
    // Until the process is gone, the system may still accept a connection for it, and a call on it would be lost.
    first.process.wait().unwrap();

    // The next call waits until Unity connects to the new server.
    let call = agent.call("read_console", json!({}));
    assert_eq!(server.port(), port);
    let mut plugin = Plugin::ready(port);
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "mine now");
    assert_eq!(agent.outcome(call), Ok(console("mine now")));
    agent.close_stdin();
    server.assert_ends_cleanly();
}

#[test]
fn the_first_call_of_a_second_start_shows_the_editor_of_the_first() {
    let mut first = Server::start(&[]);
    let mut plugin = Plugin::ready(first.port());
    let (_server, mut agent) = second(first.port());
    let state = agent.run("get_editor_state", json!({})).unwrap();
    assert_eq!((&state["connected"], &state["server_state"]), (&json!(true), &json!("ready")));
    // A call that needs Unity is no exception.
    let (_server, mut agent) = second(first.port());
    let call = agent.call("read_console", json!({}));
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "relayed");
    assert_eq!(agent.outcome(call), Ok(console("relayed")));
}

#[test]
fn the_first_call_that_fails_names_a_silent_holder_of_the_port() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let flags = ["--stdio", "--request-reconnect-wait-ms", "100", "--port", &port.to_string()];
    let mut server = Server::start_with(&flags, |_| {});
    let mut agent = StdioAgent::new(&mut server);
    let began = Instant::now();
    let (waiting, shown) =
        (agent.call("read_console", json!({})), agent.call("get_editor_state", json!({})));
    // What needs no port does not wait for it.
    agent.request("tools/list", json!({}));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let error = agent.outcome(waiting).unwrap_err();
    assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&format!("port {port} is held by another program")), "{message}");
    assert_eq!(agent.outcome(shown).unwrap()["server_state"], "booting");
}

/// A relay for each of three agents, all beside one holder.
#[test]
fn a_relay_promises_no_more_than_the_holder_of_the_port_keeps() {
    let mut first = Server::start(&[]);
    let mut plugin = Plugin::ready(first.port());
    let port = first.port().to_string();
    let mut server = Server::start_with(&["--stdio", "--catalog", "1.1", "--port", &port], |_| {});
    let mut agent = StdioAgent::new(&mut server);
    server.wait_for_line("calls are relayed");
    for (tool, arguments) in [
        ("run_tests", json!({ "client_request_id": "x" })),
        ("open_scene", json!({ "client_request_id": "y", "path": "A" })),
        ("ping", json!({})),
    ] {
        let error = agent.run(tool, arguments).unwrap_err();
        assert_eq!(brief(&error), "ERR_INVALID_REQUEST not_executed");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("--catalog 1.1"), "{message}");
    }
    let call = agent.call("read_console", json!({ "client_request_id": "z" }));
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "the same in both");
    assert_eq!(agent.outcome(call), Ok(console("the same in both")));
    assert_eq!(plugin.executed.len(), 1);
}

fn three_relays(port: u16) -> Vec<(Server, StdioAgent)> {
    let mut relays: Vec<_> = (0..3).map(|_| second(port)).collect();
    for (server, _) in &mut relays {
        server.wait_for_line("calls are relayed");
    }
    relays
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "{what}");
    }
}

fn wait_for_queue(port: u16, length: u64) {
    let state = || HttpAgent { port }.run("get_editor_state", &json!({})).unwrap();
    wait_until("the calls are not at the holder", || state()["queue_length"] == length);
}

#[test]
fn calls_that_were_not_sent_follow_the_port_to_the_next_holder() {
    let mut first = Server::start(&[]);
    let port = first.port();
    let plugin = Plugin::ready(port);
    let mut relays = three_relays(port);
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    drop(plugin);

    // One call of each agent is to be answered, and one is cancelled while it waits.
    let calls: Vec<(u64, String)> = relays
        .iter_mut()
        .enumerate()
        .map(|(number, (_, agent))| {
            let name = format!("agent-{number}");
            let dropped = agent.call("read_console", json!({ "client_request_id": "dropped" }));
            let call = agent.call("read_console", json!({ "client_request_id": name }));
            agent.cancel(dropped);
            agent.request("tools/list", json!({})); // The cancel was read.
            (call, name)
        })
        .collect();
    wait_until("nobody takes the port", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let mut plugin = Plugin::hello(port, json!({ "state": "compiling" }));
    wait_for_queue(port, 3);
    plugin.status("ready", 1);
    let mut executed = Vec::new();
    for _ in &calls {
        let execute = plugin.expect("execute");
        let name = execute["client_request_id"].as_str().unwrap().to_owned();
        plugin.answer_console(&execute, &name);
        executed.push(name);
    }
    for ((_, agent), (call, name)) in relays.iter_mut().zip(&calls) {
        assert_eq!(agent.outcome(*call), Ok(console(name)));
        agent.wait_for("queue_length", 0);
    }
    executed.sort();
    assert_eq!(executed, ["agent-0", "agent-1", "agent-2"]);
    assert_eq!(plugin.executed.len(), 3); // Nothing came during the last calls either.

    // The log says who has the port now.
    let health: Value = HttpAgent { port }.get("/healthz").answer();
    for (server, _) in &mut relays {
        if health["pid"] == server.process.id() {
            server.wait_for_line(&format!("port {port} is free: this server takes it"));
        } else {
            let line = server.wait_for_line("calls are relayed to it");
            assert!(line.contains(&format!("pid {}", health["pid"])), "{line}");
        }
    }
}

#[test]
#[cfg(unix)]
fn a_relay_without_descriptors_says_so_and_runs_nothing_itself() {
    let mut first = Server::start(&["--job-poll-interval-ms", "60000"]);
    let port = first.port();
    let mut plugin = Plugin::ready(port);
    let job = HttpAgent { port }.run("run_tests", &json!({})).unwrap()["job_id"].clone();
    accept_next_job(&mut plugin);
    let flags = ["--stdio", "--port", &port.to_string()];
    let mut server = Server::start_with_descriptors(24, &flags);
    let mut agent = StdioAgent::new(&mut server);
    server.wait_for_line("calls are relayed");
    let status = |agent: &mut StdioAgent| {
        let status = agent.run("get_job_status", json!({ "job_id": job }));
        if let Err(error) = &status {
            assert_eq!(brief(error), "ERR_EDITOR_NOT_READY not_executed", "{error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("holds the port could not be reached ("), "{message}");
            assert_eq!(error["retryable"], true);
        }
        status
    };
    // Each call that waits at the holder has a descriptor.
    let mut busy = vec![agent.call("read_console", json!({}))];
    let execute = plugin.expect("execute");
    while status(&mut agent).is_ok() {
        busy.push(agent.call("read_console", json!({})));
        assert!(busy.len() < 24, "the relay has descriptors left");
    }
    // Nor does it forget the holder when it cannot try to bind the port.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(1) {
        status(&mut agent).unwrap_or_default();
    }
    for call in busy {
        agent.cancel(call);
    }
    plugin.answer_console(&execute, "late");
    wait_until("the relay does not recover", || status(&mut agent).is_ok());
}

#[test]
fn a_relay_logs_how_each_call_ended_that_it_passed_on() {
    let mut first = Server::start(&[]);
    let port = first.port();
    let mut plugin = Plugin::ready(port);
    let flags = ["--stdio", "--log-format", "json", "--port", &port.to_string()];
    let mut server = Server::start_with(&flags, |_| {});
    let mut agent = StdioAgent::new(&mut server);
    let call = agent.call("read_console", json!({ "client_request_id": "good" }));
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "relayed");
    agent.outcome(call).unwrap();
    let arguments = json!({ "job_id": "job-x-1", "client_request_id": "bad" });
    agent.run("get_job_status", arguments).unwrap_err();
    let call = agent.call("read_console", json!({ "client_request_id": "taken back" }));
    agent.outcome(call).unwrap_err(); // It is not valid, and was not passed on.
    let call = agent.call("read_console", json!({ "client_request_id": "dropped" }));
    plugin.expect("execute");
    agent.cancel(call);
    let call = agent.call("read_console", json!({ "client_request_id": "lost" }));
    wait_for_queue(port, 1);
    first.process.kill().unwrap();
    agent.outcome(call).unwrap_err();
    agent.close_stdin();
    server.assert_ends_cleanly();

    let log = server.whole_log();
    let log: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let relayed: Vec<String> = log
        .iter()
        .filter_map(|line| {
            let text = |field: &str| line[field].as_str().unwrap_or("-");
            let kind = text("message").strip_prefix("relayed call ")?;
            assert!(line["elapsed_ms"].is_u64() && line["level"] == "INFO", "{line}");
            let (id, tool) = (text("client_request_id"), text("tool"));
            Some(format!("{tool} {id} {kind} {} {}", text("code"), text("guarantee")))
        })
        .collect();
    assert_eq!(
        relayed,
        [
            "read_console good succeeded - -",
            "get_job_status bad failed ERR_JOB_NOT_FOUND not_executed",
            "read_console dropped cancelled - -",
            "read_console lost failed ERR_UNITY_DISCONNECTED unknown",
        ]
    );
}

#[test]
fn a_first_one_that_stops_in_order_answers_what_was_relayed_to_it() {
    let mut first = Server::start(&["--stdio"]);
    let mut of_first = StdioAgent::new(&mut first);
    let port = first.port();
    let mut plugin = Plugin::ready(port);
    let (mut server, mut agent) = second(port);
    server.wait_for_line("calls are relayed");
    let call = agent.call("read_console", json!({}));
    plugin.expect("execute");
    of_first.close_stdin();
    assert_eq!(plugin.expect_close(), 1001);
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_UNITY_DISCONNECTED unknown");
    first.assert_ends_cleanly();
    assert_eq!(server.port(), port);
    let state = agent.run("get_editor_state", json!({})).unwrap();
    assert_eq!(state["server_state"], "waiting_editor");
}

fn accept_next_job(plugin: &mut Plugin) {
    let submitted = plugin.expect("submit_job");
    plugin.accept_job(&submitted, submitted["request_id"].as_str().unwrap());
}

#[test]
fn a_holder_that_takes_no_more_calls_is_not_taken_for_one_that_has_gone() {
    let mut first = Server::start(&["--stdio", "--job-poll-interval-ms", "60000"]);
    let port = first.port();
    let mut plugin = Plugin::ready(port);
    let (mut server, mut agent) = second(port);
    server.wait_for_line("calls are relayed");
    let job = agent.run("run_tests", json!({})).unwrap()["job_id"].clone();
    accept_next_job(&mut plugin);
    let http = HttpAgent { port };
    let mut busy = Vec::new();
    // Its argument is wrong, so it is answered at once. Until then it takes the room of a call that may wait.
    let probe = || http.call("read_console", &json!({ "max_entries": 0 }));
    while probe().read().status == 200 {
        busy.push(http.call("run_tests", &json!({ "wait_ms": 60_000 })));
        accept_next_job(&mut plugin);
        assert!(busy.len() < 200, "the holder accepts calls without a limit");
    }
    // The holder knows the job, so the relay must not call it unknown.
    let wait = json!({ "job_id": job, "wait_ms": 1 });
    let error = agent.run("get_job_status", wait).unwrap_err();
    assert_eq!(brief(&error), "ERR_QUEUE_FULL not_executed");
    drop(busy);
    while probe().read().status != 200 {}
    assert_eq!(agent.run("get_editor_state", json!({})).unwrap()["server_state"], "ready");
}

#[test]
fn a_stranger_on_the_port_is_named_and_the_port_taken_when_it_is_free() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let (mut server, mut agent) = second(port);
    server.wait_for_line("another program holds the port");
    let state = agent.run("get_editor_state", json!({})).unwrap();
    assert_eq!(state["server_state"], "booting");
    let call = agent.call("read_console", json!({}));
    let answer: Value = agent.answer(call);
    let error = outcome(&answer).unwrap_err();
    assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains(&port.to_string()) && message.contains("another program"),
        "{message}"
    );
    drop(stranger);
    assert_eq!(server.port(), port);
    let mut plugin = Plugin::ready(port);
    let call = agent.call("read_console", json!({}));
    let execute = plugin.expect("execute");
    plugin.answer_console(&execute, "x");
    agent.outcome(call).unwrap();
}
