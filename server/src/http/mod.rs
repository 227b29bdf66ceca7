//! HttpHost: one listener on the loopback. `/unity` becomes a WebSocket, `/mcp` speaks MCP, `/healthz` says what this
//! is, `/` shows what happens. Names the event loop, the MCP adapter, the bridge, the history of `live` and the network.

pub mod access;
mod connection_limiter;
mod disconnect_watch;
mod page;
mod request_body;
mod stall_timeout;

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use coordination::{Boot, Catalog, rendering};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use protocol::Json;
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

use crate::budget;
use crate::event_loop::CoordinatorHandle;
use crate::live::Live;
use crate::mcp::adapter::McpEndpointAdapter;
use crate::mcp::message_check;
use crate::network::{Accepted, Listener};
use crate::request_room::RequestRoom;
use crate::unity::unity_bridge_client::{self, ClosingSlots};
use access::{AccessRules, Refusal};
use connection_limiter::{Connection, ConnectionLimiter, OpenRequest};
use disconnect_watch::DisconnectWatch;
use page::Page;
use stall_timeout::StallTimeout;

type Body = BoxBody<Bytes, Infallible>;

pub(crate) struct HttpHost {
    core: CoordinatorHandle,
    mcp: StreamableHttpService<McpEndpointAdapter, NeverSessionManager>,
    access: AccessRules,
    settings: HttpSettings,
    room: RequestRoom,
    limiter: ConnectionLimiter,
    unidentified: Arc<Semaphore>,
    refusals: Semaphore,
    /// The page for people, if it is on.
    page: Option<Page>,
    closing_slots: Arc<ClosingSlots>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

pub(crate) struct HttpSettings {
    pub(crate) instance_id: Boot,
    pub(crate) pid: u32,
    pub(crate) catalog: Catalog,
    /// Bytes of one frame of the plugin.
    pub(crate) message_max: usize,
    /// Calls that may wait in the queue.
    pub(crate) queue_max: usize,
    pub(crate) sse_keep_alive: Option<Duration>,
}

impl HttpHost {
    pub(crate) fn new(
        core: CoordinatorHandle,
        adapter: McpEndpointAdapter,
        access: AccessRules,
        settings: HttpSettings,
        tasks: TaskTracker,
        closing: CancellationToken,
    ) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_retry(None)
            .with_sse_keep_alive(settings.sse_keep_alive)
            .with_max_request_body_bytes(budget::REQUEST_BYTES_MAX)
            // The access rules are stricter and cover every path.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let mcp = StreamableHttpService::new(
            move || Ok(adapter.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Self {
            core,
            mcp,
            access,
            room: RequestRoom::new(settings.queue_max),
            limiter: ConnectionLimiter::new(
                budget::requests_max(settings.queue_max) + budget::HTTP_IDLE_MAX,
            ),
            settings,
            unidentified: Arc::new(Semaphore::new(budget::HTTP_UNIDENTIFIED_MAX)),
            refusals: Semaphore::new(budget::HTTP_REFUSALS_MAX),
            page: None,
            closing_slots: Arc::default(),
            tasks,
            closing,
        }
    }

    pub(crate) fn with_page(self, live: Option<Live>) -> Self {
        let page = live.map(|live| Page::new(live, self.settings.sse_keep_alive));
        Self { page, ..self }
    }

    /// Accepts until the server closes.
    pub(crate) async fn serve<L: Listener>(self: Arc<Self>, mut listener: L)
    where
        L::Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        loop {
            let accepted = async {
                let permit = self.unidentified.clone().acquire_owned().await;
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                biased;
                () = self.closing.cancelled() => return,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok(accepted) => {
                    self.clone().accept(accepted, permit.ok());
                    yield_now().await; // A flood of connections must not keep everything else out.
                }
                Err(error) => {
                    warn!(%error, "a connection could not be accepted");
                    sleep(budget::HTTP_ACCEPT_RETRY).await;
                }
            }
        }
    }

    /// In a task of its own: finding out who the peer is takes time.
    fn accept<S>(self: Arc<Self>, accepted: Accepted<S>, permit: Option<OwnedSemaphorePermit>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = self.tasks.clone();
        tasks.spawn(async move {
            let Accepted { stream, same_user } = accepted;
            let same_user = same_user.await;
            drop(permit);
            match same_user {
                Some(true) => match self.limiter.accept() {
                    Some(connection) => self.converse(stream, connection).await,
                    None => warn!("all connections are busy: one was dropped"),
                },
                Some(false) => {
                    warn!("a connection of another user was refused");
                    if let Ok(_permit) = self.refusals.try_acquire() {
                        refuse(stream).await;
                    }
                }
                None => debug!("a connection closed before its user was known"),
            }
        });
    }

    async fn converse<S>(self: Arc<Self>, stream: S, connection: Arc<Connection>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (host, of_request) = (self.clone(), connection.clone());
        let service = service_fn(move |request| {
            let (host, open) = (host.clone(), of_request.open_request());
            async move {
                let response = host.answer(request, &open).await;
                // Until the answer is sent.
                Ok::<_, Infallible>(response.map(|body| keep(body, open)))
            }
        });
        let watch = DisconnectWatch::new(stream);
        // A socket that has become the plugin's is no connection of the limiter any more.
        let weak = Arc::downgrade(&connection);
        let is_incomplete = move || weak.upgrade().is_some_and(|connection| connection.is_idle());
        let (head_max, unread_max) = (budget::HTTP_HEAD_TIMEOUT, budget::HTTP_UNREAD_TIMEOUT);
        let stream = StallTimeout::new(watch.clone(), is_incomplete, head_max, unread_max);
        let http = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(budget::HTTP_IDLE_TIMEOUT)
            .max_buf_size(budget::HTTP_HEAD_BYTES_MAX)
            .max_headers(budget::HTTP_HEADERS_MAX)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut http = pin!(http);
        let ended = tokio::select! {
            biased;
            ended = http.as_mut() => ended,
            () = connection.evicted() => return,
            // A call whose agent has disconnected is cancelled.
            () = poll_fn(|context| match connection.is_busy() {
                true => watch.poll_disconnected(context),
                false => Poll::Pending,
            }) => return,
            () = self.closing.cancelled() => {
                http.as_mut().graceful_shutdown();
                http.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "an HTTP connection failed");
        }
    }

    async fn answer(&self, request: Request<Incoming>, open: &OpenRequest) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err(refusal) = self.access.check(&head) {
            return refused(&head, refusal);
        }
        if let Some((page, path)) = self.page.as_ref().zip(page::Path::of(head.uri.path())) {
            let needs_token = path == page::Path::Events;
            return match self.access.check_viewer(&head, needs_token) {
                Err(refusal) => page.secure(refused(&head, refusal)),
                Ok(()) => page.answer(path, &head.method, open, &self.closing),
            };
        }
        let request = Request::from_parts(head, body);
        match request.uri().path() {
            "/unity" => self.upgrade(request),
            "/mcp" => self.speak_mcp(request, open).await,
            "/healthz" if request.method() == Method::GET => self.health().await,
            "/healthz" => not_allowed("GET"),
            _ if self.page.is_some() => text(
                StatusCode::NOT_FOUND,
                "try / (a page), /mcp (MCP), /unity (the plugin) or /healthz",
            ),
            _ => text(StatusCode::NOT_FOUND, "try /mcp (MCP), /unity (the plugin) or /healthz"),
        }
    }

    async fn speak_mcp(&self, request: Request<Incoming>, open: &OpenRequest) -> Response<Body> {
        if request.method() != Method::POST {
            return not_allowed("POST");
        }
        let (head, body) = request.into_parts();
        let body = timeout(budget::HTTP_BODY_TIMEOUT, request_body::read(body, &self.room)).await;
        let (body, mut held) = match body {
            Ok(Ok(read)) => read,
            Ok(Err((status, line))) => return text(status, line),
            Err(_) => {
                return text(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time");
            }
        };
        let may_wait = match message_check::parse(&body) {
            Ok(message) => message_check::may_wait(&message),
            Err(error) => {
                let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
                return json(StatusCode::BAD_REQUEST, &answer);
            }
        };
        if !self.room.begin(&mut held, may_wait) || !open.begin() {
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
        let (core, message_max) = (self.core.clone(), self.settings.message_max);
        let slots = self.closing_slots.clone();
        self.tasks.spawn(async move {
            match upgraded.await {
                Ok(stream) => {
                    let stream = TokioIo::new(stream);
                    unity_bridge_client::serve(stream, message_max, core, &slots).await;
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
            "instance_id": self.settings.instance_id.to_string(),
            "pid": self.settings.pid,
            "server_state": rendering::server_state(report.server_state),
            "editor_state": rendering::editor_state(report.editor_state),
            "catalog": self.settings.catalog.name(),
            "unchanged_ms": millis(report.unchanged_for),
        });
        if let Some((why, ago)) = report.last_disconnect {
            let ended = json!({ "reason": why.text(), "ms_ago": millis(ago) });
            body = rendering::with(body, "last_disconnect", ended);
        }
        if self.access.requires_token() {
            body = rendering::with(body, "requires_token", json!(true));
        }
        json(StatusCode::OK, &body)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn refused(head: &Parts, (status, line): Refusal) -> Response<Body> {
    warn!(status = status.as_u16(), path = head.uri.path(), line, "request refused");
    let mut refusal = text(status, line);
    if status == StatusCode::UNAUTHORIZED {
        refusal.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    refusal
}

/// Keeps something for as long as the body exists.
fn keep(body: Body, kept: impl Send + Sync + Unpin + 'static) -> Body {
    Kept { body, _kept: kept }.boxed()
}

/// A body and what it keeps. Its length stays known, so that it is not sent in chunks.
struct Kept<K> {
    body: Body,
    _kept: K,
}

impl<K: Unpin> hyper::body::Body for Kept<K> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection of another user: nothing that it sends is processed.
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
    // It is refused, whether it reads this or not.
    drop(timeout(budget::HTTP_REFUSAL_TIMEOUT, refusal).await);
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).boxed()
}

fn empty() -> Body {
    full(String::new())
}

/// What is refused like this was not looked at: a relay counts on that.
fn text(status: StatusCode, line: &str) -> Response<Body> {
    answer_with(status, "text/plain", format!("{line}\n"))
}

fn json(status: StatusCode, answer: &Json) -> Response<Body> {
    answer_with(status, "application/json", answer.to_string())
}

fn answer_with(status: StatusCode, kind: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response =
        text(StatusCode::METHOD_NOT_ALLOWED, "this path does not support the method");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
