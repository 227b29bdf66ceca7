//! SPEC 13.6: a job that repeats one of which nobody knows whether it ran.

use crate::check::check;

#[test]
fn a_repeated_job_that_outlasts_a_compile_leaves_the_first_unknown() {
    check(
        r#"
        catalog 1.1
        limit compile_grace 1000
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 read_console
        -> 3 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 call 3 run_tests {"client_request_id":"x"}
        -> 4 call 3 ok accepted job-t-2 Queued
        5 call 4 run_tests {"client_request_id":"x","wait_ms":5000}
        6 unity 2 editor_status {"state":"compiling","seq":1}
        7 console 2 req-t-2
        -> 7 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 1006 note JobChanged { job: job-t-2, state: Failed }
        -> 1006 call 4 ok replayed job-t-2 Failed error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed)
        1100 wait
        1101 call 5 run_tests {"client_request_id":"x"}
    "#,
    );
}

#[test]
fn a_repeated_job_that_is_cancelled_in_line_leaves_the_first_unknown() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 read_console
        -> 3 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 call 3 run_tests {"client_request_id":"x"}
        -> 4 call 3 ok accepted job-t-2 Queued
        5 call 4 cancel_job {"job_id":"job-t-2"}
        -> 5 note JobChanged { job: job-t-2, state: Cancelled }
        -> 5 call 4 ok job-t-2 Cancelled
        6 call 5 get_job_status {"job_id":"job-t-2"}
        7 console 2 req-t-2
        -> 7 call 2 ok {"count":0,"truncated":false,"entries":[]}
        -> 7 call 5 ok job-t-2 Cancelled error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed)
        8 call 6 run_tests {"client_request_id":"x"}
        -> 8 call 6 ok accepted job-t-3 Queued
        -> 8 unity 2 submit_job req-t-6 run_tests {"mode":"all"} timeout=300000 client=x
        -> 8 note JobChanged { job: job-t-3, state: Running }
    "#,
    );
}

#[test]
fn a_repeated_job_that_unity_refuses_leaves_the_first_unknown() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 run_tests {"client_request_id":"x","wait_ms":5000}
        -> 3 unity 2 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=x
        -> 3 note JobChanged { job: job-t-2, state: Running }
        4 unity 2 error {"request_id":"req-t-2","error":{"code":"ERR_RECONFIG_IN_PROGRESS","message":"busy"}}
        -> 4 note JobChanged { job: job-t-2, state: Failed }
        -> 4 call 2 ok job-t-2 Failed error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed)
        5 call 3 run_tests {"client_request_id":"x","wait_ms":5000}
        -> 5 unity 2 submit_job req-t-3 run_tests {"mode":"all"} timeout=300000 client=x
        -> 5 note JobChanged { job: job-t-3, state: Running }
    "#,
    );
}

#[test]
fn a_repeated_job_that_the_server_cannot_send_at_its_stop_leaves_the_first_unknown() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 read_console
        -> 3 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 call 3 run_tests {"client_request_id":"x","wait_ms":5000}
        5 call 4 run_tests {"client_request_id":"x","wait_ms":5000}
        6 stop
        -> 6 call 2 ERR_UNITY_DISCONNECTED unknown retryable retry
        -> 6 call 3 ok replayed job-t-1 Failed error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry)
        -> 6 call 4 ok replayed job-t-1 Failed error=(ERR_UNITY_DISCONNECTED unknown final inspect_then_retry)
        -> 6 unity 2 close 1001 the server is stopping
    "#,
    );
}

#[test]
fn an_unknown_call_that_is_repeated_without_room_stays_unknown() {
    check(
        r#"
        catalog 1.1
        limit queue_max 1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 read_console
        -> 3 unity 2 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 call 3 read_console
        5 call 4 run_tests {"client_request_id":"x"}
        -> 5 call 4 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed
        6 call 5 run_tests {"client_request_id":"y"}
        -> 6 call 5 ERR_QUEUE_FULL not_executed retryable retry
        7 stop
        -> 7 call 2 ERR_UNITY_DISCONNECTED unknown retryable retry
        -> 7 call 3 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=busy
        -> 7 unity 2 close 1001 the server is stopping
        8 call 6 run_tests {"client_request_id":"x"}
        -> 8 call 6 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed
    "#,
    );
}

#[test]
fn an_unknown_job_that_is_not_kept_any_more_is_settled_by_the_book() {
    check(
        r#"
        catalog 1.1
        limit jobs_kept_max 1
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 run_tests {"client_request_id":"y"}
        -> 3 call 2 ok accepted job-t-2 Queued
        -> 3 unity 2 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=y
        -> 3 note JobChanged { job: job-t-2, state: Running }
        4 unity 2 error {"request_id":"req-t-2","error":{"code":"ERR_UNITY_EXECUTION","message":"dirty"}}
        -> 4 note JobChanged { job: job-t-2, state: Failed }
        5 call 3 run_tests {"client_request_id":"x"}
        -> 5 call 3 ok accepted job-t-3 Queued
        -> 5 unity 2 submit_job req-t-3 run_tests {"mode":"all"} timeout=300000 client=x
        -> 5 note JobChanged { job: job-t-3, state: Running }
        6 unity 2 submit_job_result {"request_id":"req-t-3","status":"accepted","job_id":"u1"}
    "#,
    );
}

#[test]
fn an_unknown_job_that_is_not_kept_any_more_stays_unknown_without_a_book() {
    check(
        r#"
        catalog 1.1
        limit jobs_kept_max 1
        0 ready 1 {"plugin_session_id":"s1"}
        0 call 1 run_tests {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"plugin_session_id":"s2"}
        -> 2 note JobChanged { job: job-t-1, state: Failed }
        3 call 2 run_tests {"client_request_id":"y"}
        -> 3 call 2 ok accepted job-t-2 Queued
        -> 3 unity 2 submit_job req-t-2 run_tests {"mode":"all"} timeout=300000 client=y
        -> 3 note JobChanged { job: job-t-2, state: Running }
        4 unity 2 error {"request_id":"req-t-2","error":{"code":"ERR_UNITY_EXECUTION","message":"dirty"}}
        -> 4 note JobChanged { job: job-t-2, state: Failed }
        5 call 3 run_tests {"client_request_id":"x"}
        -> 5 call 3 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed
    "#,
    );
}

#[test]
fn a_repeated_call_keeps_the_place_of_the_first() {
    check(
        r#"
        catalog 1.1
        limit repeats_max 2
        limit reconnect_wait 100
        0 ready 1 {"request_book":"b","plugin_session_id":"s1"}
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 close 1
        -> 1 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2 ready 2 {"request_book":"b","plugin_session_id":"s2"}
        -> 2 call 1 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry
        3 call 2 open_scene {"client_request_id":"y","path":"B"}
        -> 3 unity 2 execute req-t-2 open_scene {"path":"B","additive":false} timeout=30000 client=y
        4 unity 2 result {"request_id":"req-t-2","status":"ok","result":{"path":"B"}}
        -> 4 call 2 ok {"path":"B"}
        5 close 2
        -> 5 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        6 call 3 open_scene {"client_request_id":"x","path":"A"}
        -> 106 call 3 ERR_UNITY_DISCONNECTED unknown final inspect_then_retry replayed
        200 ready 3 {"request_book":"b","plugin_session_id":"s3"}
        201 call 4 open_scene {"client_request_id":"z","path":"C"}
        -> 201 unity 3 execute req-t-4 open_scene {"path":"C","additive":false} timeout=30000 client=z
        202 unity 3 result {"request_id":"req-t-4","status":"ok","result":{"path":"C"}}
        -> 202 call 4 ok {"path":"C"}
        203 call 5 open_scene {"client_request_id":"y","path":"B"}
        -> 203 call 5 ok replayed {"path":"B"}
        204 call 6 open_scene {"client_request_id":"x","path":"A"}
        -> 204 unity 3 execute req-t-6 open_scene {"path":"A","additive":false} timeout=30000 client=x
    "#,
    );
}

#[test]
fn a_repeated_compile_is_the_same_job() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b"}
        0 call 1 script_recompile_trigger {"client_request_id":"x"}
        -> 0 call 1 ok accepted job-t-1 Queued
        -> 0 unity 1 submit_job req-t-1 script_recompile_trigger {} timeout=300000 client=x
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 script_recompile_trigger {"client_request_id":"x","wait_ms":60000}
        3 call 3 script_recompile_trigger {"client_request_id":"y"}
        -> 3 call 3 ok accepted job-t-2 Queued
        -> 3 unity 1 submit_job req-t-3 script_recompile_trigger {} timeout=300000 client=y
        -> 3 note JobChanged { job: job-t-2, state: Running }
    "#,
    );
}
