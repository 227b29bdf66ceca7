//! What agents do: call, cancel, ask for the state.

use protocol::{Execute, JobState, RequestId, SubmitJob, ToUnity, codec};

use super::repeats::replayed;
use super::{ExecutionCoordinator, Gate, Life, Refused};
use crate::deduplicator::Meaning;
use crate::event::{
    Answer, CallState, EditorReport, Effect, Note, ProgressReport, ProjectReport, RefusedReport,
};
use crate::failure::Failure;
use crate::ids::{CallId, JobId, RequestNames};
use crate::request_scheduler::{Lane, Purpose};
use crate::request_validator::{Request, ValidCall};
use crate::stores::request::{Call, Phase, Work};
use crate::time::{CallTimes, Timestamp};
use crate::tool_answers;
use crate::tool_catalog::Catalog;

impl ExecutionCoordinator {
    /// A call gets in line, or is answered at once.
    pub(super) fn on_call(&mut self, now: Timestamp, id: CallId, asked: ValidCall, progress: bool) {
        let request_id = self.ids.request();
        if let Some(outcome) = self.admit(now, id, &request_id, asked, progress).transpose() {
            let times = CallTimes { arrived: now, served: Some(now) };
            self.effects.push(Effect::Reply { call: id, request_id, times, outcome });
        }
    }

    fn admit(
        &mut self,
        now: Timestamp,
        id: CallId,
        request_id: &RequestId,
        asked: ValidCall,
        wants_progress: bool,
    ) -> Result<Option<Answer>, Failure> {
        if asked.request == Request::EditorState {
            return Ok(Some(Answer::EditorState(Box::new(self.editor_report(now)))));
        }
        let work = self.work_of(request_id, &asked);
        self.check_size(&work)?; // A bad call is bad, whatever the state of the server is.
        let meaning = self.meaning(&asked);
        if matches!(meaning, Meaning::New) {
            self.check_life(&asked.request).map_err(|failure| self.rejection(&asked, failure))?;
        }
        if let Some(answer) = self.cancel_job(now, &asked.request)? {
            return Ok(Some(answer));
        }
        let (phase, is_repeated) = match &meaning {
            Meaning::New => (Phase::InLine(work), false),
            Meaning::Follows(first) => (Phase::Following { first: *first }, true),
            Meaning::Job(job) => (Phase::Parked { job: *job, until: now }, true),
            Meaning::Ended(outcome) => return replayed(outcome.clone()).map(Some),
            Meaning::Reused => return Err(Failure::reused_client_request_id()),
        };
        let call = Call {
            request_id: request_id.clone(),
            asked,
            ticket: self.scheduler.next_ticket(),
            times: CallTimes { arrived: now, served: None },
            progress_at: wants_progress.then(|| now + self.limits.progress_first),
            phase,
            is_repeated,
            is_left: false,
        };
        match meaning {
            Meaning::Job(job) if self.jobs.get(job).is_none() => Err(Failure::job_not_kept(job)),
            Meaning::Job(job) => {
                self.attach(now, id, call, job);
                Ok(None)
            }
            Meaning::Follows(_) if self.scheduler.has_room_to_follow(&self.limits) => {
                self.scheduler.add(id, call);
                Ok(None)
            }
            Meaning::Follows(_) => Err(Failure::too_many_repeats(self.limits.queue_max)),
            Meaning::New | Meaning::Ended(_) | Meaning::Reused => {
                let room = self.check_room(&call.asked.request);
                room.map_err(|failure| self.rejection(&call.asked, failure))?;
                self.begin_run(id, &call.asked);
                self.scheduler.line_up(id, call);
                Ok(None)
            }
        }
    }

    fn work_of(&self, request_id: &RequestId, asked: &ValidCall) -> Work {
        let (request_id, tool_name) = (request_id.clone(), asked.tool.name.to_owned());
        let client_request_id = asked.client_request_id.clone();
        let timeout_ms = u64::try_from(asked.timeout.as_millis()).unwrap_or(u64::MAX);
        match &asked.request {
            Request::Execute { params, .. } => {
                let params = params.clone();
                let frame =
                    Execute { request_id, client_request_id, tool_name, params, timeout_ms };
                Work::Send(ToUnity::Execute(frame))
            }
            Request::RunJob { params, .. } => {
                let params = params.clone();
                let frame =
                    SubmitJob { request_id, client_request_id, tool_name, params, timeout_ms };
                Work::Send(ToUnity::SubmitJob(frame))
            }
            Request::JobStatus { job_id, .. } => {
                let known = self.ids.parse_job(job_id).and_then(|job| self.jobs.state(job));
                Work::Control { known }
            }
            Request::CancelJob { .. } | Request::EditorState => Work::Control { known: None },
        }
    }

    fn check_size(&self, work: &Work) -> Result<(), Failure> {
        let max = self.limits.message_max_bytes;
        let bytes = match work {
            Work::Send(frame) => codec::encoded_len(frame),
            Work::Control { .. } => 0,
        };
        if bytes > max { Err(Failure::call_too_large(bytes, max)) } else { Ok(()) }
    }

    fn check_life(&self, request: &Request) -> Result<(), Failure> {
        match &self.life {
            Life::Stopping { .. } | Life::Stopped => Err(Failure::stopping()),
            Life::PortHeld { port, holder } if request.needs_unity() => {
                Err(Failure::port_held(*port, holder))
            }
            Life::PortHeld { .. } | Life::Booting | Life::Listening => Ok(()),
        }
    }

    /// A cancel is answered at once: nothing may keep it waiting. What Unity must be told is sent in its turn.
    fn cancel_job(&mut self, now: Timestamp, request: &Request) -> Result<Option<Answer>, Failure> {
        let Request::CancelJob { job_id } = request else { return Ok(None) };
        if job_id.starts_with("req-") {
            return Err(Failure::cancel_not_supported());
        }
        let job = self.find_job(job_id)?;
        let status = self.cancel(now, job).ok_or_else(Failure::no_such_job)?;
        Ok(Some(Answer::Cancel { job, status }))
    }

    fn check_room(&self, request: &Request) -> Result<(), Failure> {
        if !self.scheduler.has_room(request, &self.limits) {
            return Err(Failure::queue_full(self.limits.queue_max));
        }
        if matches!(request, Request::RunJob { .. }) && !self.jobs.has_room(&self.limits) {
            return Err(Failure::too_many_jobs(self.limits.jobs_active_max));
        }
        Ok(())
    }

    /// The agent has cancelled the call: it gets no answer, and what was not sent is never sent.
    pub(super) fn on_call_cancelled(&mut self, now: Timestamp, id: CallId) {
        if self.goes_on_for_others(id) {
            return;
        }
        let Some(call) = self.scheduler.remove(id) else { return };
        let names = RequestNames {
            request_id: call.request_id.clone(),
            client_request_id: call.asked.client_request_id.clone(),
            job: call.job(),
        };
        self.note(Note::CallCancelled { call: id, names });
        self.abandon_run(&call);
        self.leave(now, id, &call);
    }

    /// The adapter of the call failed: the agent gets the guarantee that is true.
    pub(super) fn on_call_broke(&mut self, now: Timestamp, id: CallId) {
        let Some(call) = self.scheduler.remove(id) else { return };
        let failure = if self.was_sent(&call) {
            Failure::broken_after_sending()
        } else {
            Failure::broken_before_sending()
        };
        self.push_reply(id, &call, Err(failure));
        self.leave(now, id, &call);
    }

    /// Whether something of this call may be with Unity.
    fn was_sent(&self, call: &Call) -> bool {
        match call.phase {
            Phase::InLine(_) => false,
            Phase::InLane => true,
            Phase::Parked { job, .. } => call.starts_job() && !self.is_queued(job),
            Phase::Following { first } => {
                self.scheduler.call(first).is_none_or(|first| self.was_sent(first))
            }
        }
    }

    pub(super) fn is_queued(&self, job: JobId) -> bool {
        self.jobs.state(job) == Some(JobState::Queued)
    }

    /// The caller is gone. What it started is stopped as far as possible.
    fn leave(&mut self, now: Timestamp, id: CallId, call: &Call) {
        match call.phase {
            Phase::InLine(_) => {}
            Phase::InLane => self.leave_lane(id),
            Phase::Parked { job, .. } => {
                self.jobs.remove_waiter(job, id);
                if call.starts_job() && self.jobs.is_unwanted(job) {
                    self.cancel(now, job);
                }
            }
            Phase::Following { first } => self.on_follower_gone(now, first),
        }
    }

    /// Its request is still in Unity.
    fn leave_lane(&mut self, id: CallId) {
        match self.scheduler.lane() {
            Lane::Taken { purpose: Purpose::Execute { call }, .. } if *call == id => {
                self.scheduler.keep_lane();
            }
            Lane::Taken { purpose: Purpose::Status { job, asker }, .. } if *asker == Some(id) => {
                let job = *job;
                self.scheduler.take_asker(job);
            }
            Lane::Taken { .. } | Lane::Free | Lane::Kept { .. } => {}
        }
    }

    pub(super) fn answer_all_at_stop(&mut self) {
        for id in self.scheduler.open_calls() {
            let sent = self.scheduler.call(id).is_some_and(|call| self.was_sent(call));
            let failure = if sent {
                Failure::stopped_while_running()
            } else {
                self.while_waiting(Failure::stopping())
            };
            self.reply(id, Err(failure));
        }
        self.scheduler.free_lane();
    }

    /// The state of things, without changing them.
    pub fn editor_report(&self, now: Timestamp) -> EditorReport {
        EditorReport {
            server_state: self.server_state(),
            editor_state: self.editor.state(),
            connected: self.link.session().is_some(),
            last_editor_status_seq: self.editor.seq(),
            waiting_reason: self.reason(),
            queue_length: self.scheduler.queue_length(),
            running: self.scheduler.running(now),
            plugin_version: self.link.plugin_version().map(tool_answers::name),
            server_version: self.server_version.clone(),
            project: self.project_report(),
            refused: self.refused_report(now),
            last_compile: match self.limits.catalog {
                Catalog::V1_0 => None,
                Catalog::V1_1 => Some(self.editor.last_compile(now)),
            },
            jobs: self.jobs.summaries(now, self.limits.ended_jobs_shown),
            unchanged_for: now.since(self.noted_at),
            last_disconnect: self.last_disconnect.map(|(why, at)| (why, now.since(at))),
        }
    }

    fn project_report(&self) -> Option<ProjectReport> {
        let hello = self.link.hello()?;
        let shown = |text: &Option<String>| text.as_deref().map(tool_answers::name);
        let report = ProjectReport {
            path: shown(&hello.project_path),
            name: shown(&hello.project_name),
            unity_version: shown(&hello.unity_version),
        };
        let is_named = report.path.is_some() || report.name.is_some();
        (is_named || report.unity_version.is_some()).then_some(report)
    }

    fn refused_report(&self, now: Timestamp) -> Option<RefusedReport> {
        let Refused { reason, project_path, at } = self.refused.as_ref()?;
        let (project_path, ago) = (project_path.clone(), now.since(*at));
        let report = RefusedReport { reason, project_path, ago };
        (ago < self.limits.refusal_shown).then_some(report)
    }

    pub(super) fn report_progress(&mut self, now: Timestamp, id: CallId) {
        let Some(call) = self.scheduler.call(id) else { return };
        let arrived = call.times.arrived;
        let call = match call.phase {
            Phase::Following { first } => self.scheduler.call(first).unwrap_or(call),
            Phase::InLine(_) | Phase::InLane | Phase::Parked { .. } => call,
        };
        let state = match (&call.phase, self.gate) {
            (Phase::InLine(Work::Send(_)), Gate::Closed { .. }) => CallState::WaitingEditorReady,
            (Phase::InLine(_), Gate::Open { .. } | Gate::Closed { .. }) => CallState::Queued,
            (
                Phase::InLane | Phase::Parked { .. } | Phase::Following { .. },
                Gate::Open { .. } | Gate::Closed { .. },
            ) => CallState::Running,
        };
        let report = ProgressReport {
            state,
            reason: self.reason().filter(|_| state != CallState::Queued),
            position: self.scheduler.position(call.ticket),
            elapsed: now.since(arrived),
            job: match call.phase {
                Phase::Parked { job, .. } => {
                    self.jobs.state(job).map(|state| (state, self.jobs.progress(job)))
                }
                Phase::InLine(_) | Phase::InLane | Phase::Following { .. } => None,
            },
        };
        self.effects.push(Effect::Progress { call: id, report });
        self.scheduler.set_progress(id, now + self.limits.progress_interval);
    }
}
