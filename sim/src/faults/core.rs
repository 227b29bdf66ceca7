//! Faults of the core: a wrapper changes the events that go into a genuine core, or the effects that come out.

use std::collections::VecDeque;
use std::time::Duration;

use coordination::{
    Answer, CallId, Deadline, EditorReport, Effect, ErrorCode, Event, ExecutionCoordinator,
    Failure, Limits, Load, Note, Timestamp, Why,
};
use protocol::{
    EditorState, ExecuteOutcome, ExecuteResult, FromUnity, PluginHello, RequestId, ToUnity,
};

use super::told;
use coordination::Core;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreFault {
    ForgetTheRequestTimeout,
    ForgetTheWaitLimit,
    ResendAfterReconnect,
    FreeTheLaneOnTimeout,
    AcceptAStaleSeq,
    AnswerTwice,
    QueueOneTooMany,
    KeepOneJobTooMany,
    LieAboutExecution,
    LoseAnAnswer,
    SwapTwoCalls,
    IgnoreMcpCancel,
    IgnoreABrokenAdapter,
    ChangeATerminalState,
    LoseTheCancel,
    ForgetTheCompile,
    SendWhileCompiling,
    IgnoreANewPluginSession,
    MixUpEditors,
    NeverPing,
    HalveTheHeartbeatTimeout,
    HalveTheProbe,
    CloseAfterNineBadFrames,
    TellAnEmptyConsole,
    KeepTheResultOfAJob,
    KeepTheProgressOfAJob,
    ReportProgressOnceAnHour,
    IgnoreWaitMs,
    GiveUpEarly,
    PollLate,
    AdviseNothing,
    DoNothing,
}

impl CoreFault {
    const NAMES: [(Self, &'static str); 32] = [
        (Self::ForgetTheRequestTimeout, "the request timeout is forgotten"),
        (Self::ForgetTheWaitLimit, "the limit of waiting is forgotten"),
        (Self::ResendAfterReconnect, "a request is sent again after a reconnect"),
        (Self::FreeTheLaneOnTimeout, "the lane is freed when a request times out"),
        (Self::AcceptAStaleSeq, "a stale seq is accepted"),
        (Self::AnswerTwice, "a call is answered twice"),
        (Self::QueueOneTooMany, "the queue holds one too many"),
        (Self::KeepOneJobTooMany, "one ended job too many is kept"),
        (Self::LieAboutExecution, "unknown is called not_executed"),
        (Self::LoseAnAnswer, "every twentieth answer is lost"),
        (Self::SwapTwoCalls, "two calls change places"),
        (Self::IgnoreMcpCancel, "a cancel by the agent is ignored"),
        (Self::IgnoreABrokenAdapter, "a call whose adapter broke is not answered"),
        (Self::ChangeATerminalState, "a job that failed is later said to have succeeded"),
        (Self::LoseTheCancel, "the cancel never reaches Unity"),
        (Self::ForgetTheCompile, "a compile is forgotten when the session is lost"),
        (Self::SendWhileCompiling, "requests are sent while Unity compiles"),
        (Self::IgnoreANewPluginSession, "a new plugin session is taken for the old one"),
        (Self::MixUpEditors, "every Editor is taken for the same one"),
        (Self::NeverPing, "no ping is sent"),
        (Self::HalveTheHeartbeatTimeout, "a pong has half its time"),
        (Self::HalveTheProbe, "a probed session has half its time"),
        (Self::CloseAfterNineBadFrames, "nine bad frames end a session"),
        (Self::TellAnEmptyConsole, "an agent gets an empty console"),
        (Self::KeepTheResultOfAJob, "the result of a job is not reported"),
        (Self::KeepTheProgressOfAJob, "the progress of a job is not reported"),
        (Self::ReportProgressOnceAnHour, "an agent that waits gets progress once an hour"),
        (Self::IgnoreWaitMs, "wait_ms is ignored"),
        (Self::GiveUpEarly, "calls wait half as long as they may"),
        (Self::PollLate, "Unity is asked about a job 30 s late"),
        (Self::AdviseNothing, "recovery_action is always none"),
        (Self::DoNothing, "nothing is done at all"),
    ];

    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(fault, _)| fault)
    }

    pub fn name(self) -> &'static str {
        let named = Self::NAMES.into_iter().find(|(fault, _)| *fault == self);
        named.map_or("", |(_, name)| name)
    }

    /// The core that `make` builds, with this fault around it.
    pub fn plant(
        self,
        limits: &Limits,
        make: impl FnOnce(&Limits) -> ExecutionCoordinator,
    ) -> FaultyCore {
        let mut limits = limits.clone();
        match self {
            Self::QueueOneTooMany => limits.queue_max += 1,
            Self::KeepOneJobTooMany => limits.jobs_kept_max += 1,
            Self::HalveTheHeartbeatTimeout => limits.heartbeat_timeout /= 2,
            Self::HalveTheProbe => limits.takeover_probe /= 2,
            Self::CloseAfterNineBadFrames => limits.bad_frames_max -= 1,
            Self::ReportProgressOnceAnHour => {
                limits.progress_first = Duration::from_secs(3_600);
                limits.progress_interval = Duration::from_secs(3_600);
            }
            Self::GiveUpEarly => {
                limits.reconnect_wait /= 2;
                limits.compile_grace /= 2;
            }
            Self::PollLate => limits.job_poll_interval += Duration::from_secs(30),
            _ => {}
        }
        FaultyCore {
            fault: self,
            core: make(&limits),
            last_execute: None,
            last_seq: 0,
            held: VecDeque::new(),
            count: 0,
            session: None,
        }
    }
}

pub struct FaultyCore {
    fault: CoreFault,
    core: ExecutionCoordinator,
    last_execute: Option<ToUnity>,
    last_seq: u64,
    held: VecDeque<Event>,
    /// What some faults count.
    count: u64,
    session: Option<coordination::ConnectionId>,
}

impl Core for FaultyCore {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if self.forgets(&event) {
            return Vec::new();
        }
        let mut effects = Vec::new();
        for event in self.change_event(event) {
            effects.extend(self.core.handle(now, event));
        }
        self.change_effects(now, effects)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        self.core.next_deadline().filter(|deadline| !self.hides(deadline.why))
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

impl FaultyCore {
    fn hides(&self, why: Why) -> bool {
        match self.fault {
            CoreFault::ForgetTheRequestTimeout => why == Why::TripTimeout,
            CoreFault::ForgetTheWaitLimit => why == Why::WaitOver,
            CoreFault::DoNothing => true,
            _ => false,
        }
    }

    /// A forgotten deadline is met only when another event comes.
    fn forgets(&self, event: &Event) -> bool {
        let hidden = self.core.next_deadline().is_some_and(|deadline| self.hides(deadline.why));
        self.fault == CoreFault::DoNothing || (*event == Event::DeadlineReached && hidden)
    }

    fn change_event(&mut self, event: Event) -> Vec<Event> {
        match (self.fault, event) {
            (
                CoreFault::AcceptAStaleSeq,
                Event::UnityFrame { on, frame: Ok(FromUnity::EditorStatus(mut status)) },
            ) => {
                self.last_seq += 1;
                status.seq = status.seq.max(self.last_seq);
                self.last_seq = status.seq;
                vec![Event::UnityFrame { on, frame: Ok(FromUnity::EditorStatus(status)) }]
            }
            (CoreFault::SwapTwoCalls, event @ Event::CallReceived { .. }) => {
                // Every third call is held back until the next one has gone first.
                self.count += 1;
                if self.count.is_multiple_of(3) {
                    self.held.push_back(event);
                    return Vec::new();
                }
                let mut events = vec![event];
                events.extend(self.held.drain(..));
                events
            }
            (CoreFault::IgnoreMcpCancel, Event::CallCancelled { .. })
            | (CoreFault::IgnoreABrokenAdapter, Event::CallBroke { .. }) => Vec::new(),
            (CoreFault::ForgetTheCompile, Event::UnityClosed { on, by })
                if self.session == Some(on) =>
            {
                let status = protocol::EditorStatus {
                    state: EditorState::Ready,
                    seq: u64::MAX,
                    last_compile: None,
                };
                let ready = Event::UnityFrame { on, frame: Ok(FromUnity::EditorStatus(status)) };
                vec![ready, Event::UnityClosed { on, by }]
            }
            (
                CoreFault::SendWhileCompiling,
                Event::UnityFrame { on, frame: Ok(FromUnity::EditorStatus(mut status)) },
            ) => {
                status.state = EditorState::Ready;
                vec![Event::UnityFrame { on, frame: Ok(FromUnity::EditorStatus(status)) }]
            }
            (CoreFault::IgnoreWaitMs, Event::CallReceived { call, request, wants_progress }) => {
                let request = told::without_wait(request);
                vec![Event::CallReceived { call, request, wants_progress }]
            }
            (
                CoreFault::IgnoreANewPluginSession,
                Event::UnityFrame { on, frame: Ok(FromUnity::Hello(hello)) },
            ) => {
                let hello = PluginHello { plugin_session_id: None, ..hello };
                vec![Event::UnityFrame { on, frame: Ok(FromUnity::Hello(hello)) }]
            }
            (
                CoreFault::MixUpEditors,
                Event::UnityFrame { on, frame: Ok(FromUnity::Hello(mut hello)) },
            ) => {
                hello.editor_instance_id = hello.editor_instance_id.map(|_| "one".into());
                (hello.connect_attempt_seq, hello.project_path) = (None, None);
                vec![Event::UnityFrame { on, frame: Ok(FromUnity::Hello(hello)) }]
            }
            (_, event) => vec![event],
        }
    }

    fn change_effects(&mut self, now: Timestamp, effects: Vec<Effect>) -> Vec<Effect> {
        let mut changed = Vec::new();
        for effect in effects {
            if let Effect::Note(Note::SessionBegan { on, .. }) = &effect {
                self.session = Some(*on);
            }
            changed.extend(self.change_effect(now, effect));
        }
        changed
    }

    fn change_effect(&mut self, now: Timestamp, effect: Effect) -> Vec<Effect> {
        match (self.fault, effect) {
            (CoreFault::ResendAfterReconnect, Effect::Send { on, frame }) => {
                let again = match &frame {
                    ToUnity::Capability(_) => self.last_execute.take(),
                    ToUnity::Execute(_) => {
                        self.last_execute = Some(frame.clone());
                        None
                    }
                    _ => None,
                };
                let again = again.map(|frame| Effect::Send { on, frame });
                [Some(Effect::Send { on, frame }), again].into_iter().flatten().collect()
            }
            (
                CoreFault::FreeTheLaneOnTimeout,
                Effect::Send { on, frame: ToUnity::Execute(frame) },
            ) => {
                self.last_execute = Some(ToUnity::Execute(frame.clone()));
                vec![Effect::Send { on, frame: ToUnity::Execute(frame) }]
            }
            (CoreFault::FreeTheLaneOnTimeout, effect @ Effect::Reply { .. })
                if fails_with(&effect, ErrorCode::RequestTimeout) =>
            {
                let mut effects = vec![effect];
                if let (Some(ToUnity::Execute(frame)), Some(on)) =
                    (self.last_execute.take(), self.session)
                {
                    effects.extend(self.pretend_answer(now, on, frame.request_id));
                }
                effects
            }
            (CoreFault::AnswerTwice, effect @ Effect::Reply { .. }) => vec![effect.clone(), effect],
            (CoreFault::LoseAnAnswer, effect @ Effect::Reply { .. }) => {
                self.count += 1;
                if self.count.is_multiple_of(20) { Vec::new() } else { vec![effect] }
            }
            (
                CoreFault::ChangeATerminalState,
                Effect::Reply { call, request_id, times, outcome: Ok(Answer::Job(mut report)) },
            ) => {
                self.count += 1;
                if report.state == protocol::JobState::Failed && self.count.is_multiple_of(2) {
                    report.state = protocol::JobState::Succeeded;
                }
                vec![Effect::Reply { call, request_id, times, outcome: Ok(Answer::Job(report)) }]
            }
            (CoreFault::LoseTheCancel, Effect::Send { frame: ToUnity::Cancel(_), .. }) => {
                Vec::new()
            }
            (CoreFault::NeverPing, Effect::Send { frame: ToUnity::Ping(_), .. }) => Vec::new(),
            (fault, Effect::Reply { call, request_id, times, outcome }) => {
                let outcome = told::change(fault, outcome);
                vec![Effect::Reply { call, request_id, times, outcome }]
            }
            (_, effect) => vec![effect],
        }
    }

    /// Frees the lane as if Unity had answered.
    fn pretend_answer(
        &mut self,
        now: Timestamp,
        on: coordination::ConnectionId,
        request: RequestId,
    ) -> Vec<Effect> {
        let console = serde_json::json!({ "entries": [], "count": 0, "truncated": false });
        let outcome = ExecuteOutcome::Ok(console);
        let result = FromUnity::Result(ExecuteResult { request_id: request, outcome });
        self.core.handle(now, Event::UnityFrame { on, frame: Ok(result) })
    }
}

fn fails_with(effect: &Effect, expected: ErrorCode) -> bool {
    matches!(effect, Effect::Reply { outcome: Err(Failure { code, .. }), .. } if *code == expected)
}
