//! A second start: another unity-mcp, or another program, holds the port.

use std::net::TcpListener;

use harness::agent::{HttpAgent, StdioAgent, brief, message_of, outcome};
use harness::server::Server;
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
