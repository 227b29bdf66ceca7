//! unity-mcp: an MCP server for the Unity Editor.
//!
//! `coordination` is the core: every decision of the server, as one state machine without IO.
//! `io` is the shell around it: sockets, stdio and MCP. `config_loader` turns flags and a file into the
//! limits the core works by, `logger` is the only place that writes logs, and `system` has what differs
//! from one operating system to the next.

pub mod config_loader;
pub mod event_loop;
pub mod http;
pub mod logger;
pub mod mcp;
pub mod network;
pub mod port;
pub mod system;
mod transition_log;
pub mod unity;

use std::time::{Duration, SystemTime};

use rmcp::ServiceExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::debug;

use config_loader::Config;
use coordination::{Boot, Event};
use event_loop::Core;
use http::Surroundings;
use http::request_body::REQUEST_BYTES_MAX;
use mcp::adapter::McpEndpointAdapter;
use mcp::stdio_transport::StdioTransport;
use mcp::tasks::TaskView;
use network::Network;
use port::port_keeper::PortKeeper;
use port::relay::Relay;

/// What the server calls itself, to Unity and to agents.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long the last answers may take to be written: the core takes at most 1.2 of the 2 seconds.
const FLUSH_MAX: Duration = Duration::from_millis(300);
/// Calls that an agent may have open at once, however short the queue is.
const CALLS_MIN: usize = 80;

/// One server: what it was told, its name, and the world it runs in.
pub struct Server<N: Network, C: Core> {
    pub config: Config,
    /// Made with the limits of `config` and with `boot`.
    pub core: C,
    pub boot: Boot,
    /// When it was started, for whoever is told a time.
    pub started: SystemTime,
    pub network: N,
    /// What agents and the plugin must show, if anything.
    pub token: Option<String>,
    /// Of this process, for whoever asks who has the port.
    pub pid: u32,
    /// How often a silent stream of an answer is kept alive. It goes by the real clock.
    pub sse_keep_alive: Option<Duration>,
    /// The port, or nothing if somebody else has it.
    pub listener: Option<N::Listener>,
    /// Cancelled by whoever wants the server to stop; its stdio agent does so by leaving.
    pub stop: CancellationToken,
}

impl<N: Network, C: Core> Server<N, C> {
    /// Runs until stopped, with every call answered and every socket closed or given its time.
    pub async fn run<R, W>(self, stdio: Option<(R, W)>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let Self { config, core: decisions, boot, started, pid, network, .. } = self;
        let Self { token, sse_keep_alive, listener, stop, .. } = self;
        let message_max = config.limits.message_max_bytes;
        // As many as may wait, control calls too, and some that are answered at once.
        let calls_max = CALLS_MIN.max(2 * config.limits.queue_max + 16);
        let (core, inbox) = event_loop::channel();
        let event_loop = event_loop::run(decisions, inbox);

        let (relay_to, holder) = watch::channel(None);
        let relay = Relay::new(network.clone(), holder);
        let tasks_shown = TaskView { started, poll_interval: config.limits.job_poll_interval };
        let adapter = McpEndpointAdapter::new(core.clone(), relay, tasks_shown);
        let tasks = TaskTracker::new();
        let closing = CancellationToken::new();
        let surroundings = Surroundings {
            core: core.clone(),
            adapter: adapter.clone(),
            instance_id: boot,
            pid,
            message_max,
            calls_max,
            sse_keep_alive,
            tasks: tasks.clone(),
            closing: closing.clone(),
        };
        let (port, allowed_origins) = (config.port, config.allowed_origins);
        let keeper = PortKeeper {
            network,
            port,
            core: core.clone(),
            relay_to,
            surroundings,
            allowed_origins,
            token,
        };
        tokio::spawn(keeper.keep(listener));
        let left = CancellationToken::new();
        if let Some((input, output)) = stdio {
            let transport =
                StdioTransport::new(input, output, REQUEST_BYTES_MAX, calls_max, left.clone());
            tasks.spawn(converse(adapter, transport, closing.clone(), left.clone()));
        }
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = left.cancelled() => stop.cancel(),
            }
            core.tell(Event::StopRequested).await;
        });

        event_loop.await;
        closing.cancel();
        tasks.close();
        if timeout(FLUSH_MAX, tasks.wait()).await.is_err() {
            debug!("a peer did not take its last answers");
        }
    }
}

/// One agent over stdio, until it leaves or the server has answered everything.
async fn converse<R, W>(
    adapter: McpEndpointAdapter,
    transport: StdioTransport<R, W>,
    closing: CancellationToken,
    left: CancellationToken,
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    match adapter.serve_with_ct(transport, closing).await {
        Ok(conversation) => {
            let ended = conversation.waiting().await;
            debug!(?ended, "the agent has left");
        }
        Err(error) => debug!(%error, "the agent left before it said anything"),
    }
    left.cancel(); // However it ended: nobody reads from the agent any more.
}
