//! Who gets in, and what an Editor says of itself.

use std::process::Command;

use harness::agent::{HttpAgent, brief};
use harness::editor::Program;
use harness::server::{Scratch, Server};
use serde_json::json;

fn folder(program: Program, name: &str) -> (Scratch, String) {
    let scratch = Scratch::new(&format!("{}-{name}", program.name()));
    let path = scratch.0.to_str().unwrap().to_owned();
    (scratch, path)
}

pub(crate) fn the_hello_names_the_editor_the_project_and_the_attempt(program: Program) {
    let (_scratch, project) = folder(program, "hello");
    let mut server = Server::start(&[]);
    let mut editor = program.start(server.port(), &["--project", &project]);
    let first = editor.sends("hello")["to_server"].clone();
    assert_eq!(first["state"], "ready", "{first}");
    assert_eq!(first["connect_attempt_seq"], 1, "{first}");
    assert_eq!(first["project_path"], project.as_str(), "{first}");
    for name in ["plugin_version", "editor_instance_id", "plugin_session_id", "unity_version"] {
        assert!(first[name].is_string(), "{name} in {first}");
    }
    editor.gets("capability");
    let agent = HttpAgent { port: server.port() };
    let state = agent.run("get_editor_state", &json!({})).unwrap();
    assert_eq!(state["project"]["path"], project.as_str());
    assert_eq!(state["project"]["name"], first["project_name"]);

    editor.type_line("drop 10ms");
    let second = editor.sends("hello")["to_server"].clone();
    assert_eq!(second["connect_attempt_seq"], 2, "{second}");
    for name in ["editor_instance_id", "plugin_session_id"] {
        assert_eq!(second[name], first[name]);
    }
    editor.gets("capability");
    editor.type_line("restart 10ms");
    let third = editor.sends("hello")["to_server"].clone();
    for name in ["editor_instance_id", "plugin_session_id"] {
        assert_ne!(third[name], first[name]);
    }
}

pub(crate) fn a_tool_that_the_editor_does_not_offer_is_never_sent(program: Program) {
    let flags: &[&str] = match program {
        Program::MockUnity => &["--tools", "read_console"],
        Program::EditorHost => &["--no-tests"],
    };
    let mut server = Server::start(&[]);
    let mut editor = program.start(server.port(), flags);
    let offered = editor.sends("capability")["to_server"]["tools"].to_string();
    assert!(offered.contains("read_console") && !offered.contains("run_tests"), "{offered}");
    let agent = HttpAgent { port: server.port() };
    agent.run("read_console", &json!({})).unwrap(); // The capability has arrived before the answer to this.
    let error = agent.run("run_tests", &json!({})).unwrap_err();
    assert_eq!(brief(&error), "ERR_UNKNOWN_COMMAND not_executed");
    let rest = editor.quit();
    assert!(rest.iter().all(|passing| passing["from_server"]["type"] != "submit_job"));
}

pub(crate) fn an_editor_shows_the_token_of_its_user_if_the_server_asks_for_it(program: Program) {
    let (scratch, _) = folder(program, "token");
    let with_file = |command: &mut Command| {
        command.env("UNITY_MCP_TOKEN_FILE", scratch.0.join("token"));
    };
    let mut server = Server::start_with(&["--port", "0", "--require-token"], with_file);
    let mut editor = program.start_with(server.port(), &[], with_file);
    editor.gets("capability");
    server.wait_for_line("unity connected");
}

pub(crate) fn an_editor_without_the_token_stays_outside_and_says_why(program: Program) {
    let (scratch, _) = folder(program, "no-token");
    let with_file = |command: &mut Command| {
        command.env("UNITY_MCP_TOKEN_FILE", scratch.0.join("token"));
    };
    let mut server = Server::start_with(&["--port", "0", "--require-token"], with_file);
    let mut editor = program.start(server.port(), &[]);
    editor.wait_for(|passing| {
        let told = ["tell", "no_connection"].map(|kind| passing[kind].to_string());
        told.iter().any(|line| line.contains("equires a token"))
    });
    let rest = editor.quit();
    assert!(rest.iter().all(|passing| passing.get("to_server").is_none()), "{rest:#?}");
}

pub(crate) fn an_editor_of_another_project_is_refused_and_gets_in_with_the_right_one(
    program: Program,
) {
    let (_scratch, own) = folder(program, "own");
    let (_other_scratch, other) = folder(program, "other");
    let mut server = Server::start(&["--project", &own]);
    let mut editor = program.start(server.port(), &["--project", &other]);
    let refusal = editor.gets("error");
    let message = refusal["from_server"]["error"]["message"].as_str().unwrap();
    assert!(message.contains(&own) && message.contains(&other), "{message}");
    editor.shows("disconnected");
    let agent = HttpAgent { port: server.port() };
    let state = agent.run("get_editor_state", &json!({})).unwrap();
    assert_eq!(state["refused"]["reason"], "other_project", "{state}");
    editor.type_line(&format!("project {own}"));
    editor.gets("capability");
    agent.run("read_console", &json!({})).unwrap();
}

pub(crate) fn a_second_editor_is_refused_and_the_first_keeps_its_place(program: Program) {
    let (mut server, agent, mut first) = program.connected(&[], &["--seed", "1"]);
    let mut second = program.start(server.port(), &["--seed", "2"]);
    let refusal = second.gets("error");
    let text = "another Unity websocket session is already active";
    assert_eq!(refusal["from_server"]["error"]["message"], text);
    second.shows("disconnected");
    agent.run("read_console", &json!({})).unwrap();
    second.type_line("quit");
    assert!(second.end().success());
    let shown = first.quit();
    let runs = shown.iter().filter(|passing| passing["to_server"]["type"] == "result");
    assert_eq!(runs.count(), 1);
    assert!(shown.iter().all(|passing| passing.get("connected").is_none()), "{shown:#?}");
}

pub(crate) fn an_editor_finds_the_next_server_on_the_port(program: Program) {
    let (mut server, _agent, mut editor) = program.connected(&[], &[]);
    let port = server.port();
    drop(server);
    editor.shows("disconnected");
    let _next = Server::start_with(&["--port", &port.to_string()], |_| {});
    editor.gets("capability");
    HttpAgent { port }.run("read_console", &json!({})).unwrap();
}
