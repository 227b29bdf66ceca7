//! SPEC 5.2: how many may wait.

use super::check::check;

#[test]
fn one_call_more_than_the_queue_holds_is_refused_at_once() {
    check(
        r#"
        show messages
        limit queue_max 2
        0 compiling 1
        1 call 1 read_console
        2 call 2 run_tests
        3 call 3 read_console
        -> 3 call 3 ERR_QUEUE_FULL not_executed retryable retry "2 calls are already waiting, so this one did not run; call again when some of them have finished."
        4 call 4 run_tests
        -> 4 call 4 ERR_QUEUE_FULL not_executed retryable retry "2 calls are already waiting, so this one did not run; call again when some of them have finished."
        5 call 5 get_editor_state
        -> 5 call 5 ok server=Ready editor=Some(Compiling) connected=true seq=Some(0) waiting=Some(Compiling) queue=2 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn the_call_that_is_running_takes_no_place() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 read_console
        3 call 3 read_console
        -> 3 call 3 ERR_QUEUE_FULL not_executed retryable retry
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 4 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 call 4 read_console
    "#,
    );
}

#[test]
fn a_queued_job_takes_a_place_until_it_is_submitted() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-1 Queued
        3 call 3 read_console
        -> 3 call 3 ERR_QUEUE_FULL not_executed retryable retry
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 4 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 4 note JobChanged { job: job-t-1, state: Running }
        5 call 4 read_console
    "#,
    );
}

#[test]
fn a_full_queue_never_keeps_a_cancel_out_and_control_calls_have_their_own_bound() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-1 Queued
        3 call 3 read_console
        -> 3 call 3 ERR_QUEUE_FULL not_executed retryable retry
        4 call 4 cancel_job {"job_id":"job-t-1"}
        -> 4 note JobChanged { job: job-t-1, state: Cancelled }
        -> 4 call 4 ok job-t-1 Cancelled
        5 call 5 cancel_job {"job_id":"job-t-1"}
        -> 5 call 5 ok job-t-1 Rejected
        5 call 7 cancel_job {"job_id":"job-t-1"}
        -> 5 call 7 ok job-t-1 Rejected
        6 console 1 req-t-1
        -> 6 call 1 ok {"count":0,"truncated":false,"entries":[]}
        7 call 6 cancel_job {"job_id":"job-t-1"}
        -> 7 call 6 ok job-t-1 Rejected
    "#,
    );
}

#[test]
fn status_calls_that_wait_for_news_never_keep_a_cancel_out() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 get_job_status {"job_id":"job-t-1","wait_ms":100}
        -> 3 unity 1 get_job_status req-t-3 u1
        4 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        5 call 3 get_job_status {"job_id":"job-t-1","wait_ms":100}
        -> 5 unity 1 get_job_status req-t-4 u1
        6 call 4 cancel_job {"job_id":"job-t-1"}
        -> 6 call 4 ok job-t-1 CancelRequested
        7 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"running"}
        -> 7 call 3 ok job-t-1 Running cancel=requested
        -> 7 unity 1 cancel req-t-6 u1
    "#,
    );
}

#[test]
fn polls_of_the_server_take_no_place() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        900 call 2 read_console
        -> 900 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1100 call 3 read_console
        1200 call 4 get_job_status {"job_id":"job-t-1"}
        1300 console 1 req-t-2
        -> 1300 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 1300 unity 1 get_job_status req-t-5 u1
    "#,
    );
}

#[test]
fn a_job_more_than_may_live_at_once_is_refused() {
    check(
        r#"
        show messages
        limit jobs_active_max 1
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 run_tests
        -> 3 call 2 ERR_QUEUE_FULL not_executed retryable retry "1 jobs are already queued or running, so this one did not start; wait for one of them to end, then call again."
    "#,
    );
}

#[test]
fn jobs_that_wait_together_for_the_editor_are_accepted_only_as_far_as_there_is_room() {
    check(
        r#"
        limit jobs_active_max 1
        0 compiling 1
        1 call 1 run_tests
        2 call 2 run_tests
        3 unity 1 editor_status {"state":"ready","seq":1}
        -> 3 call 1 ok accepted job-t-1 Queued
        -> 3 call 2 ERR_QUEUE_FULL not_executed retryable retry
        -> 3 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 3 note JobChanged { job: job-t-1, state: Running }
    "#,
    );
}

#[test]
fn a_call_is_not_queued_behind_others_for_ever() {
    check(
        r#"
        show messages
        limit queue_wait_max 15000
        0 ready 1
        0 call 1 read_console {"timeout_ms":30000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=30000
        1 call 2 read_console
        2 call 3 read_console
        14999 console 1 req-t-1
        -> 14999 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 14999 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 15002 call 3 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy "Unity was busy with other calls for 15 s, so the call did not run; call again when they have finished."
        16000 wait
    "#,
    );
}

#[test]
fn the_time_in_the_queue_begins_when_the_editor_is_ready() {
    check(
        r#"
        limit queue_wait_max 1000
        0 compiling 1
        0 call 1 read_console
        1 call 2 read_console
        50000 unity 1 editor_status {"state":"ready","seq":1}
        -> 50000 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 51000 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy
        51001 wait
    "#,
    );
}

#[test]
fn a_cancel_has_room_in_a_full_queue() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 read_console
        -> 2 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        3 call 3 read_console
        4 call 4 get_job_status {"job_id":"job-t-1"}
        5 call 5 get_job_status {"job_id":"job-t-1"}
        -> 5 call 5 ERR_QUEUE_FULL not_executed retryable retry
        6 call 6 cancel_job {"job_id":"job-t-1"}
        -> 6 call 6 ok job-t-1 CancelRequested
        7 call 7 get_editor_state
        -> 7 call 7 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=1 running=Some("req-t-2 read_console 5ms") plugin=Some("1.0.0") job-t-1 run_tests Running since 0
    "#,
    );
}
