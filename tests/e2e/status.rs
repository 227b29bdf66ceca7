//! `unity-mcp status`, in each state that a server can be in.

use std::process::Command;

use harness::agent::HttpAgent;
use harness::server::{Scratch, Server, lines, program, run};
use harness::stop_signal::{StopSignal, with_own_console};
use harness::viewer::Viewer;
use serde_json::{Value, json};

use crate::plugin::Plugin;

/// Exit code, stdout and stderr of `status` for the server on this port.
fn status(port: u16, flags: &[&str]) -> (i32, String, String) {
    let port = port.to_string();
    run(&[&["status", "--port", &port], flags].concat(), &std::env::temp_dir())
}

/// Waits until `status` shows this.
fn wait_for(port: u16, part: &str) -> String {
    let until = std::time::Instant::now() + harness::server::TIMEOUT;
    loop {
        let (code, shown, _) = status(port, &[]);
        assert_eq!(code, 0);
        if shown.contains(part) {
            return shown;
        }
        assert!(std::time::Instant::now() < until, "{part:?} is not in {shown}");
    }
}

#[test]
fn without_a_server_it_says_so_and_ends_with_4() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (code, out, error) = status(port, &[]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(error.contains(&format!("no server listens on port {port}")), "{error}");
    let (code, out, _) = status(port, &["--json"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, out.lines().count()), (4, 1));
    assert_eq!(shown["error"]["details"]["execution_guarantee"], "not_executed");
    let (code, out, _) = status(port, &["--json", "--config", "/nowhere.json"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &shown["error"]["code"]), (2, &json!("ERR_INVALID_PARAMS")));
    assert_eq!(status(port, &["--wach"]).0, 2);
    let bad = run(&["status", "--port", "x"], &std::env::temp_dir());
    assert_eq!(bad.0, 2);
    assert!(bad.2.contains("invalid value 'x' for '--port"), "{}", bad.2);
}

#[test]
fn a_program_that_is_no_server_is_named() {
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    std::thread::spawn(move || while stranger.accept().is_ok() {});
    let (code, _, error) = status(port, &[]);
    assert_eq!(code, 4);
    assert!(error.contains("another program"), "{error}");
}

#[test]
fn it_shows_the_editor_in_each_of_its_states() {
    let mut server = Server::start(&["--job-poll-interval-ms", "50"]);
    let port = server.port();
    let shown = wait_for(port, "no Editor has connected");
    assert!(shown.contains("unknown: calls wait, because no Editor is connected"), "{shown}");
    let project = json!({
        "state": "ready", "project_name": "My Game", "project_path": "/games/mine",
        "unity_version": "6000.1.2f3", "editor_instance_id": "e-1",
    });
    let mut plugin = Plugin::hello(port, project);
    let shown = wait_for(port, "editor   ready");
    assert!(shown.contains("My Game (/games/mine), Unity 6000.1.2f3, plugin "), "{shown}");
    plugin.status("compiling", 1);
    wait_for(port, "compiling: calls wait until Unity has compiled");
    let agent = HttpAgent { port };
    let call = agent.call("read_console", &json!({}));
    let shown = wait_for(port, "1 call waits");
    assert!(shown.contains("read_console") && shown.contains("waits"), "{shown}");
    plugin.status("ready", 2);
    let request = plugin.expect("execute");
    wait_for(port, "running  read_console");
    plugin.answer_console(&request, "x");
    call.read();
    let job = agent.run("run_tests", &json!({})).unwrap()["job_id"].clone();
    let submit = plugin.expect("submit_job");
    plugin.accept_job(&submit, "u-1");
    let question = plugin.expect("get_job_status");
    let progress = json!({ "done": 3, "total": 7 });
    plugin.job_status(&question, json!({ "state": "running", "progress": progress }));
    let id = job.as_str().unwrap();
    wait_for(port, &format!("job      {id} run_tests running 3 of 7"));
    let (_, out, _) = status(port, &["--json"]);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["state"]["jobs"][0]["tool"], "run_tests");
    let question = plugin.expect("get_job_status");
    plugin.job_status(&question, json!({ "state": "cancelled" }));
    wait_for(port, &format!("job      {id} run_tests cancelled\n"));
}

#[test]
fn an_editor_that_was_turned_away_is_shown() {
    let mut server = Server::start(&[]);
    let port = server.port();
    let hello = |name: &str| json!({ "state": "reloading", "project_path": name, "editor_instance_id": name });
    let _first = Plugin::hello(port, hello("/games/mine"));
    let mut second = Plugin::pending(port);
    let mut refused = hello("/games/other");
    refused["type"] = json!("hello");
    refused["plugin_version"] = json!("1");
    second.say(refused);
    second.expect_close();
    wait_for(port, "an Editor with another project was turned away: /games/other");
}

#[test]
fn with_the_page_off_or_full_it_asks_for_the_state() {
    let mut server = Server::start(&["--no-page"]);
    let port = server.port();
    let _plugin = Plugin::hello(port, json!({ "state": "compiling", "project_name": "G" }));
    let shown = wait_for(port, "compiling: calls wait");
    assert!(shown.contains("calls    not shown"), "{shown}");
    let mut server = Server::start(&[]);
    let port = server.port();
    let _viewers = [Viewer::open(port, ""), Viewer::open(port, "")];
    wait_for(port, "calls    not shown");
}

#[test]
fn as_json_it_has_state_and_calls_in_one_line() {
    let mut server = Server::start(&[]);
    let port = server.port();
    HttpAgent { port }.run("get_editor_state", &json!({})).unwrap();
    let (code, out, _) = status(port, &["--json"]);
    assert_eq!((code, out.lines().count()), (0, 1));
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["state"]["waits_for"], "disconnected");
    assert_eq!(shown["calls"][0]["tool"], "get_editor_state");
    assert_eq!(shown["calls"][0]["outcome"], "ok");
    assert_eq!(shown["about"]["port"], port);
}

#[test]
fn with_a_required_token_it_reads_the_file() {
    let scratch = Scratch::new("status-token");
    let file = scratch.0.join("token");
    let mut server = Server::start_with(&["--port", "0", "--require-token"], |command| {
        command.env("UNITY_MCP_TOKEN_FILE", &file);
    });
    let port = server.port().to_string();
    let with = |file: &std::path::Path| {
        let mut command = Command::new(program());
        command.args(["status", "--port", &port]).env("UNITY_MCP_TOKEN_FILE", file);
        command.output().unwrap().status.code()
    };
    assert_eq!(with(&file), Some(0));
    assert_eq!(with(&scratch.0.join("none")), Some(4));
}

#[test]
fn watching_shows_each_change_until_it_is_stopped() {
    let mut server = Server::start(&[]);
    let port = server.port();
    let mut command = Command::new(program());
    command.args(["status", "--watch", "--port", &port.to_string()]);
    with_own_console(&mut command);
    let mut watch = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let shown = lines(watch.stdout.take());
    let wait_for = |part: &str| {
        while !shown.recv_timeout(harness::server::TIMEOUT).unwrap().contains(part) {}
    };
    wait_for("no Editor is connected");
    let _plugin = Plugin::ready(port);
    wait_for("editor   ready");
    drop(server);
    wait_for("no server listens on port");
    match StopSignal::interrupt() {
        Some(interrupt) => {
            interrupt.send(&watch);
            assert_eq!(watch.wait().unwrap().code(), Some(0));
        }
        None => watch.kill().unwrap(),
    }
}
