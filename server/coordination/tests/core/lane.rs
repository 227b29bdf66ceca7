//! SPEC 5.4 and 5.5: one round trip at a time, and the lane that an answered request keeps.

use super::check::check;

#[test]
fn one_round_trip_at_a_time_first_in_first_out() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 read_console
        3 call 3 read_console
        10 console 1 req-t-1
        -> 10 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 10 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        20 console 1 req-t-2
        -> 20 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 20 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        30 console 1 req-t-3
        -> 30 call 3 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn an_answer_one_tick_before_the_timeout_counts() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        9999 console 1 req-t-1
        -> 9999 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn an_answer_at_the_timeout_is_too_late_and_frees_the_lane() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":10000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 read_console
        10000 console 1 req-t-1
        -> 10000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        -> 10000 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 10000 note AnswerDropped { request_id: RequestId("req-t-1") }
        -> 10000 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn the_timeout_counts_from_the_moment_of_sending() {
    check(
        r#"
        0 compiling 1
        0 call 1 read_console {"timeout_ms":100}
        5000 unity 1 editor_status {"state":"ready","seq":1}
        -> 5000 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=100
        -> 5100 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        5101 wait
    "#,
    );
}

#[test]
fn a_timed_out_request_keeps_the_lane_until_its_late_answer() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        1500 call 2 read_console
        1600 call 3 get_editor_state
        -> 1600 call 3 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=Some(Unresponsive) queue=1 running=Some("req-t-1 read_console 1600ms overdue") plugin=Some("1.0.0")
        3000 console 1 req-t-1
        -> 3000 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 3000 note AnswerDropped { request_id: RequestId("req-t-1") }
        -> 3000 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn calls_behind_a_kept_lane_give_up_after_the_reconnect_window_naming_the_overdue_request() {
    check(
        r#"
        show messages
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        1 call 2 read_console
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry "Unity did not answer within 1 s and may still run the call; it is safe to call again."
        1500 call 3 read_console
        3499 call 4 get_editor_state
        -> 3499 call 4 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=Some(Unresponsive) queue=2 running=Some("req-t-1 read_console 3499ms overdue") plugin=Some("1.0.0")
        -> 3500 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=unresponsive overdue=req-t-1 "Unity has not finished req-t-1 yet, so the call did not run; ask the user to look in the Editor for an open dialog or a long operation, then call again."
        -> 4000 call 3 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=unresponsive overdue=req-t-1 "Unity has not finished req-t-1 yet, so the call did not run; ask the user to look in the Editor for an open dialog or a long operation, then call again."
        4001 wait
        4002 console 1 req-t-1
        -> 4002 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 4002 note AnswerDropped { request_id: RequestId("req-t-1") }
        4003 call 5 read_console
        -> 4003 unity 1 execute req-t-5 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_new_session_frees_a_kept_lane() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"a"}
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        1500 close 1
        -> 1500 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2000 ready 2 {"plugin_session_id":"a"}
        2001 call 2 read_console
        -> 2001 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2002 console 2 req-t-1
        -> 2002 note AnswerDropped { request_id: RequestId("req-t-1") }
        2003 console 2 req-t-2
        -> 2003 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn an_overdue_request_in_a_living_unity_ends_the_session_after_the_grace() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        61000 call 2 get_editor_state
        -> 61000 note SessionEnded { on: ConnectionId(1), why: Stuck }
        -> 61000 unity 1 close 4408 a request has not been finished in time
        -> 61000 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=Some("req-t-1 read_console 61000ms overdue") plugin=None
        61500 ready 2
        61501 call 3 read_console
        -> 61501 unity 2 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn without_pongs_an_overdue_request_is_left_to_the_heartbeat() {
    check(
        r#"
        show heartbeat
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        2000 unity 1 editor_status {"state":"compiling","seq":1}
        -> 3000 unity 1 ping
        62000 call 2 get_editor_state
        -> 62000 call 2 ok server=Ready editor=Some(Compiling) connected=true seq=Some(1) waiting=Some(Compiling) queue=0 running=Some("req-t-1 read_console 62000ms overdue") plugin=Some("1.0.0")
        62500 unity 1 pong {}
        -> 62500 note SessionEnded { on: ConnectionId(1), why: Stuck }
        -> 62500 unity 1 close 4408 a request has not been finished in time
        62501 tick
    "#,
    );
}

#[test]
fn a_kept_lane_serves_control_calls_from_what_is_known() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 read_console {"timeout_ms":10}
        -> 2 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10
        -> 12 call 2 ERR_REQUEST_TIMEOUT unknown retryable retry
        100 call 3 get_job_status {"job_id":"job-t-1"}
        -> 100 call 3 ok job-t-1 Running
        101 call 4 cancel_job {"job_id":"job-t-1"}
        -> 101 call 4 ok job-t-1 CancelRequested
        102 call 5 run_tests
        103 console 1 req-t-2
        -> 103 note LaneFreed { request_id: RequestId("req-t-2") }
        -> 103 note AnswerDropped { request_id: RequestId("req-t-2") }
        -> 103 call 5 ok accepted job-t-2 Queued
        -> 103 unity 1 cancel req-t-6 u1
    "#,
    );
}

#[test]
fn an_unanswered_question_frees_the_lane_at_its_timeout() {
    check(
        r#"
        show messages
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2 unity 1 get_job_status req-t-2 u1
        3 call 3 read_console
        5001 call 4 get_editor_state
        -> 5001 call 4 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=1 running=Some("req-t-2 get_job_status 4999ms") plugin=Some("1.0.0") job-t-1 run_tests Running since 0
        -> 5002 note QuestionUnanswered { request_id: RequestId("req-t-2") }
        -> 5002 call 2 ERR_REQUEST_TIMEOUT unknown final inspect_then_retry "Unity did not answer within 5 s and may still run the call; check what has changed before you call again."
        -> 5002 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5003 wait
        5004 console 1 req-t-3
        -> 5004 call 3 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn one_tick_before_the_grace_is_over_a_stuck_request_is_still_waited_for() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        60999 console 1 req-t-1
        -> 60999 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 60999 note AnswerDropped { request_id: RequestId("req-t-1") }
        61001 call 2 get_editor_state
        -> 61001 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_stuck_submission_ends_the_session_too() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":1000}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=1000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        -> 1000 note JobChanged { job: job-t-1, state: Timeout }
        -> 61000 note SessionEnded { on: ConnectionId(1), why: Stuck }
        -> 61000 unity 1 close 4408 a request has not been finished in time
        61001 call 2 get_editor_state
        -> 61001 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=Some("req-t-1 run_tests 61001ms overdue") plugin=None job-t-1 run_tests Timeout since 0
    "#,
    );
}

#[test]
fn a_late_error_frees_the_lane_of_a_submission() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":1000}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=1000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        -> 1000 note JobChanged { job: job-t-1, state: Timeout }
        1500 unity 1 error {"request_id":"req-t-1","error":{"code":"X","message":"m"}}
        -> 1500 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 1500 note AnswerDropped { request_id: RequestId("req-t-1") }
        1501 call 2 read_console
        -> 1501 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn ready_after_a_silent_compile_is_no_pong_and_the_late_answer_still_counts() {
    check(
        r#"
        show heartbeat
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        2000 unity 1 editor_status {"state":"compiling","seq":1}
        -> 3000 unity 1 ping
        62000 unity 1 editor_status {"state":"ready","seq":2}
        62001 console 1 req-t-1
        -> 62001 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 62001 note AnswerDropped { request_id: RequestId("req-t-1") }
        62002 call 2 read_console
        -> 62002 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_request_of_an_earlier_session_blocks_nobody_beyond_its_own_time() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":5000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=5000
        1000 close 1
        -> 1000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2000 ready 2
        3000 call 2 read_console
        -> 5000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        -> 5000 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 5000 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6000 console 2 req-t-2
        -> 6000 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_taken_back_request_of_an_earlier_session_keeps_the_lane_until_its_own_time_is_over() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console {"timeout_ms":5000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=5000
        1000 close 1
        -> 1000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2000 ready 2
        3000 cancel 1
        -> 3000 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: None, job: None } }
        3500 call 2 read_console
        -> 5000 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 5000 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6000 console 2 req-t-2
        -> 6000 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_ping_that_may_still_be_answered_in_time_does_not_excuse_a_stuck_lane() {
    check(
        r#"
        show heartbeat
        limit compile_grace 2000
        limit heartbeat_interval 2900
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        -> 2900 unity 1 ping
        -> 3000 note SessionEnded { on: ConnectionId(1), why: Stuck }
        -> 3000 unity 1 close 4408 a request has not been finished in time
        3001 wait
    "#,
    );
}

#[test]
fn a_session_whose_pong_is_missing_when_the_lane_is_stuck_ends_for_the_pong() {
    check(
        r#"
        show heartbeat
        limit compile_grace 4000
        limit heartbeat_interval 500
        0 ready 1
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 500 unity 1 ping
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        -> 5000 note SessionEnded { on: ConnectionId(1), why: NoPong { silent: 4.5s } }
        -> 5000 unity 1 close 1008 no pong in time
        5001 wait
    "#,
    );
}

#[test]
fn a_plugin_that_is_still_at_work_keeps_the_lane_over_a_reconnect() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        1500 close 1
        -> 1500 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        1600 ready 2 {"plugin_session_id":"s","running_request_id":"req-t-1"}
        1700 call 2 read_console
        1800 console 2 req-t-1
        -> 1800 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 1800 note AnswerDropped { request_id: RequestId("req-t-1") }
        -> 1800 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1900 console 2 req-t-2
        -> 1900 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_plugin_that_never_finishes_is_told_to_restart_also_after_a_reconnect() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        1500 close 1
        -> 1500 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        1600 ready 2 {"plugin_session_id":"s","running_request_id":"req-t-1"}
        -> 61600 note SessionEnded { on: ConnectionId(2), why: Stuck }
        -> 61600 unity 2 close 4408 a request has not been finished in time
        61601 wait
    "#,
    );
}

#[test]
fn a_plugin_that_reloaded_and_is_still_at_work_keeps_the_lane_but_not_the_call() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        100 close 1
        -> 100 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        200 ready 2 {"plugin_session_id":"s2","running_request_id":"req-t-1"}
        -> 200 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
        300 call 2 read_console
        400 console 2 req-t-1
        -> 400 note LaneFreed { request_id: RequestId("req-t-1") }
        -> 400 note AnswerDropped { request_id: RequestId("req-t-1") }
        -> 400 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn another_request_that_runs_does_not_keep_the_lane() {
    check(
        r#"
        0 ready 1 {"plugin_session_id":"s"}
        0 call 1 read_console {"timeout_ms":1000}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=1000
        -> 1000 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        1500 close 1
        -> 1500 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        1600 ready 2 {"plugin_session_id":"s","running_request_id":"req-t-9"}
        1700 call 2 read_console
        -> 1700 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_question_about_a_job_is_answered_from_what_is_known_after_a_second_in_line() {
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
        3 call 3 get_job_status {"job_id":"job-t-1"}
        4 call 4 get_job_status {"job_id":"job-t-1","wait_ms":3000}
        -> 1003 call 3 ok job-t-1 Running
        -> 3004 call 4 ok job-t-1 Running
        5000 wait
    "#,
    );
}

#[test]
fn owed_cancels_do_not_take_two_turns_in_a_row_while_a_call_is_queued() {
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
        4 call 3 read_console
        -> 4 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 call 4 cancel_job {"job_id":"job-t-1"}
        -> 5 call 4 ok job-t-1 CancelRequested
        6 call 5 cancel_job {"job_id":"job-t-2"}
        -> 6 call 5 ok job-t-2 CancelRequested
        7 call 6 read_console
        8 call 7 read_console
        9 console 1 req-t-3
        -> 9 call 3 ok {"count":0,"truncated":false,"entries":[]}
        -> 9 unity 1 cancel req-t-8 u1
        5009 wait
        -> 5009 note QuestionUnanswered { request_id: RequestId("req-t-8") }
        -> 5009 unity 1 execute req-t-6 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5010 console 1 req-t-6
        -> 5010 call 6 ok {"count":0,"truncated":false,"entries":[]}
        -> 5010 unity 1 cancel req-t-9 u2
        10010 wait
    "#,
    );
}
