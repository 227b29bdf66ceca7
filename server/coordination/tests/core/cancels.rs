//! SPEC 7.7: cancel_job in each state of the job.

use super::check::check;

#[test]
fn a_queued_job_is_cancelled_and_never_sent() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-1 Queued
        3 call 3 cancel_job {"job_id":"job-t-1"}
        -> 3 note JobChanged { job: job-t-1, state: Cancelled }
        -> 3 call 3 ok job-t-1 Cancelled
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        5 call 4 get_job_status {"job_id":"job-t-1"}
        -> 5 call 4 ok job-t-1 Cancelled
    "#,
    );
}

#[test]
fn the_cancel_of_a_running_job_is_answered_at_once_and_sent_in_its_turn() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 read_console
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 call 3 read_console
        5 call 4 cancel_job {"job_id":"job-t-1"}
        -> 5 call 4 ok job-t-1 CancelRequested
        6 console 1 req-t-2
        -> 6 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 6 unity 1 cancel req-t-5 u1
        7 unity 1 cancel_result {"request_id":"req-t-5","status":"cancel_requested"}
        -> 7 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        8 console 1 req-t-3
        -> 8 call 3 ok {"count":0,"truncated":false,"entries":[]}
        -> 8 unity 1 get_job_status req-t-6 u1
        9 unity 1 job_status {"request_id":"req-t-6","job_id":"u1","state":"cancelled"}
        -> 9 note JobChanged { job: job-t-1, state: Cancelled }
        10 call 5 get_job_status {"job_id":"job-t-1"}
        -> 10 call 5 ok job-t-1 Cancelled cancel=requested
    "#,
    );
}

#[test]
fn a_job_that_is_being_submitted_is_running_and_its_cancel_follows_the_acceptance() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 3 unity 1 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn a_running_job_that_unity_cancels_at_once_is_cancelled() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 call 3 cancel_job {"job_id":"job-t-1"}
        -> 4 call 3 ok job-t-1 CancelRequested
        5 unity 1 cancel_result {"request_id":"req-t-3","status":"cancelled"}
        -> 5 note JobChanged { job: job-t-1, state: Cancelled }
        6 call 4 get_job_status {"job_id":"job-t-1"}
        -> 6 call 4 ok job-t-1 Cancelled cancel=requested
        7 call 5 cancel_job {"job_id":"job-t-1"}
        -> 7 call 5 ok job-t-1 Rejected
    "#,
    );
}

#[test]
fn a_refused_cancel_shows_in_the_status_and_another_may_be_tried() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 unity 1 cancel_result {"request_id":"req-t-3","status":"rejected"}
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 unity 1 get_job_status req-t-4 u1
        6 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"running"}
        -> 6 call 3 ok job-t-1 Running cancel=rejected(ERR_CANCEL_REJECTED unknown final none)
        7 call 4 cancel_job {"job_id":"job-t-1"}
        -> 7 call 4 ok job-t-1 CancelRequested
        -> 7 unity 1 cancel req-t-6 u1
        8 unity 1 error {"request_id":"req-t-6","error":{"code":"ERR_CANCEL_NOT_SUPPORTED","message":"no"}}
        9 call 5 get_job_status {"job_id":"job-t-1"}
        -> 9 unity 1 get_job_status req-t-7 u1
        10 unity 1 job_status {"request_id":"req-t-7","job_id":"u1","state":"succeeded"}
        -> 10 note JobChanged { job: job-t-1, state: Succeeded }
        -> 10 call 5 ok job-t-1 Succeeded cancel=rejected(ERR_CANCEL_REJECTED unknown final none unity=ERR_CANCEL_NOT_SUPPORTED)
    "#,
    );
}

#[test]
fn a_cancel_shows_as_requested_until_unity_has_spoken() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 call 3 get_job_status {"job_id":"job-t-1"}
        -> 1004 call 3 ok job-t-1 Running cancel=requested
        -> 5003 note QuestionUnanswered { request_id: RequestId("req-t-3") }
        -> 5003 unity 1 get_job_status req-t-5 u1
        5004 tick
        5005 unity 1 job_status {"request_id":"req-t-5","job_id":"u1","state":"running"}
    "#,
    );
}

#[test]
fn a_cancel_is_kept_while_unity_is_away_and_sent_after_the_reconnect() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 close 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        4 call 2 cancel_job {"job_id":"job-t-1"}
        -> 4 call 2 ok job-t-1 CancelRequested
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 call 3 ok job-t-1 Running cancel=requested
        6 compiling 2
        -> 6 unity 2 cancel req-t-4 u1
        7 unity 2 cancel_result {"request_id":"req-t-4","status":"cancelled"}
        -> 7 note JobChanged { job: job-t-1, state: Cancelled }
    "#,
    );
}

#[test]
fn a_cancel_that_was_sent_is_not_sent_again_after_a_reconnect() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 close 1
        -> 4 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        5 ready 2
        -> 5 unity 2 get_job_status req-t-4 u1
    "#,
    );
}

#[test]
fn a_cancel_for_a_job_that_unity_does_not_know_is_settled_by_asking() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 unity 1 error {"request_id":"req-t-3","error":{"code":"ERR_JOB_NOT_FOUND","message":"u1?"}}
        -> 4 unity 1 get_job_status req-t-4 u1
        5 unity 1 error {"request_id":"req-t-4","error":{"code":"ERR_JOB_NOT_FOUND","message":"u1?"}}
        -> 5 note JobChanged { job: job-t-1, state: Failed }
    "#,
    );
}

#[test]
fn a_cancel_answered_with_nonsense_changes_nothing() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 console 1 req-t-3
        -> 4 note BadAnswer { request_id: RequestId("req-t-3"), problem: "result does not answer cancel_job" }
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 unity 1 get_job_status req-t-4 u1
        6 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"running"}
        -> 6 call 3 ok job-t-1 Running cancel=requested
        7 call 4 run_tests
        -> 7 call 4 ok accepted job-t-2 Queued
        -> 7 unity 1 submit_job req-t-5 run_tests {"mode":"all"} timeout=300000
        -> 7 note JobChanged { job: job-t-2, state: Running }
        8 unity 1 submit_job_result {"request_id":"req-t-5","status":"accepted","job_id":"u2"}
        9 call 5 cancel_job {"job_id":"job-t-2"}
        -> 9 call 5 ok job-t-2 CancelRequested
        -> 9 unity 1 cancel req-t-7 u2
        10 unity 1 cancel_result {"request_id":"req-t-7","status":"eh"}
        -> 10 note BadAnswer { request_id: RequestId("req-t-7"), problem: "the message has a bad field: cancel_result: unknown variant `eh`, expected one of `cancelled`, `cancel_requested`, `rejected`" }
    "#,
    );
}

#[test]
fn only_a_job_can_be_cancelled() {
    check(
        r#"
        show messages
        0 ready 1
        1 call 1 cancel_job {"job_id":"req-t-1"}
        -> 1 call 1 ERR_CANCEL_NOT_SUPPORTED not_executed final fix_the_call "Only jobs can be cancelled, so nothing was cancelled; use the job_id of a job."
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ERR_JOB_NOT_FOUND not_executed final fix_the_call "There is no such job; use a job_id that this server gave since it started, or start the job again."
        3 call 3 cancel_job {"job_id":"whatever"}
        -> 3 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call "There is no such job; use a job_id that this server gave since it started, or start the job again."
    "#,
    );
}

#[test]
fn a_job_that_timed_out_while_its_cancel_was_with_unity_stays_timed_out() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 unity 1 editor_status {"state":"compiling","seq":1}
        400 call 2 cancel_job {"job_id":"job-t-1"}
        -> 400 call 2 ok job-t-1 CancelRequested
        -> 400 unity 1 cancel req-t-3 u1
        -> 500 note JobChanged { job: job-t-1, state: Timeout }
        600 unity 1 cancel_result {"request_id":"req-t-3","status":"cancelled"}
        700 call 3 get_job_status {"job_id":"job-t-1"}
        -> 700 call 3 ok job-t-1 Timeout error=(ERR_REQUEST_TIMEOUT unknown final inspect_then_retry) cancel=requested
    "#,
    );
}

#[test]
fn a_cancel_that_was_never_answered_may_be_tried_again_and_is_sent_at_the_limit() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":20000}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=20000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        5003 tick
        -> 5003 note QuestionUnanswered { request_id: RequestId("req-t-3") }
        -> 5003 unity 1 get_job_status req-t-4 u1
        5004 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"running"}
        5005 call 3 cancel_job {"job_id":"job-t-1"}
        -> 5005 call 3 ok job-t-1 CancelRequested
        -> 5005 unity 1 cancel req-t-6 u1
        5006 close 1
        -> 5006 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        5007 ready 2
        -> 5007 unity 2 get_job_status req-t-7 u1
        5008 unity 2 job_status {"request_id":"req-t-7","job_id":"u1","state":"running"}
        5009 unity 2 editor_status {"state":"compiling","seq":1}
        20000 tick
        -> 20000 note JobChanged { job: job-t-1, state: Timeout }
        -> 20000 unity 2 cancel req-t-8 u1
    "#,
    );
}

#[test]
fn a_cancel_that_is_kept_outlives_the_window_of_its_job() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 call 2 cancel_job {"job_id":"job-t-1"}
        -> 200 call 2 ok job-t-1 CancelRequested
        -> 60100 note JobChanged { job: job-t-1, state: Failed }
        60200 ready 2
        -> 60200 unity 2 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn a_cancel_that_came_back_unsent_still_belongs_to_its_job() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        -> 2 unity 1 cancel req-t-3 u1
        3 notsent 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 3 unity 1 close 1001 the socket does not take frames
        4 close 1
        5 ready 2
        -> 5 unity 2 cancel req-t-4 u1
        6 unity 2 cancel_result {"request_id":"req-t-4","status":"rejected"}
        -> 6 unity 2 get_job_status req-t-5 u1
        7 unity 2 job_status {"request_id":"req-t-5","job_id":"u1","state":"running"}
        8 call 3 get_job_status {"job_id":"job-t-1"}
        -> 8 unity 2 get_job_status req-t-6 u1
        9 unity 2 job_status {"request_id":"req-t-6","job_id":"u1","state":"running"}
        -> 9 call 3 ok job-t-1 Running cancel=rejected(ERR_CANCEL_REJECTED unknown final none)
    "#,
    );
}

#[test]
fn a_cancel_of_a_running_job_is_answered_at_once_though_the_lane_is_taken() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 read_console
        -> 2 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        3 call 3 cancel_job {"job_id":"job-t-1"}
        -> 3 call 3 ok job-t-1 CancelRequested
        4 call 4 cancel_job {"job_id":"job-t-9"}
        -> 4 call 4 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        5 call 5 cancel_job {"job_id":"req-t-1"}
        -> 5 call 5 ERR_CANCEL_NOT_SUPPORTED not_executed final fix_the_call
        6 console 1 req-t-2
        -> 6 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 6 unity 1 cancel req-t-6 u1
    "#,
    );
}

#[test]
fn a_cancel_names_the_submission_if_its_acceptance_was_lost_with_the_session() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 ready 2 {"plugin_session_id":"s"}
        -> 3 unity 2 cancel req-t-3 submission req-t-1
        4 unity 2 cancel_result {"request_id":"req-t-3","status":"cancel_requested"}
        5 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        6 call 3 get_job_status {"job_id":"job-t-1"}
        -> 6 unity 2 get_job_status req-t-4 u1
    "#,
    );
}

#[test]
fn a_submission_that_unity_cancels_by_its_name_frees_the_lane() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests {"wait_ms":20000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 cancel 1
        -> 2 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: Some(job-t-1) } }
        3 ready 2 {"plugin_session_id":"s"}
        -> 3 unity 2 cancel req-t-2 submission req-t-1
        4 unity 2 cancel_result {"request_id":"req-t-2","status":"cancelled"}
        -> 4 note JobChanged { job: job-t-1, state: Cancelled }
        5 call 2 read_console
        -> 5 unity 2 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_submission_that_unity_does_not_know_is_a_failed_job() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests {"wait_ms":20000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 ready 2 {"plugin_session_id":"s"}
        -> 3 unity 2 cancel req-t-3 submission req-t-1
        4 unity 2 error {"request_id":"req-t-3","error":{"code":"ERR_JOB_NOT_FOUND","message":"m"}}
        -> 4 note JobChanged { job: job-t-1, state: Failed }
        -> 4 call 1 ok job-t-1 Failed error=(ERR_JOB_NOT_FOUND unknown final inspect_then_retry unity=ERR_JOB_NOT_FOUND) cancel=requested
        5 call 3 read_console
        -> 5 unity 2 execute req-t-4 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_refused_or_odd_answer_to_a_cancel_of_a_submission_changes_nothing_else() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 ready 2 {"plugin_session_id":"s"}
        -> 3 unity 2 cancel req-t-3 submission req-t-1
        4 unity 2 cancel_result {"request_id":"req-t-3","status":"rejected"}
        5 call 3 cancel_job {"job_id":"job-t-1"}
        -> 5 call 3 ok job-t-1 CancelRequested
        -> 5 unity 2 cancel req-t-5 submission req-t-1
        6 unity 2 error {"request_id":"req-t-5","error":{"code":"X","message":"m"}}
        7 call 4 cancel_job {"job_id":"job-t-1"}
        -> 7 call 4 ok job-t-1 CancelRequested
        -> 7 unity 2 cancel req-t-7 submission req-t-1
        8 console 2 req-t-7
        -> 8 note BadAnswer { request_id: RequestId("req-t-7"), problem: "result does not answer cancel_job" }
        9 call 5 cancel_job {"job_id":"job-t-1"}
        -> 9 call 5 ok job-t-1 CancelRequested
        -> 9 unity 2 cancel req-t-9 submission req-t-1
        10 unity 2 cancel_result {"request_id":"req-t-9","status":"eh"}
        -> 10 note BadFrame { on: ConnectionId(2), problem: "the message has a bad field: cancel_result: unknown variant `eh`, expected one of `cancelled`, `cancel_requested`, `rejected`" }
        -> 10 unity 2 error about req-t-9 ERR_INVALID_REQUEST: the message has a bad field: cancel_result: unknown variant `eh`, expected one of `cancelled`, `cancel_requested`, `rejected`
        11 close 2
        -> 11 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        12 call 6 cancel_job {"job_id":"job-t-1"}
        -> 12 call 6 ok job-t-1 CancelRequested
        13 ready 3 {"plugin_session_id":"s"}
        -> 13 unity 3 cancel req-t-11 submission req-t-1
    "#,
    );
}

#[test]
fn a_promised_cancel_follows_a_submission_that_was_given_up() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 call 2 cancel_job {"job_id":"job-t-1"}
        -> 1 call 2 ok job-t-1 CancelRequested
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2502 wait
        -> 2502 note JobChanged { job: job-t-1, state: Failed }
        3000 ready 2 {"plugin_session_id":"s"}
        -> 3000 unity 2 cancel req-t-3 submission req-t-1
        3001 unity 2 cancel_result {"request_id":"req-t-3","status":"cancel_requested"}
    "#,
    );
}

#[test]
fn a_cancel_that_names_a_submission_and_was_not_sent_is_owed_again() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 ready 2 {"plugin_session_id":"s"}
        -> 3 unity 2 cancel req-t-3 submission req-t-1
        4 notsent 2
        -> 4 note SessionEnded { on: ConnectionId(2), why: NotWritable }
        -> 4 unity 2 close 1001 the socket does not take frames
        5 close 2
        6 ready 3 {"plugin_session_id":"s"}
        -> 6 unity 3 cancel req-t-4 submission req-t-1
    "#,
    );
}

#[test]
fn the_cancel_of_a_submission_goes_before_the_cancel_of_another_job() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests {"timeout_ms":2000}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=2000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-2 Queued
        -> 2 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 2 note JobChanged { job: job-t-2, state: Running }
        3 close 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        4 call 3 cancel_job {"job_id":"job-t-2"}
        -> 4 call 3 ok job-t-2 CancelRequested
        -> 2000 note JobChanged { job: job-t-1, state: Timeout }
        -> 2503 note JobChanged { job: job-t-2, state: Failed }
        2600 ready 2 {"plugin_session_id":"s"}
        -> 2600 unity 2 cancel req-t-4 submission req-t-2
    "#,
    );
}

#[test]
fn a_cancel_names_a_submission_that_was_given_up_and_is_still_at_work() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests {"timeout_ms":2000}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=2000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 call 2 cancel_job {"job_id":"job-t-1"}
        -> 1 call 2 ok job-t-1 CancelRequested
        -> 2000 note JobChanged { job: job-t-1, state: Timeout }
        2001 close 1
        -> 2001 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2002 ready 2 {"plugin_session_id":"s","running_request_id":"req-t-1"}
        -> 2002 unity 2 cancel req-t-3 submission req-t-1
        2003 notsent 2
        -> 2003 note SessionEnded { on: ConnectionId(2), why: NotWritable }
        -> 2003 unity 2 close 1001 the socket does not take frames
        2004 close 2
        2005 ready 3 {"plugin_session_id":"s","running_request_id":"req-t-1"}
        -> 2005 unity 3 cancel req-t-4 submission req-t-1
        2006 unity 3 cancel_result {"request_id":"req-t-4","status":"cancelled"}
        2007 call 3 get_editor_state
        -> 2007 call 3 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=Some(Unresponsive) queue=0 running=Some("req-t-1 run_tests 2007ms overdue") plugin=Some("1.0.0") job-t-1 run_tests Timeout since 0
        2008 unity 3 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 2008 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 2008 note LateAcceptance { request_id: RequestId("req-t-1") }
        -> 2008 unity 3 cancel req-t-6 u1
    "#,
    );
}
