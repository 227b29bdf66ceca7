//! SPEC 4.7: what the peer may get wrong, row by row.

use super::check::{check, trace};

#[test]
fn garbage_is_answered_with_an_error_and_leaves_the_call_in_flight_alone() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 raw 1 nonsense
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected ident at line 1 column 2" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected ident at line 1 column 2
        3 raw 1 []
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not a JSON object" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not a JSON object
        4 raw 1 {"type":"pong","type":"pong","protocol_version":1}
        -> 4 note BadFrame { on: ConnectionId(1), problem: "the frame has a duplicate key \"type\" at line 1 column 21" }
        -> 4 unity 1 error ERR_INVALID_REQUEST: the frame has a duplicate key "type" at line 1 column 21
        5 raw 1 {"protocol_version":1,"request_id":"req-t-1"}
        -> 5 note BadFrame { on: ConnectionId(1), problem: "the frame has no type" }
        -> 5 unity 1 error about req-t-1 ERR_INVALID_REQUEST: the frame has no type
        6 raw 1 {"type":"pong"}
        -> 6 note BadFrame { on: ConnectionId(1), problem: "the frame has no protocol_version" }
        -> 6 unity 1 error ERR_INVALID_REQUEST: the frame has no protocol_version
        7 raw 1 {"type":"result","protocol_version":2,"request_id":"req-t-8"}
        -> 7 note BadFrame { on: ConnectionId(1), problem: "protocol_version must be 1" }
        -> 7 unity 1 error about req-t-8 ERR_INVALID_REQUEST: protocol_version must be 1
        8 unity 1 hello {"plugin_version":"1","state":"ready"}
        -> 8 note BadFrame { on: ConnectionId(1), problem: "a second hello" }
        -> 8 unity 1 error ERR_INVALID_REQUEST: a second hello
        9 unity 1 editor_status {"state":"ready","seq":-1}
        -> 9 note BadFrame { on: ConnectionId(1), problem: "the message has a bad field: editor_status: invalid value: integer `-1`, expected u64" }
        -> 9 unity 1 error ERR_INVALID_REQUEST: the message has a bad field: editor_status: invalid value: integer `-1`, expected u64
        10 unity 1 result {"request_id":"req-t-9","status":"maybe"}
        -> 10 note BadFrame { on: ConnectionId(1), problem: "the message has a bad field: result: unknown variant `maybe`, expected `ok` or `error`" }
        -> 10 unity 1 error about req-t-9 ERR_INVALID_REQUEST: the message has a bad field: result: unknown variant `maybe`, expected `ok` or `error`
        11 console 1 req-t-1
        -> 11 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn an_unknown_type_is_an_unknown_command_and_not_bad() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 shrug {"request_id":"req-t-1"}
        -> 2 unity 1 error about req-t-1 ERR_UNKNOWN_COMMAND: unknown message type "shrug"
        3 console 1 req-t-1
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_bad_field_in_the_answer_ends_the_call_and_frees_the_lane() {
    check(
        r#"
        show messages
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 read_console
        3 unity 1 result {"request_id":"req-t-1","status":"maybe"}
        -> 3 note BadAnswer { request_id: RequestId("req-t-1"), problem: "the message has a bad field: result: unknown variant `maybe`, expected `ok` or `error`" }
        -> 3 call 1 ERR_INVALID_RESPONSE unknown retryable retry "Unity's answer could not be understood (is the plugin of another version?), so it is unknown whether the call ran; it is safe to call again."
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 console 1 req-t-1
        -> 4 note AnswerDropped { request_id: RequestId("req-t-1") }
        5 console 1 req-t-2
        -> 5 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn an_answer_of_the_wrong_type_ends_the_call() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 2 note BadAnswer { request_id: RequestId("req-t-1"), problem: "submit_job_result does not answer read_console" }
        -> 2 call 1 ERR_INVALID_RESPONSE unknown retryable retry
        3 call 2 read_console
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"running"}
        -> 4 note BadAnswer { request_id: RequestId("req-t-2"), problem: "job_status does not answer read_console" }
        -> 4 call 2 ERR_INVALID_RESPONSE unknown retryable retry
        5 call 3 read_console
        -> 5 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6 unity 1 cancel_result {"request_id":"req-t-3","status":"cancelled"}
        -> 6 note BadAnswer { request_id: RequestId("req-t-3"), problem: "cancel_result does not answer read_console" }
        -> 6 call 3 ERR_INVALID_RESPONSE unknown retryable retry
    "#,
    );
}

#[test]
fn an_answer_that_is_not_what_the_tool_gives_is_nonsense() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"entries":[{"type":"shout"}],"count":1,"truncated":false}}
        -> 2 note BadAnswer { request_id: RequestId("req-t-1"), problem: "entries [0] type must be one of log, warning, error, assert, exception" }
        -> 2 call 1 ERR_INVALID_RESPONSE unknown retryable retry
        3 call 2 read_console
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 result {"request_id":"req-t-2","status":"ok","result":{}}
        -> 4 note BadAnswer { request_id: RequestId("req-t-2"), problem: "entries is missing" }
        -> 4 call 2 ERR_INVALID_RESPONSE unknown retryable retry
        5 call 3 read_console
        -> 5 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6 unity 1 result {"request_id":"req-t-3","status":"ok","result":{"entries":[{"type":"log","message":"hi","stack_trace":null,"new":1}],"count":1,"truncated":false}}
        -> 6 call 3 ok {"count":1,"truncated":false,"entries":[{"type":"log","message":"hi"}]}
    "#,
    );
}

#[test]
fn answers_nobody_waits_for_are_dropped_and_the_first_counts() {
    check(
        r#"
        0 ready 1
        1 console 1 req-t-1
        -> 1 note AnswerDropped { request_id: RequestId("req-t-1") }
        2 call 1 read_console
        -> 2 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        3 console 1 req-t-1
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
        4 unity 1 result {"request_id":"req-t-1","status":"error","error":{"code":"X","message":"late"}}
        -> 4 note AnswerDropped { request_id: RequestId("req-t-1") }
        5 unity 1 error {"request_id":"req-t-7","error":{"code":"X","message":"who"}}
        -> 5 note AnswerDropped { request_id: RequestId("req-t-7") }
        6 unity 1 error {"error":{"code":"X","message":"no request"}}
        -> 6 note PluginError { code: "X", message: "no request" }
        7 unity 1 cancel_result {"request_id":"req-t-1","status":"cancelled"}
        -> 7 note AnswerDropped { request_id: RequestId("req-t-1") }
    "#,
    );
}

#[test]
fn a_frame_over_the_limit_ends_the_call_in_flight_and_the_session() {
    check(
        r#"
        show messages
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 call 2 read_console
        3 toolarge 1
        -> 3 call 1 ERR_INVALID_RESPONSE unknown retryable fix_the_call "Unity's answer was larger than 1048576 bytes and was dropped, so it is unknown how the call ended; ask for less, for example for fewer entries or no stack traces."
        -> 3 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        4 ready 2
        -> 4 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 console 2 req-t-2
        -> 5 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_frame_over_the_limit_ends_a_submission_a_question_and_nothing_else() {
    check(
        r#"
        0 ready 1
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 toolarge 1
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        -> 2 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3 call 2 get_job_status {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 Failed error=(ERR_INVALID_RESPONSE unknown final fix_the_call)
        4 ready 2
        5 call 3 run_tests
        -> 5 call 3 ok accepted job-t-2 Queued
        -> 5 unity 2 submit_job req-t-3 run_tests {"mode":"all"} timeout=300000
        -> 5 note JobChanged { job: job-t-2, state: Running }
        6 unity 2 submit_job_result {"request_id":"req-t-3","status":"accepted","job_id":"u1"}
        7 call 4 get_job_status {"job_id":"job-t-2"}
        -> 7 unity 2 get_job_status req-t-4 u1
        8 toolarge 2
        -> 8 note JobChanged { job: job-t-2, state: Failed }
        -> 8 call 4 ok job-t-2 Failed error=(ERR_INVALID_RESPONSE unknown final fix_the_call)
        -> 8 note QuestionUnanswered { request_id: RequestId("req-t-4") }
        -> 8 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        9 call 5 get_job_status {"job_id":"job-t-2"}
        -> 9 call 5 ok job-t-2 Failed error=(ERR_INVALID_RESPONSE unknown final fix_the_call)
    "#,
    );
}

#[test]
fn ten_bad_frames_in_a_row_close_the_socket_in_place_of_the_tenth_answer() {
    check(
        r#"
        0 ready 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 b
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 c
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        4 raw 1 d
        -> 4 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 4 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        5 raw 1 e
        -> 5 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 5 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        6 raw 1 f
        -> 6 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: EOF while parsing a value at line 1 column 1" }
        -> 6 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: EOF while parsing a value at line 1 column 1
        7 raw 1 g
        -> 7 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 7 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        8 raw 1 h
        -> 8 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 8 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        9 raw 1 i
        -> 9 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 9 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        10 raw 1 j
        -> 10 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 10 note SessionEnded { on: ConnectionId(1), why: BadFrames }
        -> 10 unity 1 close 1008 too many bad frames in a row
        11 raw 1 k
        -> 11 note FrameIgnored { on: ConnectionId(1) }
    "#,
    );
}

#[test]
fn a_good_frame_or_an_unknown_type_ends_the_row_of_bad_ones() {
    check(
        r#"
        0 ready 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        1 raw 1 a
        -> 1 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 1 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 unity 1 shrug {}
        -> 2 unity 1 error ERR_UNKNOWN_COMMAND: unknown message type "shrug"
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 raw 1 a
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 3 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        4 unity 1 pong {}
        5 raw 1 a
        -> 5 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 5 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
    "#,
    );
}

#[test]
fn nothing_a_closed_or_contending_socket_says_counts() {
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
        4 unity 1 pong {}
        -> 4 note Refused { on: ConnectionId(2), problem: "another Unity websocket session is already active" }
        -> 4 unity 2 error ERR_INVALID_REQUEST: another Unity websocket session is already active
        -> 4 unity 2 close 1008 no session
        5 console 2 req-t-1
        -> 5 note FrameIgnored { on: ConnectionId(2) }
        6 console 1 req-t-1
        -> 6 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn the_tenth_bad_frame_may_be_the_broken_answer_of_the_call_in_flight() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        2 raw 1 a
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the frame is not JSON: expected value at line 1 column 1" }
        -> 2 unity 1 error ERR_INVALID_REQUEST: the frame is not JSON: expected value at line 1 column 1
        3 unity 1 result {"request_id":"req-t-1","status":"maybe"}
        -> 3 note BadAnswer { request_id: RequestId("req-t-1"), problem: "the message has a bad field: result: unknown variant `maybe`, expected `ok` or `error`" }
        -> 3 call 1 ERR_INVALID_RESPONSE unknown retryable retry
        -> 3 note SessionEnded { on: ConnectionId(1), why: BadFrames }
        -> 3 unity 1 close 1008 too many bad frames in a row
    "#,
    );
}

#[test]
fn a_wrong_word_about_retrying_does_not_spoil_an_error() {
    check(
        r#"
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_INVALID_PARAMS","message":"m","retryable":"yes"}}
        -> 2 call 1 ERR_INVALID_PARAMS not_executed final fix_the_call unity=ERR_INVALID_PARAMS
    "#,
    );
}

#[test]
fn an_answer_that_cannot_be_parsed_ends_its_call_at_once() {
    for broken in [
        r#"{"type":"result","protocol_version":1,"request_id":"req-t-1","result":{"message":"\ud800"}}"#,
        r#"{"type":"result","protocol_version":1,"request_id":"req-t-1","result":{"x":NaN}}"#,
        r#"{"type":"result","protocol_version":1,"request_id":"req-t-1","result":{"x":1e400}}"#,
        r#"{"type":"result","request_id":"req-t-1"}"#,
        r#"{"type":"result","protocol_version":2,"request_id":"req-t-1"}"#,
        r#"[{"request_id":"req-t-0"},{"request_id":"req-t-1"}]"#,
        r#"{"type":"result","type":"result","protocol_version":1,"request_id":"req-t-1"}"#,
    ] {
        let told = trace(&format!(
            "0 ready 1\n1 call 1 read_console\n2 call 2 read_console\n3 raw 1 {broken}"
        ));
        assert!(told.contains("-> 3 call 1 ERR_INVALID_RESPONSE unknown"), "{told}");
        assert!(told.contains("-> 3 unity 1 execute req-t-2"), "{told}");
    }
    let deep = format!("{}{}", "[".repeat(200), "\"req-t-1\"");
    let told = trace(&format!("0 ready 1\n1 call 1 read_console\n3 raw 1 {deep}"));
    assert!(told.contains("-> 3 call 1 ERR_INVALID_RESPONSE unknown"), "{told}");
}

#[test]
fn a_text_that_only_quotes_a_part_of_the_id_leaves_the_call_alone() {
    for text in [r#"{"message":"\"req-t-1\""#, "\"req-t-11\"", "req-t-1", "\"xreq-t-1\""] {
        let told = trace(&format!("0 ready 1\n1 call 1 read_console\n3 raw 1 {text}"));
        assert!(!told.contains("call 1 ERR"), "{told}");
    }
}

#[test]
fn an_error_to_the_plugin_names_the_request_of_the_frame_it_is_about() {
    check(
        r#"
        0 ready 1
        1 unity 1 shrug {"request_id":"req-x-1"}
        -> 1 unity 1 error about req-x-1 ERR_UNKNOWN_COMMAND: unknown message type "shrug"
        2 unity 1 result {"request_id":"req-x-2","status":"maybe"}
        -> 2 note BadFrame { on: ConnectionId(1), problem: "the message has a bad field: result: unknown variant `maybe`, expected `ok` or `error`" }
        -> 2 unity 1 error about req-x-2 ERR_INVALID_REQUEST: the message has a bad field: result: unknown variant `maybe`, expected `ok` or `error`
        3 raw 1 {"protocol_version":1,"request_id":"req-x-3"}
        -> 3 note BadFrame { on: ConnectionId(1), problem: "the frame has no type" }
        -> 3 unity 1 error about req-x-3 ERR_INVALID_REQUEST: the frame has no type
    "#,
    );
}
