//! SPEC 7.5 and 7.6: what is known of a job, and who waits for it.

use super::check::check;

#[test]
fn a_status_of_another_job_or_of_the_wrong_kind_is_a_bad_answer_and_the_job_goes_on() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        40 call 2 get_job_status {"job_id":"job-t-1"}
        -> 40 unity 1 get_job_status req-t-2 u1
        41 unity 1 job_status {"request_id":"req-t-2","job_id":"u9","state":"succeeded"}
        -> 41 note BadAnswer { request_id: RequestId("req-t-2"), problem: "it names another job" }
        -> 41 call 2 ERR_INVALID_RESPONSE unknown final inspect_then_retry
        50 call 3 get_job_status {"job_id":"job-t-1"}
        -> 50 unity 1 get_job_status req-t-3 u1
        51 console 1 req-t-3
        -> 51 note BadAnswer { request_id: RequestId("req-t-3"), problem: "result does not answer get_job_status" }
        -> 51 call 3 ERR_INVALID_RESPONSE unknown final inspect_then_retry
        60 call 4 get_job_status {"job_id":"job-t-1"}
        -> 60 unity 1 get_job_status req-t-4 u1
        61 unity 1 job_status {"request_id":"req-t-4","state":"succeeded"}
        -> 61 note BadAnswer { request_id: RequestId("req-t-4"), problem: "the message has a bad field: job_status: missing field `job_id`" }
        -> 61 call 4 ERR_INVALID_RESPONSE unknown final inspect_then_retry
        70 call 5 get_job_status {"job_id":"job-t-1"}
        -> 70 unity 1 get_job_status req-t-5 u1
        71 unity 1 error {"request_id":"req-t-5","error":{"code":"ERR_EDITOR_NOT_READY","message":"busy"}}
        -> 71 call 5 ERR_EDITOR_NOT_READY unknown final inspect_then_retry unity=ERR_EDITOR_NOT_READY
        1071 wait
    "#,
    );
}

#[test]
fn without_a_ready_editor_the_last_known_state_is_given() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 unity 1 editor_status {"state":"compiling","seq":1}
        30 call 2 get_job_status {"job_id":"job-t-1"}
        -> 30 call 2 ok job-t-1 Running
        5000 unity 1 editor_status {"state":"ready","seq":2}
        -> 5000 unity 1 get_job_status req-t-3 u1
    "#,
    );
}

#[test]
fn a_status_call_that_waits_returns_when_the_state_changes() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 unity 1 editor_status {"state":"compiling","seq":1}
        3 console 1 req-t-1
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
        4 call 3 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        5 unity 1 editor_status {"state":"ready","seq":2}
        -> 5 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 5 note JobChanged { job: job-t-1, state: Running }
        -> 5 call 3 ok job-t-1 Running
        6 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        7 call 4 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        -> 7 unity 1 get_job_status req-t-5 u1
        8 unity 1 job_status {"request_id":"req-t-5","job_id":"u1","state":"running"}
        1008 tick
        -> 1008 unity 1 get_job_status req-t-6 u1
        1009 unity 1 job_status {"request_id":"req-t-6","job_id":"u1","state":"succeeded"}
        -> 1009 note JobChanged { job: job-t-1, state: Succeeded }
        -> 1009 call 4 ok job-t-1 Succeeded
        1010 call 5 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        -> 1010 call 5 ok job-t-1 Succeeded
    "#,
    );
}

#[test]
fn a_status_call_that_waits_returns_when_its_time_is_over() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 call 2 get_job_status {"job_id":"job-t-1","wait_ms":100}
        -> 20 unity 1 get_job_status req-t-3 u1
        30 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running","progress":{"done":1,"total":2}}
        119 call 3 get_editor_state
        -> 119 call 3 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0") job-t-1 run_tests Running since 0
        -> 120 call 2 ok job-t-1 Running 1/2
        121 wait
    "#,
    );
}

#[test]
fn a_status_call_whose_wait_passed_in_the_line_is_answered_afresh() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 call 2 read_console
        -> 20 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        30 call 3 get_job_status {"job_id":"job-t-1","wait_ms":100}
        500 console 1 req-t-2
        -> 500 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 500 unity 1 get_job_status req-t-3 u1
    "#,
    );
}

#[test]
fn a_run_that_waits_is_answered_with_the_finished_job() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"wait_ms":60000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 1010 unity 1 get_job_status req-t-2 u1
        1020 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded"}
        -> 1020 note JobChanged { job: job-t-1, state: Succeeded }
        -> 1020 call 1 ok job-t-1 Succeeded
    "#,
    );
}

#[test]
fn a_run_whose_wait_is_too_short_is_answered_with_its_job_id() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"wait_ms":500}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 500 call 1 ok accepted job-t-1 Running
        501 wait
    "#,
    );
}

#[test]
fn a_run_that_waits_behind_a_compile_longer_than_it_wanted_gets_its_job_id_at_once() {
    check(
        r#"
        0 compiling 1
        0 call 1 run_tests {"wait_ms":500}
        5000 unity 1 editor_status {"state":"ready","seq":1}
        -> 5000 call 1 ok accepted job-t-1 Queued
        -> 5000 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 5000 note JobChanged { job: job-t-1, state: Running }
    "#,
    );
}

#[test]
fn an_unknown_or_malformed_job_id_is_not_found() {
    check(
        r#"
        0 ready 1
        1 call 1 get_job_status {"job_id":"job-t-1"}
        -> 1 call 1 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        2 call 2 get_job_status {"job_id":"job-other-1"}
        -> 2 call 2 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        3 call 3 get_job_status {"job_id":""}
        -> 3 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        4 call 4 get_job_status {"job_id":"req-t-1"}
        -> 4 call 4 ERR_JOB_NOT_FOUND not_executed final fix_the_call
    "#,
    );
}

#[test]
fn a_status_call_that_waits_hears_of_a_change_that_came_while_it_was_in_line() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 call 3 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        5 console 1 req-t-1
        -> 5 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 5 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 5 note JobChanged { job: job-t-1, state: Running }
        6 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        -> 6 call 3 ok job-t-1 Running
    "#,
    );
}

#[test]
fn a_run_that_waits_is_told_when_its_queued_job_fails() {
    check(
        r#"
        limit compile_grace 3000
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests {"wait_ms":60000}
        2 unity 1 editor_status {"state":"compiling","seq":1}
        3 console 1 req-t-1
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 3002 note JobChanged { job: job-t-1, state: Failed }
        -> 3002 call 2 ok job-t-1 Failed error=(ERR_COMPILE_TIMEOUT not_executed retryable wait_for_editor waiting=compiling)
        3003 wait
    "#,
    );
}

#[test]
fn one_that_does_not_wait_is_told_what_unity_says_now_though_the_job_changed_while_it_stood_in_line()
 {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        0 call 2 run_tests
        -> 0 call 2 ok accepted job-t-1 Queued
        0 call 3 get_job_status {"job_id":"job-t-1"}
        0 console 1 req-t-1
        -> 0 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 0 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        0 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        -> 0 unity 1 get_job_status req-t-3 u1
        1 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running","progress":{"done":1,"total":2}}
        -> 1 call 3 ok job-t-1 Running 1/2
    "#,
    );
}

#[test]
fn whoever_has_waited_leaves_room_for_the_next() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 get_job_status {"job_id":"job-t-1","wait_ms":10}
        -> 2 unity 1 get_job_status req-t-3 u1
        3 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        -> 12 call 2 ok job-t-1 Running
        20 call 3 get_job_status {"job_id":"job-t-1","wait_ms":10}
        -> 20 unity 1 get_job_status req-t-5 u1
        21 unity 1 job_status {"request_id":"req-t-5","job_id":"u1","state":"running"}
        -> 30 call 3 ok job-t-1 Running
        40 wait
    "#,
    );
}
