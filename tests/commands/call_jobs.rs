//! `call`: jobs, waiting, Ctrl-C, progress.

use harness::editor::Program;
use harness::stop_signal::StopSignal;
use serde_json::json;

use crate::command::{Running, call, free_port};

#[test]
fn a_test_run_that_fails_is_1_and_one_that_succeeds_is_0() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &[]);
    let words = ["run_tests", "--filter", "PlayerTests", "--wait"];
    let ended = call(agent.port, &words).assert_code(1);
    assert_eq!(ended.json()["state"], "failed");
    assert!(ended.stderr.contains("1 of 5 tests failed"), "{ended:?}");
    let words = ["run_tests", "--filter", "PlayerTests.Walks", "--wait"];
    let ended = call(agent.port, &words).assert_code(0);
    assert_eq!(ended.json()["result"]["summary"]["passed"], 1);
    assert!(ended.stderr.contains("the job"), "progress: {ended:?}");
    let quiet = call(agent.port, &["run_tests", "--filter", "PlayerTests.Walks", "--wait", "-q"]);
    assert_eq!(quiet.assert_code(0).stderr, "");
}

#[test]
fn without_wait_the_job_is_accepted_and_its_status_tells_how_it_ended() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &[]);
    let started = call(agent.port, &["run_tests", "--filter", "PlayerTests"]).assert_code(0).json();
    let job = started["job_id"].as_str().unwrap();
    let asked = ["get_job_status", "--job-id", job, "--wait"];
    assert_eq!(call(agent.port, &asked).assert_code(1).json()["state"], "failed");
}

/// The server ends with the command, and a job ends with the server.
#[test]
fn a_job_of_a_server_that_is_started_for_it_is_waited_for() {
    let port = free_port();
    let _editor = Program::MockUnity.start(port, &[]);
    let words = ["run_tests", "--start", "--filter", "PlayerTests.Walks"];
    let ended = call(port, &words).assert_code(0);
    assert_eq!(ended.json()["state"], "succeeded", "{ended:?}");
    assert!(ended.stderr.contains("as with --wait"), "{ended:?}");
}

#[test]
fn unity_that_compiles_for_too_long_is_4() {
    let flags = ["--compile-grace-timeout-ms", "500"];
    let (_server, agent, mut editor) = Program::MockUnity.connected(&flags, &[]);
    editor.type_line("compile 60s");
    editor.sends("editor_status");
    let ended = call(agent.port, &["read_console", "--json"]).assert_code(4);
    let error = &ended.json()["error"];
    assert_eq!(error["details"]["execution_guarantee"], "not_executed", "{error}");
    assert_eq!(error["details"]["waiting_reason"], "compiling", "{error}");
}

#[test]
fn a_call_waits_while_unity_compiles_and_shows_why() {
    let (_server, agent, mut editor) = Program::MockUnity.connected(&[], &[]);
    editor.type_line("compile 2s");
    editor.sends("editor_status");
    let ended = call(agent.port, &["read_console"]).assert_code(0);
    assert!(ended.stderr.contains("waiting: Unity is compiling"), "{ended:?}");
}

#[test]
fn ctrl_c_cancels_a_call_that_waits_and_unity_never_gets_it() {
    let Some(interrupt) = StopSignal::interrupt() else { return };
    let (_server, agent, mut editor) = Program::MockUnity.connected(&[], &[]);
    editor.type_line("compile 4s");
    editor.sends("editor_status");
    let port = agent.port.to_string();
    let mut running = Running::start(&["call", "read_console", "--port", &port], |_| {});
    running.wait_for("waiting: Unity is compiling");
    running.interrupt(interrupt);
    let ended = running.end().assert_code(130);
    assert!(ended.stderr.contains("cancelled"), "{ended:?}");
    let state = agent.run("get_editor_state", &json!({})).unwrap();
    assert_eq!(state["queue_length"], 0);
    editor.quit().iter().for_each(|line| {
        assert_ne!(line["from_server"]["type"], "execute", "{line}");
    });
}

#[test]
fn ctrl_c_cancels_the_job_that_is_waited_for() {
    let Some(interrupt) = StopSignal::interrupt() else { return };
    let (_server, agent, mut editor) = Program::MockUnity.connected(&[], &[]);
    let port = agent.port.to_string();
    let flags = ["call", "run_tests", "--wait", "--wait-ms", "1", "--port", &port];
    let mut running = Running::start(&flags, |_| {});
    running.wait_for("done, now");
    running.interrupt(interrupt);
    let ended = running.end().assert_code(130);
    assert!(ended.stderr.contains("was asked to stop job-"), "{ended:?}");
    editor.gets("cancel");
}
