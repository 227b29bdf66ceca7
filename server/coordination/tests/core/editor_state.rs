//! SPEC 3: what is known of the Editor, and for how long.

use super::check::check;

#[test]
fn the_state_comes_from_hello_then_status_then_pong() {
    check(
        r#"
        0 call 1 get_editor_state
        -> 0 call 1 ok server=Booting editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
        1 bound
        2 call 2 get_editor_state
        -> 2 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
        3 compiling 1
        4 call 3 get_editor_state
        -> 4 call 3 ok server=Ready editor=Some(Compiling) connected=true seq=Some(0) waiting=Some(Compiling) queue=0 running=None plugin=Some("1.0.0")
        5 unity 1 editor_status {"state":"reloading","seq":1}
        6 call 4 get_editor_state
        -> 6 call 4 ok server=Ready editor=Some(Reloading) connected=true seq=Some(1) waiting=Some(Reloading) queue=0 running=None plugin=Some("1.0.0")
        7 unity 1 pong {"editor_state":"ready","seq":2}
        8 call 5 get_editor_state
        -> 8 call 5 ok server=Ready editor=Some(Ready) connected=true seq=Some(2) waiting=None queue=0 running=None plugin=Some("1.0.0")
        9 unity 1 pong {"editor_state":"compiling"}
        10 call 6 get_editor_state
        -> 10 call 6 ok server=Ready editor=Some(Compiling) connected=true seq=Some(2) waiting=Some(Compiling) queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_status_whose_seq_does_not_grow_is_dropped() {
    check(
        r#"
        0 ready 1
        1 unity 1 editor_status {"state":"ready","seq":0}
        -> 1 note StaleStatus { seq: 0 }
        2 unity 1 editor_status {"state":"compiling","seq":2}
        3 unity 1 editor_status {"state":"ready","seq":2}
        -> 3 note StaleStatus { seq: 2 }
        4 unity 1 editor_status {"state":"ready","seq":1}
        -> 4 note StaleStatus { seq: 1 }
        5 unity 1 pong {"editor_state":"ready","seq":2}
        -> 5 note StaleStatus { seq: 2 }
        6 call 1 get_editor_state
        -> 6 call 1 ok server=Ready editor=Some(Compiling) connected=true seq=Some(2) waiting=Some(Compiling) queue=0 running=None plugin=Some("1.0.0")
        7 unity 1 editor_status {"state":"ready","seq":3}
        8 call 2 get_editor_state
        -> 8 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(3) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn seq_starts_anew_with_each_session() {
    check(
        r#"
        0 ready 1
        1 unity 1 editor_status {"state":"ready","seq":18446744073709551615}
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3 call 1 get_editor_state
        -> 3 call 1 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
        4 ready 2
        5 unity 2 editor_status {"state":"compiling","seq":1}
        6 call 2 get_editor_state
        -> 6 call 2 ok server=Ready editor=Some(Compiling) connected=true seq=Some(1) waiting=Some(Compiling) queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_compile_is_remembered_after_a_disconnect_until_the_grace_has_passed() {
    check(
        r#"
        0 ready 1
        1000 unity 1 editor_status {"state":"compiling","seq":1}
        2000 close 1
        -> 2000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        60999 call 1 get_editor_state
        -> 60999 call 1 ok server=WaitingEditor editor=Some(Compiling) connected=false seq=None waiting=Some(Compiling) queue=0 running=None plugin=None
        61000 call 2 get_editor_state
        -> 61000 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn a_pong_that_repeats_the_compile_renews_the_memory_of_it() {
    check(
        r#"
        0 compiling 1
        50000 unity 1 pong {"editor_state":"compiling"}
        51500 close 1
        -> 51500 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        109999 call 1 get_editor_state
        -> 109999 call 1 ok server=WaitingEditor editor=Some(Compiling) connected=false seq=None waiting=Some(Compiling) queue=0 running=None plugin=None
        110000 call 2 get_editor_state
        -> 110000 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn a_remembered_compile_ends_when_ready_is_seen() {
    check(
        r#"
        0 reloading 1
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2
        3 close 2
        -> 3 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        4 call 1 get_editor_state
        -> 4 call 1 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn the_state_of_the_editor_is_answered_at_once_in_every_state() {
    check(
        r#"
        limit queue_max 1
        0 bound
        1 call 1 read_console
        2 call 2 get_editor_state
        -> 2 call 2 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=1 running=None plugin=None
        3 ready 1
        -> 3 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 call 3 get_editor_state
        -> 4 call 3 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=Some("req-t-1 read_console 1ms") plugin=Some("1.0.0")
        5 call 4 read_console
        6 call 5 get_editor_state
        -> 6 call 5 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=1 running=Some("req-t-1 read_console 3ms") plugin=Some("1.0.0")
        7 close 1
        -> 7 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        8 stop
        -> 8 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
        -> 8 call 4 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        -> 8 stopped
        9 call 6 get_editor_state
        -> 9 call 6 ok server=Stopped editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn with_the_port_in_other_hands_calls_for_unity_fail_and_name_the_holder() {
    check(
        r#"
        show messages
        0 held
        1 call 1 read_console
        -> 1 call 1 ERR_EDITOR_NOT_READY not_executed final none "The call did not run because Unity cannot reach this server: port 8091 is held by a stranger; ask the user to free the port or to choose another one with --port."
        2 call 2 get_editor_state
        -> 2 call 2 ok server=Booting editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
        3 call 3 get_job_status {"job_id":"job-t-1"}
        -> 3 call 3 ERR_JOB_NOT_FOUND not_executed final fix_the_call "There is no such job; use a job_id that this server gave since it started, or start the job again."
        4 bound
        5 call 4 read_console
        6 ready 1
        -> 6 unity 1 execute req-t-4 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn calls_that_wait_when_the_port_turns_out_to_be_held_are_told_who_holds_it() {
    check(
        r#"
        show messages
        0 call 1 read_console
        1 call 2 run_tests
        2 held
        -> 2 call 1 ERR_EDITOR_NOT_READY not_executed final none waiting=disconnected "The call did not run because Unity cannot reach this server: port 8091 is held by a stranger; ask the user to free the port or to choose another one with --port."
        -> 2 call 2 ERR_EDITOR_NOT_READY not_executed final none waiting=disconnected "The call did not run because Unity cannot reach this server: port 8091 is held by a stranger; ask the user to free the port or to choose another one with --port."
    "#,
    );
}
