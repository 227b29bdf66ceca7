//! MCP over two byte streams, one JSON-RPC message per line. Every buffer has a bound: an agent that
//! does not read its answers is not read from, and a line that is too long is refused, not stored.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::mcp::json_guard;
use crate::mcp::line_reader::{Line, LineReader};
use crate::mcp::tool_results::protocol_error;
use coordination::Failure;

/// Bytes of answers that may wait for the agent to read them before its next request is read.
const UNREAD_BYTES_MAX: u32 = 1024 * 1024;
/// What an answer takes beside its bytes.
const UNREAD_BYTES_EACH: usize = 4 * 1024;
/// Bytes of requests without an answer, at least: the next one is read when there is room again.
const OPEN_BYTES_MIN: usize = 8 * 1024 * 1024;
/// What a request takes beside its bytes, so that all the answers that are owed have room.
const OPEN_BYTES_EACH: usize = 40 * 1024;
/// What is more than this of a request is taken from another room: it is refused if there is none.
const LARGE: usize = 32 * 1024;
const LARGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Ids of cancelled requests that are remembered.
const CANCELLED_MAX: usize = 64;
/// How long an agent that has closed its end is still answered: requests in a pipe end like that.
const LAST_ANSWERS_MAX: Duration = Duration::from_millis(100);

pub struct StdioTransport<R, W> {
    lines: LineReader<R>,
    line_max: usize,
    /// Whether the agent has begun the conversation; before, rmcp takes requests alone.
    begun: bool,
    open: Arc<OpenRequests>,
    output: Arc<Output<W>>,
}

/// Requests without an answer.
struct OpenRequests {
    ids: Mutex<Ids>,
    room: Arc<Semaphore>,
    room_for_large: Arc<Semaphore>,
    changed: Notify,
}

#[derive(Default)]
struct Ids {
    /// With what they take of both rooms.
    open: HashMap<RequestId, [OwnedSemaphorePermit; 2]>,
    /// The last that were cancelled: rmcp would answer a request that reuses such an id with what is
    /// left of the cancelled one.
    cancelled: VecDeque<RequestId>,
    /// Complaints that are not written yet.
    complaints: usize,
}

struct Output<W> {
    writer: tokio::sync::Mutex<W>,
    room: Semaphore,
    /// The agent has left: its stream has ended, or does not take answers.
    left: CancellationToken,
}

impl<R, W> StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// There is room for `calls_max` requests without an answer, whatever they are. `left` is cancelled when the
    /// agent is gone.
    pub fn new(
        input: R,
        output: W,
        line_max: usize,
        calls_max: usize,
        left: CancellationToken,
    ) -> Self {
        let writer = tokio::sync::Mutex::new(output);
        let output = Output { writer, room: Semaphore::new(UNREAD_BYTES_MAX as usize), left };
        let open_bytes = OPEN_BYTES_MIN.max(calls_max * (LARGE + OPEN_BYTES_EACH));
        let open = OpenRequests {
            ids: Mutex::default(),
            room: Arc::new(Semaphore::new(open_bytes)),
            room_for_large: Arc::new(Semaphore::new(LARGE_BYTES_MAX)),
            changed: Notify::new(),
        };
        Self {
            lines: LineReader::new(input, line_max),
            line_max,
            begun: false,
            open: Arc::new(open),
            output: Arc::new(output),
        }
    }

    /// The message of the next line, if that is one for the server.
    fn take_message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = match self.lines.take_line()? {
            Line::Whole(line) => line,
            Line::TooLong => {
                let problem = format!("a message may have {} bytes", self.line_max);
                self.complain(ErrorData::invalid_request(problem, None), None);
                return None;
            }
        };
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        if let Err(refused) = json_guard::check(text) {
            self.complain(ErrorData::invalid_request(refused.to_string(), None), None);
            return None;
        }
        match serde_json::from_slice(text) {
            Ok(message) if self.admit(&message, text.len()) => Some(message),
            Ok(_) => None,
            Err(error) if error.is_data() => {
                let problem = "not a JSON-RPC message of MCP";
                self.complain(ErrorData::invalid_request(problem, None), None);
                None
            }
            Err(_) => {
                let problem = "not JSON; send one message per line";
                self.complain(ErrorData::parse_error(problem, None), None);
                None
            }
        }
    }

    fn admit(&mut self, message: &ClientJsonRpcMessage, bytes: usize) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                if self.open.is_used(&request.id) {
                    // Not under its id: that answer belongs to the request that came first.
                    let problem = format!("request id {} was used before", request.id);
                    self.complain(ErrorData::invalid_request(problem, None), None);
                    return false;
                }
                if !self.open.add(&request.id, bytes) {
                    let failure = Failure::too_much_unanswered();
                    let refusal = protocol_error(ErrorCode::INTERNAL_ERROR, &failure);
                    self.complain(refusal, Some(request.id.clone()));
                    return false;
                }
                self.begun |= begins(&request.request);
                true
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.cancel(id);
                }
                self.begun
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.begun,
        }
    }

    /// In a task of its own: reading may be dropped at any await, a line must not be cut.
    fn complain(&self, error: ErrorData, id: Option<RequestId>) {
        debug!(%error, "bad input from the agent");
        let complaint = ServerJsonRpcMessage::error(error, id);
        let (output, open) = (self.output.clone(), self.open.clone());
        open.lock().complaints += 1;
        tokio::spawn(async move {
            // That the agent has left is known to whoever needs to know.
            output.write(complaint).await.unwrap_or_default();
            open.lock().complaints -= 1;
            open.changed.notify_waiters();
        });
    }
}

/// Requests that rmcp answers while it still waits for the conversation to begin do not begin it.
fn begins(request: &ClientRequest) -> bool {
    if matches!(request, ClientRequest::InitializeRequest(_)) {
        return true;
    }
    let probe =
        matches!(request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
    let meta = request.get_meta();
    let version = meta.protocol_version();
    !probe
        && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
        && version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
}

impl Ids {
    /// Whether everything is answered.
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.complaints == 0
    }
}

impl OpenRequests {
    /// Whether the id is in use, or was until it was cancelled.
    fn is_used(&self, id: &RequestId) -> bool {
        let ids = self.lock();
        ids.cancelled.contains(id) || ids.open.contains_key(id)
    }

    /// Until there is room for a request that is not large.
    async fn has_room(&self) {
        drop(self.room.acquire_many(permits(LARGE + OPEN_BYTES_EACH)).await);
    }

    /// False if there is no room for it.
    fn add(&self, id: &RequestId, bytes: usize) -> bool {
        let take =
            |room: &Arc<Semaphore>, bytes| room.clone().try_acquire_many_owned(permits(bytes)).ok();
        let taken = take(&self.room, bytes.min(LARGE) + OPEN_BYTES_EACH)
            .zip(take(&self.room_for_large, bytes.saturating_sub(LARGE)));
        taken.map(|(one, other)| self.lock().open.insert(id.clone(), [one, other])).is_some()
    }

    fn remove(&self, id: &RequestId) {
        self.lock().open.remove(id);
        self.changed.notify_waiters();
    }

    fn cancel(&self, id: &RequestId) {
        let mut ids = self.lock();
        if ids.open.remove(id).is_some() {
            ids.cancelled.push_back(id.clone());
            if ids.cancelled.len() > CANCELLED_MAX {
                ids.cancelled.pop_front();
            }
        }
        self.changed.notify_waiters();
    }

    /// Until an agent that has left has its answers, or had its time to get them.
    async fn last_answers(&self, left_at: Option<Instant>) {
        let Some(left_at) = left_at else { return std::future::pending().await };
        timeout_at(left_at + LAST_ANSWERS_MAX, self.all_answered()).await.unwrap_or_default();
    }

    async fn all_answered(&self) {
        loop {
            let changed = self.changed.notified();
            if self.lock().is_empty() {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Until no answer waits for room behind those that are not read.
    async fn has_room(&self) {
        drop(self.room.acquire().await);
    }

    /// Whoever has left is not written to: some clients fail at answers that come after their end.
    async fn write(&self, message: ServerJsonRpcMessage) -> io::Result<()> {
        if self.left.is_cancelled() {
            return Ok(());
        }
        let mut line = serde_json::to_vec(&message)?;
        drop(message); // What waits to be read is the line alone.
        line.push(b'\n');
        let written = self.write_line(&line).await;
        if written.is_err() {
            self.left.cancel();
        }
        written
    }

    async fn write_line(&self, line: &[u8]) -> io::Result<()> {
        let bytes = permits(line.len() + UNREAD_BYTES_EACH).min(UNREAD_BYTES_MAX);
        let room = self.room.acquire_many(bytes).await.map_err(io::Error::other)?;
        let mut writer = self.writer.lock().await;
        writer.write_all(line).await?;
        writer.flush().await?;
        drop(room);
        Ok(())
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (output, open) = (self.output.clone(), self.open.clone());
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let written = output.write(message).await;
            if let Some(id) = &answered {
                open.remove(id);
            }
            written
        }
    }

    /// May be dropped at any await: a line is taken only when it is returned.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let (has_line, ended_at) = (self.lines.has_line(), self.lines.ended_at());
            let room = async {
                self.output.has_room().await;
                self.open.has_room().await;
            };
            tokio::select! {
                biased;
                () = room, if has_line => {
                    if let Some(message) = self.take_message() {
                        return Some(message);
                    }
                }
                () = self.lines.read_more() => {}
                () = self.open.last_answers(ended_at) => {
                    self.output.left.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
