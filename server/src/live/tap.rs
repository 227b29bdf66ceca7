//! Tap: what the event loop shows of its events and effects. It never waits. Texts are made later, when somebody looks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{
    CallId, ClosedBy, Core, Effect, Event, JobId, Note, ProgressReport, Reason, Request, Timestamp,
    ValidCall, rendering,
};
use page::Editor;
use protocol::{EditorState, FromUnity, RequestId, ToUnity, codec, printable};
use tokio::time::Instant;

use super::Live;
use super::calls::{answered, arguments, result};
use super::frames;
use super::history::millis;
use super::record::{AgentLane, Frame, Known, KnownJob, Millis, Record, UnityLane, What};
use crate::budget::{PAGE_BODY_MAX, PAGE_JOBS_MAX, PAGE_TEXT_MAX};
use crate::clock::WallClock;

/// Nothing, if the page is off.
pub(crate) struct Tap(Option<Open>);

struct Open {
    live: Live,
    clock: WallClock,
    /// The calls that have no answer.
    calls: BTreeMap<CallId, OpenCall>,
    jobs: Vec<KnownJob>,
    known: Known,
    /// Why the Editor's last session is over, if it is.
    away: Option<&'static str>,
    /// What its lane shows.
    unity: UnityLane,
}

struct OpenCall {
    /// How the page names it.
    name: RequestId,
    agent: AgentLane,
    needs_unity: bool,
}

impl Tap {
    pub(crate) fn off() -> Self {
        Self(None)
    }

    pub(crate) fn new(live: Live, clock: WallClock) -> Self {
        let (calls, jobs, known) = (BTreeMap::new(), Vec::new(), Known::default());
        let unity = UnityLane::Plain;
        Self(Some(Open { live, clock, calls, jobs, known, away: None, unity }))
    }

    /// The core counts its time from here.
    pub(crate) fn begin(&self, began: Instant) {
        if let Some(tap) = &self.0 {
            tap.live.lock().begin(began);
        }
    }

    /// A call that the core gets next. `entered` shows it when the core has given it a name.
    pub(crate) fn entering(
        &self,
        call: CallId,
        request: &ValidCall,
        agent: &str,
    ) -> Option<Entering> {
        let tap = self.0.as_ref()?;
        let agent = tap.live.lock().lane_of(agent);
        Some(tap.entering(call, request, agent))
    }

    pub(crate) fn entered(
        &mut self,
        now: Timestamp,
        entering: Option<Entering>,
        effects: &[Effect],
        core: &impl Core,
    ) {
        if let (Some(tap), Some(entering)) = (&mut self.0, entering) {
            tap.entered(millis(now), entering, effects, core);
        }
    }

    /// Before the core decides.
    pub(crate) fn event(&mut self, now: Timestamp, event: &Event, core: &impl Core) {
        if let Some(tap) = &mut self.0 {
            tap.event(millis(now), event, core);
        }
    }

    /// After the core has decided.
    pub(crate) fn effect(&mut self, now: Timestamp, effect: &Effect, core: &impl Core) {
        if let Some(tap) = &mut self.0 {
            tap.effect(now, effect, core);
        }
    }

    /// When all effects of an event are done.
    pub(crate) fn settle(&mut self, now: Timestamp, core: &impl Core) {
        if let Some(tap) = &mut self.0 {
            tap.settle(millis(now), core);
        }
    }

    /// The core lost track of its calls, and the loop answered them.
    pub(crate) fn give_up(&mut self) {
        if let Some(tap) = &mut self.0 {
            tap.calls.clear();
        }
    }
}

/// A call of which the name is not known yet.
pub(crate) struct Entering {
    call: CallId,
    agent: AgentLane,
    tool: &'static str,
    needs_unity: bool,
    client_request_id: Option<Box<str>>,
    body: Option<Box<str>>,
}

impl Open {
    fn entering(&self, call: CallId, request: &ValidCall, agent: AgentLane) -> Entering {
        let needs_unity = match request.request() {
            Request::Execute { .. } | Request::RunJob { .. } => true,
            Request::EditorState | Request::JobStatus { .. } | Request::CancelJob { .. } => false,
        };
        let client_request_id = request.client_request_id().map(Box::from);
        let body = self.body(|| arguments(request));
        let tool = request.tool().name;
        Entering { call, agent, tool, needs_unity, client_request_id, body }
    }

    fn entered(&mut self, at: Millis, entering: Entering, effects: &[Effect], core: &impl Core) {
        let Entering { call, agent, tool, needs_unity, client_request_id, body } = entering;
        let answered = effects.iter().find_map(|effect| match effect {
            Effect::Reply { call: of, request_id, .. } => (*of == call).then_some(request_id),
            Effect::Progress { .. }
            | Effect::Send { .. }
            | Effect::Close { .. }
            | Effect::Note(_)
            | Effect::Stopped => None,
        });
        let name = answered.or_else(|| core.request_id(call)).cloned();
        let name = name.unwrap_or_else(|| RequestId(format!("call-{}", call.0)));
        self.calls.insert(call, OpenCall { name: name.clone(), agent, needs_unity });
        self.push(at, What::Called { call: name, agent, tool, client_request_id }, body);
    }

    fn event(&mut self, at: Millis, event: &Event, core: &impl Core) {
        match event {
            Event::UnityFrame { frame: Ok(frame), .. } => self.of_unity(at, frame, core),
            Event::UnityNotSent { .. } => self.note(at, "a frame could not be sent to Unity", None),
            Event::UnityClosed { by: ClosedBy::Plugin { code }, .. } => {
                self.frame(at, frames::close(false, *code, ""), None);
            }
            Event::CallCancelled { call } => {
                if let Some(OpenCall { name: call, agent, .. }) = self.calls.remove(call) {
                    self.push(at, What::Cancelled { call, agent }, None);
                }
            }
            Event::StopRequested => self.note(at, "stopping", None),
            Event::PortBound
            | Event::PortHeld { .. }
            | Event::CallReceived { .. }
            | Event::CallBroke { .. }
            | Event::UnityOpened { .. }
            // The core notes what is wrong with it.
            | Event::UnityFrame { frame: Err(_), .. }
            | Event::UnityClosed { .. }
            | Event::Recovered { .. }
            | Event::DeadlineReached => {}
        }
    }

    fn of_unity(&mut self, at: Millis, frame: &FromUnity, core: &impl Core) {
        let Some(shown) = frames::from_unity(frame) else { return };
        if let FromUnity::JobStatus(status) = frame
            && let Some(progress) = &status.progress
            && let Some(job) = core.names(&status.request_id).and_then(|names| names.job)
        {
            self.change_job(job, |job| job.progress = Some((progress.done, progress.total)));
        }
        let shown = self.with_call(shown, core);
        let body = self.body(|| codec::encode(frame));
        self.frame(at, shown, body);
    }

    fn effect(&mut self, now: Timestamp, effect: &Effect, core: &impl Core) {
        let at = millis(now);
        match effect {
            Effect::Reply { call, times, outcome, .. } => {
                let Some(OpenCall { name, agent, needs_unity }) = self.calls.remove(call) else {
                    return;
                };
                let served = times.served.filter(|_| !needs_unity).map(millis);
                let clock = self.clock;
                let body = self.body(|| result(outcome, clock));
                let answered = answered(name, agent, served, outcome);
                self.push(at, What::Answered(Box::new(answered)), body);
            }
            Effect::Progress { call, report } => self.progress(at, *call, report),
            Effect::Send { frame, .. } => {
                let Some(shown) = frames::to_unity(frame) else { return };
                let shown = self.with_call(shown, core);
                // It has nothing that an agent does not know.
                let is_list = matches!(frame, ToUnity::Capability(_));
                let body = if is_list { None } else { self.body(|| codec::encode(frame)) };
                self.frame(at, shown, body);
            }
            Effect::Close { code, reason, .. } => {
                self.frame(at, frames::close(true, *code as u16, reason), None);
            }
            Effect::Note(note) => self.of_note(now, note, core),
            Effect::Stopped => self.note(at, "stopped", None),
        }
    }

    fn progress(&mut self, at: Millis, call: CallId, report: &ProgressReport) {
        let Some(open) = self.calls.get(&call) else { return };
        let (call, agent) = (open.name.clone(), open.agent);
        let mut report = report.clone();
        if let Some((_, Some(progress))) = &mut report.job {
            progress.current = None; // The name of a test is a result.
        }
        let text = rendering::progress(&report);
        self.push(at, What::Progress { call, agent, text }, None);
    }

    fn of_note(&mut self, now: Timestamp, note: &Note, core: &impl Core) {
        let at = millis(now);
        match note {
            Note::SessionBegan { .. } => self.session_began(now, core),
            Note::SessionEnded { why, .. } => self.away = Some(why.text()),
            Note::StateChanged { server, editor, waiting } => {
                let (server, editor, waiting) = (*server, *editor, *waiting);
                self.known = Known { server, editor, waiting, ..self.known.clone() };
            }
            Note::JobIssued { names } => {
                if let Some(job) = names.job {
                    self.issue_job(job, &names.request_id);
                    self.note(at, format!("{job} issued"), Some(&names.request_id));
                }
            }
            Note::JobChanged { job, state } => {
                self.change_job(*job, |known| known.state = *state);
                let started = self.started(*job);
                let text = format!("{job} {}", rendering::job_state(*state));
                self.note(at, text, started.as_ref());
            }
            Note::CallWaits { request_id, reason, .. } => {
                self.note(at, format!("{} waits: {reason}", request_id.0), Some(request_id));
            }
            Note::SessionContested { .. } => {
                self.note(at, "a second Editor has connected", None);
            }
            Note::Refused { problem, .. } => {
                let refused = core.editor_report(now).refused;
                self.known.refused = refused.map(|refused| refused.project_path.into());
                self.noted(at, "refused a socket", problem);
            }
            Note::VersionsDiffer { .. } => {
                self.note(at, "plugin and server have different versions", None);
            }
            Note::BadFrame { problem, .. } => self.noted(at, "bad frame from Unity", problem),
            Note::BadAnswer { request_id, problem } => {
                let text = format!("bad answer from Unity: {}", printable(problem, PAGE_TEXT_MAX));
                self.note(at, text, Some(request_id));
            }
            Note::PluginError { code, .. } => self.noted(at, "Unity reports an error", code),
            Note::AnswerDropped { request_id } => {
                self.note(at, "dropped an answer that no call waits for", Some(request_id));
            }
            Note::LaneFreed { request_id } => {
                self.note(at, "an overdue request no longer blocks Unity", Some(request_id));
            }
            Note::QuestionUnanswered { request_id } => {
                self.note(at, "Unity did not answer a question about a job", Some(request_id));
            }
            Note::LateAcceptance { request_id } => {
                self.note(at, "Unity accepted a job too late", Some(request_id));
            }
            Note::StaleStatus { .. } | Note::FrameIgnored { .. } | Note::CallCancelled { .. } => {}
        }
    }

    /// Shows at once that the gap is over: the frames that follow belong to the new session.
    fn session_began(&mut self, now: Timestamp, core: &impl Core) {
        let report = core.editor_report(now);
        (self.away, self.known.refused, self.known.waiting) = (None, None, report.waiting_reason);
        (self.known.server, self.known.editor) = (report.server_state, report.editor_state);
        self.show_unity(millis(now));
        self.show_known(millis(now));
        let project = report.project;
        let editor = Editor {
            plugin_version: report.plugin_version.unwrap_or_default(),
            unity_version: project.as_ref().and_then(|project| project.unity_version.clone()),
            project_name: project.as_ref().and_then(|project| project.name.clone()),
            project_path: project.and_then(|project| project.path),
        };
        self.live.set_about(|about| about.editor = Some(editor));
    }

    /// The lane of the Editor: a reload is drawn as a gap.
    fn show_unity(&mut self, at: Millis) {
        let unity = match (self.away, self.known.editor) {
            (Some(why), _) if !matches!(self.unity, UnityLane::Away(_)) => {
                UnityLane::Away(match self.known.waiting {
                    Some(reason @ (Reason::Compiling | Reason::Reloading)) => reason.text(),
                    Some(Reason::Disconnected | Reason::Unresponsive) | None => why,
                })
            }
            (Some(_), _) => self.unity,
            (None, Some(busy @ (EditorState::Compiling | EditorState::Reloading))) => {
                UnityLane::Busy(busy)
            }
            (None, Some(EditorState::Ready) | None) => UnityLane::Plain,
        };
        if self.unity != unity {
            self.unity = unity;
            self.push(at, What::Unity(unity), None);
        }
    }

    fn settle(&mut self, at: Millis, core: &impl Core) {
        self.show_unity(at);
        let load = core.load();
        (self.known.queue, self.known.running) = (load.queue_length, load.running);
        self.show_known(at);
    }

    fn show_known(&self, at: Millis) {
        let mut history = self.live.lock();
        if history.known == self.known {
            return;
        }
        history.known = self.known.clone();
        drop(history);
        self.push(at, What::Knows(self.known.clone()), None);
    }

    // Jobs.

    fn issue_job(&mut self, job: JobId, call: &RequestId) {
        if self.jobs.len() == PAGE_JOBS_MAX {
            let ended = self.jobs.iter().position(|job| job.state.is_terminal());
            self.jobs.remove(ended.unwrap_or_default());
        }
        let (call, state) = (call.clone(), protocol::JobState::Queued);
        self.jobs.push(KnownJob { job, call, state, progress: None });
        self.known.jobs = Arc::from(self.jobs.as_slice());
    }

    fn change_job(&mut self, job: JobId, change: impl FnOnce(&mut KnownJob)) {
        if let Some(known) = self.jobs.iter_mut().find(|known| known.job == job) {
            change(known);
            self.known.jobs = Arc::from(self.jobs.as_slice());
        }
    }

    /// The call that started it.
    fn started(&self, job: JobId) -> Option<RequestId> {
        self.jobs.iter().find(|known| known.job == job).map(|known| known.call.clone())
    }

    fn with_call(&self, mut frame: Frame, core: &impl Core) -> Frame {
        let request_id = frame.request_id.as_ref();
        frame.call = request_id.map(|id| frames::call_of(id, core, |job| self.started(job)));
        frame
    }

    // Records.

    fn noted(&self, at: Millis, what: &'static str, of_peer: &str) {
        self.note(at, format!("{what}: {}", printable(of_peer, PAGE_TEXT_MAX)), None);
    }

    fn note(&self, at: Millis, text: impl Into<Cow<'static, str>>, call: Option<&RequestId>) {
        self.push(at, What::Note { text: text.into(), call: call.cloned() }, None);
    }

    fn frame(&self, at: Millis, frame: Frame, body: Option<Box<str>>) {
        self.push(at, What::Frame(Box::new(frame)), body);
    }

    fn push(&self, at: Millis, what: What, body: Option<Box<str>>) {
        if self.live.lock().push(Record { at, what, body }) {
            self.live.news.send_replace(());
        }
    }

    fn body(&self, text: impl FnOnce() -> String) -> Option<Box<str>> {
        self.live.shows_bodies.then(|| printable(&text(), PAGE_BODY_MAX).into())
    }
}
