//! SPEC 5.3: a call that waits for the Editor, from its own start, for as long as the present
//! reason allows.

use super::check::check;

#[test]
fn without_an_editor_a_call_waits_for_the_reconnect_window() {
    check(
        r#"
        0 bound
        1000 call 1 read_console
        3499 ready 1
        -> 3499 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn without_an_editor_in_time_a_call_has_not_been_executed() {
    check(
        r#"
        show messages
        0 bound
        1000 call 1 read_console
        3500 ready 1
        -> 3500 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected "No Unity Editor was connected for 2.5 s, so the call did not run; ask the user to open the project in Unity, then call again."
    "#,
    );
}

#[test]
fn a_compile_is_waited_for_up_to_the_grace() {
    check(
        r#"
        0 compiling 1
        1000 call 1 read_console
        60999 unity 1 editor_status {"state":"ready","seq":1}
        -> 60999 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_compile_that_outlasts_the_grace_is_a_compile_timeout() {
    check(
        r#"
        show messages
        0 reloading 1
        1000 call 1 read_console
        61000 unity 1 editor_status {"state":"ready","seq":1}
        -> 61000 call 1 ERR_COMPILE_TIMEOUT not_executed retryable wait_for_editor waiting=reloading "Unity was still reloading after 60 s, so the call did not run; call again to go on waiting for Unity."
    "#,
    );
}

#[test]
fn a_remembered_compile_gives_the_grace_to_a_call_without_a_session() {
    check(
        r#"
        0 compiling 1
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 1 read_console
        59999 ready 2
        -> 59999 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_call_that_waited_out_a_compile_is_told_so_before_the_compile_is_forgotten() {
    check(
        r#"
        0 bound
        0 call 1 read_console
        0 compiling 1
        0 close 1
        -> 0 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 60000 call 1 ERR_COMPILE_TIMEOUT not_executed retryable wait_for_editor waiting=compiling
        60001 wait
    "#,
    );
}

#[test]
fn when_a_compile_is_forgotten_a_call_is_judged_by_the_shorter_limit() {
    check(
        r#"
        show messages
        0 compiling 1
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        20000 call 1 read_console
        59000 call 2 read_console
        -> 60000 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected "No Unity Editor was connected for 40 s, so the call did not run; ask the user to open the project in Unity, then call again."
        -> 61500 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected "No Unity Editor was connected for 2.5 s, so the call did not run; ask the user to open the project in Unity, then call again."
        62000 wait
    "#,
    );
}

#[test]
fn another_reason_changes_the_limit_but_not_the_start() {
    check(
        r#"
        0 bound
        1000 call 1 read_console
        3000 compiling 1
        60999 unity 1 editor_status {"state":"ready","seq":1}
        -> 60999 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn losing_a_compiling_editor_changes_nothing_for_those_who_wait() {
    check(
        r#"
        0 compiling 1
        1000 call 1 read_console
        30000 unity 1 editor_status {"state":"reloading","seq":1}
        31000 close 1
        -> 31000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        60999 ready 2
        -> 60999 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn waiting_calls_go_on_in_order_of_arrival() {
    check(
        r#"
        0 compiling 1
        1 call 1 read_console
        2 call 2 run_tests
        3 call 3 read_console {"contains":"x"}
        10 unity 1 editor_status {"state":"ready","seq":1}
        -> 10 call 2 ok accepted job-t-1 Queued
        -> 10 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        20 console 1 req-t-1
        -> 20 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 20 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 20 note JobChanged { job: job-t-1, state: Running }
        30 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        -> 30 unity 1 execute req-t-3 read_console {"max_entries":50,"contains":"x","stack_traces":true} timeout=10000
        40 console 1 req-t-3
        -> 40 call 3 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn queued_calls_wait_from_the_moment_the_editor_stops_being_ready() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console {"timeout_ms":30000}
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=30000
        2 call 2 read_console
        10000 close 1
        -> 10000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        12499 call 3 get_editor_state
        -> 12499 call 3 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=1 running=Some("req-t-1 read_console 12498ms") plugin=None
        -> 12500 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        -> 12500 call 1 ERR_RECONNECT_TIMEOUT unknown retryable retry
        12501 wait
    "#,
    );
}

#[test]
fn a_ready_that_flashes_between_two_reloads_starts_the_wait_anew_for_those_not_sent() {
    check(
        r#"
        0 compiling 1
        1 call 1 read_console
        2 call 2 read_console
        50000 unity 1 editor_status {"state":"ready","seq":1}
        -> 50000 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        50001 unity 1 editor_status {"state":"compiling","seq":2}
        50002 console 1 req-t-1
        -> 50002 call 1 ok {"count":0,"truncated":false,"entries":[]}
        110000 unity 1 editor_status {"state":"ready","seq":3}
        -> 110000 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn control_calls_pass_those_that_wait() {
    check(
        r#"
        0 compiling 1
        1 call 1 read_console
        2 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2 call 2 ERR_JOB_NOT_FOUND not_executed final fix_the_call
        3 call 3 cancel_job {"job_id":"job-t-1"}
        -> 3 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call
    "#,
    );
}

#[test]
fn deadlines_are_met_in_their_order_however_late_the_core_is_called() {
    check(
        r#"
        0 compiling 1
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        10 call 1 read_console
        59999 call 2 read_console
        70000 late
        -> 70000 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        -> 70000 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
    "#,
    );
}
