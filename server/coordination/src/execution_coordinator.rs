//! ExecutionCoordinator: the one transition function. Every event runs the same four steps:
//! expire, react, dispatch, check.
//!
//! The reactions are grouped by what they are about: `calls`, `sessions`, `answers`, `jobs`;
//! `dispatch` starts whatever has become possible, `expiry` ends what time has ended.

mod answers;
mod calls;
mod dispatch;
mod expiry;
mod jobs;
mod recovery;
mod repeats;
mod sessions;

use protocol::{EditorState, RequestId, ToUnity};

use crate::cancel_manager::CancelManager;
use crate::deduplicator::Deduplicator;
use crate::editor_state_tracker::EditorStateTracker;
use crate::event::{
    CloseCode, EditorReport, Effect, Event, Load, Note, Outcome, Reason, ServerState, SessionEnd,
};
use crate::failure::Failure;
use crate::ids::{Boot, CallId, ConnectionId, IdSource, RequestNames};
use crate::job_manager::JobManager;
use crate::limits::Limits;
use crate::project::ProjectRules;
use crate::reconnect_controller::ReconnectController;
use crate::request_scheduler::RequestScheduler;
use crate::stores::request::{Call, Phase};
use crate::time::{CallTimes, Deadline, Timestamp};

#[derive(Debug)]
pub struct ExecutionCoordinator {
    limits: Limits,
    server_version: String,
    ids: IdSource,
    life: Life,
    gate: Gate,
    link: ReconnectController,
    editor: EditorStateTracker,
    scheduler: RequestScheduler,
    jobs: JobManager,
    cancels: CancelManager,
    repeats: Deduplicator,
    /// The lane was last taken by a cancel that Unity was owed: it is the turn of the others.
    cancel_had_its_turn: bool,
    projects: ProjectRules,
    /// The last Editor of another project that was turned away.
    refused: Option<Refused>,
    /// The states that were noted last.
    noted: (ServerState, Option<EditorState>, Option<Reason>),
    noted_at: Timestamp,
    last_disconnect: Option<(SessionEnd, Timestamp)>,
    /// What this call of `handle` has decided so far.
    effects: Vec<Effect>,
}

/// Where the server is in its own life.
#[derive(Debug)]
enum Life {
    /// It is not known yet whether the port is ours.
    Booting,
    Listening,
    /// Unity cannot connect: another program holds the port.
    PortHeld {
        port: u16,
        holder: String,
    },
    Stopping {
        until: Timestamp,
    },
    Stopped,
}

/// An Editor that was turned away.
#[derive(Debug)]
struct Refused {
    reason: &'static str,
    project_path: String,
    at: Timestamp,
}

/// Whether calls that need Unity may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    /// Since then; before that, calls had another reason to wait.
    Open { since: Timestamp },
    /// Calls wait, from here on or from their own arrival, whichever is later; `reason` says why. `open_before`:
    /// since when it was open before.
    Closed { since: Timestamp, open_before: Option<Timestamp> },
}

impl ExecutionCoordinator {
    /// `boot` names this start of the server. It comes from outside, like all randomness.
    pub fn new(limits: Limits, boot: Boot, server_version: &str) -> Self {
        Self {
            server_version: server_version.to_owned(),
            ids: IdSource::new(boot),
            life: Life::Booting,
            gate: Gate::Closed { since: Timestamp::default(), open_before: None },
            link: ReconnectController::default(),
            editor: EditorStateTracker::new(limits.compile_grace),
            scheduler: RequestScheduler::new(),
            jobs: JobManager::default(),
            cancels: CancelManager::default(),
            repeats: Deduplicator::default(),
            cancel_had_its_turn: false,
            projects: ProjectRules::default(),
            refused: None,
            noted: (ServerState::Booting, None, Some(Reason::Disconnected)),
            noted_at: Timestamp::default(),
            last_disconnect: None,
            effects: Vec::new(),
            limits,
        }
    }

    /// Which project it is for.
    pub fn for_project(mut self, projects: ProjectRules) -> Self {
        self.projects = projects;
        self
    }

    /// The only way any state of the server changes.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if let Event::Recovered { callers } = event {
            self.recover(now, &callers); // Nothing else: what panicked may panic again.
            return std::mem::take(&mut self.effects);
        }
        self.expire(now); // Time passed before the event happened.
        let received =
            if let Event::CallReceived { call, .. } = &event { Some(*call) } else { None };
        self.react(now, event);
        self.dispatch(now); // Whatever happened, work may now be possible.
        self.note_state(now);
        received.inspect(|call| self.note_wait(*call));
        self.assert_invariants();
        std::mem::take(&mut self.effects)
    }

    fn react(&mut self, now: Timestamp, event: Event) {
        match event {
            Event::PortBound => self.on_port(Life::Listening),
            Event::PortHeld { port, holder } => self.on_port(Life::PortHeld { port, holder }),
            Event::CallReceived { call, request, wants_progress } => {
                self.on_call(now, call, request, wants_progress);
            }
            Event::CallCancelled { call } => self.on_call_cancelled(now, call),
            Event::CallBroke { call } => self.on_call_broke(now, call),
            Event::UnityOpened { on } => self.on_opened(now, on),
            Event::UnityFrame { on, frame } => self.on_frame(now, on, frame),
            Event::UnityNotSent { on, frame } => self.on_not_sent(now, on, frame),
            Event::UnityClosed { on, by } => self.on_closed(now, on, by),
            Event::StopRequested => self.on_stop(now),
            Event::DeadlineReached | Event::Recovered { .. } => {}
        }
    }

    fn server_state(&self) -> ServerState {
        match self.life {
            Life::Stopping { .. } => ServerState::Stopping,
            Life::Stopped => ServerState::Stopped,
            Life::Booting | Life::PortHeld { .. } => ServerState::Booting,
            Life::Listening if self.link.session().is_some() => ServerState::Ready,
            Life::Listening => ServerState::WaitingEditor,
        }
    }

    fn note_state(&mut self, now: Timestamp) {
        let state = (self.server_state(), self.editor.state(), self.reason());
        if self.noted != state {
            self.noted = state;
            self.noted_at = now;
            let (server, editor, waiting) = state;
            self.note(Note::StateChanged { server, editor, waiting });
        }
    }

    fn note_wait(&mut self, call: CallId) {
        let in_line = |call: &&Call| matches!(call.phase, Phase::InLine(_));
        if let Some(waits) = self.scheduler.call(call).filter(in_line) {
            let (request_id, reason) = (waits.request_id.clone(), self.waiting_reason());
            self.note(Note::CallWaits { call, request_id, reason });
        }
    }

    /// The reason in one word. A call that waits without any is behind others.
    fn waiting_reason(&self) -> &'static str {
        self.reason().map_or("busy", Reason::text)
    }

    /// The failure of a call that ends while it waits.
    fn while_waiting(&self, failure: Failure) -> Failure {
        failure.after_waiting(self.waiting_reason())
    }

    fn on_port(&mut self, life: Life) {
        if self.is_stopping() {
            return;
        }
        if let Life::PortHeld { port, holder } = &life {
            let failure = Failure::port_held(*port, holder);
            let waiting: Vec<CallId> = self.scheduler.waiting_calls().collect();
            for call in waiting {
                let failure = self.while_waiting(failure.clone());
                self.reply(call, Err(failure));
            }
        }
        self.life = life;
    }

    fn is_stopping(&self) -> bool {
        matches!(self.life, Life::Stopping { .. } | Life::Stopped)
    }

    /// Every call gets an answer, every socket a close.
    fn on_stop(&mut self, now: Timestamp) {
        if self.is_stopping() {
            return;
        }
        self.life = Life::Stopping { until: now + self.limits.stop_max };
        self.answer_all_at_stop();
        let sockets = self.link.sockets();
        self.link.lose_session(now);
        self.editor.on_session_lost();
        for on in sockets {
            self.close(on, CloseCode::GoingAway, "the server is stopping");
        }
        self.stop_if_closed();
    }

    fn stop_if_closed(&mut self) {
        if matches!(self.life, Life::Stopping { .. }) && self.link.all_closed() {
            self.finish_stop();
        }
    }

    fn finish_stop(&mut self) {
        self.life = Life::Stopped;
        self.effects.push(Effect::Stopped);
    }

    // The ways out.

    /// The only way an open call is answered, so it is answered once.
    fn reply(&mut self, call: CallId, outcome: Outcome) {
        if let Some(ended) = self.scheduler.remove(call) {
            self.push_reply(call, &ended, outcome);
        }
    }

    fn push_reply(&mut self, call: CallId, ended: &Call, outcome: Outcome) {
        let outcome = outcome.map_err(|failure| failure.for_tool(ended.asked.tool));
        let outcome = self.end_run(ended, outcome);
        let followers = self.scheduler.followers(call);
        let for_them: Vec<Outcome> = followers.iter().map(|_| outcome.clone()).collect();
        if !ended.is_left {
            let told = if ended.is_repeated { repeats::replayed(outcome) } else { outcome };
            self.push_answer(call, ended, told);
        }
        for (follower, outcome) in followers.into_iter().zip(for_them) {
            self.reply(follower, outcome);
        }
    }

    fn push_answer(&mut self, call: CallId, ended: &Call, outcome: Outcome) {
        let job = ended.job().filter(|_| ended.starts_job()).and_then(|job| self.jobs.get(job));
        let served = ended.times.served.or(job.and_then(|job| job.times.sent));
        let times = CallTimes { served, ..ended.times };
        let request_id = ended.request_id.clone();
        self.effects.push(Effect::Reply { call, request_id, times, outcome });
    }

    fn send(&mut self, on: ConnectionId, frame: ToUnity) {
        self.effects.push(Effect::Send { on, frame });
    }

    fn close(&mut self, on: ConnectionId, code: CloseCode, reason: &'static str) {
        self.link.mark_closing(on);
        self.effects.push(Effect::Close { on, code, reason });
    }

    fn note(&mut self, note: Note) {
        self.effects.push(Effect::Note(note));
    }

    fn assert_invariants(&self) {
        self.scheduler.assert_invariants(&self.limits);
        // At a stop every call is answered, even if it waits for a job.
        let is_open = |call| self.is_stopping() || self.scheduler.call(call).is_some();
        self.jobs.assert_invariants(&self.limits, is_open);
        let lives = |job| self.jobs.state(job).is_some() && !self.jobs.is_terminal(job);
        self.cancels.assert_invariants(&self.limits, lives);
        let Limits { repeats_max, queue_max, jobs_active_max, .. } = self.limits;
        self.repeats.assert_invariants(repeats_max + queue_max + jobs_active_max);
    }
}

/// What the shell needs of a core. Simulations run one that is watched, or one with a fault.
pub trait Core: Send + 'static {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect>;
    fn next_deadline(&self) -> Option<Deadline>;
    fn editor_report(&self, now: Timestamp) -> EditorReport;
    /// The names of one of the last requests that were sent to Unity, for the log.
    fn names(&self, _request_id: &RequestId) -> Option<&RequestNames> {
        None
    }
    /// How a call that has not been answered is named on the wire and in the log.
    fn request_id(&self, _call: CallId) -> Option<&RequestId> {
        None
    }
    fn load(&self) -> Load {
        Load::default()
    }
}

impl Core for ExecutionCoordinator {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        Self::handle(self, now, event)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        Self::next_deadline(self)
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        Self::editor_report(self, now)
    }

    fn names(&self, request_id: &RequestId) -> Option<&RequestNames> {
        self.scheduler.names(request_id)
    }

    fn request_id(&self, call: CallId) -> Option<&RequestId> {
        self.scheduler.call(call).map(|call| &call.request_id)
    }

    fn load(&self) -> Load {
        let running = self.scheduler.trip().map(|(trip, _)| trip.tool_name);
        Load { queue_length: self.scheduler.queue_length(), running }
    }
}
