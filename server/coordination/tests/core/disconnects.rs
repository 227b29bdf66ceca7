//! SPEC 6: never send twice; wait, go on, or say `unknown`.

use super::check::check;

#[test]
fn a_running_call_goes_on_after_a_reconnect_and_is_never_sent_again() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2599 ready 2
        3000 console 2 req-t-1
        -> 3000 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_running_call_whose_unity_does_not_come_back_in_time_is_unknown() {
    check(
        r#"
        show messages
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2600 ready 2
        -> 2600 call 1 ERR_RECONNECT_TIMEOUT unknown retryable retry "Unity disconnected while it had the call and did not come back within 2.5 s, so it is unknown whether the call ran; it is safe to call again."
        2700 console 2 req-t-1
        -> 2700 note AnswerDropped { request_id: RequestId("req-t-1") }
    "#,
    );
}

#[test]
fn a_reload_that_was_seen_gives_a_running_call_the_compile_grace() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":30000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=30000
        100 unity 1 editor_status {"state":"reloading","seq":1}
        200 close 1
        -> 200 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        29000 ready 2
        29001 console 2 req-t-1
        -> 29001 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_job_waits_out_a_remembered_reload_up_to_the_grace() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        100 unity 1 editor_status {"state":"reloading","seq":1}
        200 close 1
        -> 200 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        60199 call 2 get_job_status {"job_id":"job-t-1"}
        -> 60199 call 2 ok job-t-1 Running
        -> 60200 note JobChanged { job: job-t-1, state: Failed }
        60201 call 3 get_job_status {"job_id":"job-t-1"}
        -> 60201 call 3 ok job-t-1 Failed error=(ERR_RECONNECT_TIMEOUT unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn its_own_timeout_goes_on_while_unity_is_away() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        1500 ready 2
        1600 call 2 read_console
        -> 1600 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1700 console 2 req-t-1
        -> 1700 note AnswerDropped { request_id: RequestId("req-t-1") }
    "#,
    );
}

#[test]
fn another_plugin_session_means_that_the_call_is_forgotten() {
    check(
        r#"
        show messages
        0 ready 1 {"plugin_session_id":"a"}
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 read_console
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 ready 2 {"plugin_session_id":"b"}
        -> 200 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry "Unity reloaded or restarted while it had the call and no longer knows it, so it is unknown whether the call ran; it is safe to call again."
        -> 200 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        300 console 2 req-t-1
        -> 300 note AnswerDropped { request_id: RequestId("req-t-1") }
    "#,
    );
}

#[test]
fn a_session_that_names_no_id_says_nothing_about_its_memory() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"a"}
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 ready 2
        300 close 2
        -> 300 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        400 ready 3 {"plugin_session_id":"b"}
        -> 400 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
    "#,
    );
}

#[test]
fn each_loss_opens_its_own_window() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1000 close 1
        -> 1000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3000 ready 2
        4000 close 2
        -> 4000 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        6499 ready 3
        7000 console 3 req-t-1
        -> 7000 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn after_a_reconnect_unity_is_asked_about_its_jobs() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 ready 2 {"plugin_session_id":"b"}
        -> 200 unity 2 get_job_status req-t-2 u1
        210 unity 2 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded","result":{"summary":{"total":1,"passed":1,"failed":0,"skipped":0,"duration_ms":1.5},"failed_tests":[]}}
        -> 210 note JobChanged { job: job-t-1, state: Succeeded }
        220 call 2 get_job_status {"job_id":"job-t-1"}
        -> 220 call 2 ok job-t-1 Succeeded result={"summary":{"total":1,"passed":1,"failed":0,"skipped":0,"duration_ms":1.5},"failed_tests":[]}
    "#,
    );
}

#[test]
fn a_job_that_unity_has_forgotten_has_failed_and_nobody_knows_how() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 ready 2
        -> 200 unity 2 get_job_status req-t-2 u1
        210 unity 2 error {"request_id":"req-t-2","error":{"code":"ERR_JOB_NOT_FOUND","message":"u1?"}}
        -> 210 note JobChanged { job: job-t-1, state: Failed }
        220 call 2 get_job_status {"job_id":"job-t-1"}
        -> 220 call 2 ok job-t-1 Failed error=(ERR_JOB_NOT_FOUND unknown final inspect_then_retry unity=ERR_JOB_NOT_FOUND)
    "#,
    );
}

#[test]
fn a_queued_job_parked_by_a_compile_that_outlasts_the_grace_has_failed_unexecuted() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":30000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=30000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 unity 1 editor_status {"state":"compiling","seq":1}
        3 console 1 req-t-1
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
        60001 call 3 get_job_status {"job_id":"job-t-1"}
        -> 60001 call 3 ok job-t-1 Queued
        -> 60002 note JobChanged { job: job-t-1, state: Failed }
        60003 call 4 get_job_status {"job_id":"job-t-1"}
        -> 60003 call 4 ok job-t-1 Failed error=(ERR_COMPILE_TIMEOUT not_executed retryable wait_for_editor waiting=compiling)
    "#,
    );
}

#[test]
fn a_queued_job_that_loses_its_editor_has_failed_unexecuted() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 2502 note JobChanged { job: job-t-1, state: Failed }
        -> 2502 call 1 ERR_RECONNECT_TIMEOUT unknown retryable retry
        2503 call 3 get_job_status {"job_id":"job-t-1"}
        -> 2503 call 3 ok job-t-1 Failed error=(ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected)
    "#,
    );
}

#[test]
fn a_submission_whose_unity_does_not_come_back_is_a_failed_job() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2600 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2600 note JobChanged { job: job-t-1, state: Failed }
        -> 2600 call 2 ok job-t-1 Failed error=(ERR_RECONNECT_TIMEOUT unknown final inspect_then_retry)
        2700 ready 2
        2800 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 2800 note LateAcceptance { request_id: RequestId("req-t-1") }
        -> 2800 unity 2 cancel req-t-3 u1
    "#,
    );
}

#[test]
fn a_submission_that_another_plugin_session_forgot_is_a_failed_job() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"a"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 ready 2 {"plugin_session_id":"b"}
        -> 200 note JobChanged { job: job-t-1, state: Failed }
        300 call 2 get_job_status {"job_id":"job-t-1"}
        -> 300 call 2 ok job-t-1 Failed error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn a_question_whose_session_is_lost_is_answered_from_what_is_known() {
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
        3 close 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 3 call 2 ok job-t-1 Running
    "#,
    );
}

#[test]
fn control_calls_are_served_while_unity_is_away_with_a_call() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 Running
        3 call 3 cancel_job {"job_id":"job-t-1"}
        -> 3 call 3 ok job-t-1 CancelRequested
        4 ready 2
        -> 4 unity 2 cancel req-t-4 submission req-t-1
        5 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        6 unity 2 cancel_result {"request_id":"req-t-4","status":"cancelled"}
        -> 6 note JobChanged { job: job-t-1, state: Cancelled }
    "#,
    );
}

#[test]
fn a_plugin_that_goes_away_announces_a_reload() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 closedwith 1 1001
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3 call 2 get_editor_state
        -> 3 call 2 ok server=WaitingEditor editor=Some(Reloading) connected=false seq=None waiting=Some(Reloading) queue=0 running=Some("req-t-1 read_console 2ms") plugin=None
        -> 10001 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        50000 ready 2
        50001 console 2 req-t-1
        -> 50001 note AnswerDropped { request_id: RequestId("req-t-1") }
        50002 closedwith 2 1012
        -> 50002 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        50003 call 3 get_editor_state
        -> 50003 call 3 ok server=WaitingEditor editor=Some(Reloading) connected=false seq=None waiting=Some(Reloading) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn a_plugin_that_closes_normally_announces_nothing() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 closedwith 1 1000
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3 call 2 get_editor_state
        -> 3 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=Some("req-t-1 read_console 2ms") plugin=None
        -> 2502 call 1 ERR_RECONNECT_TIMEOUT unknown retryable retry
        2600 wait
    "#,
    );
}

#[test]
fn a_running_job_is_kept_for_the_grace_after_any_loss() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        60001 call 2 get_job_status {"job_id":"job-t-1"}
        -> 60001 call 2 ok job-t-1 Running
        -> 60002 note JobChanged { job: job-t-1, state: Failed }
        60003 call 3 get_job_status {"job_id":"job-t-1"}
        -> 60003 call 3 ok job-t-1 Failed error=(ERR_RECONNECT_TIMEOUT unknown final inspect_then_retry)
    "#,
    );
}

#[test]
fn a_job_that_went_on_while_unity_was_away_ends_as_unity_says() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        30000 ready 2 {"plugin_session_id":"s"}
        -> 30000 unity 2 get_job_status req-t-2 u1
        30001 unity 2 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded","result":{"summary":{"total":1,"passed":1,"failed":0,"skipped":0,"duration_ms":1},"failed_tests":[]}}
        -> 30001 note JobChanged { job: job-t-1, state: Succeeded }
    "#,
    );
}

#[test]
fn a_call_waits_longer_than_a_job_if_its_limit_is_longer() {
    check(
        r#"
        limit reconnect_wait 9000
        limit compile_grace 1000
        0 ready 1
        0 call 1 read_console {"timeout_ms":30000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=30000
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 9001 call 1 ERR_RECONNECT_TIMEOUT unknown retryable retry
        9002 wait
    "#,
    );
}

#[test]
fn a_contender_may_bring_the_answer_that_the_lane_waits_for() {
    check(
        r#"
        show heartbeat
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 ready 2
        -> 2 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 2 unity 1 ping
        3 console 2 req-t-1
        -> 502 note SessionEnded { on: ConnectionId(1), why: ProbeUnanswered }
        -> 502 unity 1 close 1000 did not answer while another Editor asked
        -> 502 call 1 ok {"count":0,"truncated":false,"entries":[]}
        503 wait
    "#,
    );
}
