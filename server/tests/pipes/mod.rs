//! The whole server in this process, with pipes in place of sockets.

use std::io;
use std::time::{Duration, SystemTime};

use coordination::{Boot, Core, ExecutionCoordinator};
use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use unity_mcp::Server;
use unity_mcp::budget::SSE_KEEP_ALIVE;
use unity_mcp::config_loader::Config;
use unity_mcp::network::{Accepted, Listener, Network};

pub(crate) const PORT: u16 = 8_091;
/// Bytes between the server and a peer that does not read. Less than any answer of the tests.
pub(crate) const PIPE_BYTES: usize = 1_024;
/// Longer than everything that is tested.
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// No network: the peers come through a channel.
#[derive(Clone)]
struct NoNetwork;

/// The other end of a connection, and whether it is of the same user; `None` if it has gone.
type Peer = (DuplexStream, Option<bool>);

struct Pipes(mpsc::Receiver<Peer>);

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
            Some((stream, same_user)) => {
                Ok(Accepted { stream, same_user: Box::pin(std::future::ready(same_user)) })
            }
            None => std::future::pending().await,
        }
    }
}

pub(crate) struct Running(mpsc::Sender<Peer>);

impl Running {
    pub(crate) fn start<C>(
        token: Option<&str>,
        core: impl FnOnce(ExecutionCoordinator) -> C,
    ) -> Self
    where
        C: Core + Send + 'static,
    {
        let (server, peers) = server(token, core);
        tokio::spawn(server.run(None::<(DuplexStream, DuplexStream)>));
        Self(peers)
    }

    /// With an agent on its stdin and stdout. The task ends with the server.
    pub(crate) fn start_with_stdio() -> (Self, DuplexStream, JoinHandle<()>) {
        let (server, peers) = server(None, |core| core);
        let (agent, stdio) = duplex(1024 * PIPE_BYTES);
        let running = tokio::spawn(server.run(Some(tokio::io::split(stdio))));
        (Self(peers), agent, running)
    }

    pub(crate) async fn connect(&self) -> DuplexStream {
        self.connect_as(Some(true)).await
    }

    pub(crate) async fn connect_as(&self, same_user: Option<bool>) -> DuplexStream {
        let (ours, theirs) = duplex(PIPE_BYTES);
        self.0.send((theirs, same_user)).await.unwrap();
        ours
    }

    /// A plugin whose Editor is ready.
    pub(crate) async fn plugin(&self) -> WebSocketStream<DuplexStream> {
        let url = format!("ws://127.0.0.1:{PORT}/unity");
        let stream = self.connect().await;
        let (mut plugin, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
        let hello = json!({
            "type": "hello", "protocol_version": 1, "plugin_version": "1", "state": "ready",
        });
        plugin.send(Message::text(hello.to_string())).await.unwrap();
        plugin
    }

    /// A connection with a request whose answer is not read yet.
    pub(crate) async fn post(&self, method: &str, params: Value) -> DuplexStream {
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

/// Neither a missing Editor nor a heartbeat ends anything before the timeouts of the shell.
fn server<C: Core>(
    token: Option<&str>,
    core: impl FnOnce(ExecutionCoordinator) -> C,
) -> (Server<NoNetwork, C>, mpsc::Sender<Peer>) {
    let mut config = Config::default();
    config.limits.reconnect_wait = HOUR;
    config.limits.heartbeat_interval = HOUR;
    let boot = Boot::new("t").unwrap();
    let decisions = ExecutionCoordinator::new(config.limits.clone(), boot, "1");
    let (peers, accepted) = mpsc::channel(1);
    let server = Server {
        config,
        core: core(decisions),
        boot,
        started: SystemTime::UNIX_EPOCH,
        network: NoNetwork,
        token: token.map(str::to_owned),
        pid: 1,
        sse_keep_alive: SSE_KEEP_ALIVE,
        listener: Some(Pipes(accepted)),
        stop: CancellationToken::new(),
    };
    (server, peers)
}
