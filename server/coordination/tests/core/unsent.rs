//! SPEC 6.5: a frame of which not a byte was written comes back.

use super::check::check;

#[test]
fn the_frame_that_was_not_sent_goes_back_to_its_place() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 read_console
        2 notsent 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 2 unity 1 close 1001 the socket does not take frames
        3 ready 2
        -> 3 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 console 2 req-t-1
        -> 4 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 4 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 console 2 req-t-2
        -> 5 call 2 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_call_whose_frame_was_not_sent_and_finds_no_editor_has_not_been_executed() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 notsent 1
        -> 2501 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        2502 wait
    "#,
    );
}

#[test]
fn a_submission_that_was_not_sent_is_a_queued_job_again() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 notsent 1
        -> 1 note JobChanged { job: job-t-1, state: Queued }
        -> 1 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 1 unity 1 close 1001 the socket does not take frames
        2 call 2 get_job_status {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 Queued
        3 call 3 cancel_job {"job_id":"job-t-1"}
        -> 3 note JobChanged { job: job-t-1, state: Cancelled }
        -> 3 call 3 ok job-t-1 Cancelled
        4 ready 2
    "#,
    );
}

#[test]
fn a_question_or_a_cancel_that_was_not_sent_does_no_harm() {
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
        3 notsent 1
        -> 3 call 2 ok job-t-1 Running
        -> 3 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 3 unity 1 close 1001 the socket does not take frames
        4 ready 2
        -> 4 unity 2 get_job_status req-t-3 u1
        5 unity 2 job_status {"request_id":"req-t-3","job_id":"u1","state":"running"}
        6 call 3 cancel_job {"job_id":"job-t-1"}
        -> 6 call 3 ok job-t-1 CancelRequested
        -> 6 unity 2 cancel req-t-5 u1
        7 notsent 2
        -> 7 note SessionEnded { on: ConnectionId(2), why: NotWritable }
        -> 7 unity 2 close 1001 the socket does not take frames
        8 ready 3
        -> 8 unity 3 cancel req-t-6 u1
    "#,
    );
}

#[test]
fn a_frame_that_comes_back_keeps_its_place_also_in_a_full_queue() {
    check(
        r#"
        limit queue_max 1
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 read_console
        2 notsent 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 2 unity 1 close 1001 the socket does not take frames
        3 call 3 read_console
        -> 3 call 3 ERR_QUEUE_FULL not_executed retryable retry
        4 ready 2
        -> 4 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        5 console 2 req-t-1
        -> 5 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 5 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_frame_that_comes_back_lets_a_waiting_newcomer_in() {
    check(
        r#"
        show heartbeat
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 ready 2
        -> 1 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 1 unity 1 ping
        2 notsent 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 2 unity 1 close 1001 the socket does not take frames
        -> 2 unity 2 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        3 console 2 req-t-1
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
    "#,
    );
}

#[test]
fn a_ping_that_comes_back_unsent_leaves_the_end_of_the_session_to_its_socket() {
    check(
        r#"
        show heartbeat
        0 ready 1
        3000 tick
        -> 3000 unity 1 ping
        3001 notsentping 1
        3001 close 1
        -> 3001 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        3002 call 1 get_editor_state
        -> 3002 call 1 ok server=WaitingEditor editor=None connected=false seq=None waiting=Some(Disconnected) queue=0 running=None plugin=None
    "#,
    );
}

#[test]
fn a_submission_that_was_not_sent_is_sent_in_its_turn_on_the_next_session() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 call 2 read_console
        2 notsent 1
        -> 2 note JobChanged { job: job-t-1, state: Queued }
        -> 2 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 2 unity 1 close 1001 the socket does not take frames
        3 ready 2
        -> 3 unity 2 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 3 note JobChanged { job: job-t-1, state: Running }
        4 unity 2 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 4 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
    "#,
    );
}

#[test]
fn a_cancel_whose_frame_was_never_written_is_owed_again_though_the_close_was_reported_first() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 close 1
        -> 4 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        5 notsent 1
        6 ready 2
        -> 6 unity 2 cancel req-t-4 u1
    "#,
    );
}

#[test]
fn a_cancel_that_comes_back_after_its_job_has_ended_is_still_sent() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests {"timeout_ms":500}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=500
        -> 0 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        20 unity 1 editor_status {"state":"compiling","seq":1}
        499 call 2 cancel_job {"job_id":"job-t-1"}
        -> 499 call 2 ok job-t-1 CancelRequested
        -> 499 unity 1 cancel req-t-3 u1
        -> 500 note JobChanged { job: job-t-1, state: Timeout }
        501 notsent 1
        -> 501 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 501 unity 1 close 1001 the socket does not take frames
        600 ready 2
        -> 600 unity 2 cancel req-t-4 u1
    "#,
    );
}

#[test]
fn a_job_cancelled_while_being_submitted_is_never_sent_if_its_frame_comes_back() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 notsent 1
        -> 3 note JobChanged { job: job-t-1, state: Cancelled }
        4 ready 2
        5 call 3 get_job_status {"job_id":"job-t-1"}
        -> 5 call 3 ok job-t-1 Cancelled cancel=requested
    "#,
    );
}

#[test]
fn an_old_cancel_that_comes_back_does_not_free_the_lane_of_a_new_one() {
    check(
        r#"
        0 ready 1
        0 call 1 run_tests
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        2 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        3 call 2 cancel_job {"job_id":"job-t-1"}
        -> 3 call 2 ok job-t-1 CancelRequested
        -> 3 unity 1 cancel req-t-3 u1
        4 close 1
        -> 4 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        5 ready 2
        -> 5 unity 2 get_job_status req-t-4 u1
        6 unity 2 job_status {"request_id":"req-t-4","job_id":"u1","state":"running"}
        7 call 3 cancel_job {"job_id":"job-t-1"}
        -> 7 call 3 ok job-t-1 CancelRequested
        -> 7 unity 2 cancel req-t-6 u1
        8 notsentcancel 1 req-t-3 u1
        9 call 4 read_console
    "#,
    );
}

#[test]
fn a_request_behind_a_frame_that_was_not_sent_comes_back_before_a_newcomer_takes_over() {
    check(
        r#"
        show heartbeat
        0 ready 1 {"editor_instance_id":"a"}
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 ready 2 {"editor_instance_id":"b"}
        -> 1 note SessionContested { incumbent: ConnectionId(1), newcomer: ConnectionId(2) }
        -> 1 unity 1 ping
        2 notsentping 1
        2 notsent 1
        -> 2 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 2 unity 1 close 1001 the socket does not take frames
        -> 2 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy
        3 console 2 req-t-1
        -> 3 note AnswerDropped { request_id: RequestId("req-t-1") }
    "#,
    );
}
