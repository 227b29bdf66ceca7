//! How long a peer may hold what it does not use: the whole server in virtual time, with pipes in place of sockets.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere, in its helpers too")]

use std::io;
use std::time::{Duration, SystemTime};

use coordination::{
    Boot, Core, Deadline, EditorReport, Effect, Event, ExecutionCoordinator, Timestamp,
};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use unity_mcp::Server;
use unity_mcp::budget::SSE_KEEP_ALIVE;
use unity_mcp::config_loader::Config;
use unity_mcp::network::{Accepted, Listener, Network};

const PORT: u16 = 8_091;
/// Bytes between the server and a peer that does not read. Less than any answer of the tests.
const PIPE_BYTES: usize = 1_024;
/// Longer than everything that is tested.
const HOUR: Duration = Duration::from_secs(3_600);

/// No network: the peers come through a channel.
#[derive(Clone)]
struct NoNetwork;

struct Pipes(mpsc::Receiver<DuplexStream>);

impl Network for NoNetwork {
    type Stream = DuplexStream;
    type Listener = Pipes;

    async fn bind(&self, _port: u16) -> io::Result<Pipes> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn connect(&self, _port: u16) -> io::Result<DuplexStream> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Listener for Pipes {
    type Stream = DuplexStream;

    fn port(&self) -> u16 {
        PORT
    }

    async fn accept(&mut self) -> io::Result<Accepted<DuplexStream>> {
        match self.0.recv().await {
            Some(stream) => {
                Ok(Accepted { stream, same_user: Box::pin(std::future::ready(Some(true))) })
            }
            None => std::future::pending().await,
        }
    }
}

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

struct Running(mpsc::Sender<DuplexStream>);

impl Running {
    /// Neither a missing Editor nor a heartbeat ends anything before the timeouts of the shell.
    fn start() -> Self {
        let mut config = Config::default();
        config.limits.reconnect_wait = HOUR;
        config.limits.heartbeat_interval = HOUR;
        let boot = Boot::new("t").unwrap();
        let core = ExecutionCoordinator::new(config.limits.clone(), boot, "1");
        let (peers, accepted) = mpsc::channel(1);
        let server = Server {
            config,
            core: FallsSilent { core, has_reported: false },
            boot,
            started: SystemTime::UNIX_EPOCH,
            network: NoNetwork,
            token: None,
            pid: 1,
            sse_keep_alive: SSE_KEEP_ALIVE,
            listener: Some(Pipes(accepted)),
            stop: CancellationToken::new(),
        };
        tokio::spawn(server.run(None::<(DuplexStream, DuplexStream)>));
        Self(peers)
    }

    async fn connect(&self) -> DuplexStream {
        let (ours, theirs) = duplex(PIPE_BYTES);
        self.0.send(theirs).await.unwrap();
        ours
    }

    /// A connection with a request whose answer is not read yet.
    async fn post(&self, method: &str, params: Value) -> DuplexStream {
        let mut stream = self.connect().await;
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let body = body.to_string();
        let length = body.len();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{PORT}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        stream
    }
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
    let server = Running::start();
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
    let server = Running::start();
    let mut agent = server.post("tools/list", json!({})).await;
    assert_eq!(dropped_in(&mut agent).await, 30);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_does_not_read_is_dropped_after_five_seconds() {
    let server = Running::start();
    let stream = server.connect().await;
    let url = format!("ws://127.0.0.1:{PORT}/unity");
    let (mut plugin, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    let hello =
        json!({ "type": "hello", "protocol_version": 1, "plugin_version": "1", "state": "ready" });
    plugin.send(Message::text(hello.to_string())).await.unwrap();
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
    let server = Running::start();
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
