//! Relay: when another unity-mcp has the port, requests are passed on to it, one HTTP request each.
//! Nothing is sent twice: a call that may have reached the holder is never run here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Response, StatusCode, http};
use hyper_util::rt::TokioIo;
use protocol::Json;
use rmcp::model::{ErrorData, ProtocolVersion, TASKS_EXTENSION_ID};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use sse_stream::SseStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;

use crate::mcp::rendering::with;
use crate::network::Network;

/// A holder reports progress about every second; one that is silent for so long is not alive.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Calls at the holder at once: it must have room for Unity and for its own agents.
const PASSED_MAX: usize = 64;
/// How long a process on this machine may take to accept a connection.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// How long it may take to say who it is, connection included.
const IDENTIFY_MAX: Duration = Duration::from_secs(1);
/// More than any answer about health has.
const HEALTH_BYTES_MAX: usize = 16 * 1024;
/// More than any report or answer has.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

type Dial = dyn Fn(u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync;

/// Whether calls are passed on, and how.
#[derive(Clone)]
pub(crate) struct Relay {
    dial: Arc<Dial>,
    /// The unity-mcp that has the port.
    holder: watch::Receiver<Option<Target>>,
    places: Arc<Semaphore>,
}

/// Where calls are passed on to, and what must be shown there.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) port: u16,
    pub(crate) token: Option<String>,
}

/// Another program that has the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    UnityMcp {
        version: String,
        pid: u64,
        requires_token: bool,
    },
    Stranger,
    /// Nothing that it says counts.
    OfAnotherUser,
    /// It does not say what it is.
    Silent,
    /// Nobody: the system does not let us have it.
    System(String),
}

impl Holder {
    pub fn describe(&self) -> String {
        match self {
            Self::UnityMcp { version, pid, requires_token } => {
                let token = if *requires_token { ", which requires a token" } else { "" };
                let version = protocol::printable(version, 40);
                format!("another unity-mcp (version {version}, pid {pid}{token})")
            }
            Self::OfAnotherUser => "a program of another user".to_owned(),
            Self::Stranger => "another program, which is not a unity-mcp".to_owned(),
            Self::Silent => "another program, which does not answer".to_owned(),
            Self::System(error) => format!("the system ({error})"),
        }
    }
}

/// A request of an agent.
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    /// Of the tool or the task that it is about.
    pub(crate) name: &'a str,
    pub(crate) params: Json,
    /// Whether the agent knows what a task is.
    pub(crate) knows_tasks: bool,
}

/// What became of a request that was to be passed on.
pub(crate) enum Passed<T> {
    /// Too many are on their way already, or the holder takes no more: nothing was run.
    NoRoom,
    /// There was no connection, or it was refused unread: nothing was run.
    NotSent,
    Answer(Result<T, ErrorData>),
    /// It was sent, and no answer will come.
    Lost,
    /// Nobody waits for the answer any more.
    GivenUp,
}

impl Relay {
    pub(crate) fn new<N: Network>(network: N, holder: watch::Receiver<Option<Target>>) -> Self {
        let dial = move |port| -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
            let network = network.clone();
            Box::pin(async move {
                let stream = network.connect(port).await?;
                Ok(Box::new(stream) as Box<dyn Stream>)
            })
        };
        Self { dial: Arc::new(dial), holder, places: Arc::new(Semaphore::new(PASSED_MAX)) }
    }

    pub(crate) fn holder(&self) -> Option<Target> {
        self.holder.borrow().clone()
    }

    /// What the holder says about progress goes to `progress`. Dropping this cancels the call there.
    pub(crate) async fn pass_on<T: DeserializeOwned>(
        &self,
        to: Target,
        request: Request<'_>,
        progress: &mpsc::Sender<String>,
    ) -> Passed<T> {
        let Ok(_place) = self.places.try_acquire() else { return Passed::NoRoom };
        let mut holder = match timeout(CONNECT_MAX, self.connect(to.port)).await {
            Ok(Ok(holder)) => holder,
            Ok(Err(_)) => return Passed::NotSent,
            Err(_) => return Passed::NoRoom, // It is there, and what it knows is not known here.
        };
        let Ok(request) = post(&to, request) else { return Passed::NotSent };
        let Ok(Ok(response)) = timeout(SILENCE_MAX, holder.send_request(request)).await else {
            return Passed::Lost;
        };
        if is_refusal(&response) {
            let busy = response.status() == StatusCode::SERVICE_UNAVAILABLE;
            return if busy { Passed::NoRoom } else { Passed::NotSent };
        }
        match read_answer(response, progress).await {
            Some(answer) => Passed::Answer(answer),
            None => Passed::Lost,
        }
    }

    /// Whatever is said there; `None` if nothing is.
    async fn ask_health(&self, port: u16) -> Option<Bytes> {
        let mut holder = self.connect(port).await.ok()?;
        let request = http::Request::get("/healthz").header(HOST, format!("127.0.0.1:{port}"));
        let answer = holder.send_request(request.body(Full::default()).ok()?).await;
        match answer {
            Ok(response) => {
                let body = Limited::new(response.into_body(), HEALTH_BYTES_MAX).collect().await;
                Some(body.map(Collected::to_bytes).unwrap_or_default())
            }
            Err(error) if error.is_parse() => Some(Bytes::new()), // It says something else.
            Err(_) => None,
        }
    }

    async fn connect(&self, port: u16) -> io::Result<SendRequest<Full<Bytes>>> {
        let stream = (self.dial)(port).await?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Its end is seen by whoever waits for a response.
        tokio::spawn(async move { connection.await.unwrap_or_default() });
        Ok(sender)
    }
}

/// Asks who has the port; `None` if nobody answers there in time.
pub async fn identify<N: Network>(network: &N, port: u16) -> Option<Holder> {
    if !network.listener_is_same_user(port).await {
        return Some(Holder::OfAnotherUser);
    }
    let (_, holder) = watch::channel(None);
    let relay = Relay::new(network.clone(), holder);
    let body = timeout(IDENTIFY_MAX, relay.ask_health(port)).await.ok().flatten()?;
    let health: Option<Health> = serde_json::from_slice(&body).ok();
    let health = health.filter(|health| health.name == env!("CARGO_PKG_NAME"));
    Some(health.map_or(Holder::Stranger, |Health { version, pid, requires_token, .. }| {
        Holder::UnityMcp { version, pid, requires_token }
    }))
}

/// What `/healthz` says, as far as it matters here.
#[derive(Deserialize)]
struct Health {
    name: String,
    version: String,
    pid: u64,
    #[serde(default)]
    requires_token: bool,
}

/// One self-contained request of 2026-07-28, which needs no session.
fn post(to: &Target, request: Request<'_>) -> http::Result<http::Request<Full<Bytes>>> {
    let Request { method, name, params, knows_tasks } = request;
    let version = ProtocolVersion::V_2026_07_28;
    let tasks = json!({ "extensions": { TASKS_EXTENSION_ID: {} } });
    let meta = json!({
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": version.as_str(),
        "io.modelcontextprotocol/clientCapabilities": if knows_tasks { tasks } else { json!({}) },
        "io.modelcontextprotocol/clientInfo": {
            "name": concat!(env!("CARGO_PKG_NAME"), " relay"),
            "version": env!("CARGO_PKG_VERSION"),
        },
    });
    let params = with(params, "_meta", meta);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut post = http::Request::post("/mcp");
    if let Some(token) = &to.token {
        post = post.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    post.header(HOST, format!("127.0.0.1:{}", to.port))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", version.as_str())
        .header("mcp-method", method)
        .header("mcp-name", name)
        .body(Full::new(Bytes::from(body.to_string())))
}

/// What a unity-mcp refuses before it looks at it is refused in plain words; everything else is JSON.
fn is_refusal(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes());
    !response.status().is_success() && kind.is_some_and(|kind| kind.starts_with(b"text/plain"))
}

/// `None` if the answer is not there or makes no sense.
async fn read_answer<T: DeserializeOwned>(
    response: Response<Incoming>,
    progress: &mpsc::Sender<String>,
) -> Option<Result<T, ErrorData>> {
    let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_vec());
    if content_type.is_some_and(|kind| kind.starts_with(b"application/json")) {
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
        let body = timeout(SILENCE_MAX, body).await.ok()?.ok()?;
        let message: Message<T> = serde_json::from_slice(&body.to_bytes()).ok()?;
        return message.answer();
    }
    let mut events = SseStream::from_bytes_stream(bounded(response.into_body()));
    while let Ok(Some(Ok(event))) = timeout(SILENCE_MAX, events.next()).await {
        let Some(data) = event.data else { continue };
        let message: Message<T> = serde_json::from_str(&data).ok()?;
        let Some(Progress { message: report }) = message.params else {
            return message.answer();
        };
        progress.send(report).await.unwrap_or_default();
    }
    None
}

/// The bytes of a stream of events, an error in place of an event that is too long to be kept.
fn bounded(body: Incoming) -> impl futures_util::Stream<Item = io::Result<Bytes>> + Unpin {
    let mut unfinished = 0;
    body.into_data_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        // An event ends with an empty line.
        unfinished = match piece.windows(2).rposition(|two| two == b"\n\n") {
            Some(end) => piece.len() - end,
            None => unfinished + piece.len(),
        };
        if unfinished > ANSWER_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(piece)
    })
}

/// A JSON-RPC message of the holder: progress of the request, or its answer.
#[derive(Deserialize)]
struct Message<T> {
    params: Option<Progress>,
    result: Option<T>,
    error: Option<ErrorData>,
}

#[derive(Deserialize)]
struct Progress {
    #[serde(default)]
    message: String,
}

impl<T> Message<T> {
    fn answer(self) -> Option<Result<T, ErrorData>> {
        self.result.map(Ok).or(self.error.map(Err))
    }
}
