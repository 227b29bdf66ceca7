//! SPEC 13: catalogue 1.1. A repeated `client_request_id` is the same call, and tests do not run old code.

use crate::check::check;

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
fn a_repeated_test_run_is_the_same_job() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 run_tests {"client_request_id":"x"}
        -> 2 call 2 ok replayed accepted job-t-1 Running
        3 call 3 run_tests {"client_request_id":"x","wait_ms":5000}
        -> 1001 unity 1 get_job_status req-t-4 u1
        1002 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"succeeded","result":{"summary":{"total":1,"passed":1,"failed":0,"skipped":0,"duration_ms":1},"failed_tests":[]}}
        -> 1002 note JobChanged { job: job-t-1, state: Succeeded }
        -> 1002 call 3 ok replayed job-t-1 Succeeded result={"summary":{"total":1,"passed":1,"failed":0,"skipped":0,"duration_ms":1},"failed_tests":[]}
        1003 call 4 run_tests {"client_request_id":"x"}
        -> 1003 call 4 ok replayed job-t-1 Succeeded result={"summary":{"total":1,"passed":1,"failed":0,"skipped":0,"duration_ms":1},"failed_tests":[]}
    "#,
    );
}

#[test]
fn a_waiting_test_run_and_its_repetition_become_one_job() {
    check(
        r#"
        catalog 1.1
        0 compiling 1
        0 call 1 run_tests {"client_request_id":"x"}
        1 call 2 run_tests {"client_request_id":"x","wait_ms":100}
        2 unity 1 editor_status {"state":"ready","seq":1}
        -> 2 call 1 ok accepted job-t-1 Queued
        -> 2 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 2 note JobChanged { job: job-t-1, state: Running }
        -> 101 call 2 ok replayed accepted job-t-1 Running
        102 wait
    "#,
    );
}

#[test]
fn the_job_of_a_caller_that_left_goes_on_for_one_that_repeats_it() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 run_tests {"client_request_id":"x","wait_ms":5000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 run_tests {"client_request_id":"x","wait_ms":5000}
        3 cancel 1
        -> 3 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: Some("x"), job: Some(job-t-1) } }
        4 call 3 run_tests {"client_request_id":"x"}
        -> 4 call 3 ok replayed accepted job-t-1 Running
        5 cancel 2
        -> 5 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: Some("x"), job: Some(job-t-1) } }
    "#,
    );
}

#[test]
fn a_job_that_nobody_knows_and_nobody_waits_for_is_cancelled() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 run_tests {"client_request_id":"x","wait_ms":5000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 run_tests {"client_request_id":"x","wait_ms":5000}
        3 cancel 1
        -> 3 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: Some("x"), job: Some(job-t-1) } }
        4 cancel 2
        -> 4 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: Some("x"), job: Some(job-t-1) } }
        -> 4 unity 1 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn a_job_whose_outcome_is_unknown_is_settled_by_the_book() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 run_tests {"client_request_id":"x"}
        -> 3 call 2 ok accepted job-t-2 Queued
        -> 3 unity 2 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=x
        -> 3 note JobChanged { job: job-t-2, state: Running }
        4 unity 2 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        5 call 3 run_tests {"client_request_id":"x"}
        -> 5 call 3 ok replayed accepted job-t-2 Running
    "#,
    );
}

#[test]
fn a_job_whose_outcome_is_unknown_stays_so_with_another_book() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"c","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 run_tests {"client_request_id":"x"}
        -> 3 call 2 ok replayed job-t-1 Failed error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn a_job_that_was_cancelled_before_it_was_sent_is_forgotten() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests {"client_request_id":"x"}
        -> 1 call 2 ok accepted job-t-1 Queued
        2 call 3 cancel_job {"job_id":"job-t-1"}
        -> 2 note JobChanged { job: job-t-1, state: Cancelled }
        -> 2 call 3 ok job-t-1 Cancelled
        3 call 4 run_tests {"client_request_id":"x"}
        -> 3 call 4 ok accepted job-t-2 Queued
    "#,
    );
}

#[test]
fn a_job_that_is_not_kept_any_more_does_not_run_again() {
    check(
        r#"
        catalog 1.1
        limit jobs_kept_max 1
        0 ready 1
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_UNITY_EXECUTION","message":"dirty"}}
        -> 1 note JobChanged { job: job-t-1, state: Failed }
        2 call 2 run_tests {"client_request_id":"y"}
        -> 2 call 2 ok accepted job-t-2 Queued
        -> 2 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=y
        -> 2 note JobChanged { job: job-t-2, state: Running }
        3 unity 1 error {"request_id":"req-t-2","error":{"code":"ERR_UNITY_EXECUTION","message":"dirty"}}
        -> 3 note JobChanged { job: job-t-2, state: Failed }
        4 call 3 run_tests {"client_request_id":"x"}
        -> 4 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call
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
        -> 2 call 3 ERR_QUEUE_FULL not_executed retryable retry
    "#,
    );
}

#[test]
fn tests_do_not_run_old_code() {
    check(
        r#"
        catalog 1.1
        show messages
        0 ready 1 {"last_compile":{"outcome":"failed","errors":2,"warnings":0,"ended_ms_ago":500}}
        1 call 1 run_tests
        -> 1 call 1 ERR_EDITOR_NOT_READY not_executed final inspect_then_retry "The scripts do not compile (errors: 2), so Unity would test old code, and the call did not run; read the errors with script_recompile_trigger or read_console, fix them and compile, then call again."
        2 call 2 get_editor_state
        -> 2 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0") Some(CompileReport { outcome: Failed, errors: 2, ended_ago: 502ms })
        3 call 3 read_console
        -> 3 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 editor_status {"state":"ready","seq":1,"last_compile":{"outcome":"succeeded","errors":0,"warnings":3,"ended_ms_ago":0}}
        5 call 4 run_tests
        -> 5 call 4 ok accepted job-t-1 Queued
        6 unity 1 editor_status {"state":"ready","seq":1,"last_compile":{"outcome":"failed","errors":9,"warnings":0,"ended_ms_ago":0}}
        -> 6 note StaleStatus { seq: 1 }
        7 call 5 get_editor_state
        -> 7 call 5 ok server=Ready editor=Some(Ready) connected=true seq=Some(1) waiting=None queue=1 running=Some("req-t-3 read_console 4ms") plugin=Some("1.0.0") Some(CompileReport { outcome: Succeeded, errors: 0, ended_ago: 3ms }) job-t-1 run_tests Queued since 5
    "#,
    );
}

#[test]
fn a_queued_test_run_is_not_sent_after_a_compile_that_failed() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 unity 1 editor_status {"state":"ready","seq":1,"last_compile":{"outcome":"failed","errors":2,"warnings":0,"ended_ms_ago":0}}
        3 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"entries":[],"count":0,"truncated":false}}
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 3 note JobChanged { job: job-t-1, state: Failed }
        4 call 3 get_job_status {"job_id":"job-t-1"}
        -> 4 call 3 ok job-t-1 Failed error=(ERR_EDITOR_NOT_READY not_executed final inspect_then_retry)
    "#,
    );
}

#[test]
fn catalogue_1_0_tests_whatever_was_compiled() {
    check(
        r#"
        0 ready 1 {"last_compile":{"outcome":"failed","errors":2,"warnings":0,"ended_ms_ago":500}}
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 call 2 get_editor_state
        -> 2 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=Some("req-t-1 run_tests 1ms") plugin=Some("1.0.0") job-t-1 run_tests Running since 1
    "#,
    );
}

#[test]
fn a_compile_is_a_job_that_cannot_be_cancelled_in_unity() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"plugin_session_id":"s1"}
        0 call 1 script_recompile_trigger {"wait_ms":5000}
        -> 0 unity 1 submit_job req-t-1 script_recompile_trigger {} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 unity 1 editor_status {"state":"compiling","seq":1}
        4 unity 1 editor_status {"state":"reloading","seq":2}
        5 close 1
        -> 5 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        6 ready 2 {"plugin_session_id":"s2"}
        -> 6 unity 2 get_job_status req-t-3 u1
        7 unity 2 job_status {"request_id":"req-t-3","job_id":"u1","state":"succeeded","result":{"outcome":"compiled","reloaded":true,"errors":[],"warnings":1,"duration_ms":6}}
        -> 7 note JobChanged { job: job-t-1, state: Succeeded }
        -> 7 call 1 ok job-t-1 Succeeded result={"outcome":"compiled","reloaded":true,"errors":[],"warnings":1,"duration_ms":6} cancel=requested
    "#,
    );
}

#[test]
fn a_compile_that_fails_is_a_failed_job_whatever_unity_says() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 script_recompile_trigger {"wait_ms":5000}
        -> 0 unity 1 submit_job req-t-1 script_recompile_trigger {} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 1001 unity 1 get_job_status req-t-2 u1
        1002 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded","result":{"outcome":"failed","reloaded":false,"errors":[{"message":"m","file":"A.cs","line":3}],"warnings":0,"duration_ms":6}}
        -> 1002 note JobChanged { job: job-t-1, state: Failed }
        -> 1002 call 1 ok job-t-1 Failed result={"outcome":"failed","reloaded":false,"errors":[{"file":"A.cs","line":3,"message":"m"}],"warnings":0,"duration_ms":6} error=(ERR_UNITY_EXECUTION completed_error retryable inspect_then_retry)
    "#,
    );
}
