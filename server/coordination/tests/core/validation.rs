//! SPEC 5.1 and 8: a bad call never enters, and its error says what is wrong.

use std::time::Duration;

use super::check::check;
use coordination::{Boot, RawCall, Request, TOOLS, validate};
use protocol::Json;

#[test]
fn defaults_are_filled_in_and_what_unity_does_not_need_stays_here() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 console 1 req-t-1
        -> 2 call 1 ok {"count":0,"truncated":false,"entries":[]}
        3 call 2 read_console {"max_entries":2000,"types":["error","exception"],"contains":"x","stack_traces":false,"timeout_ms":30000,"client_request_id":"A.z_0:-"}
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":2000,"types":["error","exception"],"contains":"x","stack_traces":false} timeout=30000 client=A.z_0:-
        4 console 1 req-t-2
        -> 4 call 2 ok {"count":0,"truncated":false,"entries":[]}
        5 call 3 run_tests {"wait_ms":0}
        -> 5 call 3 ok accepted job-t-1 Queued
        -> 5 unity 1 submit_job req-t-3 run_tests {"mode":"all"} timeout=300000
        -> 5 note JobChanged { job: job-t-1, state: Running }
    "#,
    );
}

#[test]
fn a_call_whose_frame_would_be_too_large_is_refused_and_nothing_sent() {
    check(
        r#"
        limit message_max_bytes 187
        show messages
        0 ready 1
        1 call 1 read_console {"contains":"01234567890123456"}
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"contains":"01234567890123456","stack_traces":true} timeout=10000
        2 console 1 req-t-1
        -> 2 call 1 ok {"count":0,"truncated":false,"entries":[]}
        3 call 2 read_console {"contains":"012345678901234567"}
        -> 3 call 2 ERR_INVALID_PARAMS not_executed final fix_the_call "The call did not run because it has 188 bytes and the limit is 187; send shorter arguments."
        4 call 3 run_tests {"filter":"0123456789012345678901234567890123456789012345678901234567890123"}
        -> 4 call 3 ERR_INVALID_PARAMS not_executed final fix_the_call "The call did not run because it has 209 bytes and the limit is 187; send shorter arguments."
        5 call 4 get_editor_state
        -> 5 call 4 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

/// What the validator says of a call.
fn verdict(tool: &str, arguments: &str) -> String {
    let Ok(Json::Object(arguments)) = serde_json::from_str(arguments) else {
        panic!("{arguments}")
    };
    match validate(RawCall { tool: tool.to_owned(), arguments }) {
        Ok(_) => "ok".to_owned(),
        Err(failure) => format!("{} {}", failure.code, failure.message()),
    }
}

#[test]
fn both_sides_of_every_limit() {
    let id = |length: usize| format!(r#"{{"client_request_id":"{}"}}"#, "x".repeat(length));
    let accepted = [
        ("get_editor_state", r#"{"timeout_ms":1}"#.to_owned()),
        ("get_editor_state", r#"{"timeout_ms":10000}"#.to_owned()),
        ("read_console", r#"{"timeout_ms":30000}"#.to_owned()),
        ("run_tests", r#"{"timeout_ms":1800000}"#.to_owned()),
        ("get_job_status", r#"{"job_id":"x","timeout_ms":10000}"#.to_owned()),
        ("cancel_job", r#"{"job_id":"x","timeout_ms":10000}"#.to_owned()),
        ("read_console", id(1)),
        ("read_console", id(128)),
        ("read_console", r#"{"max_entries":1}"#.to_owned()),
        ("read_console", r#"{"max_entries":2000}"#.to_owned()),
        ("run_tests", r#"{"wait_ms":300000}"#.to_owned()),
        ("get_job_status", r#"{"job_id":"x","wait_ms":0}"#.to_owned()),
    ];
    for (tool, arguments) in accepted {
        assert_eq!(verdict(tool, &arguments), "ok", "{tool} {arguments}");
    }
    let refused = [
        ("get_editor_state", r#"{"timeout_ms":0}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("get_editor_state", r#"{"timeout_ms":10001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("read_console", r#"{"timeout_ms":30001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("run_tests", r#"{"timeout_ms":1800001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("get_job_status", r#"{"job_id":"x","timeout_ms":10001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("cancel_job", r#"{"job_id":"x","timeout_ms":10001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("read_console", id(0), "ERR_INVALID_REQUEST"),
        ("read_console", id(129), "ERR_INVALID_REQUEST"),
        ("read_console", r#"{"max_entries":0}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("read_console", r#"{"max_entries":2001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("run_tests", r#"{"wait_ms":300001}"#.to_owned(), "ERR_INVALID_PARAMS"),
        ("get_job_status", r#"{"job_id":"x","wait_ms":300001}"#.to_owned(), "ERR_INVALID_PARAMS"),
    ];
    for (tool, arguments, code) in refused {
        let verdict = verdict(tool, &arguments);
        assert!(verdict.starts_with(code), "{tool} {arguments}: {verdict}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one flat table")]
fn what_is_wrong_is_said_by_name() {
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let unknown_tool = format!(
        "ERR_UNKNOWN_COMMAND There is no such tool, so nothing ran; use one of {}.",
        names.join(", ")
    );
    let cases = [
        ("reed_console", "{}", unknown_tool.as_str()),
        (
            "read_console",
            r#"{"count":5}"#,
            "ERR_INVALID_PARAMS read_console did not run: there is no argument \"count\"; it takes max_entries, \
             types, contains, stack_traces, since, before, timeout_ms, client_request_id; fix the argument \
             and call again.",
        ),
        (
            "read_console",
            r#"{"types":["shout"]}"#,
            "ERR_INVALID_PARAMS read_console did not run: types must be a list of one or more of log, warning, \
             error, assert, exception; fix the argument and call again.",
        ),
        (
            "read_console",
            r#"{"types":[]}"#,
            "ERR_INVALID_PARAMS read_console did not run: types must be a list of one or more of log, warning, \
             error, assert, exception; fix the argument and call again.",
        ),
        (
            "read_console",
            r#"{"stack_traces":"yes"}"#,
            "ERR_INVALID_PARAMS read_console did not run: stack_traces must be one of none, short, full; fix the \
             argument and call again.",
        ),
        (
            "read_console",
            r#"{"max_entries":1.5}"#,
            "ERR_INVALID_PARAMS read_console did not run: max_entries must be an integer from 1 to 2000; \
             fix the argument and call again.",
        ),
        (
            "read_console",
            r#"{"timeout_ms":"1s"}"#,
            "ERR_INVALID_PARAMS read_console did not run: timeout_ms must be an integer from 1 to 30000; \
             fix the argument and call again.",
        ),
        (
            "run_tests",
            r#"{"mode":"none"}"#,
            "ERR_INVALID_PARAMS run_tests did not run: mode must be one of all, edit, play; fix the \
             argument and call again.",
        ),
        (
            "run_tests",
            r#"{"filter":7}"#,
            "ERR_INVALID_PARAMS run_tests did not run: filter must be a string of at most 4000 characters; fix the argument and call \
             again.",
        ),
        (
            "cancel_job",
            "{}",
            "ERR_INVALID_PARAMS cancel_job did not run: job_id is missing; fix the argument and call again.",
        ),
        (
            "run_tests",
            r#"{"client_request_id":"a b"}"#,
            "ERR_INVALID_REQUEST run_tests did not run: it accepts a client_request_id of 1 to 128 characters \
             from A-Z a-z 0-9 . _ : -; fix it and call again.",
        ),
        (
            "run_tests",
            r#"{"client_request_id":7}"#,
            "ERR_INVALID_REQUEST run_tests did not run: it accepts a client_request_id of 1 to 128 characters \
             from A-Z a-z 0-9 . _ : -; fix it and call again.",
        ),
        (
            "get_editor_state",
            "{\"e\\u001bvil\\u202e\":1}",
            "ERR_INVALID_PARAMS get_editor_state did not run: there is no argument \"e\\u{1b}vil\\u{202e}\"; it \
             takes timeout_ms, client_request_id; fix the argument and call again.",
        ),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(verdict(tool, arguments), expected, "{tool} {arguments}");
    }
}

/// The arguments that Unity gets, or what is wrong.
fn for_unity(tool: &str, arguments: &str) -> String {
    let arguments = serde_json::from_str(arguments).unwrap();
    match validate(RawCall { tool: tool.to_owned(), arguments }) {
        Ok(call) => match call.request() {
            Request::Execute { params, .. } | Request::RunJob { params, .. } => params.to_string(),
            other @ (Request::EditorState
            | Request::JobStatus { .. }
            | Request::CancelJob { .. }) => format!("{other:?}"),
        },
        Err(failure) => failure.code.text().to_owned(),
    }
}

#[test]
fn harmless_forms_of_an_argument_are_understood() {
    for (tool, given, usual) in [
        ("read_console", r#"{"max_entries":"10"}"#, r#"{"max_entries":10}"#),
        ("read_console", r#"{"types":"error"}"#, r#"{"types":["error"]}"#),
        ("read_console", r#"{"stack_traces":true}"#, r#"{"stack_traces":"full"}"#),
        ("read_console", r#"{"stack_traces":false}"#, r#"{"stack_traces":"none"}"#),
        ("run_tests", r#"{"mode":"EditMode"}"#, r#"{"mode":"edit"}"#),
        ("run_tests", r#"{"mode":"editmode"}"#, r#"{"mode":"edit"}"#),
        ("run_tests", r#"{"mode":"PlayMode"}"#, r#"{"mode":"play"}"#),
        ("run_tests", r#"{"wait_ms":"300"}"#, r#"{"wait_ms":300}"#),
        ("get_job_status", r#"{"job_id":"j","wait_ms":"300"}"#, r#"{"job_id":"j","wait_ms":300}"#),
    ] {
        let meant = for_unity(tool, usual);
        assert!(meant.contains('{'), "{usual}: {meant}");
        assert_eq!(for_unity(tool, given), meant, "{given}");
    }
    let timeout = |text: &str| {
        let arguments = serde_json::from_str(text).unwrap();
        validate(RawCall { tool: "read_console".to_owned(), arguments }).map(|call| call.timeout())
    };
    assert_eq!(timeout(r#"{"timeout_ms":"250"}"#), timeout(r#"{"timeout_ms":250}"#));
    assert!(timeout(r#"{"timeout_ms":"250"}"#).is_ok());
    for (tool, given) in [
        ("read_console", r#"{"max_entries":"ten"}"#),
        ("read_console", r#"{"max_entries":"-1"}"#),
        ("read_console", r#"{"max_entries":"2001"}"#),
        ("read_console", r#"{"max_entries":true}"#),
        ("read_console", r#"{"types":"shout"}"#),
        ("read_console", r#"{"contains":7}"#),
        ("run_tests", r#"{"mode":"EDIT"}"#),
        ("run_tests", r#"{"mode":true}"#),
        ("read_console", r#"{"timeout_ms":"0"}"#),
    ] {
        assert_eq!(for_unity(tool, given), "ERR_INVALID_PARAMS", "{given}");
    }
}

#[test]
fn unity_is_asked_for_traces_with_a_flag() {
    let asked =
        |traces: &str| for_unity("read_console", &format!(r#"{{"stack_traces":"{traces}"}}"#));
    assert_eq!(asked("none"), r#"{"max_entries":50,"stack_traces":false}"#);
    assert_eq!(asked("short"), r#"{"max_entries":50,"stack_traces":true}"#);
    assert_eq!(asked("full"), asked("short"));
}

#[test]
fn a_valid_call_keeps_its_name_and_its_time() {
    let call = |arguments: &[(&str, Json)]| {
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let raw = RawCall { tool: "read_console".to_owned(), arguments: arguments.collect() };
        let call = validate(raw).unwrap();
        (call.client_request_id().map(str::to_owned), call.timeout())
    };
    let named = [("client_request_id", "a.b".into()), ("timeout_ms", 1_234.into())];
    assert_eq!(call(&named), (Some("a.b".to_owned()), Duration::from_millis(1_234)));
    assert_eq!(call(&[]), (None, Duration::from_secs(10)));
    assert_eq!(format!("{:?}", Boot::new("t")), "Some(Boot(t))", "as a log shows it");
}

#[test]
fn a_text_that_is_looked_for_has_four_thousand_characters_at_the_most() {
    for name in ["contains", "since", "before"] {
        let with = |length: usize| format!(r#"{{"{name}":"{}"}}"#, "ä".repeat(length));
        assert_eq!(verdict("read_console", &with(4_000)), "ok", "{name}");
        let refused = verdict("read_console", &with(4_001));
        assert!(refused.contains("a string of at most 4000 characters"), "{refused}");
    }
}
