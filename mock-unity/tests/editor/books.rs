//! What the books keep, and what a plugin may do differently from others.

use std::time::Duration;

use mock_unity::{Given, Input, JsonStyle, Output, PongSeq, Settings};
use protocol::{JobState, Json, RequestId};
use serde_json::json;

use crate::stage::{Stage, types};

fn id(text: &str) -> RequestId {
    RequestId(text.to_owned())
}

#[test]
fn the_books_keep_what_was_given_even_if_the_answer_was_spoilt() {
    let mut stage = Stage::connected();
    stage.command("answer never");
    stage.execute("r1");
    stage.wait(100);
    let console = &stage.editor.books().given[&id("r1")];
    assert!(matches!(console, Given::Result(console) if console["count"] == 5));
    let job = stage.submit("r2");
    assert_eq!(stage.editor.books().jobs[0].ended_at, None);
    stage.wait(10_000);
    stage.status("r3", &job);
    let books = stage.editor.books();
    assert_eq!(books.jobs[0].ended_at, Some(Duration::from_millis(3_100)));
    let status = &books.given[&id("r3")];
    let Given::Job(status) = status else { unreachable!("it is about a job") };
    assert_eq!(status.state, JobState::Failed);
    assert_eq!(status.result.as_ref().unwrap()["summary"]["failed"], 2);
}

#[test]
fn the_books_show_requests_of_two_connections_at_the_same_time() {
    let mut stage = Stage::connected();
    stage.command("freeze 60s");
    stage.execute("r1");
    stage.command("drop 1s");
    stage.wait(1_000);
    stage.connect();
    stage.execute("r2");
    let overlapping = &stage.editor.books().overlapping_sessions;
    assert_eq!(*overlapping, [(id("r1"), id("r2"))]);
}

#[test]
fn pongs_have_a_new_seq_the_last_one_or_none() {
    for (pong_seq, expected) in
        [(PongSeq::New, json!(2)), (PongSeq::Last, json!(1)), (PongSeq::None, json!(null))]
    {
        let mut stage = Stage::new(Settings { pong_seq, ..Settings::default() });
        stage.wait(0);
        stage.connect();
        stage.command("compile 9s");
        let pong = &stage.server(json!({ "type": "ping" }))[0];
        assert_eq!((&pong["seq"], &pong["editor_state"]), (&expected, &json!("compiling")));
    }
}

#[test]
fn frames_in_another_json_style_mean_the_same() {
    let writes = JsonStyle { reversed: true, spaced: true, escaped: true, extra: true };
    let mut stage = Stage::new(Settings { writes, ..Settings::default() });
    stage.wait(0);
    let outputs = stage.editor.handle(stage.now, Input::Connected);
    let [Output::Send(text)] = &outputs[..] else { unreachable!("a hello: {outputs:?}") };
    assert!(text.contains("\\u00") && text.contains(" \t\r\n"), "{text}");
    let hello: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!((&hello["type"], hello["x_new"].is_array()), (&json!("hello"), true));
}

#[test]
fn an_id_that_was_used_for_another_call_runs_nothing() {
    let mut stage = Stage::connected();
    let tool = |name: &str, mode: &str| {
        json!({
            "name": name, "execution_mode": mode, "deduplicated": true, "supports_cancel": false,
            "default_timeout_ms": 1_000, "max_timeout_ms": 1_000,
            "requires_client_request_id": false, "execution_error_retryable": false,
        })
    };
    let tools = [tool("open_scene", "sync"), tool("run_tests", "job")];
    stage.server(json!({ "type": "capability", "tools": tools }));
    let mut ask = |kind: &str, request: &str, tool: &str, params: Json| {
        let mut answers = stage.server(json!({
            "type": kind, "request_id": request, "client_request_id": "x", "tool_name": tool,
            "params": params, "timeout_ms": 1_000,
        }));
        answers.extend(stage.wait(100));
        types(&answers)
    };
    let menu = json!({ "path": "Assets/Scenes/Menu.unity" });
    assert_eq!(ask("execute", "r1", "open_scene", menu.clone()), ["result"]);
    assert_eq!(ask("execute", "r2", "open_scene", menu), ["result"]);
    let game = json!({ "path": "Assets/Scenes/Game.unity" });
    assert_eq!(ask("execute", "r3", "open_scene", game), ["error"]);
    assert_eq!(ask("submit_job", "r4", "run_tests", json!({ "mode": "all" })), ["error"]);
    assert_eq!(stage.editor.books().executed.len(), 1);
}
