//! ReconnectController: which socket is the Editor, whether it is alive, and how long to wait for it.

use std::time::Duration;

use protocol::{EditorState, EditorStatus, OfferedTool, PluginHello};

use crate::heartbeat::Heartbeat;
use crate::ids::ConnectionId;
use crate::limits::Limits;
use crate::stores::capability::CapabilityStore;
use crate::stores::connection::{Claim, ConnectionStore, Contender, Session, Socket};
use crate::stores::version::{Memory, VersionStore};
use crate::time::{Deadline, Timestamp, Why};

#[derive(Debug, Default)]
pub(crate) struct ReconnectController {
    connections: ConnectionStore,
    versions: VersionStore,
    capabilities: CapabilityStore,
}

/// What a hello on a pending socket leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Adopt,
    /// The same Editor connects again: its older socket is dead.
    Replace {
        old: ConnectionId,
    },
    /// There is another Editor: ping it, and wait for its answer.
    Contest {
        incumbent: ConnectionId,
    },
    /// The same Editor as the one that waits for the probe.
    ReplaceContender {
        old: ConnectionId,
    },
    Refuse,
}

/// A socket that has become the Editor.
#[derive(Debug)]
pub(crate) struct Adopted {
    pub(crate) state: EditorState,
    pub(crate) seq: u64,
    /// What it knows of the requests of an earlier session.
    pub(crate) memory: Memory,
    pub(crate) plugin_version: String,
}

impl ReconnectController {
    // Sockets.

    /// A new socket without a hello; returns the one that must make room for it.
    pub(crate) fn open(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        limits: &Limits,
    ) -> Option<ConnectionId> {
        self.connections.set(on, Socket::Pending { opened_at: now });
        let (count, oldest) = self.connections.pending();
        oldest.filter(|_| count > limits.pending_max).map(|(on, _)| on)
    }

    pub(crate) fn socket(&self, on: ConnectionId) -> Option<&Socket> {
        self.connections.get(on)
    }

    pub(crate) fn is_session(&self, on: ConnectionId) -> bool {
        self.session() == Some(on)
    }

    pub(crate) fn mark_closing(&mut self, on: ConnectionId) {
        self.connections.set(on, Socket::Closing);
    }

    pub(crate) fn forget(&mut self, on: ConnectionId) {
        debug_assert!(!self.is_session(on), "a session is lost, not forgotten");
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
        let Some((incumbent, session)) = self.connections.session() else { return Verdict::Adopt };
        if same_editor(&session.hello, hello) {
            return if is_stale(&session.hello, hello) {
                Verdict::Refuse
            } else {
                Verdict::Replace { old: incumbent }
            };
        }
        match self.connections.contender() {
            None => Verdict::Contest { incumbent },
            Some((old, Contender { claim, .. }))
                if same_editor(&claim.hello, hello) && !is_stale(&claim.hello, hello) =>
            {
                Verdict::ReplaceContender { old }
            }
            Some(_) => Verdict::Refuse,
        }
    }

    pub(crate) fn contest(&mut self, on: ConnectionId, claim: Claim, probe_until: Timestamp) {
        let contender = Contender { claim, probe_until };
        self.connections.set(on, Socket::Contender(Box::new(contender)));
    }

    /// When the probe ends for which a contender waits. A contender that replaces it waits no longer.
    pub(crate) fn probe_until(&self) -> Option<Timestamp> {
        self.connections.contender().map(|(_, contender)| contender.probe_until)
    }

    pub(crate) fn contender(&self) -> Option<ConnectionId> {
        self.connections.contender().map(|(on, _)| on)
    }

    /// A contender may send a status before it is adopted.
    pub(crate) fn on_contender_status(&mut self, on: ConnectionId, status: &EditorStatus) {
        self.connections.update_claim(on, |claim| {
            if status.seq > claim.seq {
                claim.seq = status.seq;
                claim.hello.state = status.state;
            }
        });
    }

    pub(crate) fn on_contender_tools(&mut self, on: ConnectionId, tools: Vec<OfferedTool>) {
        self.connections.update_claim(on, |claim| claim.tools = Some(tools));
    }

    /// A socket becomes the Editor, with what it has said since its hello.
    pub(crate) fn adopt(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        claim: Claim,
        limits: &Limits,
    ) -> Adopted {
        debug_assert!(self.connections.session().is_none(), "there is only ever one Editor");
        let Claim { hello, seq, tools } = claim;
        self.capabilities.reset(tools);
        let memory = self.versions.record(&hello);
        let plugin_version = hello.plugin_version.clone();
        let adopted = Adopted { state: hello.state, seq, memory, plugin_version };
        let heartbeat = Heartbeat::new(now, limits.heartbeat_interval);
        let session = Session { hello, heartbeat, bad_frames: 0 };
        self.connections.set(on, Socket::Session(Box::new(session)));
        self.connections.set_lost_since(None);
        adopted
    }

    // The session.

    pub(crate) fn session(&self) -> Option<ConnectionId> {
        self.connections.session().map(|(on, _)| on)
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

    /// The session is over, and the wait for its return begins. Returns the contender for its place.
    pub(crate) fn lose_session(&mut self, now: Timestamp) -> Option<(ConnectionId, Claim)> {
        let on = self.session()?;
        self.connections.set(on, Socket::Closing);
        self.connections.set_lost_since(Some(now));
        self.versions.clear_version();
        self.connections.take_contender()
    }

    /// Nothing is held for Unity any more; returns since when it has been away.
    pub(crate) fn close_window(&mut self) -> Option<Timestamp> {
        let since = self.connections.lost_since();
        self.connections.set_lost_since(None);
        since
    }

    pub(crate) fn on_good_frame(&mut self) {
        self.connections.update_session(|session| session.bad_frames = 0);
    }

    /// How many there were in a row, including this one.
    pub(crate) fn on_bad_frame(&mut self) -> u32 {
        let count = self.connections.update_session(|session| {
            session.bad_frames += 1;
            session.bad_frames
        });
        count.unwrap_or_default()
    }

    // Heartbeat.

    pub(crate) fn on_ping_sent(&mut self, now: Timestamp) {
        self.connections.update_session(|session| session.heartbeat.on_ping_sent(now));
    }

    pub(crate) fn on_heard(&mut self, now: Timestamp, limits: &Limits) {
        let interval = limits.heartbeat_interval;
        self.connections.update_session(|session| session.heartbeat.on_heard(now, interval));
    }

    pub(crate) fn restart_heartbeat(&mut self, now: Timestamp, limits: &Limits) {
        let interval = limits.heartbeat_interval;
        self.connections.update_session(|session| session.heartbeat.start_afresh(now, interval));
    }

    /// There is a session, and it answers its pings.
    pub(crate) fn is_alive(&self, at: Timestamp, limits: &Limits) -> bool {
        let session = self.connections.session();
        session.is_some_and(|(_, session)| session.heartbeat.is_heard(at, limits.heartbeat_timeout))
    }

    // Time.

    pub(crate) fn hello_deadline(&self, limits: &Limits) -> Option<Deadline> {
        let (_, oldest) = self.connections.pending();
        oldest.map(|(on, opened_at)| Deadline {
            at: opened_at + limits.hello_timeout,
            why: Why::HelloMissing(on),
        })
    }

    pub(crate) fn probe_deadline(&self) -> Option<Deadline> {
        self.probe_until().map(|at| Deadline { at, why: Why::ProbeUnanswered })
    }

    /// `timeout`: how long a ping may be unanswered now.
    pub(crate) fn heartbeat_deadline(&self, timeout: Duration) -> Option<Deadline> {
        self.connections.session().map(|(_, session)| session.heartbeat.deadline(timeout))
    }

    pub(crate) fn window_deadline(&self, window: Duration) -> Option<Deadline> {
        let lost_since = self.connections.lost_since();
        lost_since.map(|since| Deadline { at: since + window, why: Why::WindowCloses })
    }
}

fn same_editor(old: &PluginHello, new: &PluginHello) -> bool {
    old.editor_instance_id.is_some() && old.editor_instance_id == new.editor_instance_id
}

/// Both count their attempts, and the new socket is not the newer attempt.
fn is_stale(old: &PluginHello, new: &PluginHello) -> bool {
    matches!((old.connect_attempt_seq, new.connect_attempt_seq), (Some(old), Some(new)) if new <= old)
}
