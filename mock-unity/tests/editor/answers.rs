//! Test runs, cancels and spoilt answers.

use serde_json::json;

use super::stage::{Stage, types};

#[test]
fn a_test_run_goes_on_test_by_test_and_ends_with_its_failures() {
    let mut stage = Stage::connected();
    let job = stage.submit("r1");
    let begin = stage.status("r2", &job);
    assert_eq!(
        begin["progress"],
        json!({ "done": 0, "total": 20, "current": "Game.Tests.PlayerTests.Walks" })
    );
    stage.wait(450);
    assert_eq!(stage.status("r3", &job)["progress"]["done"], 3);
    stage.command("compile 1s");
    stage.wait(3_000);
    stage.connect();
    assert_eq!(stage.status("r4", &job)["progress"]["done"], 3); // It stood still.
    stage.wait(17 * 150);
    let end = stage.status("r5", &job);
    assert_eq!(end["state"], "failed");
    assert_eq!(end["result"]["summary"]["failed"], 2);
    stage.command("tests pass");
    let job = stage.submit("r6");
    stage.wait(3_000);
    assert_eq!(stage.status("r7", &job)["state"], "succeeded");
    stage.command("tests fail 5");
    let job = stage.submit("r8");
    stage.wait(3_000);
    assert_eq!(stage.status("r9", &job)["result"]["summary"]["failed"], 5);
}

#[test]
fn a_cancel_is_honoured_refused_or_ignored() {
    let mut stage = Stage::connected();
    let job = stage.submit("r1");
    assert_eq!(stage.cancel("c1", &job)["status"], "cancel_requested");
    stage.wait(150);
    assert_eq!(stage.status("r2", &job)["state"], "cancelled");
    assert_eq!(stage.cancel("c2", &job)["status"], "rejected");
    for (policy, status) in [("refuse", "rejected"), ("ignore", "cancel_requested")] {
        stage.command(&format!("cancel {policy}"));
        let job = stage.submit(&format!("j-{policy}"));
        assert_eq!(stage.cancel(&format!("c-{policy}"), &job)["status"], status);
        stage.wait(1_000);
        assert_eq!(stage.status(&format!("s-{policy}"), &job)["state"], "running");
        stage.command("job lost");
    }
    assert_eq!(stage.cancel("c3", &json!("tests-9"))["error"]["code"], "ERR_JOB_NOT_FOUND");
}

#[test]
fn the_next_answer_is_spoilt_as_asked_for_and_only_that() {
    let spoilt = |words: &str| {
        let mut stage = Stage::connected();
        stage.command(&format!("answer {words}"));
        stage.execute("r1");
        let frames = stage.wait(3_000);
        stage.execute("r2");
        assert_eq!(stage.wait(20)[0]["request_id"], "r2", "{words}");
        (frames, stage.editor.books().times_executed(&"r1".into()))
    };
    let (late, _) = spoilt("late 2s");
    assert_eq!(types(&late), ["result"]);
    assert_eq!(types(&spoilt("twice").0), ["result", "result"]);
    assert_eq!(spoilt("never"), (vec![], 1));
    assert_eq!(spoilt("malformed").0[0]["result"], 7);
    assert!(spoilt("oversize").0[0].as_str().unwrap().starts_with("raw 178"));
    assert_eq!(spoilt("wrong-type").0[0]["type"], "cancel_result");
    assert_eq!(spoilt("misaddressed").0[0]["request_id"], "req-nobody-1");
    assert!(spoilt("binary").0[0].as_str().unwrap().starts_with("binary"));
    let (failed, ran) = spoilt("error BOOM");
    assert_eq!((&failed[0]["error"]["code"], ran), (&json!("BOOM"), 1));
    let (refused, ran) = spoilt("error ERR_INVALID_PARAMS");
    assert_eq!((&refused[0]["error"]["code"], ran), (&json!("ERR_INVALID_PARAMS"), 0));
}

#[test]
fn the_word_behave_ends_every_misbehaviour() {
    let mut stage = Stage::connected();
    for words in ["pong never", "dialog", "answer never", "answer twice", "cancel refuse"] {
        stage.command(words);
    }
    assert!(stage.server(json!({ "type": "ping" })).is_empty());
    stage.command("behave");
    assert_eq!(types(&stage.server(json!({ "type": "ping" }))), ["pong"]);
    assert!(stage.execute("r1").is_empty());
    assert_eq!(types(&stage.wait(20)), ["result"]);
}

#[test]
fn it_reports_wrong_states_repeats_old_ones_and_sends_any_text() {
    let mut stage = Stage::connected();
    let job = stage.submit("r1");
    stage.command("job succeeded");
    assert_eq!(stage.status("r2", &job)["state"], "succeeded");
    assert_eq!(stage.status("r3", &job)["state"], "running");
    stage.command("job lost");
    assert_eq!(stage.status("r4", &job)["error"]["code"], "ERR_JOB_NOT_FOUND");
    stage.server(json!({ "type": "ping" }));
    let stale = stage.command("stale").remove(0);
    assert_eq!((&stale["state"], &stale["seq"]), (&json!("compiling"), &json!(0)));
    assert_eq!(stage.command("say {\"type\":\"shrug\"}"), [json!({ "type": "shrug" })]);
}
