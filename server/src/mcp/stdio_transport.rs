//! StdioTransport: MCP over two byte streams, one JSON-RPC message per line. Every buffer has a limit: an agent that
//! does not read its answers is not read from, and a line that is too long is refused.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coordination::Failure;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::budget::{
    REQUEST_BYTES_MAX, STDIO_CANCELLED_MAX, STDIO_LAST_ANSWERS_TIMEOUT, STDIO_UNREAD_BYTES_MAX,
    STDIO_UNREAD_BYTES_MIN,
};
use crate::mcp::line_reader::{Line, LineReader};
use crate::mcp::message_check;
use crate::mcp::tool_results::protocol_error;
use crate::request_room::{Held, RequestRoom};

pub(crate) struct StdioTransport<R, W> {
    lines: LineReader<R>,
    /// Whether the agent has begun the conversation; before, rmcp takes requests alone.
    begun: bool,
    open: Arc<OpenRequests>,
    output: Arc<Output<W>>,
}

/// Requests without an answer.
struct OpenRequests {
    ids: Mutex<Ids>,
    room: RequestRoom,
    changed: Notify,
}

#[derive(Default)]
struct Ids {
    open: HashMap<RequestId, Held>,
    /// The last ones that were cancelled. rmcp would answer a request that reuses such an id with the answer to the
    /// cancelled one.
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
    /// `left` is cancelled when the agent is gone.
    pub(crate) fn new(input: R, output: W, calls_max: usize, left: CancellationToken) -> Self {
        let writer = tokio::sync::Mutex::new(output);
        let output = Output { writer, room: Semaphore::new(STDIO_UNREAD_BYTES_MAX as usize), left };
        let room = RequestRoom::new(calls_max);
        let open = OpenRequests { ids: Mutex::default(), room, changed: Notify::new() };
        Self {
            lines: LineReader::new(input, REQUEST_BYTES_MAX),
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
                let problem = format!("a message may have at most {REQUEST_BYTES_MAX} bytes");
                self.complain(ErrorData::invalid_request(problem, None), None);
                return None;
            }
        };
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        if let Err(refused) = message_check::check(text) {
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
            // If the agent has left, `left` says so.
            output.write(complaint).await.unwrap_or_default();
            open.lock().complaints -= 1;
            open.changed.notify_waiters();
        });
    }
}

/// rmcp answers some requests while it still waits for the conversation to begin.
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

    /// False if there is no room for it.
    fn add(&self, id: &RequestId, bytes: usize) -> bool {
        let held = self.room.take(bytes);
        held.map(|held| self.lock().open.insert(id.clone(), held)).is_some()
    }

    fn remove(&self, id: &RequestId) {
        self.lock().open.remove(id);
        self.changed.notify_waiters();
    }

    fn cancel(&self, id: &RequestId) {
        let mut ids = self.lock();
        if ids.open.remove(id).is_some() {
            ids.cancelled.push_back(id.clone());
            if ids.cancelled.len() > STDIO_CANCELLED_MAX {
                ids.cancelled.pop_front();
            }
        }
        self.changed.notify_waiters();
    }

    /// Waits until an agent that has left has its answers, or the time for that is over.
    async fn last_answers(&self, left_at: Option<Instant>) {
        let Some(left_at) = left_at else { return std::future::pending().await };
        timeout_at(left_at + STDIO_LAST_ANSWERS_TIMEOUT, self.all_answered())
            .await
            .unwrap_or_default();
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

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Waits until no answer waits behind those that are not read.
    async fn has_room(&self) {
        drop(self.room.acquire().await);
    }

    /// An agent that has left gets nothing: some clients fail on answers that come after their end.
    async fn write(&self, message: ServerJsonRpcMessage) -> io::Result<()> {
        if self.left.is_cancelled() {
            return Ok(());
        }
        let mut line = serde_json::to_vec(&message)?;
        drop(message); // Only the line waits to be read.
        line.push(b'\n');
        let written = self.write_line(&line).await;
        if written.is_err() {
            self.left.cancel();
        }
        written
    }

    async fn write_line(&self, line: &[u8]) -> io::Result<()> {
        let bytes = u32::try_from(line.len().max(STDIO_UNREAD_BYTES_MIN)).unwrap_or(u32::MAX);
        let bytes = bytes.min(STDIO_UNREAD_BYTES_MAX);
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
                self.open.room.is_free().await;
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
