//! StdioTransport: MCP over two byte streams, one JSON-RPC message per line. Every buffer has a limit: an agent that
//! does not read its answers is not read from, and a line that is too long is refused.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coordination::Failure;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, JsonRpcMessage,
    JsonRpcRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage,
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
use crate::mcp::message_check::{self, malformed};
use crate::mcp::tool_results::protocol_error;
use crate::request_room::{Held, RequestRoom};

/// The method of a cancel.
const CANCELLED: &[u8] = b"notifications/cancelled";

pub(crate) struct StdioTransport<R, W> {
    lines: LineReader<R>,
    /// Requests that a line cancels which was read but not taken yet. rmcp runs every request in a task of its own:
    /// a call that it gets would be sent before it gets the cancel.
    cancelled_ahead: HashSet<RequestId>,
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
    pub(crate) fn new(input: R, output: W, queue_max: usize, left: CancellationToken) -> Self {
        let writer = tokio::sync::Mutex::new(output);
        let output = Output { writer, room: Semaphore::new(STDIO_UNREAD_BYTES_MAX as usize), left };
        let room = RequestRoom::new(queue_max);
        let open = OpenRequests { ids: Mutex::default(), room, changed: Notify::new() };
        Self {
            lines: LineReader::new(input, REQUEST_BYTES_MAX),
            cancelled_ahead: HashSet::new(),
            begun: false,
            open: Arc::new(open),
            output: Arc::new(output),
        }
    }

    /// Looks for cancels in what was just read.
    fn look_ahead(&mut self) {
        for line in self.lines.new_lines() {
            let names_it = line.split(|byte| *byte == b'"').any(|text| text == CANCELLED);
            if names_it && let Ok(message) = message_check::parse(line) {
                self.cancelled_ahead.extend(message_check::cancelled(&message).cloned());
            }
        }
    }

    /// The message of the next line, if that is one for the server.
    fn take_message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = match self.lines.take_line()? {
            Line::Whole(line) => line,
            Line::TooLong => {
                let problem = format!("a message may have at most {REQUEST_BYTES_MAX} bytes");
                self.complain(malformed(ErrorCode::INVALID_REQUEST, problem), None);
                return None;
            }
        };
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        match message_check::parse(text) {
            Ok(message) => self.admit(&message, text.len()).then_some(message),
            Err(error) => {
                self.complain(error, None);
                None
            }
        }
    }

    fn admit(&mut self, message: &ClientJsonRpcMessage, bytes: usize) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.admit_request(request, bytes, message_check::may_wait(message))
            }
            JsonRpcMessage::Notification(_) => {
                if let Some(id) = message_check::cancelled(message) {
                    self.cancelled_ahead.remove(id);
                    self.open.cancel(id);
                }
                self.begun
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.begun,
        }
    }

    fn admit_request(
        &mut self,
        JsonRpcRequest { id, request, .. }: &JsonRpcRequest<ClientRequest>,
        bytes: usize,
        may_wait: bool,
    ) -> bool {
        if self.open.is_used(id) {
            // Not under its id: that answer belongs to the request that came first.
            let problem = format!("request id {id} was used before");
            self.complain(malformed(ErrorCode::INVALID_REQUEST, problem), None);
            return false;
        }
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        if is_call && self.cancelled_ahead.contains(id) {
            debug!(%id, "a call was cancelled before it began");
            return false;
        }
        if !self.open.add(id, bytes, may_wait) {
            let failure = Failure::too_much_unanswered();
            let refusal = protocol_error(ErrorCode::INTERNAL_ERROR, &failure);
            self.complain(refusal, Some(id.clone()));
            return false;
        }
        self.begun |= begins(request);
        true
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
    fn add(&self, id: &RequestId, bytes: usize, may_wait: bool) -> bool {
        let held = self.room.take(bytes, may_wait);
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
                biased; // A cancel that has arrived is seen before its call is taken.
                () = self.lines.read_more() => self.look_ahead(),
                () = room, if has_line => {
                    if let Some(message) = self.take_message() {
                        return Some(message);
                    }
                }
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
