//! SPEC 6.4 and 6.6, where another Editor has come: it knows neither calls nor jobs of the one before.

use super::check::check;

#[test]
fn another_editor_cannot_know_the_call_either() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a"}
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        100 ready 2 {"editor_instance_id":"b"}
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        -> 600 note SessionEnded { on: ConnectionId(1), why: ProbeUnanswered }
        -> 600 unity 1 close 1000 did not answer while another Editor asked
        -> 600 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
        601 wait
    "#,
    );
}

#[test]
fn another_editor_is_not_asked_about_the_jobs_of_the_one_before() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        -> 2 unity 1 get_job_status req-t-3 u1
        3 close 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        4 ready 2 {"editor_instance_id":"b"}
        -> 4 note JobChanged { job: job-t-1, state: Failed }
        -> 4 call 2 ok job-t-1 Failed error=(ERR_JOB_NOT_FOUND unknown final inspect_then_retry)
        5 call 3 run_tests
        -> 5 call 3 ok accepted job-t-2 Queued
        -> 5 unity 2 submit_job req-t-4 run_tests {"mode":"all"} timeout=300000
        -> 5 note JobChanged { job: job-t-2, state: Running }
        6 unity 2 submit_job_result {"request_id":"req-t-4","status":"accepted","job_id":"u1"}
        7 call 4 get_job_status {"job_id":"job-t-1"}
        -> 7 call 4 ok job-t-1 Failed error=(ERR_JOB_NOT_FOUND unknown final inspect_then_retry)
        8 call 5 cancel_job {"job_id":"job-t-1"}
        -> 8 call 5 ok job-t-1 Rejected
    "#,
    );
}

#[test]
fn a_name_that_unity_gives_to_a_new_job_means_that_the_old_one_is_gone() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3 compiling 2
        4 call 2 run_tests {"wait_ms":60000}
        5 unity 2 editor_status {"state":"ready","seq":1}
        -> 5 unity 2 get_job_status req-t-3 u1
        7 call 3 get_job_status {"job_id":"job-t-1"}
        8 unity 2 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        -> 8 unity 2 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 8 note JobChanged { job: job-t-2, state: Running }
        9 unity 2 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        -> 9 note JobChanged { job: job-t-1, state: Failed }
        -> 9 call 3 ok job-t-1 Failed error=(ERR_JOB_NOT_FOUND unknown final inspect_then_retry)
        10 wait
    "#,
    );
}

#[test]
fn another_editor_is_not_asked_to_cancel_what_the_one_before_may_still_run() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a"}
        0 call 1 run_tests {"timeout_ms":100}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=100
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        50 close 1
        -> 50 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        100 wait
        -> 100 note JobChanged { job: job-t-1, state: Timeout }
        200 ready 2 {"editor_instance_id":"b"}
        300 wait
    "#,
    );
}

#[test]
fn a_cancel_owed_to_a_job_of_another_editor_does_not_end_a_new_one_of_that_name() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":100}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=100
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        50 call 2 run_tests
        -> 50 call 2 ok accepted job-t-2 Queued
        -> 50 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 50 note JobChanged { job: job-t-2, state: Running }
        -> 5100 note JobChanged { job: job-t-1, state: Timeout }
        6000 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        6001 wait
    "#,
    );
}
