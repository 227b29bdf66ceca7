//! Every message as it looks on the wire, one file each to review, and every frame that the codec rejects.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

use std::collections::BTreeSet;

use protocol::codec::{Message, decode, encode};
use protocol::*;
use serde_json::json;

#[expect(clippy::too_many_lines, reason = "one flat table")]
fn from_unity() -> Vec<(&'static str, FromUnity)> {
    let error = ErrorBody {
        code: "ERR_INVALID_PARAMS".to_owned(),
        message: "tool_name is required".to_owned(),
        retryable: Some(false),
        details: Some(json!({ "execution_guarantee": "not_executed" })),
    };
    vec![
        (
            "hello",
            FromUnity::Hello(PluginHello {
                plugin_version: "1.0.0".to_owned(),
                state: EditorState::Ready,
                editor_instance_id: Some("4711:/projects/game".into()),
                plugin_session_id: Some("5f3c".into()),
                connect_attempt_seq: Some(7),
                project_path: Some("/projects/game".to_owned()),
                project_name: Some("game".to_owned()),
                unity_version: Some("6000.0.23f1".to_owned()),
                running_request_id: Some("req-x-3".into()),
                request_book: Some("b-17".to_owned()),
                last_compile: Some(LastCompile {
                    outcome: CompileOutcome::Failed,
                    errors: 2,
                    warnings: 1,
                    ended_ms_ago: 1_500,
                }),
            }),
        ),
        (
            "capability",
            FromUnity::Capability(OfferedTools {
                tools: vec![OfferedTool { name: "read_console".to_owned() }],
            }),
        ),
        (
            "editor_status",
            FromUnity::EditorStatus(EditorStatus {
                state: EditorState::Compiling,
                seq: u64::MAX,
                last_compile: None,
            }),
        ),
        (
            "pong",
            FromUnity::Pong(Pong { editor_state: Some(EditorState::Reloading), seq: Some(42) }),
        ),
        (
            "result_ok",
            FromUnity::Result(ExecuteResult {
                request_id: "req-a1b2c3-1".into(),
                outcome: ExecuteOutcome::Ok(
                    json!({ "entries": [], "count": 0, "truncated": false }),
                ),
            }),
        ),
        (
            "result_error",
            FromUnity::Result(ExecuteResult {
                request_id: "req-a1b2c3-1".into(),
                outcome: ExecuteOutcome::Error(ErrorBody {
                    code: "ERR_UNITY_EXECUTION".to_owned(),
                    message: "NullReferenceException".to_owned(),
                    retryable: None,
                    details: None,
                }),
            }),
        ),
        (
            "submit_job_result",
            FromUnity::SubmitJobResult(SubmitJobResult {
                request_id: "req-a1b2c3-2".into(),
                status: SubmitStatus::Accepted,
                job_id: "tests-1".into(),
            }),
        ),
        (
            "job_status",
            FromUnity::JobStatus(JobStatus {
                request_id: "req-a1b2c3-3".into(),
                job_id: "tests-1".into(),
                state: JobState::Running,
                progress: Some(Progress { done: 3, total: 20, current: Some("Jumps".to_owned()) }),
                result: None,
                error: None,
            }),
        ),
        (
            "cancel_result",
            FromUnity::CancelResult(CancelResult {
                request_id: "req-a1b2c3-4".into(),
                status: CancelStatus::CancelRequested,
            }),
        ),
        (
            "error",
            FromUnity::Error(ErrorMessage { request_id: Some("req-a1b2c3-1".into()), error }),
        ),
    ]
}

fn server_hello() -> ServerHello {
    ServerHello { server_version: "1.0.0".to_owned(), max_message_bytes: Some(1_048_576) }
}

fn to_unity() -> Vec<(&'static str, ToUnity)> {
    vec![
        ("hello", ToUnity::Hello(server_hello())),
        (
            "capability",
            ToUnity::Capability(Capability {
                tools: vec![ToolMetadata {
                    name: "run_tests".to_owned(),
                    execution_mode: ExecutionMode::Job,
                    supports_cancel: true,
                    default_timeout_ms: 300_000,
                    max_timeout_ms: 1_800_000,
                    requires_client_request_id: false,
                    execution_error_retryable: false,
                    deduplicated: true,
                }],
            }),
        ),
        ("ping", ToUnity::Ping(Ping {})),
        (
            "execute",
            ToUnity::Execute(Execute {
                request_id: "req-a1b2c3-1".into(),
                client_request_id: Some("agent:7".to_owned()),
                tool_name: "read_console".to_owned(),
                params: json!({ "max_entries": 200, "stack_traces": true }),
                timeout_ms: 10_000,
            }),
        ),
        (
            "submit_job",
            ToUnity::SubmitJob(SubmitJob {
                request_id: "req-a1b2c3-2".into(),
                client_request_id: None,
                tool_name: "run_tests".to_owned(),
                params: json!({ "mode": "all" }),
                timeout_ms: 300_000,
            }),
        ),
        (
            "get_job_status",
            ToUnity::GetJobStatus(GetJobStatus {
                request_id: "req-a1b2c3-3".into(),
                job_id: "tests-1".into(),
            }),
        ),
        (
            "cancel",
            ToUnity::Cancel(Cancel {
                request_id: "req-a1b2c3-4".into(),
                target_request_id: None,
                target_job_id: Some("tests-1".into()),
            }),
        ),
        (
            "error",
            ToUnity::Error(ErrorMessage {
                request_id: None,
                error: ErrorBody {
                    code: "ERR_INVALID_REQUEST".to_owned(),
                    message: "the frame has no type".to_owned(),
                    retryable: Some(false),
                    details: Some(json!({ "execution_guarantee": "not_executed" })),
                },
            }),
        ),
    ]
}

/// Compares every message with its snapshot. A new message type needs one here.
fn check<M: Message + PartialEq + std::fmt::Debug>(
    direction: &str,
    types: &[&str],
    messages: Vec<(&str, M)>,
) {
    let mut seen = BTreeSet::new();
    for (name, message) in messages {
        let frame = encode(&message);
        let shown: Json = serde_json::from_str(&frame).unwrap();
        seen.insert(shown["type"].as_str().unwrap().to_owned());
        insta::assert_json_snapshot!(format!("{direction}_{name}"), shown);
        assert_eq!(decode(frame.as_bytes()), Ok(message));
    }
    assert_eq!(seen, types.iter().map(|&name| name.to_owned()).collect());
}

#[test]
fn every_message_of_the_plugin_looks_as_agreed_and_reads_back() {
    check("from_unity", FromUnity::TYPES, from_unity());
}

#[test]
fn every_message_of_the_server_looks_as_agreed_and_reads_back() {
    check("to_unity", ToUnity::TYPES, to_unity());
}

/// The result of decoding `frame`, in one line.
fn verdict(frame: &str) -> String {
    match decode::<FromUnity>(frame.as_bytes()) {
        Ok(message) => format!("{message:?}"),
        Err(error) => match error.about.as_slice() {
            [] => error.to_string(),
            [id] => format!("[{id}] {error}"),
            about => format!("{about:?} {error}"),
        },
    }
}

#[test]
fn every_broken_frame_is_named_for_what_is_wrong_with_it() {
    let cases = [
        "",
        "nonsense",
        "[]",
        "5",
        "{}",
        "{\"type\":\"pong\"",
        "{\"type\":\"pong\",\"protocol_version\":1} {}",
        r#"{"protocol_version":1}"#,
        r#"{"type":5,"protocol_version":1}"#,
        r#"{"TYPE":"pong","protocol_version":1}"#,
        r#"{"type":"pong"}"#,
        r#"{"type":"pong","protocol_version":2}"#,
        r#"{"type":"pong","protocol_version":1.0}"#,
        r#"{"type":"pong","protocol_version":"1"}"#,
        r#"{"type":"pong","type":"pong","protocol_version":1}"#,
        r#"{"type":"pong","protocol_version":1,"later":{"a":1,"a":2}}"#,
        r#"{"type":"shrug","protocol_version":1}"#,
        r#"{"type":"sh\u001brug\u202e","protocol_version":1}"#,
        r#"{"type":"execute","protocol_version":1}"#,
        r#"{"type":"hello","protocol_version":1,"plugin_version":"1"}"#,
        r#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"asleep"}"#,
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":-1}"#,
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":1.0}"#,
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":"1"}"#,
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":18446744073709551616}"#,
        r#"{"type":"result","protocol_version":1,"request_id":7,"status":"ok","result":{}}"#,
        r#"{"type":"result","protocol_version":1,"request_id":"r7","status":"ok"}"#,
        r#"{"type":"result","protocol_version":1,"request_id":"r7","status":"ok","result":[]}"#,
        r#"{"type":"result","protocol_version":1,"request_id":"r7","status":"error"}"#,
        r#"{"type":"result","protocol_version":1,"request_id":"r7","status":"maybe"}"#,
        r#"{"type":"submit_job_result","protocol_version":1,"request_id":"r7","status":"accepted"}"#,
        r#"{"type":"job_status","protocol_version":1,"request_id":"r7","job_id":"j","state":"lost"}"#,
        r#"{"type":"job_status","protocol_version":1,"request_id":"r7","job_id":"j","state":"running","progress":{"done":1}}"#,
        r#"{"type":"cancel_result","protocol_version":1,"request_id":"r7","status":"no"}"#,
        r#"{"type":"error","protocol_version":1,"request_id":"r7","error":"boom"}"#,
    ];
    let verdicts: Vec<String> =
        cases.iter().map(|frame| format!("{frame}\n    {}", verdict(frame))).collect();
    insta::assert_snapshot!("broken_frames", verdicts.join("\n"));
}

#[test]
fn unknown_fields_and_explicit_nulls_are_accepted() {
    let cases = [
        r#"{"type":"pong","protocol_version":1,"timestamp":"2026-02-24T23:59:59Z","mood":"fine"}"#,
        r#"{"type":"pong","protocol_version":1,"editor_state":null,"seq":null}"#,
    ];
    for frame in cases {
        assert_eq!(decode(frame.as_bytes()), Ok(FromUnity::Pong(Pong::default())), "{frame}");
    }
}

#[test]
fn an_error_object_under_result_is_understood_too() {
    let frame = r#"{"type":"result","protocol_version":1,"request_id":"r7","status":"error",
        "result":{"code":"X","message":"boom"}}"#;
    let Ok(FromUnity::Result(result)) = decode(frame.as_bytes()) else { panic!("{frame}") };
    let ExecuteOutcome::Error(error) = result.outcome else { panic!("{result:?}") };
    assert_eq!((error.code.as_str(), error.message.as_str()), ("X", "boom"));
}

#[test]
fn a_cancel_without_a_target_is_refused() {
    let frame = r#"{"type":"cancel","protocol_version":1,"request_id":"r7"}"#;
    let refused = decode::<ToUnity>(frame.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the message has a bad field: cancel: neither target_request_id nor target_job_id"
    );
}

#[test]
fn the_schema_in_docs_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/wire.schema.json");
    let current = serde_json::to_string_pretty(&schema::wire_schema()).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == current, "out of date; run: BLESS=1 cargo test -p protocol the_schema");
}

#[test]
fn a_job_has_ended_in_four_of_its_states() {
    use JobState::*;
    let ended = |state: JobState| state.is_terminal();
    assert!([Succeeded, Failed, Timeout, Cancelled].into_iter().all(ended));
    assert!(![Queued, Running].into_iter().any(ended));
}
