//! SPEC 13.6: a call that repeats a `client_request_id` is the same call.

use crate::check::{check, trace};

#[test]
fn every_call_of_catalogue_1_0_is_a_new_one() {
    check(
        r#"
        0 ready 1 {"request_book":"b"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 run_tests {"client_request_id":"x"}
        -> 2 call 2 ok accepted job-t-2 Queued
        -> 2 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=x
        -> 2 note JobChanged { job: job-t-2, state: Running }
        3 call 3 open_scene {"client_request_id":"y","path":"A"}
        -> invalid ERR_UNKNOWN_COMMAND not_executed final fix_the_call
    "#,
    );
}

#[test]
fn open_scene_needs_a_client_request_id() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"path":"A"}
        -> invalid ERR_INVALID_REQUEST not_executed final fix_the_call
    "#,
    );
}

#[test]
fn a_ping_is_measured_by_the_server() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 ping
        -> 0 unity 1 execute req-t-1 ping {} timeout=5000
        7 unity 1 result {"request_id":"req-t-1","status":"ok","result":{}}
        -> 7 call 1 ok {"round_trip_ms":7.0}
    "#,
    );
}

#[test]
fn a_repeated_call_waits_for_the_answer_of_the_first() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 call 2 open_scene {"client_request_id":"x","path":"A","additive":false,"timeout_ms":50}
        2 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 2 call 1 ok {"path":"A"}
        -> 2 call 2 ok replayed {"path":"A"}
    "#,
    );
}

#[test]
fn a_repeated_call_gets_the_answer_again() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 1 call 1 ok {"path":"A"}
        2 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 2 call 2 ok replayed {"path":"A"}
        3 call 3 open_scene {"client_request_id":"y","path":"A"}
        -> 3 unity 1 execute req-t-3 open_scene {"path":"A","additive":false} timeout=30000 client=y
        4 unity 1 result {"request_id":"req-t-3","status":"error","error":{"code":"ERR_UNITY_EXECUTION","message":"A has unsaved changes."}}
        -> 4 call 3 ERR_UNITY_EXECUTION completed_error final inspect_then_retry unity=ERR_UNITY_EXECUTION
        5 call 4 open_scene {"client_request_id":"y","path":"A"}
        -> 5 call 4 ERR_UNITY_EXECUTION completed_error final inspect_then_retry unity=ERR_UNITY_EXECUTION replayed
    "#,
    );
}

#[test]
fn an_id_that_was_used_for_another_call_is_rejected() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 call 2 open_scene {"client_request_id":"x","path":"B"}
        -> 1 call 2 ERR_INVALID_REQUEST not_executed final fix_the_call
        2 call 3 run_tests {"client_request_id":"x"}
        -> 2 call 3 ERR_INVALID_REQUEST not_executed final fix_the_call
        3 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 3 call 1 ok {"path":"A"}
        4 call 4 open_scene {"client_request_id":"x","path":"A","additive":true}
        -> 4 call 4 ERR_INVALID_REQUEST not_executed final fix_the_call
    "#,
    );
}

#[test]
fn a_repeated_call_that_did_not_run_runs() {
    check(
        r#"
        catalog 1.1
        limit reconnect_wait 100
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        100 wait
        -> 100 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        200 ready 1
        201 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 201 unity 1 execute req-t-2 open_scene {"path":"A","additive":false} timeout=30000 client=x
        202 unity 1 error {"request_id":"req-t-2","error":{"code":"ERR_INVALID_PARAMS","message":"no"}}
        -> 202 call 2 ERR_INVALID_PARAMS not_executed final fix_the_call unity=ERR_INVALID_PARAMS
        203 call 3 open_scene {"client_request_id":"x","path":"A"}
        -> 203 unity 1 execute req-t-3 open_scene {"path":"A","additive":false} timeout=30000 client=x
    "#,
    );
}

#[test]
fn a_call_that_was_cancelled_before_it_was_sent_is_forgotten() {
    check(
        r#"
        catalog 1.1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        1 cancel 1
        -> 1 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: Some("x"), job: None } }
        2 ready 1
        3 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 3 unity 1 execute req-t-2 open_scene {"path":"A","additive":false} timeout=30000 client=x
    "#,
    );
}

#[test]
fn a_call_whose_caller_left_goes_on_for_those_that_repeat_it() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 call 2 open_scene {"client_request_id":"x","path":"A"}
        2 cancel 1
        3 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 3 call 2 ok replayed {"path":"A"}
    "#,
    );
}

#[test]
fn a_call_that_nobody_wants_any_more_keeps_the_lane() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 call 2 open_scene {"client_request_id":"x","path":"A"}
        2 cancel 1
        3 cancel 2
        -> 3 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: Some("x"), job: None } }
        -> 3 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: Some("x"), job: None } }
        4 call 3 get_editor_state
        -> 4 call 3 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=Some(Unresponsive) queue=0 running=Some("req-t-1 open_scene 4ms overdue") plugin=Some("1.0.0") None
        5 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 5 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 5 note AnswerDropped { request_id: RequestId("req-t-1") }
        6 call 4 open_scene {"client_request_id":"x","path":"A"}
        -> 6 call 4 ERR_REQUEST_TIMEOUT unknown final inspect_then_retry replayed
    "#,
    );
}

#[test]
fn an_unknown_outcome_is_settled_if_the_plugin_has_the_same_book() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 call 1 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry
        3 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 3 unity 2 execute req-t-2 open_scene {"path":"A","additive":false} timeout=30000 client=x
        4 unity 2 result {"request_id":"req-t-2","status":"ok","result":{"path":"A"}}
        -> 4 call 2 ok {"path":"A"}
        5 call 3 open_scene {"client_request_id":"x","path":"A"}
        -> 5 call 3 ok replayed {"path":"A"}
    "#,
    );
}

#[test]
fn an_unknown_outcome_stays_unknown_if_the_book_is_another() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"c","plugin_session_id":"s2"}
        -> 2 call 1 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry
        3 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 3 call 2 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed
        4 close 2
        -> 4 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        5 ready 3 {"request_book":"b","plugin_session_id":"s3"}
        6 call 3 open_scene {"client_request_id":"x","path":"A"}
        -> 6 unity 3 execute req-t-3 open_scene {"path":"A","additive":false} timeout=30000 client=x
    "#,
    );
}

#[test]
fn an_unknown_outcome_stays_unknown_without_a_book() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"plugin_session_id":"s1"}
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"plugin_session_id":"s2"}
        -> 2 call 1 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry
        3 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 3 call 2 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed
    "#,
    );
}

#[test]
fn an_attempt_to_settle_that_is_not_sent_says_unknown_again() {
    check(
        r#"
        catalog 1.1
        limit reconnect_wait 100
        0 ready 1 {"request_book":"b"}
        0 call 1 open_scene {"client_request_id":"x","path":"A","timeout_ms":10}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=10 client=x
        -> 10 call 1 ERR_REQUEST_TIMEOUT unknown final inspect_then_retry
        20 close 1
        -> 20 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        30 call 2 open_scene {"client_request_id":"x","path":"A"}
        130 wait
        -> 130 call 2 ERR_REQUEST_TIMEOUT unknown final inspect_then_retry replayed
        200 ready 2 {"request_book":"b"}
        201 call 3 open_scene {"client_request_id":"x","path":"A"}
        -> 201 unity 2 execute req-t-3 open_scene {"path":"A","additive":false} timeout=30000 client=x
    "#,
    );
}

#[test]
fn the_oldest_id_is_forgotten_beyond_the_limit() {
    check(
        r#"
        catalog 1.1
        limit repeats_max 1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 1 call 1 ok {"path":"A"}
        2 call 2 open_scene {"client_request_id":"y","path":"A"}
        -> 2 unity 1 execute req-t-2 open_scene {"path":"A","additive":false} timeout=30000 client=y
        3 unity 1 result {"request_id":"req-t-2","status":"ok","result":{"path":"A"}}
        -> 3 call 2 ok {"path":"A"}
        4 call 3 open_scene {"client_request_id":"y","path":"A"}
        -> 4 call 3 ok replayed {"path":"A"}
        5 call 4 open_scene {"client_request_id":"x","path":"A"}
        -> 5 unity 1 execute req-t-4 open_scene {"path":"A","additive":false} timeout=30000 client=x
    "#,
    );
}

#[test]
fn repeated_calls_that_wait_have_a_limit() {
    check(
        r#"
        catalog 1.1
        limit queue_max 1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 call 2 open_scene {"client_request_id":"x","path":"A"}
        2 call 3 open_scene {"client_request_id":"x","path":"A"}
        -> 2 call 3 ERR_QUEUE_FULL unknown final inspect_then_retry
    "#,
    );
}

#[test]
fn the_last_1024_ids_are_kept() {
    let run = |calls: usize| {
        let mut script = "catalog 1.1\n0 ready 1\n".to_owned();
        for call in 1..=calls {
            script += &format!(
                "{call} call {call} open_scene {{\"client_request_id\":\"x{call}\",\"path\":\"A\"}}\n"
            );
            script += &format!(
                "{call} unity 1 result {{\"request_id\":\"req-t-{call}\",\"status\":\"ok\",\"result\":{{\"path\":\"A\"}}}}\n"
            );
        }
        script += "9999 call 9999 open_scene {\"client_request_id\":\"x1\",\"path\":\"A\"}\n";
        trace(&script).lines().last().unwrap().trim().to_owned()
    };
    assert_eq!(run(1_024), r#"-> 9999 call 9999 ok replayed {"path":"A"}"#);
    assert!(run(1_025).contains("unity 1 execute req-t-1026 open_scene"));
}

#[test]
fn a_scene_can_be_opened_beside_the_others() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A","additive":true}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":true} timeout=30000 client=x
    "#,
    );
}

#[test]
fn a_tool_that_the_plugin_does_not_list_is_not_sent() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        1 unity 1 capability {"tools":[]}
        2 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 2 call 1 ERR_UNKNOWN_COMMAND not_executed final fix_the_call
        3 call 2 script_recompile_trigger
        -> 3 call 2 ERR_UNKNOWN_COMMAND not_executed final fix_the_call
        4 call 3 ping
        -> 4 call 3 ERR_UNKNOWN_COMMAND not_executed final fix_the_call
    "#,
    );
}
