//! unity-mcp: an MCP server for the Unity Editor.
//!
//! The crate `coordination` is the core: every decision of the server, as one state machine without IO. This crate is
//! the shell around it and the program.
//!
//! | module | what it is |
//! |---|---|
//! | `event_loop`, `transition_log` | the owner of the core; one log line per event and effect |
//! | `http` | the listener: access rules, limits and timeouts, `/unity`, `/mcp`, `/healthz`, the page |
//! | `live` | what the page shows: a bounded history of what happened |
//! | `mcp` | requests of agents become calls, outcomes become results |
//! | `unity` | the sockets of the plugin |
//! | `port` | which program holds the port, and where a request runs |
//! | `project` | which Unity project a folder belongs to, and how paths are compared |
//! | `budget`, `request_room` | every number of the shell; how many requests may be open |
//! | `clock` | the moments of the core as text |
//! | `network`, `system` | what the server needs of a network; what differs between systems |
//! | `commands` | what a person asks for: `call`, `verify`, `doctor`, `status` and `setup` |
//! | `config_loader`, `logger` | flags and file become a `Config`; the log |

pub mod budget;
pub mod clock;
pub mod commands;
pub mod config_loader;
pub mod event_loop;
pub mod http;
mod live;
pub mod logger;
pub mod mcp;
pub mod network;
pub mod port;
mod project;
mod request_room;
pub mod system;
mod transition_log;
pub mod unity;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use coordination::{Boot, Core, Event, Timestamp};
use page::About;
use rmcp::ServiceExt;
use rmcp::service::QuitReason;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info};

use clock::WallClock;
use config_loader::{Config, Page};
use http::access::AccessRules;
use http::{HttpHost, HttpSettings};
use live::{Live, Tap};
use mcp::adapter::McpEndpointAdapter;
use mcp::stdio_transport::StdioTransport;
use mcp::tasks::TaskView;
use network::{Listener as _, Network};
use port::port_keeper::PortKeeper;
use port::upstream::{PortState, Upstream};

/// What the server calls itself, to Unity and to agents.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One server: its configuration, its name, and the system it runs on.
pub struct Server<N: Network, C: Core> {
    pub config: Config,
    /// Made with the limits of `config` and with `boot`.
    pub core: C,
    pub boot: Boot,
    /// When it was started: agents see the times of jobs.
    pub started: SystemTime,
    pub network: N,
    /// The token that agents and the plugin must send, if one is required.
    pub token: Option<String>,
    /// Of this process, for `/healthz`.
    pub pid: u32,
    /// How often a silent answer stream is kept alive, by the real clock.
    pub sse_keep_alive: Option<Duration>,
    /// The port, if it could be bound.
    pub listener: Option<N::Listener>,
    /// Cancelled to stop the server. A stdio agent that leaves does that too.
    pub stop: CancellationToken,
}

impl<N: Network, C: Core> Server<N, C> {
    /// Runs until it is stopped and every call is answered.
    pub async fn run<R, W>(self, stdio: Option<(R, W)>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let Self { config, core: decisions, boot, started, pid, network, .. } = self;
        let Self { token, sse_keep_alive, listener, stop, .. } = self;
        let (queue_max, catalog) = (config.limits.queue_max, config.limits.catalog);
        let (core, inbox) = event_loop::channel();
        let clock = WallClock::new(started);
        let live = live_of(&config, pid, clock);
        let tap = live.clone().map_or_else(Tap::off, |live| Tap::new(live, clock));
        let event_loop = event_loop::run_tapped(decisions, inbox, clock, tap);

        let (state, port_state) = watch::channel(PortState::NotKnown);
        let upstream = Upstream::new(network.clone(), port_state);
        let tasks_shown = TaskView { clock, poll_interval: config.limits.job_poll_interval };
        let adapter = McpEndpointAdapter::new(core.clone(), upstream, tasks_shown, catalog)
            .showing_agents(live.is_some());
        let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
        let left = CancellationToken::new();
        if let Some((input, output)) = stdio {
            let transport = StdioTransport::new(input, output, queue_max, left.clone());
            tasks.spawn(converse(
                adapter.clone().over_stdio(),
                transport,
                closing.clone(),
                left.clone(),
            ));
        }
        let message_max = config.limits.message_max_bytes;
        let settings = HttpSettings {
            instance_id: boot,
            pid,
            catalog,
            message_max,
            queue_max,
            sse_keep_alive,
        };
        let keeper = PortKeeper { network, port: config.port, core: core.clone(), state };
        tokio::spawn({
            let (core, tasks, closing) = (core.clone(), tasks.clone(), closing.clone());
            async move {
                let listener = keeper.listener(listener).await;
                let port = listener.port();
                log_addresses(port, live.is_some());
                live.iter().for_each(|live| live.set_port(port));
                let access = AccessRules::new(port, config.allowed_origins, token.as_deref());
                let host = HttpHost::new(core, adapter, access, settings, tasks, closing);
                let host = host.with_page(live);
                Arc::new(host).serve(listener).await;
            }
        });
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
        if timeout(budget::STOP_FLUSH_TIMEOUT, tasks.wait()).await.is_err() {
            debug!("a peer did not read its last answers");
        }
    }
}

/// What the page shows, if it is on.
fn live_of(config: &Config, pid: u32, clock: WallClock) -> Option<Live> {
    let shows_bodies = match config.page {
        Page::Off => return None,
        Page::WithoutBodies => false,
        Page::WithBodies => true,
    };
    let about = About {
        version: VERSION.to_owned(),
        pid,
        port: config.port,
        catalog: config.limits.catalog.name().to_owned(),
        started: clock.text(Timestamp::default()),
        project: config.project.clone(),
        editor: None,
        settings: config.changed(),
    };
    Some(Live::new(about, shows_bodies))
}

fn log_addresses(port: u16, has_page: bool) {
    let page = if has_page { format!("; page: http://127.0.0.1:{port}/") } else { String::new() };
    info!(
        "listening on http://127.0.0.1:{port}/mcp; Unity connects to ws://127.0.0.1:{port}/unity{page}"
    );
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
            let is_broken = matches!(ended, Err(_) | Ok(QuitReason::JoinError(_)));
            info!(transport = "stdio", is_broken, "agent left");
        }
        Err(error) => info!(transport = "stdio", %error, "agent left before it introduced itself"),
    }
    left.cancel(); // The agent is not read from any more.
}
