//! What a hostile or broken plugin sends after its hello.

use std::io::Write as _;
use std::time::Duration;

use harness::agent::{HttpAgent, outcome};
use serde_json::{Value, json};
use tungstenite::Message;

use crate::bench::{Bench, ODD, Socket, dial, say};
use crate::{Attack, Case};

/// Replaces the Editor by a session of the test.
pub(crate) fn session(bench: &mut Bench, state: &str) -> Socket {
    bench.end_editor();
    bench.agent.as_mut().unwrap().wait_for("connected", false);
    let mut socket = dial(bench.port);
    say(&mut socket, &json!({ "type": "hello", "plugin_version": "1", "state": state }));
    bench.agent.as_mut().unwrap().wait_for("connected", true);
    socket
}

/// The next frame that is not a heartbeat.
pub(crate) fn next(socket: &mut Socket) -> Value {
    loop {
        let Message::Text(text) = socket.read().unwrap() else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        match frame["type"].as_str().unwrap() {
            "ping" => say(socket, &json!({ "type": "pong" })),
            "hello" | "capability" => {}
            _ => return frame,
        }
    }
}

/// Checks that the server closes the socket (1009) because the text needs too much memory.
fn refuses_as_too_large(socket: &mut Socket, text: &str) {
    socket.send(Message::text(text)).unwrap();
    loop {
        if let Message::Close(frame) = socket.read().unwrap() {
            return assert_eq!(u16::from(frame.unwrap().code), 1009);
        }
    }
}

/// Accepts the next job, and reports all earlier jobs as running.
pub(crate) fn accept_job(socket: &mut Socket) {
    let submitted = next_but_status(socket);
    assert_eq!(submitted["type"], "submit_job");
    let id = &submitted["request_id"];
    say(
        socket,
        &json!({ "type": "submit_job_result", "request_id": id, "status": "accepted", "job_id": id }),
    );
}

/// The next frame that is not `get_job_status`. Reports those jobs as running.
pub(crate) fn next_but_status(socket: &mut Socket) -> Value {
    loop {
        let frame = next(socket);
        if frame["type"] != "get_job_status" {
            return frame;
        }
        say(
            socket,
            &json!({ "type": "job_status", "request_id": frame["request_id"], "job_id": frame["job_id"], "state": "running" }),
        );
    }
}

/// Waits for `get_job_status` and reports the job as ended.
fn end_job(socket: &mut Socket, result: &Value, current: &str) {
    let asked = next(socket);
    assert_eq!(asked["type"], "get_job_status");
    say(
        socket,
        &json!({
            "type": "job_status", "request_id": asked["request_id"], "job_id": asked["job_id"], "state": "failed",
            "progress": { "done": 1, "total": 1, "current": current }, "result": result,
        }),
    );
}

/// Runs a job with the largest result that the server keeps. Returns its id.
pub(crate) fn large_job(port: u16, socket: &mut Socket) -> Value {
    let agent = HttpAgent { port };
    let accepted = agent.call("run_tests", &json!({}));
    accept_job(socket);
    let job = outcome(&accepted.read().answer()).unwrap()["job_id"].clone();
    let summary: Value = serde_json::from_str(SUMMARY).unwrap();
    let failed = json!({ "name": "a", "message": "\"\\".repeat(2_000), "stack_trace": "" });
    end_job(socket, &json!({ "summary": summary, "failed_tests": vec![failed; 50] }), "");
    while agent.run("get_job_status", &json!({ "job_id": job })).unwrap()["state"] != "failed" {}
    job
}

/// Runs twenty jobs to their end.
fn run_jobs(bench: &mut Bench, socket: &mut Socket, result: &Value, current: &str) {
    let agent = bench.agent.as_mut().unwrap();
    let calls: Vec<u64> = (0..20).map(|_| agent.call("run_tests", json!({}))).collect();
    calls.iter().for_each(|_| accept_job(socket));
    calls.iter().for_each(|call| drop(agent.outcome(*call).unwrap()));
    calls.iter().for_each(|_| end_job(socket, result, current));
}

const SUMMARY: &str = r#"{"total":1,"passed":0,"failed":1,"skipped":0,"duration_ms":1}"#;

/// Name, text, code of the error.
const ROWS: &[(&str, &str, &str)] = &[
    ("what_is_not_json", "nonsense", "ERR_INVALID_REQUEST"),
    ("an_empty_text", "", "ERR_INVALID_REQUEST"),
    ("an_array", "[1,2,3]", "ERR_INVALID_REQUEST"),
    ("two_documents", "{} {}", "ERR_INVALID_REQUEST"),
    ("a_byte_order_mark", "\u{feff}{}", "ERR_INVALID_REQUEST"),
    ("no_type", r#"{"protocol_version":1}"#, "ERR_INVALID_REQUEST"),
    ("a_type_in_capitals", r#"{"TYPE":"pong","protocol_version":1}"#, "ERR_INVALID_REQUEST"),
    (
        "a_key_that_stands_twice",
        r#"{"type":"pong","type":"pong","protocol_version":1}"#,
        "ERR_INVALID_REQUEST",
    ),
    ("another_protocol", r#"{"type":"pong","protocol_version":2}"#, "ERR_INVALID_REQUEST"),
    (
        "a_seq_that_is_no_number",
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":"1"}"#,
        "ERR_INVALID_REQUEST",
    ),
    (
        "a_seq_below_zero",
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":-1}"#,
        "ERR_INVALID_REQUEST",
    ),
    (
        "a_seq_over_the_limit",
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":18446744073709551616}"#,
        "ERR_INVALID_REQUEST",
    ),
    (
        "a_number_without_end",
        r#"{"type":"editor_status","protocol_version":1,"state":"ready","seq":1e400}"#,
        "ERR_INVALID_REQUEST",
    ),
    (
        "a_state_that_is_none",
        r#"{"type":"editor_status","protocol_version":1,"state":"happy","seq":1}"#,
        "ERR_INVALID_REQUEST",
    ),
    (
        "a_second_hello",
        r#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready"}"#,
        "ERR_INVALID_REQUEST",
    ),
    ("an_unknown_type", r#"{"type":"shrug","protocol_version":1}"#, "ERR_UNKNOWN_COMMAND"),
];

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let rows = ROWS.iter().map(|(name, text, code)| {
        Case::new(*name, move |bench: &mut Bench| {
            let mut socket = session(bench, "ready");
            socket.send(Message::text(*text)).unwrap();
            assert_eq!(next(&mut socket)["error"]["code"], *code);
        })
    });
    let others: [Attack; 14] = [
        ("json_without_bottom", |bench| {
            let mut socket = session(bench, "ready");
            socket.send(Message::text("[".repeat(500_000))).unwrap();
            assert_eq!(next(&mut socket)["error"]["code"], "ERR_INVALID_REQUEST");
        }),
        ("a_mebibyte_of_empty_arrays", |bench| {
            let mut socket = session(bench, "ready");
            let text = format!(
                r#"{{"type":"pong","protocol_version":1,"x":[{}1]}}"#,
                "[],".repeat(340_000)
            );
            refuses_as_too_large(&mut socket, &text);
        }),
        ("a_hundred_thousand_keys", |bench| {
            let mut socket = session(bench, "ready");
            let keys: String = (0..80_000).map(|number| format!("\"{number}\":0,")).collect();
            let text = format!(r#"{{{keys}"type":"pong","protocol_version":1}}"#);
            refuses_as_too_large(&mut socket, &text);
        }),
        ("signs_that_a_terminal_would_obey", |bench| {
            let mut socket = session(bench, "ready");
            let odd = String::from_iter(ODD);
            let evil = format!("\u{1b}[2J\u{7}\r\nERROR forged\u{9b}31m\u{0}{odd}");
            let evil = evil.as_str();
            for kind in ["error", "capability", "shrug", evil] {
                say(
                    &mut socket,
                    &json!({
                        "type": kind, "request_id": evil, "tools": [{ "name": evil }, { "name": "read_console" }],
                        "error": { "code": evil, "message": evil, "details": evil },
                    }),
                );
            }
            let agent = bench.agent.as_mut().unwrap();
            let call = agent.call("read_console", json!({}));
            let mut execute = next(&mut socket);
            while execute["type"] != "execute" {
                execute = next(&mut socket);
            }
            say(
                &mut socket,
                &json!({
                    "type": "result", "request_id": execute["request_id"], "status": "error",
                    "error": { "code": evil, "message": evil },
                }),
            );
            let error = agent.outcome(call).unwrap_err();
            assert_eq!(error["details"]["unity"]["message"], evil, "data is data");
            assert!(!error["message"].to_string().contains("forged"), "{error}");
        }),
        ("an_answer_without_end", |bench| {
            let mut socket = session(bench, "ready");
            let agent = bench.agent.as_mut().unwrap();
            let call = agent.call("read_console", json!({}));
            let execute = next(&mut socket);
            say(
                &mut socket,
                &json!({
                    "type": "result", "request_id": execute["request_id"], "status": "ok", "result": "x".repeat(1_100_000),
                }),
            );
            let error = agent.outcome(call).unwrap_err();
            assert_eq!(error["code"], "ERR_INVALID_RESPONSE");
            assert_eq!(error["details"]["execution_guarantee"], "unknown");
        }),
        ("answers_that_nobody_asked_for", |bench| {
            let mut socket = session(bench, "ready");
            for number in 0..2_000 {
                say(
                    &mut socket,
                    &json!({ "type": "result", "request_id": format!("req-x-{number}"), "status": "ok", "result": {} }),
                );
            }
            say(&mut socket, &json!({ "type": "shrug" }));
            assert_eq!(next(&mut socket)["error"]["code"], "ERR_UNKNOWN_COMMAND");
        }),
        ("large_answers_that_nobody_reads", |bench| {
            let mut socket = session(bench, "ready");
            let entries: Vec<Value> = (0..400)
                .map(|number| json!({ "type": "log", "message": format!("{number} {}", "\"x".repeat(100)) }))
                .collect();
            let result = json!({ "entries": entries, "count": 400, "truncated": false });
            let body = json!({
                "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "read_console", "arguments": { "max_entries": 2000 } },
            });
            let body = body.to_string();
            let mut unread = Vec::new();
            for _ in 0..75 {
                let mut stream = bench.connect_narrowly();
                write!(
                    stream,
                    "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
                    bench.port,
                    body.len()
                )
                .unwrap();
                let id = next(&mut socket)["request_id"].clone();
                say(
                    &mut socket,
                    &json!({ "type": "result", "request_id": id, "status": "ok", "result": result }),
                );
                unread.push(stream);
            }
            let agent = bench.agent.as_mut().unwrap();
            agent.run("get_editor_state", json!({})).unwrap();
        }),
        ("a_flood_of_unknown_types", |bench| {
            let mut socket = session(bench, "ready");
            socket.get_mut().set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            for _ in 0..100_000 {
                let shrug = r#"{"type":"shrug","protocol_version":1}"#;
                if socket.send(Message::text(shrug)).is_err() {
                    break;
                }
            }
        }),
        ("jobs_with_endless_reports", |bench| {
            let mut socket = session(bench, "ready");
            let long = "x".repeat(200_000);
            let summary: Value = serde_json::from_str(SUMMARY).unwrap();
            let failed = json!([{ "name": long, "message": long, "stack_trace": long }]);
            let result = json!({ "summary": summary, "failed_tests": failed });
            (0..3).for_each(|_| run_jobs(bench, &mut socket, &result, &long));
        }),
        ("jobs_that_end_with_junk", |bench| {
            let mut socket = session(bench, "ready");
            let summary: Value = serde_json::from_str(SUMMARY).unwrap();
            let result = json!({
                "summary": summary, "failed_tests": [], "failed_tests_left_out": "x", "junk": vec![json!([]); 16_000],
            });
            (0..3).for_each(|_| run_jobs(bench, &mut socket, &result, ""));
        }),
        ("an_error_with_small_maps", |bench| {
            let mut socket = session(bench, "ready");
            let details = format!("[{}0]", r#"{"a":0},"#.repeat(33_000));
            let error = format!(r#"{{"code":"X","message":"y","details":{details}}}"#);
            let text = format!(r#"{{"type":"error","protocol_version":1,"error":{error}}}"#);
            refuses_as_too_large(&mut socket, &text);
        }),
        ("an_error_with_as_much_as_it_may_have", |bench| {
            let mut socket = session(bench, "ready");
            let details =
                format!("[{}0]", format!(r#"{{"a":"{}"}},"#, "x".repeat(100)).repeat(9_000));
            let error = format!(r#"{{"code":"X","message":"y","details":{details}}}"#);
            let text = format!(r#"{{"type":"error","protocol_version":1,"error":{error}}}"#);
            (0..8).for_each(|_| socket.send(Message::text(text.clone())).unwrap());
            say(&mut socket, &json!({ "type": "shrug" }));
            assert_eq!(next(&mut socket)["error"]["code"], "ERR_UNKNOWN_COMMAND");
        }),
        ("jobs_that_are_accepted_too_late_under_endless_names", |bench| {
            let mut socket = session(bench, "ready");
            let agent = bench.agent.as_mut().unwrap();
            let mut submitted = Vec::new();
            for _ in 0..64 {
                let call = agent.call("run_tests", json!({}));
                let id = next(&mut socket)["request_id"].clone();
                say(
                    &mut socket,
                    &json!({ "type": "submit_job_result", "request_id": id, "status": "accepted", "job_id": "j".repeat(300) }),
                );
                agent.outcome(call).unwrap();
                submitted.push(id);
            }
            for id in submitted {
                say(
                    &mut socket,
                    &json!({ "type": "submit_job_result", "request_id": id, "status": "accepted", "job_id": "j".repeat(1_000_000) }),
                );
            }
            say(&mut socket, &json!({ "type": "shrug" }));
            assert_eq!(next(&mut socket)["error"]["code"], "ERR_UNKNOWN_COMMAND");
        }),
        ("large_calls_that_wait", |bench| {
            let _compiling = session(bench, "compiling");
            let large =
                json!({ "name": "read_console", "_meta": { "junk": "x".repeat(1_000_000) } });
            let http = HttpAgent { port: bench.port };
            // One that there is no room for is refused before it is read.
            let send = |_| http.try_send("2025-11-25", "tools/call", &large).ok();
            let waiting: Vec<_> = (0..60).filter_map(send).collect();
            bench.agent.as_mut().unwrap().run("get_editor_state", json!({})).unwrap();
            drop(waiting);
        }),
    ];
    rows.chain(others.map(|(name, run)| Case::new(name, run))).collect()
}
