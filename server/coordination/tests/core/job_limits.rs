//! SPEC 7.4: a job at its limit, its last question, and the calls that wait for it; and the limit of its name.

use super::check::check;

#[test]
fn at_its_limit_a_job_is_asked_once_more_and_may_still_have_ended() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 500 unity 1 get_job_status req-t-2 u1
        501 wait
        510 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded"}
        -> 510 note JobChanged { job: job-t-1, state: Succeeded }
        520 call 2 get_job_status {"job_id":"job-t-1"}
        -> 520 call 2 ok job-t-1 Succeeded
    "#,
    );
}

#[test]
fn a_job_that_still_runs_at_its_limit_ends_in_timeout_and_is_cancelled_in_unity() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 500 unity 1 get_job_status req-t-2 u1
        510 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"running"}
        -> 510 note JobChanged { job: job-t-1, state: Timeout }
        -> 510 unity 1 cancel req-t-3 u1
        520 call 2 get_job_status {"job_id":"job-t-1"}
        530 unity 1 cancel_result {"request_id":"req-t-3","status":"cancel_requested"}
        -> 530 call 2 ok job-t-1 Timeout error=(ERR_REQUEST_TIMEOUT unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn a_job_whose_last_question_is_not_answered_ends_in_timeout() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 500 unity 1 get_job_status req-t-2 u1
        5499 call 2 get_editor_state
        -> 5499 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=Some("req-t-2 get_job_status 4999ms") plugin=Some("1.0.0") job-t-1 run_tests Running since 0
        -> 5500 note QuestionUnanswered { request_id: RequestId("req-t-2") }
        -> 5500 note JobChanged { job: job-t-1, state: Timeout }
        -> 5500 unity 1 cancel req-t-4 u1
        5501 call 3 get_job_status {"job_id":"job-t-1"}
    "#,
    );
}

#[test]
fn a_job_whose_last_question_finds_no_place_in_the_lane_ends_in_timeout() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 call 2 read_console
        -> 20 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 5500 note JobChanged { job: job-t-1, state: Timeout }
        5501 console 1 req-t-2
        -> 5501 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 5501 unity 1 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn a_job_at_its_limit_without_unity_ends_in_timeout_at_once_and_the_cancel_is_kept() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 close 1
        -> 20 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 500 note JobChanged { job: job-t-1, state: Timeout }
        501 call 2 get_job_status {"job_id":"job-t-1"}
        -> 501 call 2 ok job-t-1 Timeout error=(ERR_REQUEST_TIMEOUT unknown final inspect_then_retry)
        600 ready 2
        -> 600 unity 2 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn whoever_asks_about_a_job_that_ends_meanwhile_is_told_so_at_once() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":5000}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=5000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        900 call 2 get_job_status {"job_id":"job-t-1","timeout_ms":10000}
        -> 900 unity 1 get_job_status req-t-2 u1
        10000 tick
        -> 10000 note JobChanged { job: job-t-1, state: Timeout }
        -> 10000 call 2 ok job-t-1 Timeout error=(ERR_REQUEST_TIMEOUT unknown final inspect_then_retry)
        10100 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded"}
        -> 10100 unity 1 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn a_short_question_of_an_agent_is_not_the_last_question_of_a_job() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        490 call 2 read_console
        -> 490 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        495 call 3 get_job_status {"job_id":"job-t-1","timeout_ms":1}
        510 console 1 req-t-2
        -> 510 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 510 unity 1 get_job_status req-t-3 u1
        -> 511 note QuestionUnanswered { request_id: RequestId("req-t-3") }
        -> 511 call 3 ERR_REQUEST_TIMEOUT unknown final inspect_then_retry
        -> 511 unity 1 get_job_status req-t-4 u1
        512 tick
        515 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"succeeded"}
        -> 515 note JobChanged { job: job-t-1, state: Succeeded }
    "#,
    );
}

#[test]
fn a_question_from_before_the_limit_is_not_the_last_question_of_a_job() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        490 call 2 get_job_status {"job_id":"job-t-1"}
        -> 490 unity 1 get_job_status req-t-2 u1
        510 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"running"}
        -> 510 call 2 ok job-t-1 Running
        -> 510 unity 1 get_job_status req-t-3 u1
        520 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        -> 520 note JobChanged { job: job-t-1, state: Timeout }
        -> 520 unity 1 cancel req-t-4 u1
    "#,
    );
}

#[test]
fn the_end_of_one_job_tells_nothing_to_whoever_asks_about_another() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        11 call 2 run_tests
        -> 11 call 2 ok accepted job-t-2 Queued
        -> 11 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 11 note JobChanged { job: job-t-2, state: Running }
        12 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u2"}
        490 call 3 get_job_status {"job_id":"job-t-2","timeout_ms":10000}
        -> 490 unity 1 get_job_status req-t-3 u2
        -> 5500 note JobChanged { job: job-t-1, state: Timeout }
        6000 unity 1 job_status {"request_id":"req-t-3","job_id":"u2","state":"running"}
        -> 6000 call 3 ok job-t-2 Running
        -> 6000 unity 1 cancel req-t-4 u1
    "#,
    );
}

#[test]
fn a_name_of_a_job_that_is_too_long_to_be_kept_is_nonsense() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}
        20 call 2 run_tests
        -> 20 call 2 ok accepted job-t-2 Queued
        -> 20 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 20 note JobChanged { job: job-t-2, state: Running }
        30 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}
        -> 30 note BadAnswer { request_id: RequestId("req-t-2"), problem: "its job_id is too long" }
        -> 30 note JobChanged { job: job-t-2, state: Failed }
        40 call 3 get_job_status {"job_id":"job-t-2"}
        -> 40 call 3 ok job-t-2 Failed error=(ERR_INVALID_RESPONSE unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn a_late_acceptance_under_such_a_name_is_not_kept_either() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":100}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=100
        -> 0 note JobChanged { job: job-t-1, state: Running }
        -> 100 note JobChanged { job: job-t-1, state: Timeout }
        101 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"}
        -> 101 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 101 note AnswerDropped { request_id: RequestId("req-t-1") }
        102 call 2 read_console
        -> 102 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}
