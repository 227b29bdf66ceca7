//! What an agent on stdin and stdout gets: the whole server in virtual time.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

#[expect(dead_code, reason = "other tests use the rest")]
mod pipes;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use pipes::{HOUR, Running};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

struct Agent {
    server: Running,
    stdin: WriteHalf<DuplexStream>,
    stdout: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    running: JoinHandle<()>,
}

impl Agent {
    /// It has sent nothing.
    fn silent() -> Self {
        let (server, agent, running) = Running::start_with_stdio();
        let (stdout, stdin) = tokio::io::split(agent);
        Self { server, stdin, stdout: BufReader::new(stdout).lines(), running }
    }

    async fn new() -> Self {
        let mut agent = Self::silent();
        agent.write(&[initialize(), initialized()]).await;
        assert_eq!(agent.next().await.unwrap()["id"], 0);
        agent
    }

    /// All of them in one write.
    async fn write(&mut self, messages: &[Value]) {
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        self.stdin.write_all(lines.as_bytes()).await.unwrap();
    }

    /// The next message; `None` if nothing comes.
    async fn next(&mut self) -> Option<Value> {
        let line = timeout(Duration::from_secs(5), self.stdout.next_line()).await.ok()?;
        line.unwrap().map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Everything that comes until nothing comes.
    async fn rest(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message);
        }
        messages
    }
}

fn initialize() -> Value {
    let client = json!({ "name": "t", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

fn request(id: Value, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method })
}

fn call(id: u64, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {} });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn cancel(id: u64) -> Value {
    let params = json!({ "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
}

/// The type of the next frame and, if it has one, its request id.
async fn next_frame(plugin: &mut WebSocketStream<DuplexStream>) -> (String, Value) {
    let frame = timeout(HOUR, plugin.next()).await.unwrap().unwrap().unwrap();
    let frame: Value = serde_json::from_str(frame.to_text().unwrap()).unwrap();
    (frame["type"].as_str().unwrap().to_owned(), frame["request_id"].clone())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_in_the_same_write_is_never_sent() {
    let mut agent = Agent::new().await;
    let mut plugin = agent.server.plugin().await;
    agent.write(&[call(1, "read_console"), cancel(1), call(2, "read_console")]).await;
    for kind in ["hello", "capability"] {
        assert_eq!(next_frame(&mut plugin).await.0, kind);
    }
    // The first request that the core has got.
    assert_eq!(next_frame(&mut plugin).await, ("execute".to_owned(), json!("req-t-1")));
    let answer = json!({
        "type": "result", "protocol_version": 1, "request_id": "req-t-1", "status": "ok",
        "result": { "entries": [], "count": 0, "truncated": false },
    });
    plugin.send(Message::text(answer.to_string())).await.unwrap();
    let answers = agent.rest().await;
    assert_eq!(answers.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [2]);
}

#[tokio::test(start_paused = true)]
async fn an_id_is_not_used_twice() {
    let mut agent = Agent::new().await;
    agent.write(&[call(1, "read_console"), request(json!(1), "ping")]).await;
    let refused = agent.next().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(refused["error"]["message"], "request id 1 was used before");
    agent.write(&[request(json!(2), "ping"), request(json!("1"), "ping")]).await;
    let answered = [agent.next().await.unwrap(), agent.next().await.unwrap()];
    assert_eq!(answered.map(|answer| answer["id"].clone()), [json!(2), json!("1")]);
    agent.write(&[request(json!(2), "ping")]).await;
    assert_eq!(agent.next().await.unwrap()["id"], 2, "it is answered, so it is free");
}

#[tokio::test(start_paused = true)]
async fn the_last_64_ids_that_were_cancelled_are_not_used_again() {
    let mut agent = Agent::new().await;
    for id in 1..=65 {
        agent.write(&[call(id, "read_console")]).await;
        agent.write(&[request(json!(1000 + id), "ping")]).await;
        assert_eq!(agent.next().await.unwrap()["id"], 1000 + id, "the call has begun");
        agent.write(&[cancel(id)]).await;
    }
    let mut accepted = Vec::new();
    for id in [1, 2, 65] {
        agent.write(&[request(json!(id), "ping")]).await;
        accepted.push(agent.next().await.unwrap()["id"].clone());
    }
    assert_eq!(accepted, [json!(1), Value::Null, Value::Null]);
}

#[tokio::test(start_paused = true)]
async fn large_calls_that_find_no_room_are_refused_and_the_others_wait() {
    let mut agent = Agent::new().await;
    for id in 1..=6 {
        let large =
            call(id, "read_console").to_string().replacen('{', &format!("{{{:40000}", ""), 1);
        agent.stdin.write_all(format!("{large}\n").as_bytes()).await.unwrap();
    }
    let refused = agent.rest().await;
    let ids: Vec<&Value> = refused.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [5, 6]);
    assert!(refused.iter().all(|answer| answer["error"]["data"]["code"] == "ERR_QUEUE_FULL"));
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_answered_even_if_it_is_the_last() {
    for (bad, code) in [("nonsense", -32700), ("[]", -32600), ("{}", -32600)] {
        let mut agent = Agent::new().await;
        let began = Instant::now();
        agent.stdin.write_all(bad.as_bytes()).await.unwrap();
        agent.stdin.shutdown().await.unwrap();
        let answers = agent.rest().await;
        let codes: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["code"]).collect();
        assert_eq!(codes, [code], "{bad}");
        assert!(began.elapsed() < Duration::from_millis(100), "nothing else is waited for");
        timeout(Duration::from_secs(2), agent.running).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_has_left_is_not_waited_for_long() {
    let mut agent = Agent::new().await;
    agent.write(&[call(1, "read_console"), json!("nonsense")]).await;
    assert!(agent.next().await.unwrap()["error"].is_object());
    let began = Instant::now();
    agent.stdin.shutdown().await.unwrap();
    assert_eq!(agent.rest().await, [Value::Null; 0], "it does not get what it left");
    timeout(Duration::from_secs(2), agent.running).await.unwrap().unwrap();
    assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_the_conversation_has_begun_does_not_end_it() {
    let mut agent = Agent::silent();
    agent.write(&[cancel(7), request(json!(1), "ping"), cancel(1), initialized()]).await;
    agent.write(&[initialize(), initialized(), request(json!(2), "ping")]).await;
    let ids: Vec<Value> = agent.rest().await.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(0), json!(2)]);
}
