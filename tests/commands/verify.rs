//! `verify`: every verdict.

use harness::editor::{Editor, Program};
use harness::server::Server;
use harness::stop_signal::StopSignal;
use serde_json::Value;

use crate::command::{Ended, free_port, run};

fn verify(port: u16, flags: &[&str]) -> Ended {
    let port = port.to_string();
    run(&[&["verify", "--port", &port], flags].concat())
}

fn stage(flags: &[&str]) -> (Server, u16, Editor) {
    let (server, agent, editor) = Program::MockUnity.connected(&["--catalog", "1.1"], flags);
    (server, agent.port, editor)
}

fn outcomes(report: &Value) -> Vec<String> {
    let steps = report["steps"].as_array().unwrap();
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    steps.iter().map(|step| format!("{} {}", text(step, "step"), text(step, "outcome"))).collect()
}

#[test]
fn green_is_0_with_one_line_per_step() {
    let (_server, port, mut editor) = stage(&[]);
    editor.type_line("tests pass");
    editor.type_line("edit");
    editor.obeys();
    let ended = verify(port, &["--filter", "PlayerTests"]).assert_code(0);
    let steps: Vec<&str> =
        ended.stdout.lines().map(|line| line.split(" in ").next().unwrap()).collect();
    assert_eq!(
        steps,
        ["compile   passed", "tests     passed", "console   passed", "verdict   passed"],
        "{ended:?}"
    );
    assert!(ended.stderr.contains("compile: "), "progress: {ended:?}");
    let ended = verify(port, &["--filter", "PlayerTests", "--json"]).assert_code(0);
    assert_eq!((ended.json()["verdict"].as_str(), ended.stderr.as_str()), (Some("passed"), ""));
}

#[test]
fn a_server_that_is_started_has_the_tools_it_needs() {
    let port = free_port();
    let _editor = Program::MockUnity.start(port, &[]);
    let report = verify(port, &["--start", "--json", "--filter", "PlayerTests.Walks"]).json();
    assert_eq!(outcomes(&report)[..2], ["compile passed", "tests passed"], "{report}");
}

#[test]
fn compile_errors_are_1_and_no_test_runs() {
    let (_server, port, mut editor) = stage(&[]);
    editor.type_line("edit fails 2");
    editor.obeys();
    let ended = verify(port, &[]).assert_code(1);
    assert!(ended.stdout.contains("compile   failed in "), "{ended:?}");
    assert!(ended.stdout.lines().any(|line| line.contains("): error CS")), "{ended:?}");
    // Nothing has changed, so there is nothing to compile, and still no test runs.
    let ended = verify(port, &[]).assert_code(1);
    assert!(ended.stdout.contains("which had 2 errors"), "{ended:?}");
    editor.type_line("edit fails 1");
    editor.obeys();
    let report = verify(port, &["--json"]).assert_code(1).json();
    assert_eq!(outcomes(&report), ["compile failed"]);
    assert!(report["steps"][0]["result"]["errors"][0]["file"].is_string(), "{report}");
}

#[test]
fn a_failing_test_is_1_and_the_console_is_read_all_the_same() {
    let (_server, port, _editor) = stage(&[]);
    let ended = verify(port, &["--mode", "edit", "--filter", "PlayerTests"]).assert_code(1);
    assert!(ended.stdout.contains("1 of 5 tests failed"), "{ended:?}");
    assert!(ended.stdout.contains("test Game.Tests.PlayerTests.Jumps: failed"), "{ended:?}");
    let report = verify(port, &["--filter", "PlayerTests", "--json"]).assert_code(1).json();
    assert_eq!(outcomes(&report), ["compile passed", "tests failed", "console passed"]);
}

#[test]
fn a_filter_that_fits_no_test_is_1() {
    let (_server, port, _editor) = stage(&[]);
    let report = verify(port, &["--filter", "Nothing", "--json"]).assert_code(1).json();
    assert_eq!(report["steps"][1]["error"]["code"], "ERR_UNITY_EXECUTION");
}

#[test]
fn a_new_error_in_the_console_is_1_and_an_old_one_is_not() {
    let (_server, port, mut editor) = stage(&[]);
    editor.type_line("tests pass");
    editor.type_line("log error \"an old one\"");
    editor.obeys();
    let port_text = port.to_string();
    let flags = ["verify", "--filter", "PlayerTests", "--port", &port_text];
    let running = crate::command::Running::start(&flags, |_| {});
    while editor.gets("submit_job")["from_server"]["tool_name"] != "run_tests" {}
    editor.type_line("log error \"a new one\"");
    let ended = running.end().assert_code(1);
    assert!(ended.stdout.contains("1 new error"), "{ended:?}");
    assert!(ended.stdout.contains("console: error: a new one"), "{ended:?}");
    assert!(!ended.stdout.contains("an old one"), "{ended:?}");
}

#[test]
fn catalogue_1_0_is_4_and_says_what_to_do() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &[]);
    let ended = verify(agent.port, &["--json"]).assert_code(4);
    assert!(ended.stderr.contains("--catalog 1.1"), "{ended:?}");
    assert_eq!(ended.json()["error"]["details"]["execution_guarantee"], "not_executed");
}

#[test]
fn unity_away_and_no_server_are_4() {
    let mut server = Server::start(&["--catalog", "1.1"]);
    let ended = verify(server.port(), &[]).assert_code(4);
    assert!(ended.stderr.contains("No Unity Editor was connected"), "{ended:?}");
    verify(free_port(), &[]).assert_code(4);
}

#[test]
fn a_server_that_is_killed_while_the_tests_run_is_5() {
    let (mut server, port, mut editor) = stage(&[]);
    let port = port.to_string();
    let running = crate::command::Running::start(&["verify", "--json", "--port", &port], |_| {});
    while editor.gets("submit_job")["from_server"]["tool_name"] != "run_tests" {}
    server.process.kill().unwrap();
    let report = running.end().assert_code(5).json();
    assert_eq!(report["steps"][1]["outcome"], "unknown");
}

#[test]
fn ctrl_c_ends_it_with_130_and_stops_the_tests() {
    let Some(interrupt) = StopSignal::interrupt() else { return };
    let (_server, port, mut editor) = stage(&[]);
    let port = port.to_string();
    let running = crate::command::Running::start(&["verify", "--port", &port], |_| {});
    while editor.gets("submit_job")["from_server"]["tool_name"] != "run_tests" {}
    running.interrupt(interrupt);
    running.end().assert_code(130);
    editor.gets("cancel");
}
