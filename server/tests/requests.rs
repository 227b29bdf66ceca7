//! What the listener answers to requests of all kinds: the whole server in this process.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

#[expect(dead_code, reason = "other tests use the rest")]
mod pipes;

use futures_util::{SinkExt as _, StreamExt as _};
use pipes::{PORT, Running};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;

fn start() -> Running {
    Running::start(None, |core| core)
}

struct Answer {
    status: u16,
    /// In lower case.
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The answer to one request on a connection of its own.
async fn answer(server: &Running, line: &str, headers: &str, body: &[u8]) -> Answer {
    let stream = server.connect().await;
    let (mut reader, mut writer) = tokio::io::split(stream);
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.0\r\nhost: 127.0.0.1:{PORT}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
    );
    let write = async {
        // A request that is refused is not read to its end.
        let _ = writer.write_all(&[head.as_bytes(), body].concat()).await;
    };
    let mut bytes = Vec::new();
    let (read, ()) = tokio::join!(reader.read_to_end(&mut bytes), write);
    read.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

const JSON: &str =
    "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";

/// The JSON-RPC answer in the revision that needs no `_meta`.
async fn legacy(server: &Running, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    answer(server, "POST /mcp", JSON, body.to_string().as_bytes()).await.json()
}

/// The same in the revision 2026-07-28.
async fn modern(server: &Running, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
    });
    let mut headers = format!("{JSON}mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
    if let Some(task) = params["taskId"].as_str() {
        headers += &format!("mcp-name: {task}\r\n");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    answer(server, "POST /mcp", &headers, body.to_string().as_bytes()).await.json()
}

/// `number guarantee recovery_action` of a JSON-RPC error.
fn brief(answer: &Value) -> String {
    let error = &answer["error"];
    let details = &error["data"]["details"];
    let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    let [ran, next] = ["execution_guarantee", "recovery_action"].map(|name| text(&details[name]));
    format!("{} {ran} {next}", error["code"])
}

#[tokio::test(start_paused = true)]
async fn each_path_has_its_methods_and_says_so() {
    let server = start();
    for (line, status, allowed, said) in [
        ("GET /healthz", 200, None, "\"name\":\"unity-mcp\""),
        ("POST /healthz", 405, Some("get"), "this path does not support the method\n"),
        ("GET /mcp", 405, Some("post"), "this path does not support the method\n"),
        ("DELETE /mcp", 405, Some("post"), "this path does not support the method\n"),
        ("GET /unity", 426, None, "this is a WebSocket for Unity\n"),
        (
            "GET /nowhere",
            404,
            None,
            "try / (a page), /mcp (MCP), /unity (the plugin) or /healthz\n",
        ),
        ("OPTIONS /mcp", 405, None, "CORS is not supported\n"),
    ] {
        let answer = answer(&server, line, "", b"").await;
        assert_eq!(answer.status, status, "{line}");
        assert!(answer.body.contains(said), "{line}: {}", answer.body);
        let allow = allowed.map(|method| format!("\r\nallow: {method}"));
        assert!(allow.is_none_or(|allow| answer.head.contains(&allow)), "{}", answer.head);
        let kind = if status == 200 { "application/json" } else { "text/plain" };
        assert!(answer.head.contains(&format!("content-type: {kind}")), "{}", answer.head);
        assert!(!answer.head.contains("www-authenticate"), "{}", answer.head);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_requires_a_token_says_so_to_everybody() {
    let health = |server: Running| async move {
        answer(&server, "GET /healthz", "", b"").await.json()["requires_token"].clone()
    };
    assert_eq!(health(start()).await, Value::Null);
    assert_eq!(health(Running::start(Some("secret"), |core| core)).await, true);
    let server = Running::start(Some("secret"), |core| core);
    let refused = answer(&server, "POST /mcp", JSON, b"{}").await;
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
}

#[tokio::test(start_paused = true)]
async fn a_request_may_have_up_to_a_mebibyte() {
    let server = start();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let padded = |bytes: usize| [ping.as_bytes(), &vec![b' '; bytes - ping.len()]].concat();
    let largest = answer(&server, "POST /mcp", JSON, &padded(1_048_576)).await;
    assert_eq!((largest.status, &largest.json()["result"]), (200, &json!({})));
    let too_large = answer(&server, "POST /mcp", JSON, &padded(1_048_577)).await;
    assert_eq!((too_large.status, too_large.body.as_str()), (413, "the request is too large\n"));
}

#[tokio::test(start_paused = true)]
async fn another_user_is_told_why_and_one_that_has_gone_is_not() {
    let server = start();
    let mut said = String::new();
    server.connect_as(Some(false)).await.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{said}");
    assert!(said.ends_with("\r\n\r\nthis server belongs to another user\n"), "{said}");
    let mut said = String::new();
    server.connect_as(None).await.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "");
}

#[tokio::test(start_paused = true)]
async fn what_this_server_does_not_have_is_empty_for_old_agents_and_unknown_to_new_ones() {
    let server = start();
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "x" },
        "argument": { "name": "x", "value": "" },
    });
    for (method, params, list) in [
        ("prompts/list", json!({}), "/result/prompts"),
        ("resources/list", json!({}), "/result/resources"),
        ("resources/templates/list", json!({}), "/result/resourceTemplates"),
        ("completion/complete", complete, "/result/completion/values"),
    ] {
        let old = legacy(&server, method, params.clone()).await;
        assert_eq!(old.pointer(list), Some(&json!([])), "{method}: {old}");
        let new = modern(&server, method, params).await;
        assert_eq!(brief(&new), "-32601 not_executed fix_the_call", "{method}");
    }
    for (method, params) in [
        ("prompts/get", json!({ "name": "x" })),
        ("resources/read", json!({ "uri": "x:y" })),
        ("no/such", json!({})),
    ] {
        let old = legacy(&server, method, params.clone()).await;
        assert_eq!(brief(&old), "-32601 not_executed fix_the_call", "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_known_method_with_wrong_parameters_is_not_an_unknown_method() {
    let server = start();
    let wrong = json!({ "name": 7 });
    let malformed = "-32602 not_executed fix_the_call";
    assert_eq!(brief(&legacy(&server, "tools/call", wrong.clone()).await), malformed);
    assert_eq!(brief(&modern(&server, "tasks/get", json!({ "taskId": 7 })).await), malformed);
    let old = legacy(&server, "tasks/get", json!({ "taskId": 7 })).await;
    assert_eq!(brief(&old), "-32601 not_executed fix_the_call", "tasks are new");
    let paged = legacy(&server, "tools/list", json!({ "cursor": "2" })).await;
    assert_eq!(brief(&paged), malformed, "there is one page");
    let whole = legacy(&server, "tools/list", json!({})).await;
    assert!(whole["result"]["tools"].as_array().unwrap().len() > 3, "{whole}");
}

#[tokio::test(start_paused = true)]
async fn every_request_about_an_unknown_task_says_that_it_is_unknown() {
    let server = start();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": "job-x-1", "inputResponses": {} });
        let told = modern(&server, method, params).await;
        assert_eq!(told["error"]["code"], -32602, "{method}: {told}");
        assert_eq!(told["error"]["data"]["code"], "ERR_JOB_NOT_FOUND", "{method}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_frame_may_have_up_to_64000_tokens() {
    for (tokens, is_closed) in [(64_000, false), (64_001, true), (70_000, true)] {
        let server = start();
        let mut plugin = server.plugin().await;
        for _ in ["hello", "capability"] {
            plugin.next().await.unwrap().unwrap();
        }
        // The object, its one field and as many numbers as are left.
        let numbers = vec!["0"; tokens - 2].join(",");
        plugin.send(Message::text(format!("{{\"a\":[{numbers}]}}"))).await.unwrap();
        let answer = plugin.next().await.unwrap().unwrap();
        let frame = if let Message::Close(frame) = answer { frame } else { None };
        let code = frame.map(|frame| u16::from(frame.code));
        assert_eq!(code, is_closed.then_some(1009), "{tokens}");
    }
}
