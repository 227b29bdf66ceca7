//! CheckedCore: a core with the model beside it. A server runs it in place of its core.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coordination::Core;
use coordination::{
    Boot, CallId, Deadline, EditorReport, Effect, Event, Limits, Load, Note, Reason, Request,
    ServerState, Timestamp, ValidCall, Why, rendering,
};
use protocol::{EditorState, Json, RequestId};

use crate::judge::coverage::Coverage;
use crate::judge::model::{Ask, Asked, Millis, Model};
use crate::levels::clock;
use crate::record::log::{JOB_NOTE, Log};

/// More deadlines at one moment mean that time stands still.
const ROUNDS_MAX: u32 = 1_000;

/// Broken promises and coverage, shared by all cores of a run.
#[derive(Clone, Default)]
pub(crate) struct Violations(Arc<Mutex<(Vec<String>, Coverage)>>);

impl Violations {
    pub(crate) fn take(&self) -> (Vec<String>, Coverage) {
        std::mem::take(&mut *self.lock())
    }

    pub(crate) fn add(&self, what: String) {
        self.lock().0.push(what);
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<String>, Coverage)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct CheckedCore<C> {
    core: C,
    /// `None` after a violation: the model cannot continue from there.
    model: Option<Model>,
    violations: Violations,
    /// Records changes of the state that agents can ask for.
    log: Log,
    host: String,
    state: Option<State>,
    /// When the core last met a deadline.
    met_at: Option<Millis>,
}

/// The state of the server and of the Editor, and why a call would wait.
type State = (ServerState, Option<EditorState>, Option<Reason>);

impl<C: Core> CheckedCore<C> {
    pub(crate) fn new(
        core: C,
        limits: Limits,
        boot: Boot,
        violations: Violations,
        log: Log,
        host: &str,
    ) -> Self {
        let model = Some(Model::new(limits, boot));
        Self { core, model, violations, log, host: host.to_owned(), state: None, met_at: None }
    }

    fn decide(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        let by_time = event == Event::DeadlineReached;
        let millis = millis(now);
        if by_time && let Some(model) = &mut self.model {
            model.expire(millis);
        }
        if let Some(model) = &mut self.model {
            model.coverage.events += 1;
        }
        let handled = catch_unwind(AssertUnwindSafe(|| self.core.handle(now, event)));
        let effects = handled.unwrap_or_else(|panic| {
            self.violations.add(format!("at {millis} ms the core panicked"));
            resume_unwind(panic)
        });
        for effect in &effects {
            self.check(millis, |model| model.effect(millis, effect));
            if by_time && let Some(model) = &mut self.model {
                model.expire(millis);
            }
        }
        self.check(millis, |model| model.settle(millis, by_time));
        effects
    }

    fn check(&mut self, at: Millis, check: impl FnOnce(&mut Model) -> Result<(), String>) {
        if let Some(Err(what)) = self.model.as_mut().map(check) {
            self.violations.add(format!("at {at} ms the model objects: {what}"));
            self.model = None;
        }
    }

    /// Deadlines that are due come before the event.
    fn meet_deadlines(&mut self, now: Timestamp, is_deadline: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut next = self.next_of_model();
        if !is_deadline {
            self.note_moment(millis(now), next);
        }
        for _ in 0..ROUNDS_MAX {
            let is_due = next.is_some_and(|next| next <= millis(now));
            if !is_due && self.core.next_deadline().is_none_or(|next| next.at > now) {
                return effects;
            }
            if is_due {
                self.met_at = Some(millis(now));
            }
            effects.extend(self.decide(now, Event::DeadlineReached));
            next = self.next_of_model();
        }
        self.violations.add(format!("time does not get past {} ms", millis(now)));
        self.model = None;
        effects
    }

    fn next_of_model(&self) -> Option<Millis> {
        self.model.as_ref().and_then(Model::next_deadline)
    }

    /// The model gets the event before the core does.
    fn tell_model(&mut self, now: Millis, event: &Event) {
        let Some(model) = &mut self.model else { return };
        match event {
            // A server without the port has no Unity, so the model does not apply.
            Event::PortHeld { .. } => self.model = None,
            Event::CallReceived { call, request, .. } => {
                let client = request.client_request_id().map(str::to_owned);
                let asked = Asked {
                    ask: ask(request),
                    client,
                    timeout: request.timeout().as_millis() as Millis,
                    params: params(request),
                };
                model.on_call(now, call.0, asked);
            }
            Event::CallCancelled { call } => model.on_cancelled(now, call.0),
            Event::CallBroke { call } => model.on_broke(now, call.0),
            Event::UnityFrame { on, frame } => model.on_frame(now, *on, frame),
            Event::UnityNotSent { on, frame } => model.on_not_sent(now, *on, frame),
            Event::UnityClosed { on, by } => model.on_closed(now, *on, *by),
            Event::StopRequested => model.on_stop(now),
            Event::PortBound
            | Event::UnityOpened { .. }
            | Event::Recovered { .. }
            | Event::DeadlineReached => {}
        }
    }

    /// Whether an event comes just before, at or just after a deadline of the contract.
    fn note_moment(&mut self, now: Millis, next: Option<Millis>) {
        let Some(model) = &mut self.model else { return };
        if next == Some(now + 1) {
            model.coverage.mark("an event 1 ms before a deadline");
        }
        if next == Some(now) || self.met_at == Some(now) {
            model.coverage.mark("an event at a deadline");
        }
        if self.met_at.is_some_and(|met| met + 1 == now) {
            model.coverage.mark("an event 1 ms after a deadline");
        }
    }

    /// Records what becomes of jobs. A trace does not show it.
    fn note_jobs(&self, effects: &[Effect]) {
        if self.log.is_brief {
            return;
        }
        for effect in effects {
            let Effect::Note(note) = effect else { continue };
            let shown = if let Note::JobIssued { names } = note {
                names.job.map(|job| format!("{job} queued {}", names.request_id.0))
            } else if let Note::JobChanged { job, state } = note {
                Some(format!("{job} {}", rendering::job_state(*state)))
            } else {
                None
            };
            if let Some(shown) = shown {
                self.log.note(clock::now(), &self.host, JOB_NOTE, shown);
            }
        }
    }

    /// Records what `get_editor_state` would answer, if it has changed.
    fn note_state(&mut self, now: Timestamp) {
        if self.log.is_brief {
            return;
        }
        let report = self.core.editor_report(now);
        let state = (report.server_state, report.editor_state, report.waiting_reason);
        if self.state.replace(state) != Some(state) {
            let shown = format!(
                "{} editor={} waits_for={}",
                rendering::server_state(report.server_state),
                rendering::editor_state(report.editor_state),
                report.waiting_reason.map_or("nothing", Reason::text),
            );
            self.log.note(clock::now(), &self.host, "state", shown);
        }
    }
}

impl<C: Core> Core for CheckedCore<C> {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        let mut effects = self.meet_deadlines(now, event == Event::DeadlineReached);
        self.tell_model(millis(now), &event);
        effects.extend(self.decide(now, event));
        self.note_jobs(&effects);
        self.note_state(now);
        effects
    }

    /// Includes deadlines that only the model has: then the core is late. The event loop uses only the time.
    fn next_deadline(&self) -> Option<Deadline> {
        let of_core = self.core.next_deadline();
        let of_model = self.next_of_model().map(|at| Deadline {
            at: Timestamp::from_millis(at),
            why: Why::ProgressDue(CallId(0)),
        });
        of_core.into_iter().chain(of_model).min_by_key(|deadline| deadline.at)
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        self.core.editor_report(now)
    }

    fn request_id(&self, call: CallId) -> Option<&RequestId> {
        self.core.request_id(call)
    }

    fn load(&self) -> Load {
        self.core.load()
    }
}

impl<C> Drop for CheckedCore<C> {
    fn drop(&mut self) {
        if let Some(model) = &self.model {
            self.violations.lock().1.add(&model.coverage);
        }
    }
}

fn millis(now: Timestamp) -> Millis {
    now.since_start().as_millis() as Millis
}

/// What the tool gets.
fn params(call: &ValidCall) -> Json {
    match call.request() {
        Request::Execute { params, .. } | Request::RunJob { params, .. } => params.clone(),
        Request::EditorState | Request::JobStatus { .. } | Request::CancelJob { .. } => Json::Null,
    }
}

fn ask(call: &ValidCall) -> Ask {
    match call.request() {
        Request::EditorState => Ask::State,
        Request::Execute { .. } => Ask::Execute { tool: call.tool().name },
        Request::RunJob { wait, .. } => {
            Ask::Job { tool: call.tool().name, wait: wait.as_millis() as Millis }
        }
        Request::JobStatus { job_id, wait } => {
            Ask::Status { job: job_id.clone(), wait: wait.as_millis() as Millis }
        }
        Request::CancelJob { job_id } => Ask::Cancel { job: job_id.clone() },
    }
}
