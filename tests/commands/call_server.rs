//! `call`: no server, no Editor, a server that ends in the middle, `--start`, the token.

use harness::editor::Program;
use harness::server::{Scratch, Server};

use crate::command::{Running, call, free_port, run, run_with};

#[test]
fn no_server_is_4_and_says_what_to_do() {
    let ended = call(free_port(), &["read_console", "--json"]).assert_code(4);
    assert_eq!(ended.json()["error"]["details"]["execution_guarantee"], "not_executed");
    assert!(ended.stderr.contains("--start") && ended.stderr.contains("--port"), "{ended:?}");
}

#[test]
fn a_port_of_a_stranger_is_4() {
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let ended = call(port, &["read_console", "--start"]).assert_code(4);
    assert!(ended.stderr.contains("is held by another program"), "{ended:?}");
}

#[test]
fn unity_away_is_4() {
    let mut server = Server::start(&[]);
    let ended = call(server.port(), &["read_console"]).assert_code(4);
    assert!(ended.stderr.contains("No Unity Editor was connected"), "{ended:?}");
    let state = call(server.port(), &["get_editor_state"]).assert_code(0);
    assert_eq!(state.json()["connected"], false);
}

#[test]
fn a_server_that_is_killed_in_the_middle_is_5() {
    let (mut server, agent, mut editor) =
        Program::MockUnity.connected(&[], &["--tool-time", "30s"]);
    let port = agent.port.to_string();
    let running = Running::start(&["call", "read_console", "--json", "--port", &port], |_| {});
    editor.gets("execute");
    server.process.kill().unwrap();
    let ended = running.end().assert_code(5);
    assert_eq!(ended.json()["error"]["details"]["execution_guarantee"], "unknown");
}

#[test]
fn a_server_that_is_killed_while_a_job_runs_is_5_too() {
    let (mut server, agent, mut editor) = Program::MockUnity.connected(&[], &[]);
    let port = agent.port.to_string();
    let flags = ["call", "run_tests", "--wait", "--wait-ms", "1", "--port", &port];
    let mut running = Running::start(&flags, |_| {});
    editor.gets("submit_job");
    running.wait_for("done, now");
    server.process.kill().unwrap();
    let ended = running.end().assert_code(5);
    assert!(ended.stderr.contains("was started, but it is unknown how it ended"), "{ended:?}");
}

#[test]
fn a_call_that_times_out_in_unity_is_5() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &["--tool-time", "30s"]);
    call(agent.port, &["read_console", "--timeout-ms", "200"]).assert_code(5);
}

#[test]
fn start_starts_a_server_that_ends_with_the_call() {
    let port = free_port();
    let mut editor = Program::MockUnity.start(port, &[]);
    let ended = call(port, &["read_console", "--start", "--max-entries", "1"]).assert_code(0);
    assert_eq!(ended.json()["count"], 1);
    editor.gets("capability");
    editor.shows("disconnected");
    call(port, &["read_console"]).assert_code(4);
    // A server that runs is used, and goes on.
    let flags = ["--port", &port.to_string()];
    let mut server = Server::start_with(&flags, |_| {});
    server.port();
    call(port, &["read_console", "--start"]).assert_code(0);
    call(port, &["get_editor_state"]).assert_code(0);
}

#[test]
fn a_server_that_is_started_has_the_tool_that_is_called() {
    let port = free_port();
    let _editor = Program::MockUnity.start(port, &[]);
    call(port, &["ping", "--start"]).assert_code(0);
    let ended = call(port, &["pong", "--start"]).assert_code(2);
    assert!(ended.stderr.contains("This server has no tool pong"), "{ended:?}");
}

#[test]
fn the_port_is_found_by_the_rules_of_the_server() {
    let scratch = Scratch::new("call-port");
    let mut server = Server::start(&[]);
    let settings = format!("{{\"unity_ws_port\": {}}}", server.port());
    std::fs::write(scratch.0.join("unity-mcp.server.json"), settings).unwrap();
    let here = |command: &mut std::process::Command| {
        command.current_dir(&scratch.0);
    };
    run_with(&["call", "get_editor_state"], here).assert_code(0);
    let file = scratch.0.join("unity-mcp.server.json");
    run(&["call", "get_editor_state", "--config", file.to_str().unwrap()]).assert_code(0);
}

#[test]
fn the_token_is_sent_if_the_server_requires_it() {
    let scratch = Scratch::new("call-token");
    let file = scratch.0.join("token");
    let with_token = |command: &mut std::process::Command| {
        command.env("UNITY_MCP_TOKEN_FILE", &file);
    };
    let mut server = Server::start_with(&["--port", "0", "--require-token"], with_token);
    let port = server.port().to_string();
    let flags = ["call", "get_editor_state", "--port", &port];
    run_with(&flags, with_token).assert_code(0);
    let ended = run(&flags).assert_code(4);
    assert!(ended.stderr.contains("requires a token"), "{ended:?}");
}
