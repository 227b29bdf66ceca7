//! What holds for every message and for any bytes.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use protocol::codec::{decode, encode, encoded_len};
use protocol::*;

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1.0e15..1.0e15f64).prop_map(Json::from),
        any::<String>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            btree_map(any::<String>(), inner, 0..4)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Json> {
    btree_map(any::<String>(), json(), 0..4)
        .prop_map(|entries| Json::Object(entries.into_iter().collect()))
}

/// On this wire `null` means the same as an absent field, so an optional value is never null.
fn optional_json() -> impl Strategy<Value = Option<Json>> {
    of(json().prop_filter("null is absence", |value| !value.is_null()))
}

fn request_id() -> impl Strategy<Value = RequestId> {
    any::<String>().prop_map(RequestId)
}

fn unity_job_id() -> impl Strategy<Value = UnityJobId> {
    any::<String>().prop_map(UnityJobId)
}

fn editor_state() -> impl Strategy<Value = EditorState> {
    prop_oneof![
        Just(EditorState::Ready),
        Just(EditorState::Compiling),
        Just(EditorState::Reloading)
    ]
}

fn error_body() -> impl Strategy<Value = ErrorBody> {
    (any::<String>(), any::<String>(), of(any::<bool>()), optional_json()).prop_map(
        |(code, message, retryable, details)| ErrorBody { code, message, retryable, details },
    )
}

fn error_message() -> impl Strategy<Value = ErrorMessage> {
    (of(request_id()), error_body())
        .prop_map(|(request_id, error)| ErrorMessage { request_id, error })
}

fn job_status() -> impl Strategy<Value = JobStatus> {
    let state = prop_oneof![
        Just(JobState::Queued),
        Just(JobState::Running),
        Just(JobState::Succeeded),
        Just(JobState::Failed),
        Just(JobState::Timeout),
        Just(JobState::Cancelled)
    ];
    let progress = (any::<u64>(), any::<u64>(), of(any::<String>()))
        .prop_map(|(done, total, current)| Progress { done, total, current });
    (request_id(), unity_job_id(), state, of(progress), optional_json(), of(error_body())).prop_map(
        |(request_id, job_id, state, progress, result, error)| JobStatus {
            request_id,
            job_id,
            state,
            progress,
            result,
            error,
        },
    )
}

fn hello() -> impl Strategy<Value = PluginHello> {
    (
        any::<String>(),
        editor_state(),
        of(any::<String>().prop_map(EditorInstanceId)),
        of(any::<String>().prop_map(PluginSessionId)),
        of(any::<u64>()),
        of(any::<String>()),
        of(any::<String>().prop_map(RequestId)),
        of(last_compile()),
    )
        .prop_map(
            |(
                plugin_version,
                state,
                editor,
                session,
                connect_attempt_seq,
                project,
                running,
                last_compile,
            )| {
                PluginHello {
                    plugin_version,
                    state,
                    editor_instance_id: editor,
                    plugin_session_id: session,
                    connect_attempt_seq,
                    project_path: project.clone(),
                    project_name: project.clone(),
                    unity_version: project.clone(),
                    running_request_id: running,
                    request_book: project,
                    last_compile,
                }
            },
        )
}

fn from_unity() -> impl Strategy<Value = FromUnity> {
    let outcome = prop_oneof![
        object().prop_map(ExecuteOutcome::Ok),
        error_body().prop_map(ExecuteOutcome::Error)
    ];
    let cancel_status = prop_oneof![
        Just(CancelStatus::Cancelled),
        Just(CancelStatus::CancelRequested),
        Just(CancelStatus::Rejected)
    ];
    prop_oneof![
        hello().prop_map(FromUnity::Hello),
        vec(any::<String>().prop_map(|name| OfferedTool { name }), 0..4)
            .prop_map(|tools| FromUnity::Capability(OfferedTools { tools })),
        (editor_state(), any::<u64>(), of(last_compile())).prop_map(
            |(state, seq, last_compile)| {
                FromUnity::EditorStatus(EditorStatus { state, seq, last_compile })
            }
        ),
        (of(editor_state()), of(any::<u64>()))
            .prop_map(|(editor_state, seq)| FromUnity::Pong(Pong { editor_state, seq })),
        (request_id(), outcome).prop_map(|(request_id, outcome)| FromUnity::Result(
            ExecuteResult { request_id, outcome }
        )),
        (request_id(), unity_job_id()).prop_map(|(request_id, job_id)| {
            FromUnity::SubmitJobResult(SubmitJobResult {
                request_id,
                status: SubmitStatus::Accepted,
                job_id,
            })
        }),
        job_status().prop_map(FromUnity::JobStatus),
        (request_id(), cancel_status).prop_map(|(request_id, status)| FromUnity::CancelResult(
            CancelResult { request_id, status }
        )),
        error_message().prop_map(FromUnity::Error),
    ]
}

fn last_compile() -> impl Strategy<Value = LastCompile> {
    let outcome = prop_oneof![Just(CompileOutcome::Succeeded), Just(CompileOutcome::Failed)];
    (outcome, any::<[u64; 3]>()).prop_map(|(outcome, [errors, warnings, ended_ms_ago])| {
        LastCompile { outcome, errors, warnings, ended_ms_ago }
    })
}

fn tool_metadata() -> impl Strategy<Value = ToolMetadata> {
    let mode = prop_oneof![Just(ExecutionMode::Sync), Just(ExecutionMode::Job)];
    (any::<String>(), mode, any::<[u64; 2]>(), any::<[bool; 4]>()).prop_map(
        |(
            name,
            execution_mode,
            [default_timeout_ms, max_timeout_ms],
            [cancel, id, retryable, deduplicated],
        )| {
            ToolMetadata {
                name,
                execution_mode,
                supports_cancel: cancel,
                default_timeout_ms,
                max_timeout_ms,
                requires_client_request_id: id,
                execution_error_retryable: retryable,
                deduplicated,
            }
        },
    )
}

fn to_unity() -> impl Strategy<Value = ToUnity> {
    let work = || (request_id(), of(any::<String>()), any::<String>(), json(), any::<u64>());
    let execute =
        work().prop_map(|(request_id, client_request_id, tool_name, params, timeout_ms)| {
            ToUnity::Execute(Execute {
                request_id,
                client_request_id,
                tool_name,
                params,
                timeout_ms,
            })
        });
    let submit =
        work().prop_map(|(request_id, client_request_id, tool_name, params, timeout_ms)| {
            ToUnity::SubmitJob(SubmitJob {
                request_id,
                client_request_id,
                tool_name,
                params,
                timeout_ms,
            })
        });
    prop_oneof![
        (any::<String>(), any::<Option<u64>>()).prop_map(|(server_version, max_message_bytes)| {
            ToUnity::Hello(ServerHello { server_version, max_message_bytes })
        }),
        vec(tool_metadata(), 0..4).prop_map(|tools| ToUnity::Capability(Capability { tools })),
        Just(ToUnity::Ping(Ping {})),
        execute,
        submit,
        (request_id(), unity_job_id()).prop_map(|(request_id, job_id)| ToUnity::GetJobStatus(
            GetJobStatus { request_id, job_id }
        )),
        (request_id(), of(request_id()), unity_job_id()).prop_map(
            |(request_id, target_request_id, job_id)| ToUnity::Cancel(Cancel {
                request_id,
                target_request_id,
                target_job_id: Some(job_id),
            })
        ),
        error_message().prop_map(ToUnity::Error),
    ]
}

/// Bytes that look like pieces of a message.
fn json_like() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"type\"",
        "\"hello\"",
        "\"protocol_version\"",
        "1",
        "-1",
        "1e400",
        "null",
        "true",
        "\"request_id\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"",
        " ",
        "\u{feff}",
    ];
    vec(prop::sample::select(pieces.to_vec()), 0..60)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_message_of_the_plugin_survives_the_round_trip(message in from_unity()) {
        prop_assert_eq!(decode(encode(&message).as_bytes()), Ok(message));
    }

    #[test]
    fn any_message_of_the_server_survives_the_round_trip(message in to_unity()) {
        prop_assert_eq!(encoded_len(&message), encode(&message).len());
        prop_assert_eq!(decode(encode(&message).as_bytes()), Ok(message));
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error_of_bounded_length(
        bytes in prop_oneof![vec(any::<u8>(), 0..600), json_like()],
    ) {
        let length = |error: DecodeError| error.to_string().chars().count();
        prop_assert!(decode::<FromUnity>(&bytes).map_or_else(length, |_| 0) < 2_200);
        prop_assert!(decode::<ToUnity>(&bytes).map_or_else(length, |_| 0) < 2_200);
    }

    #[test]
    fn any_truncation_of_a_message_is_an_error(message in from_unity(), cut in 0.0..1.0f64) {
        let frame = encode(&message);
        let end = (frame.len() as f64 * cut) as usize;
        prop_assert!(decode::<FromUnity>(&frame.as_bytes()[..end]).is_err());
    }

    #[test]
    fn any_byte_changed_in_a_message_does_no_harm(
        message in from_unity(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut frame = encode(&message).into_bytes();
        let at = at.index(frame.len());
        frame[at] = byte;
        let _either = decode::<FromUnity>(&frame);
    }

    #[test]
    fn any_json_object_with_a_known_type_is_a_message_or_an_error(
        fields in object(), kind in prop::sample::select(FromUnity::TYPES),
    ) {
        let Json::Object(mut fields) = fields else { unreachable!() };
        fields.insert("type".to_owned(), kind.into());
        fields.insert("protocol_version".to_owned(), 1.into());
        let _either = decode::<FromUnity>(Json::Object(fields).to_string().as_bytes());
    }

    #[test]
    fn any_nesting_is_refused_beyond_the_limit_without_a_deep_stack(
        depth in 0usize..300_000, open in prop::sample::select(vec!["[", "{\"a\":"]),
    ) {
        let frame = open.repeat(depth);
        prop_assert!(decode::<FromUnity>(frame.as_bytes()).is_err());
    }
}

#[test]
fn the_limit_of_nesting_is_the_parsers_and_lies_between_127_and_128() {
    let nested = |depth: usize| {
        format!(
            r#"{{"type":"pong","protocol_version":1,"x":{}{}}}"#,
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    };
    assert_eq!(decode(nested(127).as_bytes()), Ok(FromUnity::Pong(Pong::default())));
    let refused = decode::<FromUnity>(nested(128).as_bytes()).unwrap_err();
    assert!(refused.to_string().contains("recursion limit"), "{refused}");
}

#[test]
fn a_frame_of_many_keys_is_decoded_in_time_that_grows_with_its_length() {
    let keys = |count: usize| {
        let fields: Vec<String> = (0..count).map(|key| format!("\"k{key}\":0")).collect();
        format!(r#"{{"type":"pong","protocol_version":1,{}}}"#, fields.join(","))
    };
    let time = |frame: &str| {
        let runs = (0..20).map(|_| {
            let begin = std::time::Instant::now();
            assert!(decode::<FromUnity>(frame.as_bytes()).is_ok());
            begin.elapsed()
        });
        runs.min().unwrap() // Other processes slow a run down; the fastest one is the truest.
    };
    let (small, large) = (keys(5_000), keys(80_000));
    let ratio = time(&large).as_secs_f64() / time(&small).as_secs_f64();
    assert!(ratio < 16.0 * 8.0, "16 times the keys cost {ratio:.0} times the work");
}
