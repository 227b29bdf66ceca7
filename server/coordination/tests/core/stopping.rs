//! SPEC 10: every call is answered, every socket is closed, and it ends in time.

use super::check::check;

#[test]
fn everybody_gets_the_answer_that_is_true_and_every_socket_is_closed() {
    check(
        r#"
        show messages
        0 bound
        1 ready 1
        2 call 1 read_console
        -> 2 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        3 call 2 read_console
        4 call 3 cancel_job {"job_id":"job-t-1"}
        -> 4 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call "There is no such job; use a job_id that this server gave since it started, or start the job again."
        5 open 2
        6 stop
        -> 6 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry "The server stopped while Unity had the call, so it is unknown whether the call ran; it is safe to call again."
        -> 6 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy "The server is stopping, so the call did not run; call again when the server is back."
        -> 6 unity 1 close 1001 the server is stopping
        -> 6 unity 2 close 1001 the server is stopping
        7 call 4 read_console
        -> 7 call 4 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor "The server is stopping, so the call did not run; call again when the server is back."
        8 call 5 get_job_status {"job_id":"job-t-1"}
        -> 8 call 5 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor "The server is stopping, so the call did not run; call again when the server is back."
        9 console 1 req-t-1
        -> 9 note FrameIgnored { on: ConnectionId(1) }
        10 close 1
        11 close 2
        -> 11 stopped
        12 call 6 read_console
        -> 12 call 6 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor "The server is stopping, so the call did not run; call again when the server is back."
    "#,
    );
}

#[test]
fn callers_of_jobs_are_answered_too() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests {"wait_ms":60000}
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 get_job_status {"job_id":"job-t-1","wait_ms":60000}
        -> 3 unity 1 get_job_status req-t-3 u1
        4 call 3 get_job_status {"job_id":"job-t-1"}
        5 stop
        -> 5 call 1 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry
        -> 5 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy
        -> 5 call 3 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy
        -> 5 unity 1 close 1001 the server is stopping
        6 stop
    "#,
    );
}

#[test]
fn waiting_calls_have_not_been_executed() {
    check(
        r#"
        0 compiling 1
        1 call 1 read_console
        2 call 2 run_tests
        3 stop
        -> 3 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=compiling
        -> 3 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=compiling
        -> 3 unity 1 close 1001 the server is stopping
    "#,
    );
}

#[test]
fn peers_that_do_not_close_are_not_waited_for() {
    check(
        r#"
        0 ready 1
        1000 stop
        -> 1000 unity 1 close 1001 the server is stopping
        1001 open 2
        -> 1001 unity 2 close 1001 the server is stopping
        -> 2200 stopped
        2501 tick
        9000 tick
    "#,
    );
}

#[test]
fn a_server_without_sockets_stops_at_once() {
    check(
        r#"
        0 bound
        1 stop
        -> 1 stopped
        2 bound
        3 call 1 get_editor_state
        -> 3 call 1 ok server=Stopped editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn a_run_whose_job_is_still_queued_has_not_been_executed() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests {"wait_ms":60000}
        3 stop
        -> 3 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
        -> 3 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy
        -> 3 unity 1 close 1001 the server is stopping
    "#,
    );
}

#[test]
fn a_newcomer_is_told_too_and_a_kept_lane_does_not_matter() {
    check(
        r#"
        show heartbeat
        0 ready 1
        0 call 1 read_console {"timeout_ms":10}
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10
        -> 10 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        20 ready 2
        -> 20 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 20 unity 1 ping
        21 stop
        -> 21 unity 1 close 1001 the server is stopping
        -> 21 unity 2 close 1001 the server is stopping
    "#,
    );
}

#[test]
fn a_queued_job_is_not_cancelled_any_more_on_a_stopping_server() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 stop
        -> 2 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
        -> 2 unity 1 close 1001 the server is stopping
        3 call 3 cancel_job {"job_id":"job-t-1"}
        -> 3 call 3 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor
    "#,
    );
}
