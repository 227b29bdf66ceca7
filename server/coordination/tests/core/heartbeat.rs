//! SPEC 4.5: pings, and how long an answer may take.

use super::check::check;

#[test]
fn a_ping_is_sent_every_interval() {
    check(
        r#"
        show heartbeat
        0 ready 1
        3000 tick
        -> 3000 unity 1 ping
        3010 unity 1 pong {}
        6000 tick
        -> 6000 unity 1 ping
        6010 unity 1 pong {}
        -> 9000 unity 1 ping
        9001 wait
    "#,
    );
}

#[test]
fn a_pong_one_tick_before_the_timeout_keeps_the_session() {
    check(
        r#"
        show heartbeat
        0 ready 1
        -> 3000 unity 1 ping
        7499 unity 1 pong {}
        -> 7499 unity 1 ping
        7600 call 1 get_editor_state
        -> 7600 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn an_unanswered_ping_ends_the_session_at_the_timeout() {
    check(
        r#"
        show heartbeat
        0 ready 1
        -> 3000 unity 1 ping
        7500 unity 1 pong {}
        -> 7500 note SessionEnded { on: ConnectionId(1), why: NoPong { silent: 4.5s } }
        -> 7500 unity 1 close 1008 no pong in time
        -> 7500 note FrameIgnored { on: ConnectionId(1) }
        7600 call 1 get_editor_state
        -> 7600 call 1 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn a_compiling_editor_may_be_silent_for_the_compile_grace() {
    check(
        r#"
        show heartbeat
        0 compiling 1
        -> 3000 unity 1 ping
        62999 unity 1 pong {}
        -> 62999 unity 1 ping
        63000 call 1 get_editor_state
        -> 63000 call 1 ok server=Ready editor=Some(Compiling) connected=true seq=Some(0) waiting=Some(Compiling) queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_compiling_editor_that_is_silent_for_longer_has_lost_its_session() {
    check(
        r#"
        show heartbeat
        0 reloading 1
        -> 3000 unity 1 ping
        -> 63000 note SessionEnded { on: ConnectionId(1), why: NoPong { silent: 60s } }
        -> 63000 unity 1 close 1008 no pong in time
        63001 call 1 get_editor_state
        -> 63001 call 1 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn the_heartbeat_starts_afresh_when_the_editor_is_ready_again() {
    check(
        r#"
        show heartbeat
        0 compiling 1
        -> 3000 unity 1 ping
        50000 unity 1 editor_status {"state":"ready","seq":1}
        -> 53000 unity 1 ping
        57499 unity 1 pong {}
        -> 57499 unity 1 ping
        57600 call 1 get_editor_state
        -> 57600 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(1) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn an_editor_that_starts_to_compile_gets_the_grace_for_a_ping_that_is_on_its_way() {
    check(
        r#"
        show heartbeat
        0 ready 1
        -> 3000 unity 1 ping
        5000 unity 1 editor_status {"state":"compiling","seq":1}
        -> 6000 unity 1 ping
        60000 call 1 get_editor_state
        -> 60000 call 1 ok server=Ready editor=Some(Compiling) connected=true seq=Some(1) waiting=Some(Compiling) queue=0 running=None plugin=Some("1.0.0")
        -> 66000 note SessionEnded { on: ConnectionId(1), why: NoPong { silent: 60s } }
        -> 66000 unity 1 close 1008 no pong in time
        66001 wait
    "#,
    );
}

#[test]
fn any_valid_frame_answers_a_ping() {
    check(
        r#"
        show heartbeat
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 3000 unity 1 ping
        3001 console 1 req-t-1
        -> 3001 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 6000 unity 1 ping
        9000 unity 1 error {"error":{"code":"X","message":"m"}}
        -> 9000 note PluginError { code: "X", message: "m" }
        -> 9000 unity 1 ping
        12100 unity 1 capability {"tools":[]}
        -> 12100 unity 1 ping
        15100 unity 1 shrug
        -> 15100 unity 1 error ERR_UNKNOWN_COMMAND: unknown message type "shrug"
        15200 raw 1 nonsense
        -> 15200 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected ident at line 1 column 2" }
        -> 15200 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected ident at line 1 column 2
        -> 16600 note SessionEnded { on: ConnectionId(1), why: NoPong { silent: 4.5s } }
        -> 16600 unity 1 close 1008 no pong in time
        19600 wait
    "#,
    );
}

#[test]
fn any_valid_frame_answers_the_probe_for_a_second_editor() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a"}
        1 ready 2 {"editor_instance_id":"b"}
        -> 1 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 1 unity 1 ping
        2 unity 1 editor_status {"state":"ready","seq":1}
        -> 2 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 2 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 2 unity 2 close 1008 no session
    "#,
    );
}

#[test]
fn a_dropped_pong_still_answers_its_ping() {
    check(
        r#"
        show heartbeat
        0 ready 1
        1 unity 1 editor_status {"state":"ready","seq":5}
        -> 3000 unity 1 ping
        3001 unity 1 pong {"editor_state":"compiling","seq":5}
        -> 3001 note StaleStatus { seq: 5 }
        -> 6000 unity 1 ping
        7600 call 1 get_editor_state
        -> 7600 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(5) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_ready_learnt_from_a_pong_starts_the_heartbeat_afresh() {
    check(
        r#"
        show heartbeat
        0 compiling 1
        -> 3000 unity 1 ping
        3001 tick
        5000 unity 1 pong {"editor_state":"ready","seq":1}
        -> 8000 unity 1 ping
        8001 wait
    "#,
    );
}
