//! Every word that can be typed.

use harness::agent::brief;
use harness::stop_signal::StopSignal;
use serde_json::json;

use crate::mock::{Mock, connected};

#[test]
fn the_life_of_an_editor_is_typed() {
    let (_server, agent, mut mock) = connected(&[], &[]);
    mock.type_line("compile 100ms");
    mock.wait_for(|passing| passing["to_server"]["state"] == "compiling");
    mock.wait_for(|passing| passing["to_server"]["state"] == "reloading");
    assert_eq!(mock.sends("hello")["to_server"]["plugin_session_id"], "session-1-2");
    for (words, session) in [("reload 50ms", "session-1-3"), ("play 50ms", "session-1-4")] {
        mock.type_line(words);
        assert_eq!(mock.sends("hello")["to_server"]["plugin_session_id"], session);
    }
    mock.type_line("restart 50ms");
    assert_eq!(mock.sends("hello")["to_server"]["editor_instance_id"], "mock-1-2");
    for words in ["drop 50ms", "close 50ms"] {
        mock.type_line(words);
        mock.shows("disconnected");
        mock.sends("hello");
    }
    mock.wait_for(|passing| passing["from_server"]["type"] == "capability");
    mock.type_line("log error \"typed\"");
    mock.type_line("status");
    let status = mock.wait_for(|passing| passing["tell"].to_string().contains("console entries"));
    assert!(
        status["tell"].as_str().unwrap().starts_with("ready, connected; 6 console"),
        "{status}"
    );
    let console = agent.run("read_console", &json!({ "contains": "typed" })).unwrap();
    assert_eq!(console["count"], 1);
    mock.type_line("clear");
    mock.type_line("status");
    mock.wait_for(|passing| passing["tell"].to_string().contains("0 console entries"));
}

#[test]
fn a_stuck_editor_is_typed() {
    let (_server, agent, mut mock) = connected(&["--request-reconnect-wait-ms", "50"], &[]);
    for (begin, end) in [("freeze 60s", "dismiss"), ("dialog", "behave")] {
        mock.type_line(begin);
        mock.shows("tell");
        let error = agent.run("read_console", &json!({ "timeout_ms": 100 })).unwrap_err();
        assert_eq!(brief(&error), "ERR_REQUEST_TIMEOUT unknown");
        let error = agent.run("read_console", &json!({})).unwrap_err();
        assert_eq!(brief(&error), "ERR_EDITOR_NOT_READY not_executed");
        mock.type_line(end);
        mock.sends("result"); // The late answer lets the next call run.
        while agent.run("get_editor_state", &json!({})).unwrap()["running"].is_object() {}
        agent.run("read_console", &json!({})).unwrap();
    }
}

#[test]
fn tests_cancels_and_jobs_are_typed() {
    let (_server, agent, mut mock) = connected(&["--job-poll-interval-ms", "50"], &[]);
    let run = json!({ "filter": "Player", "wait_ms": 20_000 });
    mock.type_line("tests fail 3");
    mock.type_line("status");
    mock.shows("tell");
    assert_eq!(agent.run("run_tests", &run).unwrap()["result"]["summary"]["failed"], 3);
    mock.type_line("tests pass");
    mock.type_line("cancel ignore");
    mock.type_line("status");
    mock.wait_for(|passing| passing["tell"].to_string().contains("no job running"));
    let job = agent.run("run_tests", &json!({ "filter": "Player" })).unwrap();
    mock.sends("submit_job_result");
    agent.run("cancel_job", &json!({ "job_id": job["job_id"] })).unwrap();
    assert_eq!(mock.sends("cancel_result")["to_server"]["status"], "cancel_requested");
    let wait = json!({ "job_id": job["job_id"], "wait_ms": 20_000 });
    while agent.run("get_job_status", &wait).unwrap()["state"] == "running" {}
    assert_eq!(agent.run("get_job_status", &wait).unwrap()["state"], "succeeded");

    let job = agent.run("run_tests", &json!({})).unwrap();
    mock.sends("submit_job_result");
    mock.type_line("job lost");
    let wait = json!({ "job_id": job["job_id"], "wait_ms": 20_000 });
    while agent.run("get_job_status", &wait).unwrap()["state"] == "running" {}
    let lost = agent.run("get_job_status", &wait).unwrap();
    assert_eq!(brief(&lost["error"]), "ERR_JOB_NOT_FOUND unknown");
    let job = agent.run("run_tests", &json!({})).unwrap();
    mock.sends("submit_job_result");
    mock.type_line("job cancelled");
    let wait = json!({ "job_id": job["job_id"], "wait_ms": 20_000 });
    while agent.run("get_job_status", &wait).unwrap()["state"] == "running" {}
    assert_eq!(agent.run("get_job_status", &wait).unwrap()["state"], "cancelled");
}

#[test]
fn answers_are_spoilt_by_a_word() {
    // The same project each time: a call that is made during a restart goes on waiting.
    let (_server, agent, mut mock) = connected(&[], &["--project", "/work/game"]);
    for (how, code) in [
        ("late 10s", "ERR_REQUEST_TIMEOUT unknown"),
        ("malformed", "ERR_INVALID_RESPONSE unknown"),
        ("oversize", "ERR_INVALID_RESPONSE unknown"),
        ("wrong-type", "ERR_INVALID_RESPONSE unknown"),
        ("misaddressed", "ERR_REQUEST_TIMEOUT unknown"),
        ("never", "ERR_REQUEST_TIMEOUT unknown"),
        ("binary", "ERR_REQUEST_TIMEOUT unknown"),
        ("error BOOM", "ERR_UNITY_EXECUTION unknown"),
        ("error ERR_INVALID_PARAMS", "ERR_INVALID_PARAMS not_executed"),
    ] {
        mock.type_line(&format!("answer {how}"));
        mock.type_line("status");
        mock.wait_for(|passing| passing["tell"].to_string().contains("console entries"));
        let error = agent.run("read_console", &json!({ "timeout_ms": 1_000 })).unwrap_err();
        assert_eq!(brief(&error), code, "{how}");
        // A new session: late or missing answers of the old one do not matter.
        mock.type_line("restart 10ms");
        mock.wait_for(|passing| passing["from_server"]["type"] == "capability");
    }
    mock.type_line("answer twice");
    mock.type_line("status");
    mock.wait_for(|passing| passing["tell"].to_string().contains("console entries"));
    agent.run("read_console", &json!({})).unwrap();
    agent.run("read_console", &json!({})).unwrap();
}

#[test]
fn pongs_statuses_and_raw_texts_are_typed() {
    let (_server, agent, mut mock) = connected(&["--heartbeat-interval-ms", "50"], &[]);
    mock.type_line("stale");
    mock.wait_for(|passing| passing["to_server"]["state"] == "compiling");
    assert_eq!(agent.run("get_editor_state", &json!({})).unwrap()["editor_state"], "ready");
    mock.type_line("say {\"type\":\"shrug\",\"protocol_version\":1}");
    let error = mock.wait_for(|passing| passing["from_server"]["type"] == "error");
    assert_eq!(error["from_server"]["error"]["code"], "ERR_UNKNOWN_COMMAND");
    mock.type_line("pong 100ms");
    mock.sends("pong");
    mock.type_line("pong never");
    mock.shows("disconnected");
}

#[test]
fn wrong_words_are_answered_with_the_right_ones() {
    let (_server, _agent, mut mock) = connected(&[], &[]);
    for (words, part) in [
        ("complie 3s", "did you mean compile?"),
        ("compile soon", "500ms"),
        ("answer badly", "misaddressed"),
        ("\u{1b}[2J", "\\u{1b}"),
        ("xyzzy", "type help for a list"),
        ("quit now", "quit takes no argument"),
    ] {
        mock.type_line(words);
        let complaint = mock.complaint();
        assert!(complaint.contains(part) && !complaint.contains('\u{1b}'), "{complaint}");
    }
    mock.type_bytes(b"\xff\n");
    assert!(mock.complaint().contains("unknown word"));
    mock.type_line("quit");
    assert_eq!(mock.end().code(), Some(0));
}

#[test]
fn help_lists_the_words_and_frames_are_readable() {
    let mut server = harness::server::Server::start(&[]);
    let mut mock = Mock::run(&["--port", &server.port().to_string()]);
    mock.type_line("help");
    let mut seen = String::new();
    while !(seen.contains("spoil the next answer") && seen.contains("<-  capability")) {
        seen += &format!("{}\n", mock.line().unwrap());
    }
    assert!(seen.contains("->  hello {") && !seen.contains('\u{1b}'), "{seen}");
    mock.type_line("exit");
    assert!(mock.end().success());
}

#[test]
fn an_interrupt_ends_it_cleanly() {
    let Some(stop) = StopSignal::interrupt() else { return };
    let (_server, agent, mut mock) = connected(&[], &[]);
    stop.send(&mock.process);
    assert_eq!(mock.end().code(), Some(0));
    while agent.run("get_editor_state", &json!({})).unwrap()["connected"] == true {}
}

#[test]
fn a_command_whose_effect_cannot_be_seen_is_confirmed() {
    let (_server, agent, mut mock) = connected(&[], &["--compile-time", "100ms"]);
    for (words, confirmation) in [
        ("log error \"x\"", "added to the console: error"),
        ("clear", "the console is empty"),
        ("tests fail 3", "3 tests will fail"),
        ("cancel refuse", "a cancel is refused"),
        ("pong 300ms", "a pong takes 300ms"),
        ("answer twice", "the next answer will be spoilt"),
        ("job lost", "all jobs are forgotten"),
        ("job failed", "the next job_status will be wrong"),
        ("behave", "every misbehaviour has ended"),
        ("dismiss", "the main thread is not stuck"),
        ("compile fails 2", "compiling for 100ms"),
    ] {
        mock.type_line(words);
        assert_eq!(mock.shows("tell")["tell"], confirmation, "{words}");
    }
    mock.wait_for(|passing| passing["tell"] == "the compile failed with 2 errors");
    let errors = agent.run("read_console", &json!({ "types": "error" })).unwrap();
    assert_eq!(
        errors["entries"][1]["message"],
        "Assets/Scripts/Enemy.cs(12,9): error CS0103: The name 'targt' does not exist in the current context"
    );
}

#[test]
fn the_close_code_of_the_server_and_its_reason_are_shown() {
    let Some(stop) = StopSignal::interrupt() else { return };
    let (server, _agent, mut mock) = connected(&[], &[]);
    server.stop(stop);
    let gone = mock.shows("disconnected");
    assert_eq!(gone["disconnected"]["code"], 1001, "{gone}");
    assert!(gone["disconnected"]["reason"].is_string(), "{gone}");
}
