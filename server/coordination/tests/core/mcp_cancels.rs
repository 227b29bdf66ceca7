//! SPEC 7.8 and 10: the agent cancels its call, or its adapter fails.

use super::check::check;

#[test]
fn a_waiting_or_queued_call_that_is_cancelled_is_never_sent_and_never_answered() {
    check(
        r#"
        0 compiling 1
        1 call 1 read_console
        2 call 2 read_console
        3 cancel 1
        -> 3 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: None } }
        4 unity 1 editor_status {"state":"ready","seq":1}
        -> 4 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 call 3 read_console
        6 cancel 3
        -> 6 note CallCancelled { call: CallId(3), names: RequestNames { request_id: RequestId("req-t-3"), client_request_id: None, job: None } }
        7 console 1 req-t-2
        -> 7 call 2 ok {"count":0,"truncated":false,"entries":[]}
        8 call 4 get_editor_state
        -> 8 call 4 ok server=Ready editor=Some(Ready) connected=true seq=Some(1) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn the_answer_to_a_cancelled_running_call_is_discarded_and_the_lane_kept_until_then() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 cancel 1
        -> 2 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: None } }
        3 call 2 read_console
        4 call 3 get_editor_state
        -> 4 call 3 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=Some(Unresponsive) queue=1 running=Some("req-t-1 read_console 3ms overdue") plugin=Some("1.0.0")
        5 console 1 req-t-1
        -> 5 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 5 note AnswerDropped { request_id: RequestId("req-t-1") }
        -> 5 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_cancelled_run_that_waits_for_the_editor_issues_no_job() {
    check(
        r#"
        0 compiling 1
        1 call 1 run_tests
        2 cancel 1
        -> 2 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: None } }
        3 unity 1 editor_status {"state":"ready","seq":1}
    "#,
    );
}

#[test]
fn a_cancelled_run_that_waits_for_its_queued_job_withdraws_it() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests {"wait_ms":60000}
        3 cancel 2
        -> 3 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: None, job: Some(job-t-1) } }
        -> 3 note JobChanged { job: job-t-1, state: Cancelled }
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 call 3 ok job-t-1 Cancelled
    "#,
    );
}

#[test]
fn a_cancelled_run_that_waits_for_its_running_job_has_it_cancelled_in_unity() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests {"wait_ms":60000}
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 cancel 1
        -> 2 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: Some(job-t-1) } }
        3 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 3 unity 1 cancel req-t-2 u1
        4 unity 1 cancel_result {"request_id":"req-t-2","status":"cancelled"}
        -> 4 note JobChanged { job: job-t-1, state: Cancelled }
    "#,
    );
}

#[test]
fn a_cancelled_status_call_leaves_the_job_alone() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 get_job_status {"job_id":"job-t-1","wait_ms":1000}
        -> 3 unity 1 get_job_status req-t-3 u1
        4 cancel 2
        -> 4 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: None, job: Some(job-t-1) } }
        5 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        6 call 3 get_job_status {"job_id":"job-t-1"}
        -> 6 unity 1 get_job_status req-t-4 u1
        7 cancel 3
        -> 7 note CallCancelled { call: CallId(3), names: RequestNames { request_id: RequestId("req-t-4"), client_request_id: None, job: None } }
        8 call 4 get_job_status {"job_id":"job-t-1"}
        9 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"succeeded"}
        -> 9 note JobChanged { job: job-t-1, state: Succeeded }
        -> 9 call 4 ok job-t-1 Succeeded
    "#,
    );
}

#[test]
fn a_cancel_after_the_answer_or_of_nobody_does_nothing() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 console 1 req-t-1
        -> 2 call 1 ok {"count":0,"truncated":false,"entries":[]}
        3 cancel 1
        4 cancel 7
    "#,
    );
}

#[test]
fn a_call_whose_adapter_breaks_is_told_what_is_true() {
    check(
        r#"
        show messages
        0 compiling 1
        1 call 1 read_console
        2 broke 1
        -> 2 call 1 ERR_UNITY_EXECUTION not_executed retryable retry "The server failed before it sent the call to Unity, so the call did not run; call again."
        3 unity 1 editor_status {"state":"ready","seq":1}
        4 call 2 read_console
        -> 4 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 broke 2
        -> 5 call 2 ERR_INVALID_RESPONSE unknown retryable retry "The server failed while Unity had the call, so it is unknown whether the call ran; it is safe to call again."
        6 call 3 read_console
        7 console 1 req-t-2
        -> 7 note LaneFreed { request_id: RequestId("req-t-2") }
        -> 7 note AnswerDropped { request_id: RequestId("req-t-2") }
        -> 7 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        8 console 1 req-t-3
        -> 8 call 3 ok {"count":0,"truncated":false,"entries":[]}
        9 call 4 run_tests {"wait_ms":60000}
        -> 9 unity 1 submit_job req-t-4 run_tests {"mode":"all"} timeout=300000
        -> 9 note JobChanged { job: job-t-1, state: Running }
        10 broke 4
        -> 10 call 4 ERR_INVALID_RESPONSE unknown final inspect_then_retry "The server failed while Unity had the call, so it is unknown whether the call ran; check what has changed before you call again."
        11 unity 1 submit_job_result {"request_id":"req-t-4","status":"accepted","job_id":"u1"}
        -> 11 unity 1 cancel req-t-5 u1
        12 unity 1 cancel_result {"request_id":"req-t-5","status":"rejected"}
        13 call 5 get_job_status {"job_id":"job-t-1"}
        -> 13 unity 1 get_job_status req-t-6 u1
        14 broke 5
        -> 14 call 5 ERR_INVALID_RESPONSE unknown final inspect_then_retry "The server failed while Unity had the call, so it is unknown whether the call ran; check what has changed before you call again."
        15 unity 1 job_status {"request_id":"req-t-6","job_id":"u1","state":"running"}
        16 call 6 get_job_status {"job_id":"job-t-1","wait_ms":1000}
        -> 16 unity 1 get_job_status req-t-8 u1
        17 broke 6
        -> 17 call 6 ERR_UNITY_EXECUTION not_executed retryable retry "The server failed before it sent the call to Unity, so the call did not run; call again."
        18 broke 99
    "#,
    );
}

#[test]
fn a_run_whose_adapter_breaks_while_its_job_is_queued_withdraws_the_job() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests {"wait_ms":60000}
        3 broke 2
        -> 3 call 2 ERR_UNITY_EXECUTION not_executed retryable retry
        -> 3 note JobChanged { job: job-t-1, state: Cancelled }
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_cancelled_run_whose_frame_comes_back_unsent_is_never_sent() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"wait_ms":60000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 cancel 1
        -> 1 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: Some(job-t-1) } }
        2 notsent 1
        -> 2 note JobChanged { job: job-t-1, state: Cancelled }
        -> 2 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 2 unity 1 close 1001 the socket does not take frames
        3 ready 2
    "#,
    );
}

#[test]
fn a_stuck_call_that_was_taken_back_ends_the_session_counted_from_its_own_timeout() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        100 cancel 1
        -> 100 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: None } }
        60999 call 2 get_editor_state
        -> 60999 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=Some(Unresponsive) queue=0 running=Some("req-t-1 read_console 60999ms overdue") plugin=Some("1.0.0")
        -> 61000 note SessionEnded { on: ConnectionId(1), why: Stuck }
        -> 61000 unity 1 close 4408 a request has not been finished in time
        61001 wait
    "#,
    );
}

#[test]
fn one_that_stops_waiting_for_a_job_leaves_the_others_waiting() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        -> 2 unity 1 get_job_status req-t-3 u1
        3 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        4 call 3 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        -> 4 unity 1 get_job_status req-t-5 u1
        5 cancel 2
        -> 5 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: None, job: Some(job-t-1) } }
        6 unity 1 job_status {"request_id":"req-t-5","job_id":"u1","state":"cancelled"}
        -> 6 note JobChanged { job: job-t-1, state: Cancelled }
        -> 6 call 3 ok job-t-1 Cancelled
        7 wait
    "#,
    );
}

#[test]
fn one_that_asked_about_a_job_and_left_is_not_answered() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2 unity 1 get_job_status req-t-2 u1
        3 cancel 2
        -> 3 note CallCancelled { call: CallId(2), names: RequestNames { request_id: RequestId("req-t-2"), client_request_id: None, job: None } }
        4 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"running"}
        5 wait
    "#,
    );
}
