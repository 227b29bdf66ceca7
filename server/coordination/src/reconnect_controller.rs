//! ReconnectController: which socket is the Editor, whether it is alive, and how long to wait for it.

use std::time::Duration;

use protocol::{
    EditorState, EditorStatus, FromUnity, LastCompile, OfferedTool, PluginHello, RequestId,
};

use crate::heartbeat::Heartbeat;
use crate::ids::ConnectionId;
use crate::limits::Limits;
use crate::project::ProjectRules;
use crate::stores::capability::CapabilityStore;
use crate::stores::connection::{Claim, ConnectionStore, Contender, Loss, Session, Socket};
use crate::stores::version::{Memory, VersionStore};
use crate::time::{Deadline, Timestamp, Why};

/// The bytes of the name of a request book.
const REQUEST_BOOK_MAX: usize = 256;

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
    /// The server is for another project.
    OtherProject,
}

/// A socket that has become the Editor.
#[derive(Debug)]
pub(crate) struct Adopted {
    pub(crate) state: EditorState,
    pub(crate) seq: u64,
    /// What it knows of the requests of an earlier session.
    pub(crate) memory: Memory,
    pub(crate) plugin_version: String,
    /// A request of an earlier session that it still executes.
    pub(crate) running: Option<RequestId>,
    pub(crate) last_compile: Option<LastCompile>,
    /// The answer that it sent before it was adopted.
    pub(crate) answer: Option<FromUnity>,
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

    /// `reserved`: the Editor has announced a compile or reload, so its place is kept for it.
    pub(crate) fn judge(
        &self,
        hello: &PluginHello,
        reserved: bool,
        projects: &ProjectRules,
    ) -> Verdict {
        let named = hello.project_path.as_deref();
        let is_same = |project: Option<&str>| {
            project.zip(named).map(|(project, named)| projects.same(project, named))
        };
        if is_same(projects.own.as_deref()) == Some(false) {
            return Verdict::OtherProject;
        }
        let Some((incumbent, session)) = self.connections.session() else {
            let other = is_same(self.versions.project_path()) == Some(false);
            let taken = reserved && other && !self.versions.is_last_editor(hello);
            return if taken { Verdict::Refuse } else { Verdict::Adopt };
        };
        if same_editor(&session.hello, hello) {
            return if is_stale(&session.hello, hello) {
                Verdict::Refuse
            } else {
                Verdict::Replace { old: incumbent }
            };
        }
        if reserved {
            let refused = match is_same(session.hello.project_path.as_deref()) {
                Some(is_same) => !is_same,
                // Without a project, another name is another Editor; one without a name may be the same.
                None => is_another_editor(&session.hello, hello),
            };
            if refused {
                return Verdict::Refuse;
            }
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
                claim.hello.last_compile = status.last_compile.or(claim.hello.last_compile);
            }
        });
    }

    pub(crate) fn on_contender_answer(&mut self, on: ConnectionId, answer: FromUnity) {
        self.connections.update_claim(on, |claim| claim.answer = Some(answer));
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
        projects: &ProjectRules,
    ) -> Adopted {
        debug_assert!(self.connections.session().is_none(), "there is only ever one Editor");
        let Claim { hello, seq, tools, answer } = claim;
        self.capabilities.reset(tools);
        let memory = self.versions.record(&hello, |one, other| projects.same(one, other));
        let (plugin_version, running) =
            (hello.plugin_version.clone(), hello.running_request_id.clone());
        let state = hello.state;
        let last_compile = hello.last_compile;
        let adopted = Adopted { state, seq, memory, plugin_version, running, last_compile, answer };
        let heartbeat = Heartbeat::new(now, limits.heartbeat_interval);
        let session = Session { hello, heartbeat, bad_frames: 0 };
        self.connections.set(on, Socket::Session(Box::new(session)));
        self.connections.set_loss(None);
        adopted
    }

    // The session.

    pub(crate) fn session(&self) -> Option<ConnectionId> {
        self.connections.session().map(|(on, _)| on)
    }

    /// What the Editor has said of itself.
    pub(crate) fn hello(&self) -> Option<&PluginHello> {
        self.connections.session().map(|(_, session)| &session.hello)
    }

    /// The book of the plugin that is connected. Every run keeps its name, so a long one does not count.
    pub(crate) fn request_book(&self) -> Option<&str> {
        self.hello()?.request_book.as_deref().filter(|book| book.len() <= REQUEST_BOOK_MAX)
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
        self.connections.set_loss(Some(Loss { since: now, holds_call: true, holds_jobs: true }));
        self.versions.clear_version();
        self.connections.take_contender()
    }

    /// The call that Unity had is not held any more; returns since when Unity has been away.
    pub(crate) fn close_window(&mut self) -> Option<Timestamp> {
        let loss = self.connections.loss()?;
        self.connections.set_loss(Some(Loss { holds_call: false, ..loss }));
        Some(loss.since)
    }

    /// The same for its jobs.
    pub(crate) fn close_jobs_window(&mut self) -> Option<Timestamp> {
        let loss = self.connections.loss()?;
        self.connections.set_loss(Some(Loss { holds_jobs: false, ..loss }));
        Some(loss.since)
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
    pub(crate) fn silent_for(&self, now: Timestamp) -> Duration {
        let session = self.connections.session();
        session.map(|(_, session)| session.heartbeat.silent_for(now)).unwrap_or_default()
    }

    pub(crate) fn heartbeat_deadline(&self, timeout: Duration) -> Option<Deadline> {
        self.connections.session().map(|(_, session)| session.heartbeat.deadline(timeout))
    }

    pub(crate) fn window_deadline(&self, window: Duration) -> Option<Deadline> {
        let loss = self.connections.loss().filter(|loss| loss.holds_call)?;
        Some(Deadline { at: loss.since + window, why: Why::WindowCloses })
    }

    pub(crate) fn jobs_deadline(&self, grace: Duration) -> Option<Deadline> {
        let loss = self.connections.loss().filter(|loss| loss.holds_jobs)?;
        Some(Deadline { at: loss.since + grace, why: Why::JobsLost })
    }
}

fn same_editor(old: &PluginHello, new: &PluginHello) -> bool {
    old.editor_instance_id.is_some() && old.editor_instance_id == new.editor_instance_id
}

fn is_another_editor(old: &PluginHello, new: &PluginHello) -> bool {
    let both = old.editor_instance_id.is_some() && new.editor_instance_id.is_some();
    both && old.editor_instance_id != new.editor_instance_id
}

/// Both count their attempts, and the new socket is not the newer attempt.
fn is_stale(old: &PluginHello, new: &PluginHello) -> bool {
    matches!((old.connect_attempt_seq, new.connect_attempt_seq), (Some(old), Some(new)) if new <= old)
}
