//! SPEC 9: every code with what it promises, and that an `error` of the plugin keeps its code.

use super::check::check;
use coordination::{ErrorCode, Failure, Guarantee, Recovery};

#[test]
fn the_error_table_is_the_contracts() {
    let table: Vec<String> = ErrorCode::ALL
        .into_iter()
        .map(|code| {
            let row = code.row();
            let retryable = if code == ErrorCode::UnityExecution {
                "per tool"
            } else if row.retryable {
                "yes"
            } else {
                "no"
            };
            format!("{} | {retryable} | {}", row.text, row.guarantee.text())
        })
        .collect();
    let contract = "\
ERR_INVALID_REQUEST | no | not_executed
ERR_INVALID_PARAMS | no | not_executed
ERR_UNKNOWN_COMMAND | no | not_executed
ERR_EDITOR_NOT_READY | yes | not_executed
ERR_COMPILE_TIMEOUT | yes | not_executed
ERR_QUEUE_FULL | yes | not_executed
ERR_UNITY_DISCONNECTED | no | unknown
ERR_RECONNECT_TIMEOUT | no | unknown
ERR_REQUEST_TIMEOUT | no | unknown
ERR_INVALID_RESPONSE | no | unknown
ERR_UNITY_EXECUTION | per tool | completed_error
ERR_JOB_NOT_FOUND | no | not_executed
ERR_CANCEL_NOT_SUPPORTED | no | not_executed
ERR_CANCEL_REJECTED | no | unknown
ERR_RECONFIG_IN_PROGRESS | yes | not_executed";
    assert_eq!(table.join("\n"), contract);
}

#[test]
fn a_holder_that_cannot_be_reached_ran_nothing_and_says_why() {
    let failure = Failure::holder_unreachable("no descriptor is left");
    assert_eq!(
        (failure.code, failure.guarantee),
        (ErrorCode::EditorNotReady, Guarantee::NotExecuted)
    );
    assert_eq!((failure.retryable, failure.recovery), (true, Recovery::Retry));
    assert_eq!(
        failure.message(),
        "The call did not run because the unity-mcp that holds the port could not be reached (no descriptor is left); call again, or ask the user to restart that unity-mcp."
    );
}

#[test]
fn it_ran_in_unity_and_failed_there() {
    check(
        r#"
        show messages
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 result {"request_id":"req-t-1","status":"error","error":{"code":"ERR_INVALID_PARAMS","message":"boom"}}
        -> 2 call 1 ERR_UNITY_EXECUTION completed_error retryable inspect_then_retry unity=ERR_INVALID_PARAMS "The call ran in Unity and failed there; see details.unity for the cause and fix it before you call again."
        3 call 2 read_console
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 result {"request_id":"req-t-2","status":"error","result":{"code":"OWN","message":"boom"}}
        -> 4 call 2 ERR_UNITY_EXECUTION completed_error retryable inspect_then_retry unity=OWN "The call ran in Unity and failed there; see details.unity for the cause and fix it before you call again."
    "#,
    );
}

#[test]
fn an_error_that_refuses_before_running_means_that_nothing_was_executed() {
    check(
        r#"
        show messages
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_INVALID_PARAMS","message":"m","retryable":true}}
        -> 2 call 1 ERR_INVALID_PARAMS not_executed final fix_the_call unity=ERR_INVALID_PARAMS "Unity refused the call before running it; see details.unity for the cause, fix it and call again."
        3 call 2 read_console
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 error {"request_id":"req-t-2","error":{"code":"ERR_UNKNOWN_COMMAND","message":"m"}}
        -> 4 call 2 ERR_UNKNOWN_COMMAND not_executed final fix_the_call unity=ERR_UNKNOWN_COMMAND "Unity refused the call before running it; see details.unity for the cause, fix it and call again."
        5 call 3 read_console
        -> 5 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6 unity 1 error {"request_id":"req-t-3","error":{"code":"ERR_RECONFIG_IN_PROGRESS","message":"m"}}
        -> 6 call 3 ERR_RECONFIG_IN_PROGRESS not_executed retryable retry unity=ERR_RECONFIG_IN_PROGRESS "Unity refused the call before running it; see details.unity for the cause, fix it and call again."
    "#,
    );
}

#[test]
fn an_error_with_any_other_code_keeps_it_and_promises_nothing() {
    check(
        r#"
        show messages
        0 ready 1
        1 call 1 read_console
        -> 1 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        2 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_EDITOR_NOT_READY","message":"m","details":{"execution_guarantee":"not_executed"}}}
        -> 2 call 1 ERR_EDITOR_NOT_READY unknown retryable retry unity=ERR_EDITOR_NOT_READY "Unity answered with an error (see details.unity), so it is unknown whether the call ran; it is safe to call again."
        3 call 2 read_console
        -> 3 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        4 unity 1 error {"request_id":"req-t-2","error":{"code":"ERR_QUEUE_FULL","message":"m"}}
        -> 4 call 2 ERR_QUEUE_FULL unknown retryable retry unity=ERR_QUEUE_FULL "Unity answered with an error (see details.unity), so it is unknown whether the call ran; it is safe to call again."
        5 call 3 read_console
        -> 5 unity 1 execute req-t-3 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        6 unity 1 error {"request_id":"req-t-3","error":{"code":"ERR_INVALID_REQUEST","message":"m"}}
        -> 6 call 3 ERR_INVALID_REQUEST unknown retryable retry unity=ERR_INVALID_REQUEST "Unity answered with an error (see details.unity), so it is unknown whether the call ran; it is safe to call again."
        7 call 4 read_console
        -> 7 unity 1 execute req-t-4 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        8 unity 1 error {"request_id":"req-t-4","error":{"code":"ERR_UNITY_EXECUTION","message":"m"}}
        -> 8 call 4 ERR_UNITY_EXECUTION completed_error retryable inspect_then_retry unity=ERR_UNITY_EXECUTION "The call ran in Unity and failed there; see details.unity for the cause and fix it before you call again."
        9 call 5 read_console
        -> 9 unity 1 execute req-t-5 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        10 unity 1 error {"request_id":"req-t-5","error":{"code":"SOMETHING_ELSE","message":"m"}}
        -> 10 call 5 ERR_UNITY_EXECUTION unknown retryable retry unity=SOMETHING_ELSE "Unity answered with an error (see details.unity), so it is unknown whether the call ran; it is safe to call again."
        11 call 6 run_tests
        -> 11 call 6 ok accepted job-t-1 Queued
        -> 11 unity 1 submit_job req-t-6 run_tests {"mode":"all"} timeout=300000
        -> 11 note JobChanged { job: job-t-1, state: Running }
        12 unity 1 error {"request_id":"req-t-6","error":{"code":"ERR_QUEUE_FULL","message":"m"}}
        -> 12 note JobChanged { job: job-t-1, state: Failed }
        13 call 7 get_job_status {"job_id":"job-t-1"}
        -> 13 call 7 ok job-t-1 Failed error=(ERR_QUEUE_FULL unknown final inspect_then_retry unity=ERR_QUEUE_FULL "Unity answered with an error (see details.unity), so it is unknown whether the call ran; check what has changed before you call again.")
    "#,
    );
}
