//! SPEC 13.6: a call that repeats the `client_request_id` of a job is attached to that job.

use crate::check::check;

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
fn a_job_that_starts_after_its_caller_left_is_cancelled_with_the_last_that_repeats_it() {
    check(
        r#"
        catalog 1.1
        0 compiling 1
        0 call 1 run_tests {"client_request_id":"x","wait_ms":5000}
        0 call 2 run_tests {"client_request_id":"x","wait_ms":5000}
        1 cancel 1
        2 unity 1 editor_status {"state":"ready","seq":1}
        -> 2 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 2 note JobChanged { job: job-t-1, state: Running }
        3 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
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
        -> 4 call 3 ERR_JOB_NOT_FOUND unknown final inspect_then_retry
    "#,
    );
}

#[test]
fn a_repeated_call_gets_its_job_while_the_server_stops() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 stop
        -> 2 unity 1 close 1001 the server is stopping
        3 call 2 run_tests {"client_request_id":"x","wait_ms":60000}
        -> 3 call 2 ok replayed accepted job-t-1 Running
    "#,
    );
}

#[test]
fn an_id_of_a_job_that_the_book_knows_for_something_else_can_still_be_settled() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b"}
        0 call 1 run_tests {"client_request_id":"x","filter":"B"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all","filter":"B"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_INVALID_REQUEST","message":"used before"}}
        -> 1 note JobChanged { job: job-t-1, state: Failed }
        2 call 2 run_tests {"client_request_id":"x"}
        -> 2 call 2 ok accepted job-t-2 Queued
        -> 2 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=x
        -> 2 note JobChanged { job: job-t-2, state: Running }
    "#,
    );
}

#[test]
fn a_promised_cancel_is_sent_though_the_run_is_repeated() {
    check(
        r#"
        catalog 1.1
        limit reconnect_wait 500
        limit heartbeat_interval 3600000
        0 ready 1 {"request_book":"b"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 call 2 cancel_job {"job_id":"job-t-1"}
        -> 1 call 2 ok job-t-1 CancelRequested
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        502 tick
        -> 502 note JobChanged { job: job-t-1, state: Failed }
        600 call 3 run_tests {"client_request_id":"x"}
        1100 tick
        -> 1100 call 3 ok replayed job-t-1 Failed error=(ERR_RECONNECT_TIMEOUT unknown final inspect_then_retry) cancel=requested
        2000 ready 2 {"request_book":"b"}
        -> 2000 unity 2 cancel req-t-4 submission req-t-1
        2001 call 4 run_tests {"client_request_id":"x"}
        -> 2001 call 4 ok accepted job-t-2 Queued
    "#,
    );
}
