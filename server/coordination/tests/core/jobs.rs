//! SPEC 7.1 to 7.4 and 7.9: the life of a job.

use super::check::check;

#[test]
fn a_job_is_accepted_at_once_and_submitted_in_its_turn() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests {"mode":"edit","filter":"Jump","timeout_ms":60000,"client_request_id":"a.b:c-d_1"}
        -> 2 call 2 ok accepted job-t-1 Queued
        3 call 3 read_console
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 4 unity 1 submit_job req-t-2 run_tests {"mode":"edit","filter":"Jump"} timeout=60000 client=a.b:c-d_1
        -> 4 note JobChanged { job: job-t-1, state: Running }
        5 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        -> 5 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6 console 1 req-t-3
        -> 6 call 3 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn no_job_is_issued_while_the_editor_is_not_ready() {
    check(
        r#"
        0 compiling 1
        1 call 1 run_tests
        2 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2 call 2 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        60001 call 3 get_job_status {"job_id":"job-t-1"}
        -> 60001 call 1 ERR_COMPILE_TIMEOUT not_executed retryable wait_for_editor waiting=compiling
        -> 60001 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        60002 unity 1 editor_status {"state":"ready","seq":1}
        60003 call 4 run_tests
        -> 60003 call 4 ok accepted job-t-1 Queued
        -> 60003 unity 1 submit_job req-t-4 run_tests {"mode":"all"} timeout=300000
        -> 60003 note JobChanged { job: job-t-1, state: Running }
    "#,
    );
}

#[test]
fn a_submission_that_unity_refuses_is_a_failed_job_with_that_error() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_RECONFIG_IN_PROGRESS","message":"busy"}}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 get_job_status {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 Failed error=(ERR_RECONFIG_IN_PROGRESS not_executed retryable retry unity=ERR_RECONFIG_IN_PROGRESS)
        4 call 3 run_tests
        -> 4 call 3 ok accepted job-t-2 Queued
        -> 4 unity 1 submit_job req-t-3 run_tests {"mode":"all"} timeout=300000
        -> 4 note JobChanged { job: job-t-2, state: Running }
        5 unity 1 error {"request_id":"req-t-3","error":{"code":"ERR_EDITOR_NOT_READY","message":"busy"}}
        -> 5 note JobChanged { job: job-t-2, state: Failed }
        6 call 4 get_job_status {"job_id":"job-t-2"}
        -> 6 call 4 ok job-t-2 Failed error=(ERR_EDITOR_NOT_READY unknown final inspect_then_retry unity=ERR_EDITOR_NOT_READY)
    "#,
    );
}

#[test]
fn a_submission_answered_with_nonsense_is_a_failed_job() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 console 1 req-t-1
        -> 2 note BadAnswer { request_id: RequestId("req-t-1"), problem: "result does not answer run_tests" }
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 get_job_status {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 Failed error=(ERR_INVALID_RESPONSE unknown final inspect_then_retry)
        4 call 3 run_tests
        -> 4 call 3 ok accepted job-t-2 Queued
        -> 4 unity 1 submit_job req-t-3 run_tests {"mode":"all"} timeout=300000
        -> 4 note JobChanged { job: job-t-2, state: Running }
        5 unity 1 submit_job_result {"request_id":"req-t-3","status":"perhaps"}
        -> 5 note BadAnswer { request_id: RequestId("req-t-3"), problem: "the message has a bad field: submit_job_result: unknown variant `perhaps`, expected `accepted`" }
        -> 5 note JobChanged { job: job-t-2, state: Failed }
        6 call 4 get_job_status {"job_id":"job-t-2"}
        -> 6 call 4 ok job-t-2 Failed error=(ERR_INVALID_RESPONSE unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn an_acceptance_one_tick_before_the_submit_timeout_counts() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        29999 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        30000 call 2 get_job_status {"job_id":"job-t-1"}
        -> 30000 unity 1 get_job_status req-t-2 u1
    "#,
    );
}

#[test]
fn a_submission_that_is_not_answered_fails_and_its_late_acceptance_is_cancelled() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 call 2 read_console
        30000 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 30000 note JobChanged { job: job-t-1, state: Failed }
        -> 30000 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 30000 note LateAcceptance { request_id: RequestId("req-t-1") }
        -> 30000 unity 1 cancel req-t-3 u1
        30001 call 3 get_job_status {"job_id":"job-t-1"}
        30002 unity 1 cancel_result {"request_id":"req-t-3","status":"cancelled"}
        -> 30002 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_job_shorter_than_the_submit_timeout_gives_unity_no_longer_than_itself() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":100}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=100
        -> 0 note JobChanged { job: job-t-1, state: Running }
        100 call 2 get_job_status {"job_id":"job-t-1"}
        -> 100 note JobChanged { job: job-t-1, state: Timeout }
        -> 100 call 2 ok job-t-1 Timeout error=(ERR_REQUEST_TIMEOUT unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn a_late_acceptance_on_the_next_session_is_cancelled_too() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":100}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=100
        -> 0 note JobChanged { job: job-t-1, state: Running }
        -> 100 note JobChanged { job: job-t-1, state: Timeout }
        200 close 1
        -> 200 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        300 ready 2
        301 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 301 note LateAcceptance { request_id: RequestId("req-t-1") }
        -> 301 unity 2 cancel req-t-2 u1
        302 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 302 note AnswerDropped { request_id: RequestId("req-t-1") }
    "#,
    );
}

#[test]
fn a_running_job_is_asked_about_every_interval_and_ends_as_unity_says() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 1010 unity 1 get_job_status req-t-2 u1
        1020 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"queued","progress":null}
        -> 2020 unity 1 get_job_status req-t-3 u1
        2030 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"running","progress":{"done":1,"total":2}}
        2040 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2040 unity 1 get_job_status req-t-4 u1
        2041 unity 1 job_status {"request_id":"req-t-4","job_id":"u1","state":"failed","progress":{"done":2,"total":2},"result":{"summary":{"total":2,"passed":1,"failed":1,"skipped":0,"duration_ms":7},"failed_tests":[{"name":"A","message":"no","stack_trace":""}]}}
        -> 2041 note JobChanged { job: job-t-1, state: Failed }
        -> 2041 call 2 ok job-t-1 Failed 2/2 result={"summary":{"total":2,"passed":1,"failed":1,"skipped":0,"duration_ms":7},"failed_tests":[{"name":"A","message":"no"}]}
        9000 call 3 get_job_status {"job_id":"job-t-1"}
        -> 9000 call 3 ok job-t-1 Failed 2/2 result={"summary":{"total":2,"passed":1,"failed":1,"skipped":0,"duration_ms":7},"failed_tests":[{"name":"A","message":"no"}]}
    "#,
    );
}

#[test]
fn a_run_that_could_not_take_place_is_failed_with_unitys_error() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 1010 unity 1 get_job_status req-t-2 u1
        1020 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"failed","error":{"code":"BUILD","message":"broken"}}
        -> 1020 note JobChanged { job: job-t-1, state: Failed }
        1030 call 2 get_job_status {"job_id":"job-t-1"}
        -> 1030 call 2 ok job-t-1 Failed error=(ERR_UNITY_EXECUTION unknown final inspect_then_retry unity=BUILD)
    "#,
    );
}

#[test]
fn unity_may_report_any_end() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 call 2 run_tests
        -> 20 call 2 ok accepted job-t-2 Queued
        -> 20 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 20 note JobChanged { job: job-t-2, state: Running }
        30 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u2"}
        40 call 3 get_job_status {"job_id":"job-t-1"}
        -> 40 unity 1 get_job_status req-t-3 u1
        41 unity 1 job_status {"request_id":"req-t-3","job_id":"u1","state":"timeout"}
        -> 41 note JobChanged { job: job-t-1, state: Timeout }
        -> 41 call 3 ok job-t-1 Timeout error=(ERR_REQUEST_TIMEOUT unknown final inspect_then_retry)
        50 call 4 get_job_status {"job_id":"job-t-2"}
        -> 50 unity 1 get_job_status req-t-4 u2
        51 unity 1 job_status {"request_id":"req-t-4","job_id":"u2","state":"cancelled"}
        -> 51 note JobChanged { job: job-t-2, state: Cancelled }
        -> 51 call 4 ok job-t-2 Cancelled
    "#,
    );
}

#[test]
fn a_result_that_is_not_a_test_run_is_nonsense() {
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
        41 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded","result":{"summary":7}}
        -> 41 note BadAnswer { request_id: RequestId("req-t-2"), problem: "summary must be an object" }
        -> 41 note JobChanged { job: job-t-1, state: Failed }
        -> 41 call 2 ok job-t-1 Failed error=(ERR_INVALID_RESPONSE unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn only_the_last_finished_jobs_are_kept() {
    check(
        r#"
        limit jobs_kept_max 1
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 call 3 run_tests
        -> 2 call 3 ok accepted job-t-2 Queued
        3 call 4 run_tests
        -> 3 call 4 ok accepted job-t-3 Queued
        4 call 5 cancel_job {"job_id":"job-t-2"}
        -> 4 note JobChanged { job: job-t-2, state: Cancelled }
        -> 4 call 5 ok job-t-2 Cancelled
        4 call 6 cancel_job {"job_id":"job-t-1"}
        -> 4 note JobChanged { job: job-t-1, state: Cancelled }
        -> 4 call 6 ok job-t-1 Cancelled
        5 console 1 req-t-1
        -> 5 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 5 unity 1 submit_job req-t-4 run_tests {"mode":"all"} timeout=300000
        -> 5 note JobChanged { job: job-t-3, state: Running }
        6 call 7 get_job_status {"job_id":"job-t-2"}
        7 call 8 get_job_status {"job_id":"job-t-1"}
        8 unity 1 submit_job_result {"request_id":"req-t-4","status":"accepted","job_id":"u3"}
        -> 8 call 7 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        -> 8 call 8 ok job-t-1 Cancelled
    "#,
    );
}

#[test]
fn a_job_that_was_accepted_is_never_said_not_to_have_run() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 call 2 get_job_status {"job_id":"job-t-1"}
        -> 20 unity 1 get_job_status req-t-2 u1
        21 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"failed","error":{"code":"ERR_RECONFIG_IN_PROGRESS","message":"m"}}
        -> 21 note JobChanged { job: job-t-1, state: Failed }
        -> 21 call 2 ok job-t-1 Failed error=(ERR_RECONFIG_IN_PROGRESS unknown final inspect_then_retry unity=ERR_RECONFIG_IN_PROGRESS)
    "#,
    );
}

#[test]
fn a_submission_that_unity_accepts_after_nonsense_is_cancelled() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 console 1 req-t-1
        -> 1 note BadAnswer { request_id: RequestId("req-t-1"), problem: "result does not answer run_tests" }
        -> 1 note JobChanged { job: job-t-1, state: Failed }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 2 note LateAcceptance { request_id: RequestId("req-t-1") }
        -> 2 unity 1 cancel req-t-2 u1
    "#,
    );
}

#[test]
fn two_jobs_over_one_loss_are_asked_about_only_when_the_editor_is_ready() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-2 Queued
        -> 2 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 2 note JobChanged { job: job-t-2, state: Running }
        3 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u2"}
        4 close 1
        -> 4 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        5 compiling 2
        6 unity 2 editor_status {"state":"ready","seq":1}
        -> 6 unity 2 get_job_status req-t-3 u1
        7 unity 2 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        -> 7 unity 2 get_job_status req-t-4 u2
    "#,
    );
}

#[test]
fn so_many_given_up_submissions_are_remembered_and_the_oldest_is_forgotten() {
    check(
        r#"
        limit abandoned_max 1
        0 ready 1
        0 call 1 run_tests {"timeout_ms":100}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=100
        -> 0 note JobChanged { job: job-t-1, state: Running }
        -> 100 note JobChanged { job: job-t-1, state: Timeout }
        200 close 1
        -> 200 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        201 ready 2
        202 call 2 run_tests {"timeout_ms":100}
        -> 202 call 2 ok accepted job-t-2 Queued
        -> 202 unity 2 submit_job req-t-2 run_tests {"mode":"all"} timeout=100
        -> 202 note JobChanged { job: job-t-2, state: Running }
        -> 302 note JobChanged { job: job-t-2, state: Timeout }
        400 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 400 note AnswerDropped { request_id: RequestId("req-t-1") }
        401 unity 2 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u2"}
        -> 401 note LaneFreed { request_id: RequestId("req-t-2") }
        -> 401 note LateAcceptance { request_id: RequestId("req-t-2") }
        -> 401 unity 2 cancel req-t-3 u2
        402 wait
    "#,
    );
}

/// A job that ends with this state and these counts.
fn ended(state: &str, counts: &str, filter: &str) -> String {
    let script = format!(
        r#"
        show messages
        0 ready 1
        0 call 1 run_tests {{"wait_ms":60000{filter}}}
        10 unity 1 submit_job_result {{"request_id":"req-t-1","status":"accepted","job_id":"u1"}}
        1100 unity 1 job_status {{"request_id":"req-t-2","job_id":"u1","state":"{state}","result":{{"summary":{{{counts},"duration_ms":1}},"failed_tests":[]}}}}
    "#
    );
    let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let trace = super::check::trace(&lines.join("\n"));
    trace.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_run_without_a_test_has_failed_whatever_unity_says() {
    let none = r#""total":0,"passed":0,"failed":0,"skipped":0"#;
    let skipped = r#""total":2,"passed":0,"failed":0,"skipped":2"#;
    for (counts, filter, why) in [
        (none, r#","filter":"Plaier""#, r#"No test matches the filter "Plaier", so no test ran"#),
        (none, "", "The project has no tests of this mode, so no test ran"),
        (skipped, "", "Every test was skipped, so no test ran"),
        (
            skipped,
            r#","filter":"A""#,
            r#"Every test that matches the filter "A" was skipped, so no test ran"#,
        ),
    ] {
        for state in ["succeeded", "failed"] {
            let told = ended(state, counts, filter);
            assert!(told.contains("job-t-1 Failed"), "{told}");
            assert!(told.contains("ERR_UNITY_EXECUTION completed_error"), "{told}");
            assert!(told.contains(why), "{why} in {told}");
        }
    }
    let one = r#""total":2,"passed":1,"failed":0,"skipped":1"#;
    let told = ended("succeeded", one, "");
    assert!(told.contains("job-t-1 Succeeded") && !told.contains("ERR_"), "{told}");
}
