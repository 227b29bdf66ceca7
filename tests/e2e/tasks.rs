//! Test runs as tasks of the revision 2026-07-28, and methods that a server with only tools does not have.

use coordination::Catalog;
use harness::agent::{HttpAgent, StdioAgent, modern, outcome};
use harness::server::Server;
use serde_json::{Value, json};

use crate::plugin::Plugin;

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The parameters of a request of a client that supports tasks.
fn declaring(params: Value) -> Value {
    let mut params = modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { TASKS: {} } });
    params
}

fn about(task: &Value) -> Value {
    declaring(json!({ "taskId": task }))
}

/// A task from its start to its result, over either transport.
fn follow_a_task(mut request: impl FnMut(&str, Value) -> Value, plugin: &mut Plugin) {
    let run = json!({ "name": "run_tests", "arguments": {} });
    let created = request("tools/call", declaring(run.clone()))["result"].clone();
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert_eq!(created["ttlMs"], Value::Null);
    assert!(created["createdAt"].as_str().unwrap().ends_with('Z'), "{created}");
    let task = &created["taskId"];
    let submit = plugin.expect("submit_job");
    plugin.accept_job(&submit, "u-1");

    let ask = plugin.expect("get_job_status");
    let summary = json!({ "total": 1, "passed": 0, "failed": 1, "skipped": 0, "duration_ms": 5 });
    let failed = json!([{ "name": "A", "message": "no", "stack_trace": "" }]);
    let result = json!({ "summary": summary, "failed_tests": failed });
    plugin.job_status(&ask, json!({ "job_id": "u-1", "state": "failed", "result": result }));
    let shown = loop {
        let shown = request("tasks/get", about(task))["result"].clone();
        if shown["status"] != "working" {
            break shown;
        }
    };
    assert_eq!(shown["status"], "completed", "failed tests are a result");
    let job = outcome(&shown).unwrap();
    assert_eq!((&job["job_id"], &job["state"]), (task, &json!("failed")));
    let status = json!({ "name": "get_job_status", "arguments": { "job_id": task } });
    assert_eq!(outcome(&request("tools/call", declaring(status))).unwrap(), job);

    let acknowledged = request("tasks/cancel", about(task))["result"].clone();
    assert_eq!(acknowledged["resultType"], "complete", "{acknowledged}");
    let unknown = request("tasks/get", about(&json!("job-x-1")));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(unknown["error"]["data"]["code"], "ERR_JOB_NOT_FOUND");

    let plain = outcome(&request("tools/call", modern(run))).unwrap();
    assert_eq!(plain["state"], "queued", "a client without tasks gets a job");
}

#[test]
fn a_test_run_is_a_task_over_stdio_and_http_for_a_client_that_declares_it() {
    let mut server = Server::start(&["--stdio", "--job-poll-interval-ms", "50"]);
    let mut agent = StdioAgent::silent(&mut server);
    let mut plugin = Plugin::ready(server.port());
    follow_a_task(|method, params| agent.request(method, params), &mut plugin);

    let mut server = Server::start(&["--job-poll-interval-ms", "50"]);
    let agent = HttpAgent { port: server.port() };
    let mut plugin = Plugin::ready(server.port());
    let request = |method: &str, params| agent.request("2026-07-28", method, &params);
    follow_a_task(request, &mut plugin);
}

#[test]
fn a_repeated_test_run_is_the_same_task_and_says_so() {
    let mut server = Server::start(&["--catalog", "1.1"]);
    let agent = HttpAgent { port: server.port() };
    let state = json!({ "state": "ready" });
    let _plugin = Plugin::hello_of(server.port(), state, Catalog::V1_1);
    let run = json!({ "name": "run_tests", "arguments": { "client_request_id": "x" } });
    let [first, second] = [(); 2].map(|()| {
        let answer = agent.request("2026-07-28", "tools/call", &declaring(run.clone()));
        answer["result"].clone()
    });
    assert_eq!(first["taskId"], second["taskId"]);
    let is_replayed = |task: &Value| task["statusMessage"].to_string().contains("replayed");
    assert!(!is_replayed(&first) && is_replayed(&second), "{first} {second}");
}

/// `code data.code` of an error.
fn code(answer: &Value) -> String {
    let error = &answer["error"];
    format!("{} {}", error["code"], error["data"]["code"].as_str().unwrap_or_default())
}

#[test]
fn what_a_server_of_tools_alone_does_not_have_is_empty_or_unknown_as_its_revision_expects() {
    let mut server = Server::start(&["--stdio"]);
    let mut legacy = StdioAgent::new(&mut server);
    for (method, list) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        assert_eq!(legacy.request(method, json!({}))["result"][list], json!([]), "{method}");
    }
    for (method, params) in [
        ("prompts/get", json!({ "name": "x" })),
        ("resources/read", json!({ "uri": "x:y" })),
        ("tasks/list", json!({})),
        ("no/such", json!({})),
    ] {
        assert_eq!(code(&legacy.request(method, params)), "-32601 ERR_UNKNOWN_COMMAND", "{method}");
    }

    let mut server = Server::start(&["--stdio"]);
    let mut agent = StdioAgent::silent(&mut server);
    for method in ["prompts/list", "resources/list", "tasks/list", "tasks/result", "no/such"] {
        let answer = agent.request(method, declaring(json!({})));
        assert_eq!(code(&answer), "-32601 ERR_UNKNOWN_COMMAND", "{method}");
    }
    for (method, params) in [
        ("tools/call", json!({ "name": 5 })),
        ("tools/call", json!({ "name": "read_console", "arguments": [] })),
        ("tools/list", json!({ "cursor": "x" })),
        ("tasks/get", json!({ "taskId": 5 })),
        ("tasks/cancel", json!({})),
    ] {
        let answer = agent.request(method, declaring(params));
        assert_eq!(code(&answer), "-32602 ERR_INVALID_PARAMS", "{method}");
    }
}
