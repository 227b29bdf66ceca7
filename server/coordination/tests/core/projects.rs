//! SPEC 4.4 and 12: which Editor has the place, and which project a call runs in.

use super::check::check;

#[test]
fn a_waiting_call_does_not_move_to_another_project() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a","project_path":"/a"}
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 1 read_console
        3 call 2 run_tests {"wait_ms":5000}
        4 ready 2 {"editor_instance_id":"b","project_path":"/b"}
        -> 4 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        -> 4 call 2 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        5 call 3 read_console
        -> 5 unity 2 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_job_that_waits_does_not_move_to_another_project() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a","project_path":"/a"}
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-1 Queued
        3 close 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        4 ready 2 {"editor_instance_id":"b","project_path":"/b"}
        -> 4 call 1 ERR_UNITY_DISCONNECTED unknown retryable retry
        -> 4 note JobChanged { job: job-t-1, state: Failed }
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 call 3 ok job-t-1 Failed error=(ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected)
    "#,
    );
}

#[test]
fn a_waiting_call_goes_on_waiting_for_an_editor_that_was_restarted() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a","project_path":"/a"}
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 1 read_console
        3 ready 2 {"editor_instance_id":"b","project_path":"/a/"}
        -> 3 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn without_a_project_another_editor_does_not_get_the_waiting_calls() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a"}
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 1 read_console
        3 ready 2 {"editor_instance_id":"b"}
        -> 3 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
    "#,
    );
}

#[test]
fn the_place_of_an_editor_that_compiles_is_reserved_for_its_project() {
    check(
        r#"
        show heartbeat
        0 compiling 1 {"editor_instance_id":"a","project_path":"/a"}
        1 ready 2 {"editor_instance_id":"b","project_path":"/b"}
        -> 1 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 1 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 1 unity 2 close 1008 no session
        2 ready 3 {"project_path":"/b"}
        -> 2 note Refused { on: ConnectionId(3), problem: "another Unity websocket session is already active" }
        -> 2 unity 3 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 2 unity 3 close 1008 no session
        3 ready 4 {"editor_instance_id":"b"}
        -> 3 note Refused { on: ConnectionId(4), problem: "another Unity websocket session is already active" }
        -> 3 unity 4 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 3 unity 4 close 1008 no session
        4 ready 5 {"editor_instance_id":"c","project_path":"/a"}
        -> 4 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(5) }
        -> 4 unity 1 ping
        -> 504 note SessionEnded { on: ConnectionId(1), why: ProbeUnanswered }
        -> 504 unity 1 close 1000 did not answer while another Editor asked
        505 call 1 get_editor_state
        -> 505 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0") ProjectReport { path: Some("/a"), name: None, unity_version: None } RefusedReport { reason: "already_active", project_path: "/b", ago: 503ms }
    "#,
    );
}

#[test]
fn the_place_stays_reserved_while_the_editor_reloads() {
    check(
        r#"
        0 reloading 1 {"editor_instance_id":"a","project_path":"/a"}
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"editor_instance_id":"b","project_path":"/b"}
        -> 2 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 2 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 2 unity 2 close 1008 no session
        3 call 1 read_console
        4 ready 3 {"editor_instance_id":"a","project_path":"/a"}
        -> 4 unity 3 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 call 2 get_editor_state
        -> 5 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=Some("req-t-1 read_console 1ms") plugin=Some("1.0.0") ProjectReport { path: Some("/a"), name: None, unity_version: None } RefusedReport { reason: "already_active", project_path: "/b", ago: 3ms }
        -> 10004 call 1 ERR_REQUEST_TIMEOUT unknown retryable retry
        -> 70004 note SessionEnded { on: ConnectionId(3), why: Stuck }
        -> 70004 unity 3 close 4408 a request has not been finished in time
        600003 call 3 get_editor_state
        -> 600003 call 3 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn the_place_is_free_when_the_grace_is_over() {
    check(
        r#"
        0 reloading 1 {"editor_instance_id":"a","project_path":"/a"}
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        60001 ready 2 {"editor_instance_id":"b","project_path":"/b"}
    "#,
    );
}

#[test]
fn an_editor_that_names_nothing_gets_the_place_of_one_that_reloads() {
    check(
        r#"
        0 reloading 1 {"editor_instance_id":"a","project_path":"/a"}
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2
    "#,
    );
}

#[test]
fn an_editor_that_waits_for_the_place_does_not_get_it_when_the_first_goes_to_reload() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a","project_path":"/a"}
        1 ready 2 {"editor_instance_id":"b","project_path":"/b"}
        -> 1 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 1 unity 1 ping
        2 closedwith 1 1001
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 2 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 2 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 2 unity 2 close 1008 no session
        3 ready 3 {"editor_instance_id":"a","project_path":"/a"}
    "#,
    );
}

#[test]
fn an_editor_of_another_project_is_refused_by_a_server_that_is_for_one() {
    check(
        r#"
        project /work/game
        0 ready 1 {"project_path":"/work/other"}
        -> 0 note Refused { on: ConnectionId(1), problem: "this server is for the project /work/game, and this Editor has /work/other open" }
        -> 0 unity 1 error ERR_INVALID_REQUEST: this server is for the project /work/game, and this Editor has /work/other open
        -> 0 unity 1 close 1008 no session
        1 ready 2 {"project_path":"/WORK/game"}
        -> 1 note Refused { on: ConnectionId(2), problem: "this server is for the project /work/game, and this Editor has /WORK/game open" }
        -> 1 unity 2 error ERR_INVALID_REQUEST: this server is for the project /work/game, and this Editor has /WORK/game open
        -> 1 unity 2 close 1008 no session
        2 ready 3 {"project_path":"/work/game","project_name":"game","unity_version":"6000.0.1f1"}
        3 call 1 get_editor_state
        -> 3 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0") ProjectReport { path: Some("/work/game"), name: Some("game"), unity_version: Some("6000.0.1f1") } RefusedReport { reason: "other_project", project_path: "/WORK/game", ago: 2ms }
    "#,
    );
}

#[test]
fn case_does_not_matter_where_the_system_ignores_it() {
    check(
        r#"
        project C:/Work/Game ignore_case
        0 ready 1 {"project_path":"c:/work/game"}
        1 call 1 get_editor_state
        -> 1 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0") ProjectReport { path: Some("c:/work/game"), name: None, unity_version: None }
    "#,
    );
}

#[test]
fn an_editor_that_names_no_project_is_accepted_by_a_server_that_is_for_one() {
    check(
        r#"
        project /work/game
        0 ready 1
        1 call 1 get_editor_state
        -> 1 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}
