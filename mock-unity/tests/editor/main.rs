//! Each behaviour of the mock, by the frames that it sends and the books that it keeps.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod answers;
mod books;
mod stage;

use std::time::Duration;

use mock_unity::{Command, Input, Reconnect, Settings, TOOLS};
use protocol::ExecutionMode;
use serde_json::{Value, json};

use stage::{Stage, shown, types};

#[test]
fn a_hello_names_the_editor_or_does_not() {
    let mut stage = Stage::new(Settings::default());
    stage.wait(0);
    let hello = stage.connect();
    assert_eq!(hello["state"], "ready");
    assert_eq!(hello["connect_attempt_seq"], 1);
    assert!(hello["editor_instance_id"].is_string() && hello["plugin_session_id"].is_string());
    let mut stage = Stage::new(Settings { names_itself: false, ..Settings::default() });
    stage.wait(0);
    let hello = stage.connect();
    assert_eq!(hello["editor_instance_id"], Value::Null);
}

#[test]
fn a_capability_names_the_tools_of_the_settings() {
    let names: Vec<String> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
    let mut stage = Stage::new(Settings { tools: Some(names.clone()), ..Settings::default() });
    stage.wait(0);
    let frames = shown(stage.editor.handle(stage.now, Input::Connected));
    let entries: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    assert_eq!(frames[1]["tools"], json!(entries));
}

#[test]
fn every_tool_of_the_table_answers_in_its_mode_and_in_no_other() {
    for tool in TOOLS {
        for (mode, request, answer) in [
            (ExecutionMode::Sync, "execute", "result"),
            (ExecutionMode::Job, "submit_job", "submit_job_result"),
        ] {
            let mut stage = Stage::connected();
            let mut frames = stage.server(json!({
                "type": request, "request_id": "r1", "tool_name": tool.name, "params": {},
                "timeout_ms": 1000,
            }));
            frames.extend(stage.wait(20));
            if tool.mode() == mode {
                assert_eq!(types(&frames), [answer], "{}", tool.name);
            } else {
                assert_eq!(frames[0]["error"]["code"], "ERR_UNKNOWN_COMMAND", "{}", tool.name);
            }
            let runs = usize::from(tool.mode() == mode);
            assert_eq!(stage.editor.books().executed.len(), runs, "{}", tool.name);
        }
    }
}

#[test]
fn pings_are_answered_at_once_late_or_never() {
    let mut stage = Stage::connected();
    let pong = stage.server(json!({ "type": "ping" })).remove(0);
    assert_eq!((&pong["type"], &pong["editor_state"]), (&json!("pong"), &json!("ready")));
    stage.command("pong 300ms");
    assert!(stage.server(json!({ "type": "ping" })).is_empty());
    assert!(stage.wait(299).is_empty());
    assert_eq!(types(&stage.wait(1)), ["pong"]);
    stage.command("pong never");
    assert!(stage.server(json!({ "type": "ping" })).is_empty());
    assert!(stage.wait(60_000).is_empty());
}

#[test]
fn an_execute_takes_its_time_and_stands_in_the_books() {
    let mut stage = Stage::connected();
    assert!(stage.execute("r1").is_empty());
    assert!(stage.wait(19).is_empty());
    let result = stage.wait(1).remove(0);
    assert_eq!((&result["request_id"], &result["status"]), (&json!("r1"), &json!("ok")));
    assert_eq!(result["result"]["count"], 5);
    let books = stage.editor.books();
    assert_eq!(books.arrived.len(), 1);
    assert_eq!(books.times_executed(&"r1".into()), 1);
    assert_eq!(books.executed[0].at, Duration::from_millis(20));
    assert!(books.sent_twice().is_empty());
    stage.execute("r1");
    assert_eq!(stage.editor.books().sent_twice(), [&"r1".into()]);
    let unknown = stage.server(json!({
        "type": "execute", "request_id": "r2", "tool_name": "rm", "params": {}, "timeout_ms": 1,
    }));
    assert!(unknown.is_empty());
    let frames = stage.wait(100);
    assert_eq!(frames[1]["error"]["code"], "ERR_UNKNOWN_COMMAND");
    assert_eq!(stage.editor.books().times_executed(&"r2".into()), 0);
}

#[test]
fn the_console_grows_and_is_cleared() {
    let mut stage = Stage::connected();
    stage.command("log warning \"low on coffee\"");
    stage.execute("r1");
    let result = stage.wait(20).remove(0);
    assert_eq!(result["result"]["entries"][5]["message"], "low on coffee");
    stage.command("clear");
    stage.execute("r2");
    assert_eq!(stage.wait(20)[0]["result"]["count"], 0);
}

#[test]
fn a_compile_ends_in_a_domain_reload_with_a_new_session() {
    let mut stage = Stage::connected();
    let first = stage.editor.books().arrived.len();
    assert_eq!(types(&stage.command("compile 3s")), ["editor_status compiling"]);
    stage.execute("r1"); // Nothing runs during a compile, and the reload loses the request.
    assert!(stage.wait(2_999).is_empty());
    assert_eq!(types(&stage.wait(1)), ["editor_status reloading", "cut"]);
    assert!(stage.wait(1_999).is_empty());
    assert_eq!(types(&stage.wait(1)), ["dial"]);
    let hello = stage.connect();
    assert_eq!(
        (&hello["state"], &hello["plugin_session_id"]),
        (&json!("ready"), &json!("session-1-2"))
    );
    assert_eq!(hello["editor_instance_id"], "mock-1-1");
    assert!(stage.wait(60_000).is_empty());
    assert_eq!(stage.editor.books().arrived.len(), first + 1);
    assert!(stage.editor.books().executed.is_empty());
}

#[test]
fn nothing_is_compiled_or_reloaded_while_the_domain_is_not_there() {
    let mut stage = Stage::connected();
    stage.command("reload 2s");
    for words in ["compile 5s", "reload 5s", "play 5s"] {
        assert!(stage.command(words).is_empty(), "{words}");
    }
    assert_eq!(types(&stage.wait(2_000)), ["dial"]);
}

#[test]
fn a_compile_without_a_reload_stays_connected() {
    let mut stage = Stage::new(Settings { reload_time: None, ..Settings::default() });
    stage.wait(0);
    stage.connect();
    stage.command("compile 1s");
    assert_eq!(types(&stage.wait(1_000)), ["editor_status ready"]);
}

#[test]
fn play_mode_reloads_and_a_restart_forgets_everything() {
    let mut stage = Stage::connected();
    let job = stage.submit("r1");
    assert_eq!(types(&stage.command("play 1s")), ["editor_status reloading", "cut"]);
    stage.wait(1_000);
    assert_eq!(stage.connect()["plugin_session_id"], "session-1-2");
    assert_eq!(stage.status("r2", &job)["state"], "running");
    assert_eq!(types(&stage.command("restart 2s")), ["cut"]);
    assert_eq!(types(&stage.wait(2_000)), ["dial"]);
    let hello = stage.connect();
    assert_eq!(
        (&hello["editor_instance_id"], &hello["connect_attempt_seq"]),
        (&json!("mock-1-2"), &json!(1))
    );
    assert_eq!(stage.status("r3", &job)["error"]["code"], "ERR_JOB_NOT_FOUND");
}

#[test]
fn it_says_with_the_close_code_that_it_will_be_back_after_a_reload() {
    let mut stage = Stage::connected();
    assert_eq!(types(&stage.command("goaway 1s")), ["close 1001"]);
}

#[test]
fn it_does_not_connect_again_when_another_plugin_took_its_name() {
    let mut stage = Stage::connected();
    let reason = "replaced by a newer connection".to_owned();
    stage.editor.handle(stage.now, Input::Closed { reason });
    assert_eq!(stage.editor.next_deadline(), None);
}

#[test]
fn a_result_that_finds_no_socket_is_said_on_the_next() {
    let mut stage = Stage::connected();
    stage.execute("r1");
    assert_eq!(types(&stage.command("drop 1s")), ["cut"]);
    assert_eq!(types(&stage.wait(1_000)), ["dial"]);
    shown(stage.editor.handle(stage.now, Input::Connected));
    let frames = stage.server(json!({ "type": "hello", "server_version": "1" }));
    assert_eq!(frames[0]["request_id"], "r1");
    assert_eq!(types(&stage.command("close 1s")), ["close 1000"]);
}

#[test]
fn what_becomes_due_during_a_dial_does_not_confuse_it() {
    // A drop becomes due before a late connect: one hello, then it disconnects and tries again.
    let mut stage = Stage::new(Settings::default());
    stage.wait(0);
    stage.editor.plan(Duration::from_millis(500), None, Command::parse("drop 1s").unwrap());
    stage.now = Duration::from_millis(800);
    let outputs = shown(stage.editor.handle(stage.now, Input::Connected));
    assert_eq!(types(&outputs), ["hello", "cut"]);
    assert_eq!(types(&stage.wait(700)), ["dial"]);
    // The result of an abandoned attempt is ignored.
    let mut stage = Stage::new(Settings::default());
    stage.wait(0);
    assert_eq!(types(&stage.command("drop 1s")), ["cut"]);
    assert!(shown(stage.editor.handle(stage.now, Input::Connected)).is_empty());
    assert!(shown(stage.editor.handle(stage.now, Input::DialFailed)).is_empty());
    assert_eq!(types(&stage.wait(1_000)), ["dial"]);
    assert_eq!(stage.connect()["connect_attempt_seq"], 1);
}

#[test]
fn a_frame_of_a_connection_that_is_gone_is_not_taken_in() {
    let mut stage = Stage::connected();
    stage.command("reload 1s");
    assert!(stage.execute("r1").is_empty());
    assert!(stage.server(json!({ "type": "ping" })).is_empty());
    assert!(stage.server(json!({ "type": "hello", "server_version": "1" })).is_empty());
    assert_eq!(types(&stage.wait(1_000)), ["dial"]);
    stage.connect();
    assert!(stage.wait(1_000).is_empty());
    assert!(stage.editor.books().arrived.is_empty());
}

#[test]
fn only_answers_outlive_a_connection_and_they_wait_for_the_welcome() {
    let mut stage = Stage::connected();
    stage.command("pong 300ms");
    stage.server(json!({ "type": "ping" }));
    stage.execute("r1");
    stage.command("answer late 2s");
    stage.command("drop 100ms");
    stage.command("stale");
    stage.command("say {\"type\":\"shrug\"}");
    stage.wait(100);
    assert_eq!(types(&shown(stage.editor.handle(stage.now, Input::Connected))), ["hello"]);
    assert!(stage.wait(5_000).is_empty()); // No pong, no result: the server has not sent its hello.
    let frames = stage.server(json!({ "type": "hello", "server_version": "1" }));
    assert_eq!(types(&frames), ["result"]);
    assert_eq!(types(&stage.command("compile 1s")), ["editor_status compiling"]);
}

#[test]
fn the_books_show_requests_that_come_before_the_last_is_answered() {
    let mut stage = Stage::connected();
    stage.command("answer never");
    stage.execute("r1");
    stage.wait(1_000);
    stage.execute("r2");
    stage.wait(1_000);
    assert_eq!(stage.editor.books().unanswered_max, 2);
    stage.server(json!({ "type": "nonsense" }));
    assert_eq!(stage.editor.books().not_understood, 1);
}

#[test]
fn a_tool_keeps_its_rest_over_a_freeze() {
    let tool_time = Duration::from_secs(2);
    let mut stage = Stage::new(Settings { tool_time, ..Settings::default() });
    stage.wait(0);
    stage.connect();
    stage.execute("r1");
    stage.wait(1_500);
    stage.command("freeze 10s");
    assert!(stage.wait(10_499).is_empty());
    assert_eq!(types(&stage.wait(1)), ["result"]);
}

#[test]
fn a_frozen_editor_answers_pings_and_runs_nothing() {
    for (begin, end) in [("freeze 5s", None), ("dialog", Some("dismiss"))] {
        let mut stage = Stage::connected();
        let job = stage.submit("r0");
        stage.command(begin);
        stage.execute("r1");
        assert_eq!(types(&stage.server(json!({ "type": "ping" }))), ["pong"]);
        assert!(stage.wait(4_999).is_empty());
        if let Some(words) = end {
            stage.command(words);
        }
        assert_eq!(types(&stage.wait(21)), ["result"]);
        assert!(stage.editor.books().executed.last().unwrap().at >= Duration::from_millis(4_999));
        assert_eq!(stage.status("r2", &job)["progress"]["done"], 0);
    }
}

#[test]
fn it_reconnects_as_a_plugin_does_later_and_later_until_it_gives_up() {
    let mut stage = Stage::new(Settings { reconnect: Reconnect::Times(3), ..Settings::default() });
    let mut waits = Vec::new();
    stage.wait(0);
    loop {
        let outputs = shown(stage.editor.handle(stage.now, Input::DialFailed));
        if outputs == [json!("give up")] {
            break;
        }
        let at = stage.editor.next_deadline().unwrap();
        waits.push((at - stage.now).as_millis());
        stage.wait(u64::try_from((at - stage.now).as_millis()).unwrap() + 1);
    }
    assert_eq!(waits.len(), 3);
    assert!(
        (90..=110).contains(&waits[0]) && waits[1] > waits[0] && waits[2] > waits[1],
        "{waits:?}"
    );
    assert_eq!(stage.editor.next_deadline(), None);
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_the_idle_timeout() {
    let idle_timeout = Some(Duration::from_secs(4));
    let mut stage = Stage::new(Settings { idle_timeout, ..Settings::default() });
    stage.wait(0);
    stage.connect();
    assert!(stage.wait(3_000).is_empty());
    assert_eq!(types(&stage.server(json!({ "type": "ping" }))), ["pong"]);
    assert!(stage.wait(3_999).is_empty());
    assert_eq!(stage.wait(1), [json!("cut")]);
    assert_eq!(stage.wait(111), [json!("dial")]);
}

#[test]
fn a_refused_editor_keeps_away_for_ten_seconds() {
    let mut stage = Stage::connected();
    let refused = "another Unity websocket session is already active";
    let error = json!({ "code": "ERR_INVALID_REQUEST", "message": refused });
    assert_eq!(types(&stage.server(json!({ "type": "error", "error": error }))), ["close 1000"]);
    assert!(stage.wait(9_999).is_empty());
    assert_eq!(types(&stage.wait(1)), ["dial"]);
}

#[test]
fn what_is_planned_is_done_at_its_time_and_again() {
    let mut stage = Stage::connected();
    let seconds = Duration::from_secs;
    stage.editor.plan(seconds(1), None, Command::Say("{}".to_owned()));
    stage.editor.plan(seconds(2), Some(seconds(3)), Command::Say("[]".to_owned()));
    assert_eq!(stage.wait(1_000), [json!({})]);
    assert_eq!(stage.wait(7_000), [json!([]), json!([]), json!([])]);
}

#[test]
fn the_same_seed_and_inputs_give_the_same_outputs() {
    let play = |seed| {
        let mut stage = Stage::new(Settings { seed, ..Settings::default() });
        let mut all = stage.wait(0);
        for _ in 0..5 {
            all.extend(shown(stage.editor.handle(stage.now, Input::DialFailed)));
            all.push(json!(format!("{:?}", stage.editor.next_deadline())));
            all.extend(stage.wait(2_000));
        }
        all
    };
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}
