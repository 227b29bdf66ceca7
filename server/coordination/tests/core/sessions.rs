//! SPEC 4: a wire session, from the first hello to the one that replaces it.

use super::check::check;

#[test]
fn a_hello_is_answered_with_a_hello_and_the_catalogue() {
    check(
        r#"
        show handshake
        0 bound
        10 open 1
        20 unity 1 hello {"plugin_version":"1.0.0","state":"ready"}
        -> 20 note SessionBegan { on: ConnectionId(1), plugin_version: "1.0.0" }
        -> 20 unity 1 hello 1.0.0
        -> 20 unity 1 capability the catalogue
    "#,
    );
}

#[test]
fn a_plugin_of_another_version_is_noted_and_never_refused() {
    check(
        r#"
        0 ready 1 {"plugin_version":"0.9"}
        -> 0 note VersionsDiffer { plugin: "0.9", server: "1.0.0" }
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_socket_without_hello_is_refused_when_its_time_is_over() {
    check(
        r#"
        0 open 1
        4999 open 2
        5000 wait
        -> 5000 note Refused { on: ConnectionId(1), problem: "no hello in time" }
        -> 5000 unity 1 error ERR_INVALID_REQUEST: no hello in time
        -> 5000 unity 1 close 1008 no session
        5001 wait
    "#,
    );
}

#[test]
fn a_hello_one_tick_before_its_time_is_over_is_in_time() {
    check(
        r#"
        0 open 1
        4999 unity 1 hello {"plugin_version":"1.0.0","state":"ready"}
        5001 call 1 get_editor_state
        -> 5001 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_hello_when_its_time_is_over_is_too_late() {
    check(
        r#"
        0 open 1
        5000 unity 1 hello {"plugin_version":"1.0.0","state":"ready"}
        -> 5000 note Refused { on: ConnectionId(1), problem: "no hello in time" }
        -> 5000 unity 1 error ERR_INVALID_REQUEST: no hello in time
        -> 5000 unity 1 close 1008 no session
        -> 5000 note FrameIgnored { on: ConnectionId(1) }
    "#,
    );
}

#[test]
fn whatever_comes_before_hello_is_refused_and_the_socket_closed() {
    check(
        r#"
        0 open 1
        0 unity 1 pong {}
        -> 0 note Refused { on: ConnectionId(1), problem: "the first message must be hello" }
        -> 0 unity 1 error ERR_INVALID_REQUEST: the first message must be hello
        -> 0 unity 1 close 1008 no session
        1 open 2
        1 raw 2 nonsense
        -> 1 note Refused { on: ConnectionId(2), problem: "the frame is not JSON: expected ident at line 1 column 2" }
        -> 1 unity 2 error ERR_INVALID_REQUEST: the frame is not JSON: expected ident at line 1 column 2
        -> 1 unity 2 close 1008 no session
        2 open 3
        2 raw 3 {"type":"hello","protocol_version":2,"plugin_version":"1","state":"ready"}
        -> 2 note Refused { on: ConnectionId(3), problem: "protocol_version must be 1" }
        -> 2 unity 3 error ERR_INVALID_REQUEST: protocol_version must be 1
        -> 2 unity 3 close 1008 no session
        3 open 4
        3 unity 4 hello {"state":"ready"}
        -> 3 note Refused { on: ConnectionId(4), problem: "the message has a bad field: hello: missing field `plugin_version`" }
        -> 3 unity 4 error ERR_INVALID_REQUEST: the message has a bad field: hello: missing field `plugin_version`
        -> 3 unity 4 close 1008 no session
        4 open 5
        4 unity 5 hello {"plugin_version":"1","state":"asleep"}
        -> 4 note Refused { on: ConnectionId(5), problem: "the message has a bad field: hello: unknown variant `asleep`, expected one of `ready`, `compiling`, `reloading`" }
        -> 4 unity 5 error ERR_INVALID_REQUEST: the message has a bad field: hello: unknown variant `asleep`, expected one of `ready`, `compiling`, `reloading`
        -> 4 unity 5 close 1008 no session
        5 open 6
        5 unity 6 shrug {}
        -> 5 note Refused { on: ConnectionId(6), problem: "unknown message type \"shrug\"" }
        -> 5 unity 6 error ERR_INVALID_REQUEST: unknown message type "shrug"
        -> 5 unity 6 close 1008 no session
    "#,
    );
}

#[test]
fn the_oldest_socket_without_hello_gives_way_when_there_are_too_many() {
    let thirty_two: String = (1..=32).map(|socket| format!("0 open {socket}\n")).collect();
    let script = r#"
        8 open 33
        -> 8 unity 1 close 1008 too many sockets without a hello
        9 unity 33 hello {"plugin_version":"1.0.0","state":"ready"}
        10 call 1 get_editor_state
        -> 10 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#;
    check(&(thirty_two + script));
}

#[test]
fn the_same_editor_with_a_larger_attempt_replaces_its_old_socket_at_once() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a","connect_attempt_seq":1}
        5 ready 2 {"editor_instance_id":"a","connect_attempt_seq":2}
        -> 5 note SessionEnded { on: ConnectionId(1), why: Replaced }
        -> 5 unity 1 close 1000 replaced by a newer connection
        6 call 1 read_console
        -> 6 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        7 close 1
        8 console 2 req-t-1
        -> 8 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn the_same_editor_without_attempts_replaces_its_old_socket_at_once() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a","connect_attempt_seq":7}
        5 ready 2 {"editor_instance_id":"a"}
        -> 5 note SessionEnded { on: ConnectionId(1), why: Replaced }
        -> 5 unity 1 close 1000 replaced by a newer connection
        6 ready 3 {"editor_instance_id":"a","connect_attempt_seq":1}
        -> 6 note SessionEnded { on: ConnectionId(2), why: Replaced }
        -> 6 unity 2 close 1000 replaced by a newer connection
    "#,
    );
}

#[test]
fn a_stale_socket_of_the_same_editor_is_refused() {
    check(
        r#"
        0 ready 1 {"editor_instance_id":"a","connect_attempt_seq":2}
        5 ready 2 {"editor_instance_id":"a","connect_attempt_seq":2}
        -> 5 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 5 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 5 unity 2 close 1008 no session
        6 ready 3 {"editor_instance_id":"a","connect_attempt_seq":1}
        -> 6 note Refused { on: ConnectionId(3), problem: "another Unity websocket session is already active" }
        -> 6 unity 3 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 6 unity 3 close 1008 no session
        7 call 1 read_console
        -> 7 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn an_incumbent_that_answers_the_probe_keeps_its_place() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a"}
        100 ready 2 {"editor_instance_id":"b"}
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        599 unity 1 pong {}
        -> 599 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 599 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 599 unity 2 close 1008 no session
        600 call 1 read_console
        -> 600 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn an_incumbent_that_misses_the_probe_is_closed_and_the_newcomer_adopted() {
    check(
        r#"
        show heartbeat
        show handshake
        0 ready 1
        -> 0 note SessionBegan { on: ConnectionId(1), plugin_version: "1.0.0" }
        -> 0 unity 1 hello 1.0.0
        -> 0 unity 1 capability the catalogue
        100 ready 2
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        600 unity 1 pong {}
        -> 600 note SessionEnded { on: ConnectionId(1), why: ProbeUnanswered }
        -> 600 unity 1 close 1000 did not answer while another Editor asked
        -> 600 note SessionBegan { on: ConnectionId(2), plugin_version: "1.0.0" }
        -> 600 unity 2 hello 1.0.0
        -> 600 unity 2 capability the catalogue
        -> 600 note FrameIgnored { on: ConnectionId(1) }
        601 call 1 read_console
        -> 601 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_newcomer_is_adopted_as_soon_as_the_incumbent_closes() {
    check(
        r#"
        show heartbeat
        0 ready 1
        100 compiling 2
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        150 unity 2 editor_status {"state":"ready","seq":1}
        200 close 1
        -> 200 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        201 call 1 get_editor_state
        -> 201 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(1) waiting=None queue=0 running=None plugin=Some("1.0.0")
        202 unity 2 editor_status {"state":"compiling","seq":1}
        -> 202 note StaleStatus { seq: 1 }
    "#,
    );
}

#[test]
fn a_newcomer_that_leaves_during_the_probe_changes_nothing() {
    check(
        r#"
        show heartbeat
        0 ready 1
        100 ready 2
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        200 close 2
        700 call 1 get_editor_state
        -> 700 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_third_editor_is_refused_while_a_newcomer_waits() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a"}
        100 ready 2 {"editor_instance_id":"b","connect_attempt_seq":1}
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        200 ready 3 {"editor_instance_id":"c"}
        -> 200 note Refused { on: ConnectionId(3), problem: "another Unity websocket session is already active" }
        -> 200 unity 3 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 200 unity 3 close 1008 no session
        300 ready 4 {"editor_instance_id":"b","connect_attempt_seq":2}
        -> 300 unity 2 close 1000 replaced by a newer connection
        400 ready 5 {"editor_instance_id":"b","connect_attempt_seq":2}
        -> 400 note Refused { on: ConnectionId(5), problem: "another Unity websocket session is already active" }
        -> 400 unity 5 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 400 unity 5 close 1008 no session
        -> 600 note SessionEnded { on: ConnectionId(1), why: ProbeUnanswered }
        -> 600 unity 1 close 1000 did not answer while another Editor asked
        601 call 1 get_editor_state
        -> 601 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn the_incumbents_own_editor_coming_anew_ends_the_contest() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a"}
        100 ready 2 {"editor_instance_id":"b"}
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        200 ready 3 {"editor_instance_id":"a"}
        -> 200 note SessionEnded { on: ConnectionId(1), why: Replaced }
        -> 200 unity 1 close 1000 replaced by a newer connection
        -> 200 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 200 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 200 unity 2 close 1008 no session
        700 call 1 get_editor_state
        -> 700 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}

#[test]
fn a_tool_the_plugin_does_not_list_is_an_unknown_command_and_never_sent() {
    check(
        r#"
        show messages
        0 ready 1
        1 unity 1 capability {"tools":[{"name":"run_tests"}]}
        2 call 1 read_console
        -> 2 call 1 ERR_UNKNOWN_COMMAND not_executed final fix_the_call "The Unity plugin does not offer read_console, so the call did not run; ask the user to update the plugin, or use another tool."
        3 call 2 run_tests
        -> 3 call 2 ok accepted job-t-1 Queued
        -> 3 unity 1 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000
        -> 3 note JobChanged { job: job-t-1, state: Running }
        4 unity 1 capability {"tools":[{"name":"read_console"}]}
        5 call 3 run_tests
        -> 5 call 3 ERR_UNKNOWN_COMMAND not_executed final fix_the_call "The Unity plugin does not offer run_tests, so the call did not run; ask the user to update the plugin, or use another tool."
        6 unity 1 submit_job_result {"request_id":"req-t-2","status":"accepted","job_id":"u1"}
        7 call 4 read_console
        -> 7 unity 1 execute req-t-4 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn what_a_plugin_offered_is_forgotten_with_its_session() {
    check(
        r#"
        0 ready 1
        1 unity 1 capability {"tools":[]}
        2 close 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3 ready 2
        4 call 1 read_console
        -> 4 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_queued_job_whose_tool_is_withdrawn_fails_without_being_sent() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 run_tests
        -> 2 call 2 ok accepted job-t-1 Queued
        3 unity 1 capability {"tools":[{"name":"read_console"}]}
        4 console 1 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 4 note JobChanged { job: job-t-1, state: Failed }
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 call 3 ok job-t-1 Failed error=(ERR_UNKNOWN_COMMAND not_executed final fix_the_call)
    "#,
    );
}

#[test]
fn what_a_newcomer_says_of_its_tools_before_it_is_adopted_counts() {
    check(
        r#"
        show heartbeat
        0 ready 1
        100 ready 2
        -> 100 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 100 unity 1 ping
        101 unity 2 capability {"tools":[]}
        600 tick
        -> 600 note SessionEnded { on: ConnectionId(1), why: ProbeUnanswered }
        -> 600 unity 1 close 1000 did not answer while another Editor asked
        601 call 1 read_console
        -> 601 call 1 ERR_UNKNOWN_COMMAND not_executed final fix_the_call
    "#,
    );
}

#[test]
fn old_news_of_a_contender_do_not_count_either() {
    check(
        r#"
        show heartbeat
        0 ready 1
        1 ready 2
        -> 1 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 1 unity 1 ping
        2 unity 2 editor_status {"state":"compiling","seq":0}
        3 close 1
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        4 call 1 get_editor_state
        -> 4 call 1 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0")
    "#,
    );
}
