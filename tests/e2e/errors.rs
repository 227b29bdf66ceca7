//! What every error tells the agent to do next.

use harness::agent::{HttpAgent, StdioAgent, outcome};
use harness::server::Server;
use serde_json::{Value, json};

use crate::plugin::Plugin;

/// `code recovery_action` of an error object.
fn advice(error: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{error}")).to_owned();
    format!("{} {}", text(&error["code"]), text(&error["details"]["recovery_action"]))
}

#[test]
fn an_error_of_a_call_says_what_to_do_next_over_both_transports() {
    let flags = ["--stdio", "--queue-max-size", "1", "--request-reconnect-wait-ms", "10"];
    let mut server = Server::start(&flags);
    let mut stdio = StdioAgent::new(&mut server);
    let http = HttpAgent { port: server.port() };
    for (tool, arguments, expected) in [
        ("read_console", json!({ "max_entries": 0 }), "ERR_INVALID_PARAMS fix_the_call"),
        ("get_job_status", json!({ "job_id": "job-x-1" }), "ERR_JOB_NOT_FOUND fix_the_call"),
        ("read_console", json!({}), "ERR_EDITOR_NOT_READY wait_for_editor"),
    ] {
        assert_eq!(advice(&http.run(tool, &arguments).unwrap_err()), expected);
        assert_eq!(advice(&stdio.run(tool, arguments).unwrap_err()), expected);
    }
    let unknown = json!({ "name": "rm" });
    for answer in [
        http.request("2025-11-25", "tools/call", &unknown),
        stdio.request("tools/call", unknown.clone()),
    ] {
        assert_eq!(advice(&answer["error"]["data"]), "ERR_UNKNOWN_COMMAND fix_the_call");
    }
    let _compiling = Plugin::hello(server.port(), json!({ "state": "compiling" }));
    stdio.call("read_console", json!({}));
    stdio.wait_for("queue_length", 1);
    for error in [
        http.run("read_console", &json!({})).unwrap_err(),
        stdio.run("read_console", json!({})).unwrap_err(),
    ] {
        assert_eq!(advice(&error), "ERR_QUEUE_FULL retry");
    }
}

#[test]
fn an_error_of_a_job_says_what_to_do_next() {
    let mut server = Server::start(&["--job-poll-interval-ms", "3600000"]);
    let agent = HttpAgent { port: server.port() };
    let mut plugin = Plugin::ready(agent.port);
    let call = agent.call("run_tests", &json!({ "wait_ms": 10_000 }));
    let submit = plugin.expect("submit_job");
    let error = json!({ "code": "ERR_UNITY_EXECUTION", "message": "no" });
    plugin.say(json!({ "type": "error", "request_id": submit["request_id"], "error": error }));
    let job = outcome(&call.read().answer()).unwrap();
    assert_eq!(advice(&job["error"]), "ERR_UNITY_EXECUTION inspect_then_retry");

    let job = agent.run("run_tests", &json!({})).unwrap()["job_id"].clone();
    let submit = plugin.expect("submit_job");
    plugin.accept_job(&submit, "u-1");
    agent.run("cancel_job", &json!({ "job_id": job })).unwrap();
    let cancel = plugin.expect("cancel");
    plugin.say(json!({
        "type": "cancel_result", "request_id": cancel["request_id"], "status": "rejected",
    }));
    let call = agent.call("get_job_status", &json!({ "job_id": job }));
    let asked = plugin.expect("get_job_status");
    plugin.job_status(&asked, json!({ "state": "running" }));
    let status = outcome(&call.read().answer()).unwrap();
    assert_eq!(advice(&status["cancel_error"]), "ERR_CANCEL_REJECTED none");
}
