//! SPEC 5.7: progress reports.

use super::check::check;

#[test]
fn a_waiting_call_hears_why_it_waits_and_its_place() {
    check(
        r#"
        0 bound
        0 call 1 read_console
        0 call 2+ read_console
        -> 500 call 2 progress WaitingEditorReady Some(Disconnected) Some(1) 500 None
        600 compiling 1
        -> 1500 call 2 progress WaitingEditorReady Some(Compiling) Some(1) 1500 None
        1600 unity 1 editor_status {"state":"ready","seq":1}
        -> 1600 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 2500 call 2 progress Queued None Some(0) 2500 None
        2600 console 1 req-t-1
        -> 2600 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 2600 unity 1 execute req-t-2 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 3500 call 2 progress Running None None 3500 None
        3600 console 1 req-t-2
        -> 3600 call 2 ok {"count":0,"truncated":false,"entries":[]}
        9000 wait
    "#,
    );
}

#[test]
fn a_call_without_a_token_hears_nothing() {
    check(
        r#"
        0 compiling 1
        0 call 1 read_console
        5000 wait
    "#,
    );
}

#[test]
fn whoever_waits_for_a_job_hears_how_many_tests_are_done() {
    check(
        r#"
        0 ready 1
        0 call 1+ run_tests {"wait_ms":60000}
        -> 0 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000
        -> 0 note JobChanged { job: job-t-1, state: Running }
        10 unity 1 submit_job_result {"request_id":"req-t-1","status":"accepted","job_id":"u1"}
        -> 500 call 1 progress Running None None 500 Some((Running, None))
        -> 1010 unity 1 get_job_status req-t-2 u1
        1020 unity 1 job_status {"request_id":"req-t-2","job_id":"u1","state":"running","progress":{"done":3,"total":20,"current":"Jumps"}}
        -> 1500 call 1 progress Running None None 1500 Some((Running, Some(Progress { done: 3, total: 20, current: Some("Jumps") })))
        1600 close 1
        -> 1600 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        2000 ready 2
        -> 2000 unity 2 get_job_status req-t-3 u1
        2100 unity 2 job_status {"request_id":"req-t-3","job_id":"u1","state":"succeeded"}
        -> 2100 note JobChanged { job: job-t-1, state: Succeeded }
        -> 2100 call 1 ok job-t-1 Succeeded
        9000 wait
    "#,
    );
}

#[test]
fn a_queued_control_call_hears_that_it_is_queued() {
    check(
        r#"
        0 ready 1
        0 call 1 read_console
        -> 0 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        0 call 2+ get_job_status {"job_id":"job-t-1"}
        -> 500 call 2 progress Queued None Some(0) 500 None
        600 console 1 req-t-1
        -> 600 call 1 ok {"count":0,"truncated":false,"entries":[]}
        -> 600 call 2 ERR_JOB_NOT_FOUND not_executed final fix_the_call
    "#,
    );
}
