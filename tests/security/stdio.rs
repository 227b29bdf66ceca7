//! A careless or hostile agent on stdin.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, figure_of};
use crate::harness::Server;
use crate::{Attack, Case};

/// What comes back for a line, with whatever came before it.
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
    ("control_signs", || "\u{1b}[2J\u{7}{\"\u{202e}".to_owned(), -32700),
];

pub(crate) fn cases() -> Vec<Case> {
    let rows = ROWS.iter().map(|(name, line, code)| {
        Case::new(*name, move |bench: &mut Bench| assert_eq!(complaint(bench, &line()), *code))
    });
    let others: [Attack; 4] = [
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
        ("an_agent_that_does_not_read", |_| {
            let mut server = Server::start(&["--stdio"]);
            server.port();
            let before = figure_of(&server, "VmRSS:");
            let mut stdin = server.process.stdin.take().unwrap();
            std::thread::spawn(move || {
                let list = "{\"jsonrpc\":\"2.0\",\"id\":ID,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
                for id in 0..100_000 {
                    // It ends with the server.
                    if stdin.write_all(list.replace("ID", &id.to_string()).as_bytes()).is_err() {
                        return;
                    }
                }
            });
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(3) {
                std::thread::sleep(Duration::from_millis(100)); // It takes what it takes in this time.
            }
            let more = figure_of(&server, "VmHWM:").zip(before).map(|(peak, before)| peak - before);
            assert!(more.is_none_or(|more| more < 32 * 1024), "{more:?} KiB");
        }),
    ];
    rows.chain(others.map(|(name, run)| Case::new(name, run))).collect()
}
