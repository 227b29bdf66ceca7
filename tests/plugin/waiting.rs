//! Calls while Unity compiles, reloads, is cut off or frozen.

use harness::agent::{StdioAgent, brief};
use harness::editor::{Editor, Program};
use harness::server::Server;
use serde_json::{Value, json};

fn stdio(program: Program, server: &[&str], flags: &[&str]) -> (Server, StdioAgent, Editor) {
    let (mut server, _, editor) = program.connected(&[&["--stdio"], server].concat(), flags);
    let agent = StdioAgent::new(&mut server);
    (server, agent, editor)
}

/// How many tools ran, if nothing was read before these lines.
fn results(shown: &[Value]) -> usize {
    shown.iter().filter(|passing| passing["to_server"]["type"] == "result").count()
}

pub(crate) fn a_call_waits_through_a_compile_and_a_reload(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &["--reload", "300ms"]);
    editor.type_line("compile 300ms");
    editor.wait_for(|passing| passing["to_server"]["state"] == "compiling");
    agent.wait_for("editor_state", "compiling");
    let call = agent.call_with_progress("read_console", json!({}));
    editor.wait_for(|passing| passing["to_server"]["state"] == "reloading");
    editor.shows("disconnected");
    agent.wait_for("connected", false);
    editor.gets("execute");
    assert_eq!(agent.outcome(call).unwrap()["count"], 5);
    assert_eq!(results(&editor.quit()), 1);
}

pub(crate) fn a_call_during_a_reload_runs_after_it(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &[]);
    for _ in 0..3 {
        editor.type_line("reload 200ms");
        editor.shows("disconnected");
        let calls = [(); 3].map(|()| agent.call("read_console", json!({})));
        for call in calls {
            agent.outcome(call).unwrap();
            editor.sends("result");
        }
    }
    assert_eq!(results(&editor.quit()), 0, "a call ran twice");
}

pub(crate) fn the_answer_of_a_call_comes_over_the_next_connection(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &["--tool-time", "700ms"]);
    let call = agent.call("read_console", json!({}));
    let request = editor.gets("execute")["from_server"]["request_id"].clone();
    editor.type_line("drop 50ms");
    editor.shows("disconnected");
    let hello = editor.sends("hello");
    assert_eq!(hello["to_server"]["running_request_id"], request, "{hello}");
    assert_eq!(editor.sends("result")["to_server"]["request_id"], request);
    assert_eq!(agent.outcome(call).unwrap()["count"], 5);
    assert_eq!(results(&editor.quit()), 0, "the call ran twice");
}

pub(crate) fn a_frozen_editor_answers_pings_and_the_call_afterwards(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &["--heartbeat-interval-ms", "100"], &[]);
    editor.type_line("freeze 60s");
    editor.obeys();
    let call = agent.call("read_console", json!({}));
    editor.gets("execute");
    for _ in 0..5 {
        let passing = editor.wait_for(|passing| {
            let kind = &passing["to_server"]["type"];
            kind == "pong" || kind == "result"
        });
        assert_eq!(passing["to_server"]["type"], "pong");
    }
    agent.wait_for("connected", true);
    editor.type_line("dismiss");
    assert_eq!(agent.outcome(call).unwrap()["count"], 5);
    assert_eq!(results(&editor.quit()), 1);
}

pub(crate) fn a_request_that_a_restarted_editor_forgot_is_unknown(program: Program) {
    let (_server, mut agent, mut editor) = stdio(program, &[], &["--project", "/work/game"]);
    editor.type_line("dialog");
    editor.obeys();
    let call = agent.call("read_console", json!({}));
    editor.gets("execute");
    editor.type_line("restart 50ms");
    let error = agent.outcome(call).unwrap_err();
    assert_eq!(brief(&error), "ERR_UNITY_DISCONNECTED unknown");
    assert_eq!(results(&editor.quit()), 0);
}
