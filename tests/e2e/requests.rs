//! Requests of agents before they are calls: malformed ones, too many of them, and some that are taken back at once.

use harness::agent::{HttpAgent, StdioAgent, brief, outcome};
use harness::server::Server;
use serde_json::{Value, json};

use crate::plugin::{Plugin, console};

/// Calls that may wait at once over one transport.
const WAITING_MAX: usize = 128;
/// More than that.
const MANY: usize = 205;

/// The server asks Unity nothing by itself, so that the test sees each message.
const NO_POLLS: [&str; 4] =
    ["--job-poll-interval-ms", "3600000", "--heartbeat-interval-ms", "3600000"];

#[test]
fn malformed_json_rpc_over_http_is_a_json_rpc_error() {
    let mut server = Server::start(&[]);
    let agent = HttpAgent { port: server.port() };
    let head = format!(
        "{}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream",
        agent.host()
    );
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    for (body, code) in [
        ("", -32700),
        ("nonsense", -32700),
        ("{\"jsonrpc\":\"2.0\",", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", -32700),
        ("7", -32600),
        ("{\"a\":1}", -32600),
        ("{\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (&deep, -32600),
    ] {
        let answer = agent.raw("POST /mcp HTTP/1.1", &head, body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        let message = answer.answer();
        assert_eq!((&message["jsonrpc"], message.get("id")), (&json!("2.0"), Some(&Value::Null)));
        assert_eq!(message["error"]["code"], code, "{body}: {message}");
        assert_eq!(brief(&message["error"]["data"]), "ERR_INVALID_PARAMS not_executed");
    }
}

/// The same object as over HTTP.
#[test]
fn malformed_json_rpc_over_stdio_carries_the_error_object() {
    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::new(&mut server);
    for (line, code) in [("nonsense", -32700), ("{\"a\":1}", -32600), ("[]", -32600)] {
        agent.write_raw(&format!("{line}\n"));
        let error = agent.next_message().unwrap()["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(brief(&error["data"]), "ERR_INVALID_PARAMS not_executed");
    }
}

/// Starts as many test runs as may wait for their end. Unity accepts them all.
fn fill(plugin: &mut Plugin, mut run_tests: impl FnMut()) {
    for number in 0..WAITING_MAX {
        run_tests();
        let submit = plugin.expect("submit_job");
        plugin.accept_job(&submit, &format!("u-{number}"));
    }
}

#[test]
fn calls_that_wait_over_http_leave_room_for_control_calls() {
    let mut server = Server::start(&NO_POLLS);
    let agent = HttpAgent { port: server.port() };
    let mut plugin = Plugin::ready(agent.port);
    let job = agent.run("run_tests", &json!({})).unwrap()["job_id"].clone();
    let submit = plugin.expect("submit_job");
    plugin.accept_job(&submit, "u-first");
    let wait = json!({ "wait_ms": 60_000 });
    let mut waiting = Vec::new();
    fill(&mut plugin, || waiting.push(agent.call("run_tests", &wait)));
    for _ in WAITING_MAX..MANY {
        assert_eq!(agent.call("run_tests", &wait).read().status, 503);
    }
    assert_eq!(agent.run("get_editor_state", &json!({})).unwrap()["connected"], true);
    let status = agent.call("get_job_status", &json!({ "job_id": job }));
    let asked = plugin.expect("get_job_status");
    plugin.job_status(&asked, json!({ "state": "running" }));
    assert_eq!(outcome(&status.read().answer()).unwrap()["state"], "running");
    let cancel = agent.run("cancel_job", &json!({ "job_id": job })).unwrap();
    assert_eq!(cancel["status"], "cancel_requested");
    assert_eq!(plugin.expect("cancel")["target_job_id"], "u-first");
}

#[test]
fn calls_that_wait_over_stdio_keep_no_cancel_out() {
    let mut server = Server::start(&[&["--stdio"], &NO_POLLS[..]].concat());
    let mut agent = StdioAgent::new(&mut server);
    let mut plugin = Plugin::ready(server.port());
    let wait = json!({ "wait_ms": 60_000 });
    let mut waiting = Vec::new();
    fill(&mut plugin, || waiting.push(agent.call("run_tests", wait.clone())));
    let refused: Vec<u64> =
        (WAITING_MAX..MANY).map(|_| agent.call("run_tests", wait.clone())).collect();
    for call in refused {
        let answer = agent.answer(call);
        assert_eq!(answer["error"]["data"]["code"], "ERR_QUEUE_FULL", "{answer}");
    }
    agent.cancel(waiting[7]);
    let cancel = plugin.expect("cancel");
    assert_eq!(cancel["target_job_id"], "u-7");
    let done = json!({
        "type": "cancel_result", "request_id": cancel["request_id"], "status": "cancelled",
    });
    plugin.say(done);
    assert_eq!(agent.run("get_editor_state", json!({})).unwrap()["connected"], true);
    let unknown = agent.run("cancel_job", json!({ "job_id": "job-x-1" })).unwrap_err();
    assert_eq!(brief(&unknown), "ERR_JOB_NOT_FOUND not_executed");
}

/// A call and its cancel, each in a line.
fn taken_back(number: usize) -> String {
    let id = format!("taken back {number}");
    let params = json!({ "name": "read_console", "arguments": { "contains": "taken back" } });
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let params = json!({ "requestId": id });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    format!("{call}\n{cancel}\n")
}

#[test]
fn a_call_that_is_taken_back_in_the_same_write_never_reaches_unity() {
    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::new(&mut server);
    let mut plugin = Plugin::ready(server.port());
    // Fifty writes with one such call, then one with more of them than the server reads at a time.
    let writes = (0..50).map(taken_back).chain([(50..250).map(taken_back).collect()]);
    for (number, write) in writes.enumerate() {
        agent.write_raw(&write);
        let probe = agent.call("read_console", json!({ "contains": "probe" }));
        let execute = plugin.expect("execute");
        assert_eq!(execute["params"]["contains"], "probe", "write {number} reached Unity");
        plugin.answer_console(&execute, "probe");
        assert_eq!(agent.outcome(probe), Ok(console("probe")));
    }
    agent.close_stdin();
    assert_eq!(agent.rest(), Vec::<Value>::new(), "no answer to a call that was taken back");
}
