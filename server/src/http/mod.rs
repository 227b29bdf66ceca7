//! HttpHost: one listener on the loopback. `/unity` is upgraded to a WebSocket, `/mcp` speaks MCP,
//! `/healthz` says who this is.

pub mod access;
mod connection_limiter;
mod disconnect_watch;
pub mod request_body;
mod stall_timeout;

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use crate::event_loop::CoordinatorHandle;
use crate::http::access::Doorkeeper;
use crate::http::connection_limiter::{Asking, Guest, Guests};
use crate::http::disconnect_watch::Present;
use crate::http::request_body::{Bodies, REQUEST_BYTES_MAX};
use crate::http::stall_timeout::Patient;
use crate::mcp::adapter::McpEndpointAdapter;
use crate::mcp::{json_guard, rendering};
use crate::network::{Accepted, Listener};
use crate::unity::unity_bridge_client::{self, Goodbyes};
use coordination::Boot;

/// How long a request head may take, once it has begun.
const HEAD_MAX: Duration = Duration::from_secs(5);
/// How long a connection may be idle.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// How long a peer may leave its answer unread.
const UNREAD_MAX: Duration = Duration::from_secs(30);
/// How long the body of a request may take.
const BODY_MAX: Duration = Duration::from_secs(10);
/// Bytes of a request head.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Header lines of a request.
const HEADERS_MAX: usize = 64;
/// Connections beside those with a request that is being answered: the door is never blocked. A plugin's leaves
/// when it becomes a WebSocket: those are bounded by the core.
const IDLE_CONNECTIONS: usize = 16;
/// Connections whose owner is not known yet; more wait to be accepted.
const UNKNOWN_MAX: usize = 64;
/// Connections of other users that are told why they are closed; more are just closed.
const REFUSALS_MAX: usize = 16;
/// How long such a connection is kept to take its refusal.
const REFUSAL_MAX: Duration = Duration::from_millis(500);
/// Progress keeps a stream alive; this is for calls without it.
pub const SSE_KEEP_ALIVE: Duration = Duration::from_secs(15);

type Body = BoxBody<Bytes, Infallible>;

pub struct HttpHost {
    core: CoordinatorHandle,
    mcp: StreamableHttpService<McpEndpointAdapter, NeverSessionManager>,
    doorkeeper: Doorkeeper,
    instance_id: Boot,
    pid: u32,
    /// Of one frame of the plugin.
    message_max: usize,
    bodies: Bodies,
    tasks: TaskTracker,
    closing: CancellationToken,
    guests: Guests,
    unknown: Arc<Semaphore>,
    refusals: Semaphore,
    goodbyes: Arc<Goodbyes>,
}

/// What a host needs to know of the server around it.
pub struct Surroundings {
    pub core: CoordinatorHandle,
    pub adapter: McpEndpointAdapter,
    pub instance_id: Boot,
    pub pid: u32,
    pub message_max: usize,
    /// Requests that are answered at once.
    pub calls_max: usize,
    pub sse_keep_alive: Option<Duration>,
    pub tasks: TaskTracker,
    pub closing: CancellationToken,
}

impl HttpHost {
    pub fn new(surroundings: Surroundings, doorkeeper: Doorkeeper) -> Self {
        let Surroundings { core, adapter, instance_id, pid, message_max, .. } = surroundings;
        let Surroundings { calls_max, sse_keep_alive, tasks, closing, .. } = surroundings;
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_retry(None)
            .with_sse_keep_alive(sse_keep_alive)
            .with_max_request_body_bytes(REQUEST_BYTES_MAX)
            // The doorkeeper is stricter and guards every path.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let mcp = StreamableHttpService::new(
            move || Ok(adapter.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        let guests = Guests::new(calls_max + IDLE_CONNECTIONS, calls_max);
        let unknown = Arc::new(Semaphore::new(UNKNOWN_MAX));
        Self {
            core,
            mcp,
            doorkeeper,
            instance_id,
            pid,
            message_max,
            bodies: Bodies::default(),
            tasks,
            closing,
            guests,
            unknown,
            refusals: Semaphore::new(REFUSALS_MAX),
            goodbyes: Arc::default(),
        }
    }

    /// Accepts until the server closes.
    pub async fn serve<L: Listener>(self: Arc<Self>, mut listener: L)
    where
        L::Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        loop {
            let accepted = async {
                let place = self.unknown.clone().acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                biased;
                () = self.closing.cancelled() => return,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok(accepted) => {
                    self.clone().welcome(accepted, place.ok());
                    yield_now().await; // A flood of connections does not keep out anything else.
                }
                Err(error) => {
                    warn!(%error, "a connection could not be accepted");
                    sleep(Duration::from_millis(100)).await; // Out of descriptors: let some go.
                }
            }
        }
    }

    /// In a task of its own: who it is takes time to find out.
    fn welcome<S>(self: Arc<Self>, accepted: Accepted<S>, place: Option<OwnedSemaphorePermit>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = self.tasks.clone();
        tasks.spawn(async move {
            let Accepted { stream, same_user } = accepted;
            let same_user = same_user.await;
            drop(place);
            match same_user {
                Some(true) => match self.guests.welcome() {
                    Some(guest) => self.converse(stream, guest).await,
                    None => warn!("all connections are busy: one was dropped"),
                },
                Some(false) => {
                    warn!("a connection of another user was refused");
                    if let Ok(_place) = self.refusals.try_acquire() {
                        refuse(stream).await;
                    }
                }
                None => debug!("a connection was closed before anybody knew whose it was"),
            }
        });
    }

    async fn converse<S>(self: Arc<Self>, stream: S, guest: Arc<Guest>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (host, of_request) = (self.clone(), guest.clone());
        let service = service_fn(move |request| {
            let (host, asking) = (host.clone(), of_request.ask());
            async move {
                let response = host.answer(request, &asking).await;
                // Until the answer is sent.
                Ok::<_, Infallible>(response.map(|body| keep(body, asking)))
            }
        });
        let expecting = Arc::downgrade(&guest);
        let present = Present::new(stream);
        let patient = Patient::new(present.clone(), expecting, HEAD_MAX, UNREAD_MAX);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX)
            .serve_connection(TokioIo::new(patient), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = guest.sent_away() => return,
            // A call whose agent has left is cancelled.
            () = poll_fn(|context| match guest.is_busy() {
                true => present.poll_left(context),
                false => Poll::Pending,
            }) => return,
            () = self.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "an HTTP connection failed");
        }
    }

    async fn answer(&self, request: Request<Incoming>, asking: &Asking) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err((status, line)) = self.doorkeeper.check(&head) {
            warn!(status = status.as_u16(), path = head.uri.path(), line, "request refused");
            let mut refusal = text(status, line);
            if status == StatusCode::UNAUTHORIZED {
                let scheme = HeaderValue::from_static("Bearer");
                refusal.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            }
            return refusal;
        }
        let request = Request::from_parts(head, body);
        match request.uri().path() {
            "/unity" => self.upgrade(request),
            "/mcp" => self.speak_mcp(request, asking).await,
            "/healthz" if request.method() == Method::GET => self.health().await,
            "/healthz" => not_allowed("GET"),
            _ => text(StatusCode::NOT_FOUND, "try /mcp (MCP), /unity (the plugin) or /healthz"),
        }
    }

    async fn speak_mcp(&self, request: Request<Incoming>, asking: &Asking) -> Response<Body> {
        if request.method() != Method::POST {
            return not_allowed("POST");
        }
        let (head, body) = request.into_parts();
        let (body, held) = match timeout(BODY_MAX, self.bodies.read(body)).await {
            Ok(Ok(read)) => read,
            Ok(Err((status, line))) => return text(status, line),
            Err(_) => {
                return text(StatusCode::REQUEST_TIMEOUT, "the request did not come in time");
            }
        };
        if let Err(refused) = json_guard::check(&body) {
            return text(StatusCode::BAD_REQUEST, &refused.to_string());
        }
        if !asking.work() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "too many calls at once; try again");
        }
        let response = self.mcp.handle(Request::from_parts(head, Full::new(body))).await;
        response.map(|body| keep(body, held))
    }

    fn upgrade(&self, mut request: Request<Incoming>) -> Response<Body> {
        let upgraded = hyper::upgrade::on(&mut request);
        let Ok(response) = create_response_with_body(&request, empty) else {
            let mut refusal = text(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket for Unity");
            refusal.headers_mut().insert("upgrade", HeaderValue::from_static("websocket"));
            return refusal;
        };
        let (core, message_max) = (self.core.clone(), self.message_max);
        let goodbyes = self.goodbyes.clone();
        self.tasks.spawn(async move {
            match upgraded.await {
                Ok(stream) => {
                    let stream = TokioIo::new(stream);
                    unity_bridge_client::serve(stream, message_max, core, &goodbyes).await;
                }
                Err(error) => debug!(%error, "a WebSocket upgrade failed"),
            }
        });
        response
    }

    async fn health(&self) -> Response<Body> {
        let Some(report) = self.core.look().await else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "the server has stopped");
        };
        let mut body = json!({
            "name": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
            "instance_id": self.instance_id.to_string(),
            "pid": self.pid,
            "server_state": rendering::server_state(report.server_state),
            "editor_state": rendering::editor_state(report.editor_state),
        });
        if self.doorkeeper.requires_token() {
            body = rendering::with(body, "requires_token", json!(true));
        }
        let mut response = Response::new(full(body.to_string()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// Holds on to something as long as the body is there.
fn keep(body: Body, kept: impl Send + Sync + 'static) -> Body {
    body.map_frame(move |frame| {
        let _kept = &kept;
        frame
    })
    .boxed()
}

/// Another user's connection: nothing it says is processed.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) {
    let refusal = async {
        let line = "this server belongs to another user\n";
        let head = format!(
            "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: {}",
            line.len()
        );
        stream.write_all(format!("{head}\r\n\r\n{line}").as_bytes()).await?;
        stream.shutdown().await?;
        // Unread bytes would turn the refusal into a reset.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    // It was refused, whether it listens or not.
    drop(timeout(REFUSAL_MAX, refusal).await);
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).boxed()
}

fn empty() -> Body {
    full(String::new())
}

fn text(status: StatusCode, line: &str) -> Response<Body> {
    let mut response = Response::new(full(format!("{line}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "this method is of no use here");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
