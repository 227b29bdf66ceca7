//! A careless or hostile agent on stdin.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use harness::agent::HttpAgent;
use harness::server::Server;
use serde_json::{Value, json};

use crate::bench::{Bench, dial, figure_of, say};
use crate::wire::{accept_job, large_job, next_but_status, session};
use crate::{Attack, Case};

/// The error code that the server answers to a line.
fn complaint(bench: &mut Bench, line: &str) -> Value {
    let agent = bench.agent.as_mut().unwrap();
    agent.write_raw(line);
    agent.write_raw("\n");
    let message = agent.next_message().unwrap();
    assert_eq!(message["id"], Value::Null, "{message}");
    message["error"]["code"].clone()
}

/// Name, line, code.
type Row = (&'static str, fn() -> String, i64);

const ROWS: &[Row] = &[
    ("what_is_not_json", || "nonsense".to_owned(), -32700),
    ("half_a_message", || "{\"jsonrpc\":\"2.0\",".to_owned(), -32700),
    ("a_batch", || "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]".to_owned(), -32600),
    ("what_is_not_a_message", || "{\"a\":1}".to_owned(), -32600),
    ("a_line_over_the_limit", || format!("\"{}\"", "x".repeat(1_100_000)), -32600),
    ("a_line_of_many_mebibytes", || "x".repeat(20_000_000), -32600),
    ("arrays_in_arrays_without_end", || format!("{{\"a\":{}", "[".repeat(900_000)), -32600),
    ("a_mebibyte_of_empty_arrays", || format!("{{\"a\":[{}1]}}", "[],".repeat(300_000)), -32600),
    (
        "an_id_without_end",
        || {
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}",
                "x".repeat(900_000)
            )
        },
        -32600,
    ),
    ("control_signs", || "\u{1b}[2J\u{7}{\"\u{202e}".to_owned(), -32700),
];

#[expect(clippy::too_many_lines, reason = "one flat table")]
pub(crate) fn cases() -> Vec<Case> {
    let rows = ROWS.iter().map(|(name, line, code)| {
        Case::new(*name, move |bench: &mut Bench| assert_eq!(complaint(bench, &line()), *code))
    });
    let others: [Attack; 10] = [
        ("an_id_that_is_used_twice_is_answered_once", |bench| {
            let agent = bench.agent.as_mut().unwrap();
            let call = json!({ "name": "read_console", "arguments": {} });
            let request =
                json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call });
            agent.write_raw(&format!("{request}\n{request}\n"));
            let messages = [agent.next_message().unwrap(), agent.next_message().unwrap()];
            let answers = messages.iter().filter(|message| message["id"] == 77).count();
            let refusals =
                messages.iter().filter(|message| message["error"]["code"] == -32600).count();
            assert_eq!((answers, refusals), (1, 1), "{messages:?}");
        }),
        ("ten_thousand_calls_at_once_are_answered_once_each", |bench| {
            let agent = bench.agent.as_mut().unwrap();
            let calls: Vec<u64> =
                (0..10_000).map(|_| agent.call("get_editor_state", json!({}))).collect();
            calls.into_iter().for_each(|call| drop(agent.outcome(call).unwrap()));
        }),
        ("arguments_that_are_too_long", |bench| {
            let agent = bench.agent.as_mut().unwrap();
            let calls: Vec<u64> = (0..64)
                .map(|_| agent.call("read_console", json!({ "contains": "x".repeat(500_000) })))
                .collect();
            for call in calls {
                assert_eq!(agent.outcome(call).unwrap_err()["code"], "ERR_INVALID_PARAMS");
            }
        }),
        ("ten_thousand_larger_calls_at_once", |bench| {
            let agent = bench.agent.as_mut().unwrap();
            let params =
                json!({ "name": "get_editor_state", "_meta": { "junk": "x".repeat(30_000) } });
            let calls: Vec<u64> =
                (0..10_000).map(|_| agent.send("tools/call", params.clone())).collect();
            calls.into_iter().for_each(|call| drop(agent.outcome(call).unwrap()));
        }),
        ("more_calls_that_wait_than_the_queue_takes", |bench| {
            let mut socket = session(bench, "ready");
            let agent = bench.agent.as_mut().unwrap();
            let job = agent.call("run_tests", json!({}));
            accept_job(&mut socket);
            let job = agent.outcome(job).unwrap()["job_id"].clone();
            let wait = json!({ "job_id": job, "wait_ms": 3_000 });
            let calls: Vec<u64> =
                (0..5_000).map(|_| agent.call("get_job_status", wait.clone())).collect();
            let answers: Vec<String> =
                calls.into_iter().map(|call| agent.answer(call).to_string()).collect();
            let refused = answers.iter().filter(|answer| answer.contains("ERR_QUEUE_FULL")).count();
            let answered = answers.iter().filter(|answer| answer.contains("running")).count();
            assert!(
                refused > 1_000 && answered > 0 && refused + answered == 5_000,
                "{refused} {answered}"
            );
        }),
        ("a_hundred_calls_that_wait_keep_no_cancel_out", |bench| {
            let mut socket = session(bench, "ready");
            let agent = bench.agent.as_mut().unwrap();
            let mut calls = Vec::new();
            for _ in 0..100 {
                calls.push(agent.call("run_tests", json!({ "wait_ms": 60_000 })));
                accept_job(&mut socket);
            }
            agent.run("get_editor_state", json!({})).unwrap();
            for call in calls {
                agent.cancel(call);
                let cancel = next_but_status(&mut socket);
                assert_eq!(cancel["type"], "cancel");
                let id = &cancel["request_id"];
                say(
                    &mut socket,
                    &json!({ "type": "cancel_result", "request_id": id, "status": "cancelled" }),
                );
            }
        }),
        ("cancels_that_are_too_long", |bench| {
            for number in 0..100 {
                let id = format!("{number} {}", "x".repeat(1024 * 1024));
                let params = json!({ "requestId": id });
                let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                assert_eq!(complaint(bench, &cancel.to_string()), -32600);
            }
        }),
        ("large_calls_that_wait", |bench| {
            let _compiling = session(bench, "compiling");
            let agent = bench.agent.as_mut().unwrap();
            let large = json!({ "name": "read_console", "_meta": { "junk": "x".repeat(900_000) } });
            let calls: Vec<u64> =
                (0..60).map(|_| agent.send("tools/call", large.clone())).collect();
            let (waiting, refused) = calls.split_at(4); // The limit.
            for call in refused {
                assert_eq!(agent.answer(*call)["error"]["data"]["code"], "ERR_QUEUE_FULL");
            }
            waiting.iter().for_each(|call| agent.cancel(*call));
            agent.run("get_editor_state", json!({})).unwrap();
        }),
        ("an_agent_that_does_not_read", |_| {
            let meta = "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},\"junk\":\"JUNK\"}";
            let large = meta.replace("JUNK", &"x".repeat(100_000));
            let list =
                "{\"jsonrpc\":\"2.0\",\"id\":ID,\"method\":\"tools/list\",\"params\":{META}}\n";
            let ping = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"method\":\"ping\",\"params\":{META}}\n";
            for text in [
                list.replace("META", meta),
                list.replace("META", &large),
                format!("{}nonsense\n", ping.replace("META", meta)),
            ] {
                unread(Server::start(&["--stdio"]), text);
            }
        }),
        ("large_answers_that_nobody_reads", |_| {
            let mut server = Server::start(&["--stdio"]);
            let port = server.port();
            let mut socket = dial(port);
            say(&mut socket, &json!({ "type": "hello", "plugin_version": "1", "state": "ready" }));
            let job = large_job(port, &mut socket);
            unread(
                server,
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":ID,\"method\":\"tools/call\",\"params\":{{\"name\":\"get_job_status\",\"arguments\":{{\"job_id\":{job}}},\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}\n"
                ),
            );
        }),
    ];
    rows.chain(others.map(|(name, run)| Case::new(name, run))).collect()
}

/// An agent that repeats this text, each time with another id, and does not read.
fn unread(mut server: Server, text: String) {
    let port = server.port();
    let before = figure_of(&server, "VmRSS:");
    let mut stdin = server.process.stdin.take().unwrap();
    let (said, heard) = channel();
    std::thread::spawn(move || {
        for id in 0.. {
            // Until the server or the test ends.
            if stdin.write_all(text.replace("ID", &id.to_string()).as_bytes()).is_err()
                || said.send(()).is_err()
            {
                return;
            }
        }
    });
    // Wait until the server has stopped reading.
    while heard.recv_timeout(Duration::from_secs(1)).is_ok() {}
    let more = figure_of(&server, "VmHWM:").zip(before).map(|(peak, before)| peak - before);
    eprintln!("unread answers: {more:?} KiB more at the most");
    assert!(more.is_none_or(|more| more < 64 * 1024), "{more:?} KiB");
    let began = Instant::now();
    HttpAgent { port }.run("get_editor_state", &json!({})).unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}
