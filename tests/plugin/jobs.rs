//! Test runs: over a reload, cancelled in each state, and chosen.

use harness::agent::HttpAgent;
use harness::editor::{Editor, Program};
use harness::server::Server;
use serde_json::{Value, json};

fn connected(program: Program) -> (Server, HttpAgent, Editor) {
    program.connected(&["--job-poll-interval-ms", "50"], &["--reload", "200ms"])
}

/// Starts a run, and waits until Unity reports that it runs.
fn running(agent: &HttpAgent, editor: &mut Editor, arguments: &Value) -> Value {
    let job = agent.run("run_tests", arguments).unwrap();
    editor.wait_for(|passing| passing["to_server"]["state"] == "running");
    json!({ "job_id": job["job_id"] })
}

fn ended(agent: &HttpAgent, job: &Value) -> Value {
    let wait = json!({ "job_id": job["job_id"], "wait_ms": 20_000 });
    loop {
        let status = agent.run("get_job_status", &wait).unwrap();
        if status["state"] != "running" && status["state"] != "queued" {
            return status;
        }
    }
}

fn submissions(shown: &[Value]) -> usize {
    shown.iter().filter(|passing| passing["from_server"]["type"] == "submit_job").count()
}

fn assert_whole_run(status: &Value) {
    assert_eq!(status["state"], "failed", "{status}");
    let summary = &status["result"]["summary"];
    assert_eq!((&summary["total"], &summary["failed"]), (&json!(20), &json!(2)), "{status}");
    assert_eq!(status["result"]["failed_tests"].as_array().unwrap().len(), 2);
}

pub(crate) fn a_test_run_goes_on_over_a_compile_and_a_reload(program: Program) {
    let (_server, agent, mut editor) = connected(program);
    let job = running(&agent, &mut editor, &json!({}));
    editor.type_line("compile 200ms");
    editor.wait_for(|passing| passing["to_server"]["state"] == "reloading");
    assert_whole_run(&ended(&agent, &job));
    assert_eq!(submissions(&editor.quit()), 0, "the job was submitted twice");
}

pub(crate) fn a_test_run_goes_on_over_a_drop(program: Program) {
    let (_server, agent, mut editor) = connected(program);
    let job = running(&agent, &mut editor, &json!({}));
    editor.type_line("drop 300ms");
    editor.shows("disconnected");
    assert_whole_run(&ended(&agent, &job));
    assert_eq!(submissions(&editor.quit()), 0, "the job was submitted twice");
}

pub(crate) fn a_queued_job_that_is_cancelled_is_never_sent(program: Program) {
    let (_server, agent, mut editor) = program.connected(&[], &["--tool-time", "1s"]);
    let call = agent.call("read_console", &json!({}));
    editor.gets("execute");
    let job = agent.run("run_tests", &json!({})).unwrap();
    assert_eq!(job["state"], "queued");
    let cancel = agent.run("cancel_job", &json!({ "job_id": job["job_id"] })).unwrap();
    assert_eq!(cancel["status"], "cancelled");
    assert_eq!(ended(&agent, &job)["state"], "cancelled");
    call.read();
    agent.run("read_console", &json!({})).unwrap();
    assert_eq!(submissions(&editor.quit()), 0);
}

pub(crate) fn a_submitted_job_is_cancelled_as_soon_as_the_editor_can(program: Program) {
    let (_server, agent, mut editor) = connected(program);
    editor.type_line("dialog");
    editor.obeys();
    let job = agent.run("run_tests", &json!({})).unwrap();
    editor.gets("submit_job");
    let cancel = agent.run("cancel_job", &json!({ "job_id": job["job_id"] })).unwrap();
    assert_eq!(cancel["status"], "cancel_requested");
    editor.type_line("dismiss");
    editor.gets("cancel");
    assert_eq!(ended(&agent, &job)["state"], "cancelled");
}

pub(crate) fn a_running_job_is_cancelled_and_the_next_run_works(program: Program) {
    let (_server, agent, mut editor) = connected(program);
    let job = running(&agent, &mut editor, &json!({}));
    let cancel = agent.run("cancel_job", &job).unwrap();
    assert_eq!(cancel["status"], "cancel_requested");
    let answer = editor.sends("cancel_result");
    assert_ne!(answer["to_server"]["status"], "rejected", "{answer}");
    assert_eq!(ended(&agent, &job)["state"], "cancelled");
    let next = agent.run("run_tests", &json!({ "filter": "Enemy", "wait_ms": 20_000 })).unwrap();
    assert_eq!(next["state"], "succeeded", "{next}");
}

pub(crate) fn a_job_that_has_ended_cannot_be_cancelled(program: Program) {
    let (_server, agent, _editor) = connected(program);
    let run = json!({ "filter": "EnemyTests.Dies", "wait_ms": 20_000 });
    let job = agent.run("run_tests", &run).unwrap();
    assert_eq!(job["state"], "succeeded", "{job}");
    let cancel = agent.run("cancel_job", &json!({ "job_id": job["job_id"] })).unwrap();
    assert_eq!(cancel["status"], "rejected");
    assert_eq!(ended(&agent, &job)["state"], "succeeded");
}

pub(crate) fn tests_are_chosen_by_mode_and_filter(program: Program) {
    let (_server, agent, mut editor) = connected(program);
    editor.type_line("tests fail 1");
    editor.obeys();
    for (arguments, total, state) in [
        (json!({ "mode": "play" }), 5, "succeeded"),
        (json!({ "mode": "edit", "filter": "PlayerTests" }), 5, "failed"),
        (json!({ "filter": "Jumps" }), 1, "succeeded"),
    ] {
        let mut arguments = arguments;
        arguments["wait_ms"] = json!(20_000);
        let job = agent.run("run_tests", &arguments).unwrap();
        assert_eq!(job["state"], state, "{arguments}: {job}");
        assert_eq!(job["result"]["summary"]["total"], total, "{arguments}: {job}");
    }
    let nothing = json!({ "filter": "NoSuchTest", "wait_ms": 20_000 });
    let job = agent.run("run_tests", &nothing).unwrap();
    assert_eq!(job["state"], "failed", "{job}");
    assert!(job["error"]["message"].to_string().contains("NoSuchTest"), "{job}");
}
