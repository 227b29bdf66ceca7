//! SPEC 13.4 and 13.5: a compile is a job, and tests do not run old code.

use crate::check::check;

#[test]
fn tests_do_not_run_old_code() {
    check(
        r#"
        catalog 1.1
        show messages
        0 ready 1 {"last_compile":{"outcome":"failed","errors":2,"warnings":0,"ended_ms_ago":500}}
        1 call 1 run_tests
        -> 1 call 1 ERR_EDITOR_NOT_READY not_executed final inspect_then_retry "The scripts do not compile (errors: 2), so Unity would test old code, and the call did not run; read the errors with script_recompile_trigger or read_console, fix them and compile, then call again."
        2 call 2 get_editor_state
        -> 2 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=None plugin=Some("1.0.0") Some(CompileReport { outcome: Failed, errors: 2, ended_ago: 502ms })
        3 call 3 read_console
        -> 3 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 editor_status {"state":"ready","seq":1,"last_compile":{"outcome":"succeeded","errors":0,"warnings":3,"ended_ms_ago":0}}
        5 call 4 run_tests
        -> 5 call 4 ok accepted job-t-1 Queued
        6 unity 1 editor_status {"state":"ready","seq":1,"last_compile":{"outcome":"failed","errors":9,"warnings":0,"ended_ms_ago":0}}
        -> 6 note StaleStatus { seq: 1 }
        7 call 5 get_editor_state
        -> 7 call 5 ok server=Ready editor=Some(Ready) connected=true seq=Some(1) waiting=None queue=1 running=Some("req-t-3 read_console 4ms") plugin=Some("1.0.0") Some(CompileReport { outcome: Succeeded, errors: 0, ended_ago: 3ms }) job-t-1 run_tests Queued since 5
    "#,
    );
}

#[test]
fn a_queued_test_run_is_not_sent_after_a_compile_that_failed() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        1 call 2 run_tests
        -> 1 call 2 ok accepted job-t-1 Queued
        2 unity 1 editor_status {"state":"ready","seq":1,"last_compile":{"outcome":"failed","errors":2,"warnings":0,"ended_ms_ago":0}}
        3 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"entries":[],"count":0,"truncated":false}}
        -> 3 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 3 note JobChanged { job: job-t-1, state: Failed }
        4 call 3 get_job_status {"job_id":"job-t-1"}
        -> 4 call 3 ok job-t-1 Failed error=(ERR_EDITOR_NOT_READY not_executed final inspect_then_retry)
    "#,
    );
}

#[test]
fn catalogue_1_0_tests_whatever_was_compiled() {
    check(
        r#"
        0 ready 1 {"last_compile":{"outcome":"failed","errors":2,"warnings":0,"ended_ms_ago":500}}
        1 call 1 run_tests
        -> 1 call 1 ok accepted job-t-1 Queued
        -> 1 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 1 note JobChanged { job: job-t-1, state: Running }
        2 call 2 get_editor_state
        -> 2 call 2 ok server=Ready editor=Some(Ready) connected=true seq=Some(0) waiting=None queue=0 running=Some("req-t-1 run_tests 1ms") plugin=Some("1.0.0") job-t-1 run_tests Running since 1
    "#,
    );
}

#[test]
fn a_compile_is_a_job_that_cannot_be_cancelled_in_unity() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"plugin_session_id":"s1"}
        0 call 1 script_recompile_trigger {"wait_ms":5000}
        -> 0 unity 1 submit_job req-t-1 script_recompile_trigger {} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        2 call 2 cancel_job {"job_id":"job-t-1"}
        -> 2 call 2 ok job-t-1 CancelRequested
        3 unity 1 editor_status {"state":"compiling","seq":1}
        4 unity 1 editor_status {"state":"reloading","seq":2}
        5 close 1
        -> 5 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        6 ready 2 {"plugin_session_id":"s2"}
        -> 6 unity 2 get_job_status req-t-3 u1
        7 unity 2 job_status {"request_id":"req-t-3","job_id":"u1","state":"succeeded","result":{"outcome":"compiled","reloaded":true,"errors":[],"warnings":1,"duration_ms":6}}
        -> 7 note JobChanged { job: job-t-1, state: Succeeded }
        -> 7 call 1 ok job-t-1 Succeeded result={"outcome":"compiled","reloaded":true,"errors":[],"warnings":1,"duration_ms":6} cancel=requested
    "#,
    );
}

#[test]
fn a_compile_that_fails_is_a_failed_job_whatever_unity_says() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 script_recompile_trigger {"wait_ms":5000}
        -> 0 unity 1 submit_job req-t-1 script_recompile_trigger {} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        1 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 1001 unity 1 get_job_status req-t-2 u1
        1002 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"succeeded","result":{"outcome":"failed","reloaded":false,"errors":[{"message":"m","file":"A.cs","line":3}],"warnings":0,"duration_ms":6}}
        -> 1002 note JobChanged { job: job-t-1, state: Failed }
        -> 1002 call 1 ok job-t-1 Failed result={"outcome":"failed","reloaded":false,"errors":[{"file":"A.cs","line":3,"message":"m"}],"warnings":0,"duration_ms":6} error=(ERR_UNITY_EXECUTION completed_error retryable inspect_then_retry)
    "#,
    );
}
