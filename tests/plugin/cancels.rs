//! An agent that cancels its own call, or leaves while it waits.

use harness::agent::StdioAgent;
use harness::editor::{Editor, Program};
use harness::server::Server;
use serde_json::json;

fn stdio(program: Program, server: &[&str], flags: &[&str]) -> (Server, StdioAgent, Editor) {
    let (mut server, _, editor) = program.connected(&[&["--stdio"], server].concat(), flags);
    let agent = StdioAgent::new(&mut server);
    (server, agent, editor)
}

/// The cancelled call has no answer, even after everything else is answered.
fn assert_not_answered(mut agent: StdioAgent, call: u64) {
    agent.close_stdin();
    let rest = agent.rest();
    assert!(rest.iter().all(|message| message["id"] != call), "{rest:?}");
}

/// Unity cannot stop a tool, so the next call waits for its end.
pub(crate) fn a_running_call_that_is_cancelled_keeps_the_lane(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &["--tool-time", "700ms"]);
    let call = agent.call("read_console", json!({}));
    let cancelled = editor.gets("execute")["from_server"]["request_id"].clone();
    agent.cancel(call);
    let next = agent.call("read_console", json!({}));
    let passing = editor.wait_for(|passing| {
        passing["to_server"]["type"] == "result" || passing["from_server"]["type"] == "execute"
    });
    assert_eq!(passing["to_server"]["request_id"], cancelled, "{passing}");
    assert_eq!(agent.outcome(next).unwrap()["count"], 5);
    assert_not_answered(agent, call);
}

pub(crate) fn a_waiting_call_that_is_cancelled_never_reaches_unity(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &["--tool-time", "500ms"]);
    let first = agent.call("read_console", json!({}));
    editor.gets("execute");
    let call = agent.call("read_console", json!({ "client_request_id": "cancelled" }));
    agent.cancel(call);
    agent.outcome(first).unwrap();
    agent.run("read_console", json!({ "client_request_id": "next" })).unwrap();
    let next = editor.gets("execute");
    assert_eq!(next["from_server"]["client_request_id"], "next", "{next}");
    assert_not_answered(agent, call);
}

pub(crate) fn a_call_that_is_cancelled_while_unity_is_away_never_reaches_it(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &[]);
    editor.type_line("reload 1s");
    editor.shows("disconnected");
    agent.wait_for("connected", false);
    let call = agent.call("read_console", json!({ "client_request_id": "cancelled" }));
    agent.cancel(call);
    agent.run("read_console", json!({ "client_request_id": "next" })).unwrap();
    let next = editor.gets("execute");
    assert_eq!(next["from_server"]["client_request_id"], "next", "{next}");
    assert_not_answered(agent, call);
}

/// Nobody else knows the job, so nobody could ask for its end.
pub(crate) fn the_job_of_a_caller_who_leaves_is_cancelled_in_unity(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &["--job-poll-interval-ms", "50"], &[]);
    let call = agent.call("run_tests", json!({ "wait_ms": 20_000 }));
    editor.wait_for(|passing| passing["to_server"]["state"] == "running");
    agent.cancel(call);
    editor.gets("cancel");
    let answer = editor.sends("cancel_result");
    assert_ne!(answer["to_server"]["status"], "rejected", "{answer}");
    let tests = json!({ "filter": "Enemy", "wait_ms": 20_000 });
    assert_eq!(agent.run("run_tests", tests).unwrap()["state"], "succeeded");
    assert_not_answered(agent, call);
}
