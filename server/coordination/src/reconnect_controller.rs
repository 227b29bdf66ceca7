//! ReconnectController: which socket is the Editor, whether it lives, and how long we wait for it.

use std::time::Duration;

use protocol::{EditorState, EditorStatus, OfferedTool, PluginHello};

use crate::heartbeat::Heartbeat;
use crate::ids::ConnectionId;
use crate::limits::Limits;
use crate::stores::capability::CapabilityStore;
use crate::stores::connection::{ConnectionStore, Contender, Link, Pending, Role, Session};
use crate::stores::version::{Memory, VersionStore};
use crate::time::{Deadline, Timestamp, Why};

#[derive(Debug)]
pub(crate) struct ReconnectController {
    connections: ConnectionStore,
    versions: VersionStore,
    capabilities: CapabilityStore,
}

/// What a hello on a pending socket leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Adopt,
    /// The same Editor comes anew: the older socket is dead, whether it knows or not.
    Replace {
        old: ConnectionId,
    },
    /// Another may be there: ping it and see.
    Contest {
        incumbent: ConnectionId,
    },
    /// The same Editor as the one that waits for the probe.
    ReplaceContender {
        old: ConnectionId,
    },
    Refuse,
}

/// A newcomer that has become the Editor.
#[derive(Debug)]
pub(crate) struct Adopted {
    pub(crate) on: ConnectionId,
    pub(crate) state: EditorState,
    pub(crate) seq: u64,
    /// What it knows of what an earlier session was sent.
    pub(crate) memory: Memory,
    pub(crate) plugin_version: String,
}

impl ReconnectController {
    pub(crate) fn new() -> Self {
        Self {
            connections: ConnectionStore::new(),
            versions: VersionStore::default(),
            capabilities: CapabilityStore::default(),
        }
    }

    // Sockets.

    /// A socket without a hello; gives the one that must make room for it.
    pub(crate) fn open(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        limits: &Limits,
    ) -> Option<ConnectionId> {
        let pending = &mut self.connections.pending;
        pending.push_back(Pending { on, opened_at: now });
        if pending.len() > limits.pending_max {
            pending.front().map(|oldest| oldest.on)
        } else {
            None
        }
    }

    pub(crate) fn role(&self, on: ConnectionId) -> Role {
        self.connections.role(on)
    }

    /// The socket is told to close: nothing it says counts any more.
    pub(crate) fn mark_closing(&mut self, on: ConnectionId) {
        self.connections.mark_closing(on);
    }

    pub(crate) fn forget(&mut self, on: ConnectionId) {
        self.connections.remove(on);
    }

    pub(crate) fn sockets(&self) -> Vec<ConnectionId> {
        self.connections.in_use()
    }

    pub(crate) fn all_closed(&self) -> bool {
        self.connections.is_empty()
    }

    // Hello.

    pub(crate) fn judge(&self, hello: &PluginHello) -> Verdict {
        let Some(session) = self.connections.session() else { return Verdict::Adopt };
        if same_editor(&session.hello, hello) {
            return if is_stale(&session.hello, hello) {
                Verdict::Refuse
            } else {
                Verdict::Replace { old: session.on }
            };
        }
        match &session.contender {
            None => Verdict::Contest { incumbent: session.on },
            Some(waiting)
                if same_editor(&waiting.hello, hello) && !is_stale(&waiting.hello, hello) =>
            {
                Verdict::ReplaceContender { old: waiting.on }
            }
            Some(_) => Verdict::Refuse,
        }
    }

    pub(crate) fn contest(&mut self, on: ConnectionId, hello: PluginHello, probe_until: Timestamp) {
        self.connections.remove(on);
        if let Some(session) = self.connections.session_mut() {
            session.contender = Some(Contender { on, hello, seq: 0, tools: None, probe_until });
        }
    }

    /// When the probe that a replaced contender waited for ends: its heir waits no longer.
    pub(crate) fn probe_until(&self) -> Option<Timestamp> {
        self.connections.contender().map(|contender| contender.probe_until)
    }

    pub(crate) fn contender(&self) -> Option<ConnectionId> {
        self.connections.contender().map(|contender| contender.on)
    }

    /// What a contender says of its state before it is adopted must not be lost.
    pub(crate) fn on_contender_status(&mut self, status: &EditorStatus) {
        if let Some(contender) = self.contender_mut()
            && status.seq > contender.seq
        {
            contender.seq = status.seq;
            contender.hello.state = status.state;
        }
    }

    /// Nor what it says of its tools.
    pub(crate) fn on_contender_tools(&mut self, tools: Vec<OfferedTool>) {
        if let Some(contender) = self.contender_mut() {
            contender.tools = Some(tools);
        }
    }

    fn contender_mut(&mut self) -> Option<&mut Contender> {
        self.connections.session_mut().and_then(|session| session.contender.as_mut())
    }

    /// A socket becomes the Editor, with what it has said since its hello.
    pub(crate) fn adopt(
        &mut self,
        now: Timestamp,
        newcomer: Contender,
        limits: &Limits,
    ) -> Adopted {
        debug_assert!(self.connections.session().is_none(), "there is only ever one Editor");
        let Contender { on, hello, seq, tools, .. } = newcomer;
        self.connections.remove(on);
        self.capabilities.reset(tools);
        let memory = self.versions.record(&hello);
        let plugin_version = hello.plugin_version.clone();
        let adopted = Adopted { on, state: hello.state, seq, memory, plugin_version };
        let heartbeat = Heartbeat::new(now, limits.heartbeat_interval);
        let session = Session { on, hello, heartbeat, bad_frames: 0, contender: None };
        self.connections.link = Link::Up(Box::new(session));
        adopted
    }

    // The session.

    pub(crate) fn session(&self) -> Option<ConnectionId> {
        self.connections.session().map(|session| session.on)
    }

    pub(crate) fn plugin_version(&self) -> Option<&str> {
        self.versions.plugin_version()
    }

    pub(crate) fn record_tools(&mut self, tools: Vec<OfferedTool>) {
        self.capabilities.record(tools);
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.capabilities.has(tool)
    }

    /// The session is over, which opens the window for what Unity was sent. Gives whoever waited to
    /// take its place.
    pub(crate) fn lose_session(&mut self, now: Timestamp) -> Option<Contender> {
        match std::mem::replace(&mut self.connections.link, Link::Lost { since: now }) {
            Link::Up(session) => {
                self.versions.clear_version();
                session.contender
            }
            unchanged @ (Link::Absent | Link::Lost { .. }) => {
                self.connections.link = unchanged;
                None
            }
        }
    }

    /// Nothing is held for Unity any more; gives since when it has been away.
    pub(crate) fn close_window(&mut self) -> Option<Timestamp> {
        match self.connections.link {
            Link::Lost { since } => {
                self.connections.link = Link::Absent;
                Some(since)
            }
            Link::Absent | Link::Up(_) => None,
        }
    }

    pub(crate) fn on_good_frame(&mut self) {
        if let Some(session) = self.connections.session_mut() {
            session.bad_frames = 0;
        }
    }

    /// How many there were in a row, this one included.
    pub(crate) fn on_bad_frame(&mut self) -> u32 {
        self.connections.session_mut().map_or(0, |session| {
            session.bad_frames += 1;
            session.bad_frames
        })
    }

    // Heartbeat.

    pub(crate) fn on_ping_sent(&mut self, now: Timestamp) {
        if let Some(session) = self.connections.session_mut() {
            session.heartbeat.on_ping_sent(now);
        }
    }

    pub(crate) fn on_pong(&mut self, now: Timestamp, limits: &Limits) {
        if let Some(session) = self.connections.session_mut() {
            session.heartbeat.on_pong(now, limits.heartbeat_interval);
        }
    }

    pub(crate) fn restart_heartbeat(&mut self, now: Timestamp, limits: &Limits) {
        if let Some(session) = self.connections.session_mut() {
            session.heartbeat.start_afresh(now, limits.heartbeat_interval);
        }
    }

    /// There is a session, and it answers its pings.
    pub(crate) fn is_alive(&self, at: Timestamp, limits: &Limits) -> bool {
        self.connections
            .session()
            .is_some_and(|session| session.heartbeat.is_heard(at, limits.heartbeat_timeout))
    }

    // Time.

    pub(crate) fn hello_deadline(&self, limits: &Limits) -> Option<Deadline> {
        self.connections.pending.front().map(|oldest| Deadline {
            at: oldest.opened_at + limits.hello_timeout,
            why: Why::HelloMissing(oldest.on),
        })
    }

    pub(crate) fn probe_deadline(&self) -> Option<Deadline> {
        self.probe_until().map(|at| Deadline { at, why: Why::ProbeUnanswered })
    }

    /// `patience`: how long a ping may be unanswered now.
    pub(crate) fn heartbeat_deadline(&self, patience: Duration) -> Option<Deadline> {
        self.connections.session().map(|session| session.heartbeat.deadline(patience))
    }

    pub(crate) fn window_deadline(&self, window: Duration) -> Option<Deadline> {
        match self.connections.link {
            Link::Lost { since } => Some(Deadline { at: since + window, why: Why::WindowCloses }),
            Link::Absent | Link::Up(_) => None,
        }
    }
}

fn same_editor(old: &PluginHello, new: &PluginHello) -> bool {
    old.editor_instance_id.is_some() && old.editor_instance_id == new.editor_instance_id
}

/// Both count their attempts, and the new socket is not the newer attempt.
fn is_stale(old: &PluginHello, new: &PluginHello) -> bool {
    matches!((old.connect_attempt_seq, new.connect_attempt_seq), (Some(old), Some(new)) if new <= old)
}
