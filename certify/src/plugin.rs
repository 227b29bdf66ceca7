//! Plugin: the plugin as certify sees it. It holds the sockets, the session, the requests and the record, and keeps
//! the server's side of the wire: hello, capability and pings.

mod incoming;
mod requests;

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::{Catalog, TOOLS};
use protocol::{
    Capability, EditorState, ErrorBody, ErrorMessage, Ping, PluginHello, RequestId, ServerHello,
    ToUnity, UnityJobId, codec,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::listener::{Arrived, Order};
use crate::record::{Fact, Record};
use crate::rules::{Rule, Violation};
use requests::Asked;
pub(crate) use requests::RequestKind;

/// The default limit of the server.
pub(crate) const FRAME_MAX: usize = 1_048_576;
/// How long a socket may take to send its hello.
pub(crate) const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// As the server's `heartbeat_interval_ms`: a plugin may reconnect if the server is silent.
const PING_INTERVAL: Duration = Duration::from_secs(3);
/// The limit of the server on `{ [ : ,` outside of strings.
const TOKENS_MAX: usize = 64_000;

pub(crate) const ALREADY_ACTIVE: &str = "another Unity websocket session is already active";
pub(crate) const REPLACED: &str = "replaced by a newer connection";

pub(crate) struct Plugin {
    arriving: mpsc::Receiver<Arrived>,
    pub(crate) record: Record,
    pub(crate) violations: Vec<Violation>,
    sockets: BTreeMap<u64, Socket>,
    session: Option<Session>,
    /// Every hello that was accepted.
    pub(crate) hellos: Vec<AcceptedHello>,
    requests: BTreeMap<RequestId, Asked>,
    /// The ids of all jobs, each with the frame in which it came.
    job_ids: Vec<(UnityJobId, usize)>,
    /// Names the requests of this run.
    boot: String,
    next_ping_at: Instant,
    /// What the next hello is answered with.
    pub(crate) welcome: Welcome,
    /// Why there is no session although the plugin has connected.
    pub(crate) bad_hello: Option<String>,
    /// Why the last attempt to connect was refused. It need not be the plugin: a unity-mcp that waits for the port
    /// asks who has it.
    pub(crate) refused: Option<String>,
    /// The tools that the plugin has offered; `None`: all.
    offered: Option<Vec<String>>,
}

/// What certify does with a valid hello.
#[derive(Clone, Copy)]
pub(crate) enum Welcome {
    Accept { max_message_bytes: usize },
    RejectOnce,
}

impl Welcome {
    pub(crate) const USUAL: Self = Self::Accept { max_message_bytes: FRAME_MAX };
}

struct Socket {
    opened_at: Instant,
    /// The entry of the record that shows it.
    opened_in: usize,
    orders: mpsc::Sender<Order>,
    phase: Phase,
    frame_max: usize,
    last_seq: u64,
    /// The entry of the record that had `last_seq`.
    last_seq_in: Option<usize>,
    pings: u64,
    pongs: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    BeforeHello,
    Open,
    /// Certify has closed it; the plugin may not have noticed.
    Closed,
}

struct Session {
    socket: u64,
    hello: PluginHello,
    state: EditorState,
}

#[derive(Clone)]
pub(crate) struct AcceptedHello {
    pub(crate) socket: u64,
    /// How long the socket took to send it.
    pub(crate) took: Duration,
    pub(crate) hello: PluginHello,
}

impl Plugin {
    pub(crate) fn new(arriving: mpsc::Receiver<Arrived>, boot: String) -> Self {
        Self {
            arriving,
            record: Record::new(),
            violations: Vec::new(),
            sockets: BTreeMap::new(),
            session: None,
            hellos: Vec::new(),
            requests: BTreeMap::new(),
            job_ids: Vec::new(),
            boot,
            next_ping_at: Instant::now(),
            welcome: Welcome::USUAL,
            bad_hello: None,
            refused: None,
            offered: None,
        }
    }

    /// The hello of the present session.
    pub(crate) fn hello(&self) -> Option<&PluginHello> {
        self.session.as_ref().map(|session| &session.hello)
    }

    pub(crate) fn session_socket(&self) -> Option<u64> {
        self.session.as_ref().map(|session| session.socket)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.state == EditorState::Ready)
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.offered.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
    }

    /// The place in the record where a check begins.
    pub(crate) fn mark(&self) -> usize {
        self.record.len()
    }

    /// Whether the plugin has opened a socket since `mark`.
    pub(crate) fn has_opened_since(&self, mark: usize) -> bool {
        self.record.since(mark).iter().any(|entry| matches!(entry.fact, Fact::Opened))
    }

    /// Waits until `found` gives something, at most for `limit`. All that happens in this time is recorded.
    pub(crate) async fn wait<T>(
        &mut self,
        limit: Duration,
        mut found: impl FnMut(&Self) -> Option<T>,
    ) -> Option<T> {
        let until = Instant::now() + limit;
        loop {
            if let Some(found) = found(self) {
                return Some(found);
            }
            if !self.step(until).await {
                return found(self);
            }
        }
    }

    pub(crate) async fn pause(&mut self, time: Duration) {
        self.wait(time, |_| None::<()>).await;
    }

    /// Takes one event, or the next deadline. False if `until` has come.
    async fn step(&mut self, until: Instant) -> bool {
        let ping_at = self.session.as_ref().map(|_| self.next_ping_at);
        let late = self.sockets.values().filter(|socket| socket.phase == Phase::BeforeHello);
        let hello_at = late.map(|socket| socket.opened_at + HELLO_TIMEOUT).min();
        let wake = [ping_at, hello_at].into_iter().flatten().fold(until, Instant::min);
        tokio::select! {
            biased;
            Some(arrived) = self.arriving.recv() => {
                self.on_arrived(arrived);
                true
            }
            () = sleep_until(wake) => {
                self.on_time(Instant::now());
                Instant::now() < until
            }
        }
    }

    fn on_time(&mut self, now: Instant) {
        if self.session.is_some() && now >= self.next_ping_at {
            self.ping();
        }
        let is_late = |socket: &Socket| {
            socket.phase == Phase::BeforeHello && now >= socket.opened_at + HELLO_TIMEOUT
        };
        let late: Vec<u64> =
            self.sockets.iter().filter(|(_, socket)| is_late(socket)).map(|(id, _)| *id).collect();
        for socket in late {
            let why = "The plugin connected, and sent no hello within 5 s.".to_owned();
            let opened_in = self.sockets.get(&socket).map(|socket| socket.opened_in);
            self.turn_away(socket, why, opened_in.into_iter().collect());
        }
    }

    /// Sends a ping on the session. Returns its number on the socket; `None` without a session.
    pub(crate) fn ping(&mut self) -> Option<u64> {
        self.next_ping_at = Instant::now() + PING_INTERVAL;
        let id = self.session_socket()?;
        self.send_on(id, &ToUnity::Ping(Ping {}));
        Some(self.count_ping(id))
    }

    fn count_ping(&mut self, id: u64) -> u64 {
        let Some(socket) = self.sockets.get_mut(&id) else { return u64::MAX };
        socket.pings += 1;
        socket.pings
    }

    /// Sends a ping with a field that no plugin knows.
    pub(crate) fn ping_with_unknown_field(&mut self) -> Option<u64> {
        let id = self.session_socket()?;
        let text = r#"{"type":"ping","certify_unknown":{"a":[1,null]},"protocol_version":1}"#;
        self.send_text_on(id, text.to_owned());
        Some(self.count_ping(id))
    }

    /// Whether the ping with this number is answered.
    pub(crate) fn is_answered(&self, socket: u64, ping: u64) -> bool {
        self.sockets.get(&socket).is_some_and(|socket| socket.pongs >= ping)
    }

    /// Sends a text on the session, as it is.
    pub(crate) fn send_text(&mut self, text: &str) {
        if let Some(socket) = self.session_socket() {
            self.send_text_on(socket, text.to_owned());
        }
    }

    fn send_on(&mut self, socket: u64, message: &ToUnity) -> usize {
        self.send_text_on(socket, codec::encode(message))
    }

    fn send_text_on(&mut self, id: u64, text: String) -> usize {
        let index = self.record.push(Instant::now(), id, Fact::Sent, &text);
        self.order(id, Order::Send(text));
        index
    }

    fn order(&mut self, id: u64, order: Order) {
        if let Some(socket) = self.sockets.get(&id) {
            // A socket that takes nothing more is lost, which its task reports.
            socket.orders.try_send(order).unwrap_or_default();
        }
    }

    /// Ends the session without a close frame.
    pub(crate) fn drop_socket(&mut self) {
        let Some(session) = self.session.take() else { return };
        self.order(session.socket, Order::Drop);
        self.sockets.remove(&session.socket);
        let text = "dropped the socket without a close frame";
        self.record.push(Instant::now(), session.socket, Fact::Done, text);
    }

    /// Ends the session with a close frame.
    pub(crate) fn close(&mut self, code: u16, reason: &'static str) {
        if let Some(session) = self.session.take() {
            self.close_socket(session.socket, code, reason);
        }
    }

    fn close_socket(&mut self, id: u64, code: u16, reason: &'static str) {
        self.order(id, Order::Close { code, reason });
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.phase = Phase::Closed;
        }
        let text = format!("closed the socket: {code} {reason}");
        self.record.push(Instant::now(), id, Fact::Done, &text);
    }

    /// Notes what somebody else did, such as a word for the driver.
    pub(crate) fn note(&mut self, what: &str) {
        self.record.push(Instant::now(), 0, Fact::Done, what);
    }

    fn break_rule(&mut self, rule: Rule, what: impl Into<String>, frames: Vec<usize>) {
        self.violations.push(Violation { rule, what: what.into(), frames });
    }

    /// Rejects a socket whose hello is missing or wrong, as the server does.
    fn turn_away(&mut self, socket: u64, why: String, frames: Vec<usize>) {
        self.break_rule(Rule::HelloFirst, why.clone(), frames);
        self.reject(socket, &why);
        self.bad_hello = Some(why);
    }

    fn reject(&mut self, socket: u64, why: &str) {
        let error = ErrorBody {
            code: "ERR_INVALID_REQUEST".to_owned(),
            message: why.to_owned(),
            retryable: None,
            details: None,
        };
        self.send_on(socket, &ToUnity::Error(ErrorMessage { request_id: None, error }));
        self.close_socket(socket, 1008, "rejected");
    }

    fn greet(&mut self, socket: u64, max_message_bytes: usize) {
        let hello = ServerHello {
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            max_message_bytes: Some(max_message_bytes as u64),
        };
        self.send_on(socket, &ToUnity::Hello(hello));
        let tools = TOOLS.iter().map(|tool| Catalog::V1_0.metadata(tool)).collect();
        self.send_on(socket, &ToUnity::Capability(Capability { tools }));
    }
}
