//! Relay: passes a request on to the unity-mcp that holds the port, as one HTTP request. Nothing is sent twice: a
//! call that may have reached the holder is never passed on again, and never runs here.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use coordination::Catalog;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Response, StatusCode, http};
use hyper_util::rt::TokioIo;
use protocol::Json;
use rmcp::model::{ErrorData, ProtocolVersion, TASKS_EXTENSION_ID};
use serde::Deserialize;
use serde_json::json;
use sse_stream::SseStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::budget::{
    RELAY_ANSWER_BYTES_MAX, RELAY_CALLS_MAX, RELAY_CONNECT_TIMEOUT, RELAY_SILENCE_TIMEOUT,
    RELAY_WAITING_MAX,
};
use crate::network::Network;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

type Dial = dyn Fn(u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Relay {
    dial: Arc<Dial>,
    all: Arc<Semaphore>,
    /// Fewer than all.
    waiting: Arc<Semaphore>,
}

/// Where requests are passed on to, the token that is required there, and the tools that are there.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) port: u16,
    pub(crate) token: Option<String>,
    pub(crate) catalog: Catalog,
}

/// What a relay calls itself.
pub(crate) const RELAY: &str = "unity-mcp relay";

/// A request of an agent.
pub(crate) struct Request {
    /// Who asks, as the log of the holder names it.
    pub(crate) from: &'static str,
    pub(crate) method: &'static str,
    /// Of its tool or its task; empty for a method that concerns none.
    pub(crate) name: String,
    pub(crate) params: Json,
    /// For the log.
    pub(crate) client_request_id: Option<String>,
    /// The least catalogue in which it means what its agent was told.
    pub(crate) needs: Catalog,
    /// Whether the agent supports tasks.
    pub(crate) knows_tasks: bool,
    /// The answer may have to wait for Unity or for a job.
    pub(crate) may_wait: bool,
}

/// A connection to the holder, and the request that goes there.
pub(crate) struct Dialled {
    holder: SendRequest<Full<Bytes>>,
    post: http::Request<Full<Bytes>>,
    _room: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
}

/// What became of a request.
pub(crate) enum Passed {
    /// The connection was refused, or it ended before anything was sent.
    NobodyThere,
    /// There is no connection for another reason, or the holder refused the request unread: nothing ran.
    Unreachable(String),
    /// It has a name that HTTP does not allow: nothing was sent.
    NotWritable,
    /// Too many are on their way, or the holder takes no more: nothing ran.
    NoRoom,
    Answer(Result<Json, ErrorData>),
    /// It was sent, and no answer will come.
    Lost,
}

impl Relay {
    pub(crate) fn new<N: Network>(network: N) -> Self {
        let dial = move |port| -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
            let network = network.clone();
            Box::pin(async move {
                let stream = network.connect(port).await?;
                Ok(Box::new(stream) as Box<dyn Stream>)
            })
        };
        let [all, waiting] =
            [RELAY_CALLS_MAX, RELAY_WAITING_MAX].map(|max| Arc::new(Semaphore::new(max)));
        Self { dial: Arc::new(dial), all, waiting }
    }

    /// Connects to the holder. Nothing is sent yet.
    pub(crate) async fn dial(&self, to: &Target, request: &Request) -> Result<Dialled, Passed> {
        let take = |room: &Arc<Semaphore>| room.clone().try_acquire_owned();
        let waiting = request.may_wait.then(|| take(&self.waiting)).transpose();
        let room = take(&self.all).and_then(|all| Ok((all, waiting?)));
        let room = room.map_err(|_| Passed::NoRoom)?;
        let post = post(to, request).map_err(|_| Passed::NotWritable)?;
        let dialled = async { connect((self.dial)(to.port).await?).await };
        match timeout(RELAY_CONNECT_TIMEOUT, dialled).await {
            Ok(Ok(holder)) => Ok(Dialled { holder, post, _room: room }),
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => {
                Err(Passed::NobodyThere)
            }
            Ok(Err(error)) => Err(Passed::Unreachable(error.to_string())),
            Err(_) => Err(Passed::Unreachable("it did not accept a connection in time".into())),
        }
    }
}

impl Dialled {
    /// The holder's progress reports go to `progress`. Dropping this cancels the call there.
    pub(crate) async fn send(self, progress: &mpsc::Sender<Progress>) -> Passed {
        let Self { mut holder, post, _room } = self;
        let sent = timeout(RELAY_SILENCE_TIMEOUT, holder.try_send_request(post)).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(mut error)) => match error.take_message() {
                // The holder ended before anything was written.
                Some(_unsent) => return Passed::NobodyThere,
                None => return Passed::Lost,
            },
            Err(_) => return Passed::Lost,
        };
        let status = response.status();
        match is_refusal(&response) {
            true if status == StatusCode::SERVICE_UNAVAILABLE => Passed::NoRoom,
            true => Passed::Unreachable(format!("it answered with status {}", status.as_u16())),
            false => read_answer(response, progress).await.map_or(Passed::Lost, Passed::Answer),
        }
    }
}

/// Speaks HTTP over a stream.
pub(crate) async fn connect<S>(stream: S) -> io::Result<SendRequest<Full<Bytes>>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // A caller that waits for a response sees its end.
    tokio::spawn(async move { connection.await.unwrap_or_default() });
    Ok(sender)
}

/// One self-contained request of 2026-07-28, which needs no session.
fn post(to: &Target, request: &Request) -> http::Result<http::Request<Full<Bytes>>> {
    let Request { from, method, name, params, knows_tasks, .. } = request;
    let version = ProtocolVersion::V_2026_07_28;
    let tasks = json!({ "extensions": { TASKS_EXTENSION_ID: {} } });
    let meta = json!({
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": version.as_str(),
        "io.modelcontextprotocol/clientCapabilities": if *knows_tasks { tasks } else { json!({}) },
        "io.modelcontextprotocol/clientInfo": {
            "name": from,
            "version": env!("CARGO_PKG_VERSION"),
        },
    });
    let mut params = params.clone();
    if let Json::Object(fields) = &mut params {
        fields.insert("_meta".to_owned(), meta);
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut post = http::Request::post("/mcp");
    if let Some(token) = &to.token {
        post = post.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    if !name.is_empty() {
        post = post.header("mcp-name", name);
    }
    post.header(HOST, format!("127.0.0.1:{}", to.port))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", version.as_str())
        .header("mcp-method", *method)
        .body(Full::new(Bytes::from(body.to_string())))
}

/// A unity-mcp refuses a request in plain text if it has not looked at it. Everything else is JSON.
fn is_refusal(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes());
    !response.status().is_success() && kind.is_some_and(|kind| kind.starts_with(b"text/plain"))
}

/// `None` if the answer is not there or makes no sense.
async fn read_answer(
    response: Response<Incoming>,
    progress: &mpsc::Sender<Progress>,
) -> Option<Result<Json, ErrorData>> {
    let content_type = response.headers().get(CONTENT_TYPE).map(|value| value.as_bytes().to_vec());
    if content_type.is_some_and(|kind| kind.starts_with(b"application/json")) {
        let body = Limited::new(response.into_body(), RELAY_ANSWER_BYTES_MAX).collect();
        let body = timeout(RELAY_SILENCE_TIMEOUT, body).await.ok()?.ok()?;
        let message: Message = serde_json::from_slice(&body.to_bytes()).ok()?;
        return message.answer();
    }
    let mut events = SseStream::from_bytes_stream(bounded(response.into_body()));
    while let Ok(Some(Ok(event))) = timeout(RELAY_SILENCE_TIMEOUT, events.next()).await {
        let Some(data) = event.data else { continue };
        let message: Message = serde_json::from_str(&data).ok()?;
        let Some(report) = message.params else {
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
        if unfinished > RELAY_ANSWER_BYTES_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(piece)
    })
}

/// A JSON-RPC message of the holder: progress of the request, or its answer.
#[derive(Deserialize)]
struct Message {
    params: Option<Progress>,
    result: Option<Json>,
    error: Option<ErrorData>,
}

/// Progress of a call.
#[derive(Deserialize)]
pub(crate) struct Progress {
    #[serde(default)]
    pub(crate) message: String,
    /// How much is done, and of how much if that is known.
    #[serde(rename = "progress", default)]
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
}

impl Message {
    fn answer(self) -> Option<Result<Json, ErrorData>> {
        self.result.map(Ok).or(self.error.map(Err))
    }
}
