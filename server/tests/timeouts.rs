//! How long a peer may hold what it does not use: the whole server in virtual time, with pipes in place of sockets.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere, in its helpers too")]

#[expect(dead_code, reason = "other tests use the rest")]
mod pipes;

use std::time::Duration;

use coordination::{Core, Deadline, EditorReport, Effect, Event, ExecutionCoordinator, Timestamp};
use futures_util::StreamExt as _;
use pipes::{HOUR, PIPE_BYTES, PORT, Running};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::{Instant, sleep};

/// A core that reports progress once.
struct FallsSilent {
    core: ExecutionCoordinator,
    has_reported: bool,
}

impl Core for FallsSilent {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        let mut effects = self.core.handle(now, event);
        effects.retain(|effect| {
            let is_report = matches!(effect, Effect::Progress { .. });
            !is_report || !std::mem::replace(&mut self.has_reported, true)
        });
        effects
    }

    fn next_deadline(&self) -> Option<Deadline> {
        self.core.next_deadline()
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        self.core.editor_report(now)
    }
}

fn start() -> Running {
    Running::start(None, |core| FallsSilent { core, has_reported: false })
}

/// In which second the server drops a peer that does not read.
async fn dropped_in(stream: &mut DuplexStream) -> u64 {
    let began = Instant::now();
    while stream.write(b"").await.is_ok() {
        assert!(began.elapsed() < HOUR, "it is kept");
        sleep(Duration::from_millis(500)).await;
    }
    began.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_a_minute() {
    let server = start();
    let mut silent = server.connect().await;
    let began = Instant::now();
    assert_eq!(silent.read(&mut [0; 64]).await.unwrap(), 0, "closed without a word");
    assert_eq!(began.elapsed().as_secs(), 60);

    let mut served = server.connect().await;
    let request = format!("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\n\r\n");
    served.write_all(request.as_bytes()).await.unwrap();
    assert!(served.read(&mut [0; PIPE_BYTES]).await.unwrap() > 0);
    let began = Instant::now();
    assert_eq!(served.read(&mut [0; 64]).await.unwrap(), 0);
    assert_eq!(began.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_read_its_answer_is_dropped_after_half_a_minute() {
    let server = start();
    let mut agent = server.post("tools/list", json!({})).await;
    assert_eq!(dropped_in(&mut agent).await, 30);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_does_not_read_is_dropped_after_five_seconds() {
    let server = start();
    let mut plugin = server.plugin().await;
    for kind in ["hello", "capability"] {
        let frame = plugin.next().await.unwrap().unwrap().into_text().unwrap();
        assert!(frame.contains(&format!("\"type\":\"{kind}\"")), "{frame}");
    }
    let arguments = json!({ "contains": "x".repeat(2 * PIPE_BYTES) });
    let params = json!({ "name": "read_console", "arguments": arguments });
    let _call = server.post("tools/call", params).await;
    assert_eq!(dropped_in(plugin.get_mut()).await, 5);
}

#[tokio::test(start_paused = true)]
async fn a_silent_answer_stream_is_kept_alive() {
    let server = start();
    let params = json!({ "name": "read_console", "_meta": { "progressToken": 1 } });
    let mut agent = server.post("tools/call", params).await;
    let mut bytes = [0; PIPE_BYTES];
    let mut seen = String::new();
    while !seen.contains("notifications/progress") {
        let read = agent.read(&mut bytes).await.unwrap();
        seen += &String::from_utf8_lossy(bytes.get(..read).unwrap());
    }
    let began = Instant::now();
    let read = agent.read(&mut bytes).await.unwrap();
    let seen = String::from_utf8_lossy(bytes.get(..read).unwrap());
    assert!(seen.contains("\r\n:"), "a comment: {seen:?}");
    assert!((10..=16).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}
