//! Every flag.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use coordination::{Catalog, Route, Tool};
use harness::agent::{StdioAgent, brief};
use harness::server::{Scratch, Server};
use serde_json::{Value, json};

use crate::mock::{Mock, connected};

#[test]
fn the_mock_runs_every_tool_that_the_server_sends_to_unity() {
    let reaches_unity = |tool: &&Tool| match tool.route {
        Route::Execute { .. } | Route::SubmitJob { .. } => true,
        Route::EditorState | Route::JobStatus | Route::CancelJob => false,
    };
    let sent =
        Catalog::V1_1.tools().filter(reaches_unity).map(|tool| (tool.name, tool.execution_mode()));
    let answered = mock_unity::TOOLS.iter().map(|tool| (tool.name, tool.mode()));
    assert_eq!(sent.collect::<BTreeMap<_, _>>(), answered.collect::<BTreeMap<_, _>>());
}

fn ms(passing: &Value) -> u64 {
    passing["ms"].as_u64().unwrap()
}

#[test]
fn without_flags_it_is_a_healthy_editor_with_a_small_project() {
    let (_server, agent, _mock) = connected(&[], &[]);
    let console = agent.run("read_console", &json!({})).unwrap();
    assert_eq!((&console["count"], &console["truncated"]), (&json!(5), &json!(false)));
    let job = agent.run("run_tests", &json!({ "wait_ms": 20_000 })).unwrap();
    assert_eq!(job["state"], "failed");
    let summary = &job["result"]["summary"];
    assert_eq!((&summary["total"], &summary["failed"]), (&json!(20), &json!(2)));
}

#[test]
fn it_compiles_and_reloads_as_told() {
    let flags = ["--compile-every", "700ms", "--compile-time", "100ms", "--reload", "200ms"];
    let (_server, _agent, mut mock) = connected(&[], &flags);
    for _ in 0..2 {
        let compiling = mock.wait_for(|passing| passing["to_server"]["state"] == "compiling");
        let reloading = mock.wait_for(|passing| passing["to_server"]["state"] == "reloading");
        mock.shows("disconnected");
        let hello = mock.sends("hello");
        // The tests of the library check the exact times.
        assert!(ms(&reloading) - ms(&compiling) >= 50, "{compiling} {reloading}");
        assert!(ms(&hello) - ms(&reloading) >= 100, "{hello} {reloading}");
    }
    let (_server, _agent, mut mock) =
        connected(&[], &["--compile-every", "200ms", "--compile-time", "50ms", "--reload", "0s"]);
    mock.wait_for(|passing| passing["to_server"]["state"] == "compiling");
    mock.wait_for(|passing| passing["to_server"]["state"] == "ready");
}

#[test]
fn pongs_are_late_or_missing() {
    let server = ["--heartbeat-interval-ms", "100"];
    let (_server, _agent, mut mock) = connected(&server, &["--pong-delay", "250ms"]);
    let ping = mock.wait_for(|passing| passing["from_server"]["type"] == "ping");
    assert!(ms(&mock.sends("pong")) - ms(&ping) >= 125);
    let server = ["--heartbeat-interval-ms", "100", "--heartbeat-timeout-ms", "100"];
    let (_server, _agent, mut mock) = connected(&server, &["--no-pong"]);
    mock.shows("disconnected"); // The server drops it.
}

#[test]
fn it_drops_takes_its_time_and_refuses_cancels() {
    let (_server, _agent, mut mock) = connected(&[], &["--drop-after", "1s"]);
    mock.shows("disconnected");
    assert_eq!(mock.sends("hello")["to_server"]["connect_attempt_seq"], 2);

    let (_server, agent, _mock) = connected(&[], &["--tool-time", "400ms"]);
    let began = Instant::now();
    agent.run("read_console", &json!({})).unwrap();
    assert!(began.elapsed().as_millis() >= 400);

    let (_server, agent, mut mock) =
        connected(&["--job-poll-interval-ms", "50"], &["--cancel", "refuse"]);
    let job = agent.run("run_tests", &json!({})).unwrap();
    mock.sends("job_status");
    agent.run("cancel_job", &json!({ "job_id": job["job_id"] })).unwrap();
    assert_eq!(mock.sends("cancel_result")["to_server"]["status"], "rejected");
    let status = loop {
        let status = agent.run("get_job_status", &json!({ "job_id": job["job_id"] })).unwrap();
        if status["cancel"] == "rejected" {
            break status;
        }
    };
    assert_eq!(brief(&status["cancel_error"]), "ERR_CANCEL_REJECTED unknown");
}

#[test]
fn names_seed_and_tools_are_what_it_says_of_itself() {
    let mut server = Server::start(&[]);
    let port = server.port();
    let mut mock = Mock::start(port, &["--seed", "7"]);
    assert_eq!(mock.sends("hello")["to_server"]["editor_instance_id"], "mock-7-1");
    drop(mock);
    let mut mock = Mock::start(port, &["--no-names"]);
    let hello = mock.sends("hello");
    assert!(hello["to_server"].get("editor_instance_id").is_none(), "{hello}");
    drop(mock);
    let (_server, agent, _mock) = connected(&[], &["--tools", "run_tests"]);
    // The capability may arrive after the first calls.
    let error = loop {
        match agent.run("read_console", &json!({})) {
            Err(error) => break error,
            Ok(_) => continue,
        }
    };
    assert_eq!(brief(&error), "ERR_UNKNOWN_COMMAND not_executed");
}

#[test]
fn tests_and_scripts_come_from_files() {
    let scratch = Scratch::new("mock-files");
    let write = |name: &str, text: &str| {
        let path = scratch.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let tests = write(
        "tests.yaml",
        "- { name: A.One, takes: 1ms }\n- { name: A.Two, takes: 1ms, outcome: skip }\n",
    );
    let script = write(
        "script.yaml",
        "- { at: 50ms, do: 'log error \"from a file\"' }\n- { at: 100ms, do: 'say {\"type\":\"shrug\"}' }\n",
    );
    let (_server, agent, mut mock) = connected(&[], &["--tests", &tests, "--script", &script]);
    mock.sends("shrug");
    let console = agent.run("read_console", &json!({ "contains": "from a file" })).unwrap();
    assert_eq!(console["count"], 1);
    let job = agent.run("run_tests", &json!({ "wait_ms": 10_000 })).unwrap();
    assert_eq!(job["state"], "succeeded");
    assert_eq!(job["result"]["summary"]["skipped"], 1);

    let bad = write("bad.yaml", "- { at: 1s, do: complie }\n");
    for (flag, file, part) in [
        ("--script", bad.as_str(), "did you mean compile?"),
        ("--tests", bad.as_str(), "at"),
        ("--script", "nowhere.yaml", "cannot read"),
    ] {
        let mut mock = Mock::run(&[flag, file]);
        assert_eq!(mock.end().code(), Some(2), "{flag} {file}");
        let complaint = mock.complaint();
        assert!(complaint.contains(part) && complaint.contains(file), "{complaint}");
    }
}

#[test]
fn without_a_server_it_says_so_and_tries_as_often_as_told() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for times in ["never", "2"] {
        let mut mock = Mock::start(port, &["--reconnect", times]);
        assert_eq!(mock.end().code(), Some(3));
        let complaint = mock.complaint();
        let parts = ["refused".to_owned(), format!("--port {port}")];
        assert!(parts.iter().all(|part| complaint.contains(part)), "{complaint}");
    }
    // By default it keeps trying: it finds a server that starts later, and the next one.
    let mut mock = Mock::start(port, &[]);
    mock.shows("no_connection");
    for _ in 0..2 {
        let server = Server::start_with(&["--port", &port.to_string()], |_| {});
        mock.wait_for(|passing| passing["from_server"]["type"] == "capability");
        drop(server);
        mock.shows("disconnected");
    }
    for flags in [
        &["--port", "x"][..],
        &["--port", "0"],
        &["--reload", "soon"],
        &["--reconnect", "often"],
        &["--comple-every", "1s"],
        &["--compile-every", "0s"],
    ] {
        let mut mock = Mock::run(flags);
        assert_eq!(mock.end().code(), Some(2), "{flags:?}");
    }
}

#[test]
fn help_shows_every_flag_with_examples() {
    let mut mock = Mock::run(&["--help"]);
    let mut help = String::new();
    while let Some(line) = mock.line() {
        help += &format!("{line}\n");
    }
    assert!(mock.end().success());
    for part in [
        "--compile-every",
        "--reload",
        "--pong-delay",
        "--drop-after",
        "--tests",
        "--script",
        "--seed",
        "--reconnect",
        "demo",
        "Examples:",
        "Exit codes:",
    ] {
        assert!(help.contains(part), "{part} in {help}");
    }
}

#[test]
fn a_server_that_requires_a_token_is_shown_the_one_of_this_user() {
    let scratch = Scratch::new("mock-token");
    let file = scratch.0.join("token");
    let with_file = |command: &mut Command| {
        command.env("UNITY_MCP_TOKEN_FILE", &file);
    };
    let mut server = Server::start_with(&["--port", "0", "--require-token"], with_file);
    let port = server.port();
    let mut stranger = Mock::run(&["--json", "--port", &port.to_string(), "--reconnect", "never"]);
    assert_eq!(stranger.end().code(), Some(3));
    assert!(stranger.complaint().contains("requires a token"));

    let mut mock = Mock::run_with(&["--json", "--port", &port.to_string()], with_file);
    mock.wait_for(|passing| passing["from_server"]["type"] == "capability");
    // A second server of this user reads the token too, and relays calls with it.
    let flags = ["--stdio", "--port", &port.to_string()];
    let mut second = Server::start_with(&flags, with_file);
    let mut agent = StdioAgent::new(&mut second);
    second.wait_for_line("calls are relayed");
    let console = agent.run("read_console", json!({ "max_entries": 1 })).unwrap();
    assert_eq!(console["entries"][0]["message"], "Autosave done");
    // Without the token it cannot relay, and says why.
    let mut third = Server::start_with(&flags, |command| {
        command.env("UNITY_MCP_TOKEN_FILE", scratch.0.join("none"));
    });
    let mut agent = StdioAgent::new(&mut third);
    let refused = loop {
        let error = agent.run("read_console", json!({})).unwrap_err();
        if error["message"].to_string().contains("is held by") {
            break error;
        }
    };
    assert!(refused["message"].to_string().contains("requires a token"), "{refused}");
}

#[test]
fn heartbeats_are_shown_on_request() {
    let mut server = Server::start(&["--heartbeat-interval-ms", "50"]);
    let port = server.port().to_string();
    for (flags, expected) in [(&["--heartbeats"][..], true), (&[], false)] {
        let mut mock = Mock::run(&[&["--port", &port], flags].concat());
        while !mock.line().unwrap().contains("capability") {}
        // It has answered pings when the server has asked it about its console.
        let agent = harness::agent::HttpAgent { port: port.parse().unwrap() };
        for _ in 0..10 {
            agent.run("read_console", &json!({})).unwrap();
        }
        mock.type_line("quit");
        let lines: Vec<String> = std::iter::from_fn(|| mock.line()).collect();
        let has_pongs = lines.iter().any(|line| line.contains("->  pong"));
        assert_eq!(has_pongs, expected, "{lines:#?}");
    }
}
