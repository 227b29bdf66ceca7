//! What agents do: call, cancel, ask how things are.

use protocol::{Execute, JobState, RequestId, SubmitJob, ToUnity, codec};

use super::{ExecutionCoordinator, Gate, Life};
use crate::event::{Answer, CallState, CancelAnswer, EditorReport, Effect, Note, ProgressReport};
use crate::failure::Failure;
use crate::ids::{CallId, JobId};
use crate::request_scheduler::{Lane, NewCall, Purpose};
use crate::request_validator::{Request, ValidCall};
use crate::stores::request::{Call, Phase, Work};
use crate::time::Timestamp;

impl ExecutionCoordinator {
    /// A call gets in line, or is answered here and now.
    pub(super) fn on_call(&mut self, now: Timestamp, id: CallId, call: ValidCall, progress: bool) {
        let request_id = self.ids.request();
        if let Some(outcome) = self.admit(now, id, &request_id, call, progress).transpose() {
            self.effects.push(Effect::Reply { call: id, request_id, outcome });
        }
    }

    fn admit(
        &mut self,
        now: Timestamp,
        id: CallId,
        request_id: &RequestId,
        call: ValidCall,
        wants_progress: bool,
    ) -> Result<Option<Answer>, Failure> {
        let ValidCall { tool, client_request_id, timeout, request } = call;
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let work = match request {
            Request::EditorState => {
                return Ok(Some(Answer::EditorState(Box::new(self.editor_report(now)))));
            }
            Request::Execute { params } => Work::Execute {
                frame: ToUnity::Execute(Execute {
                    request_id: request_id.clone(),
                    client_request_id,
                    tool_name: tool.name.to_owned(),
                    params,
                    timeout_ms,
                }),
            },
            Request::RunJob { params, wait } => Work::RunJob {
                frame: ToUnity::SubmitJob(SubmitJob {
                    request_id: request_id.clone(),
                    client_request_id,
                    tool_name: tool.name.to_owned(),
                    params,
                    timeout_ms,
                }),
                wait_until: now + wait,
            },
            Request::JobStatus { job_id, wait } => {
                let known = self.ids.parse_job(&job_id).and_then(|job| self.jobs.state(job));
                Work::JobStatus { job_id, wait_until: now + wait, known }
            }
            Request::CancelJob { job_id } => Work::CancelJob { job_id },
        };
        self.check_size(&work)?; // A bad call is bad whatever else is wrong.
        self.check_life(&work)?;
        if let Some(answer) = self.cancel_queued(&work) {
            return Ok(Some(answer));
        }
        self.check_room(&work)?;
        let request_id = request_id.clone();
        let new = NewCall { id, request_id, tool, timeout, work, wants_progress };
        self.scheduler.line_up(now, new, &self.limits);
        Ok(None)
    }

    fn check_size(&self, work: &Work) -> Result<(), Failure> {
        let max = self.limits.message_max_bytes;
        let bytes = match work {
            Work::Execute { frame } | Work::RunJob { frame, .. } => codec::encoded_len(frame),
            Work::JobStatus { .. } | Work::CancelJob { .. } => 0,
        };
        if bytes > max { Err(Failure::call_too_large(bytes, max)) } else { Ok(()) }
    }

    fn check_life(&self, work: &Work) -> Result<(), Failure> {
        match (&self.life, work) {
            (Life::Stopping { .. } | Life::Stopped, _) => Err(Failure::stopping()),
            (Life::PortHeld { port, holder }, Work::Execute { .. } | Work::RunJob { .. }) => {
                Err(Failure::port_held(*port, holder))
            }
            (Life::PortHeld { .. }, Work::JobStatus { .. } | Work::CancelJob { .. })
            | (Life::Booting | Life::Listening, _) => Ok(()),
        }
    }

    /// A job that is still queued is cancelled at once: in the line it would be sent before its
    /// cancel has its turn.
    fn cancel_queued(&mut self, work: &Work) -> Option<Answer> {
        let Work::CancelJob { job_id } = work else { return None };
        let job = self.ids.parse_job(job_id)?;
        self.is_queued(job).then(|| {
            self.withdraw_job(job);
            Answer::Cancel { job, status: CancelAnswer::Cancelled }
        })
    }

    fn check_room(&self, work: &Work) -> Result<(), Failure> {
        if !self.scheduler.has_room(work, &self.limits) {
            return Err(Failure::queue_full(self.limits.queue_max));
        }
        if matches!(work, Work::RunJob { .. }) && !self.jobs.has_room(&self.limits) {
            return Err(Failure::too_many_jobs(self.limits.jobs_active_max));
        }
        Ok(())
    }

    /// The agent does not want the answer any more: it gets none, and what was not sent is never
    /// sent.
    pub(super) fn on_call_cancelled(&mut self, id: CallId) {
        let Some(call) = self.scheduler.remove(id) else { return };
        self.note(Note::CallCancelled { call: id });
        self.leave(id, &call);
    }

    /// The adapter failed: the agent is told what is true.
    pub(super) fn on_call_broke(&mut self, id: CallId) {
        let Some(call) = self.scheduler.remove(id) else { return };
        let failure = if self.was_sent(&call) {
            Failure::broken_after_sending()
        } else {
            Failure::broken_before_sending()
        };
        let outcome = Err(failure.for_tool(call.tool));
        let request_id = call.request_id.clone();
        self.effects.push(Effect::Reply { call: id, request_id, outcome });
        self.leave(id, &call);
    }

    /// Whether something of this call may be with Unity.
    fn was_sent(&self, call: &Call) -> bool {
        match call.phase {
            Phase::InLine(_) => false,
            Phase::InLane => true,
            Phase::Parked { job, .. } => call.tool.starts_a_job() && !self.is_queued(job),
        }
    }

    fn is_queued(&self, job: JobId) -> bool {
        self.jobs.state(job) == Some(JobState::Queued)
    }

    /// The caller is gone; what it set in motion is stopped as far as possible.
    fn leave(&mut self, id: CallId, call: &Call) {
        match call.phase {
            Phase::InLine(_) => {}
            Phase::InLane => self.leave_lane(id),
            Phase::Parked { job, .. } => {
                self.jobs.remove_waiter(job, id);
                if call.tool.starts_a_job() {
                    self.cancel(job); // Nobody else knows the job's id.
                }
            }
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
            let failure = if sent { Failure::stopped_while_running() } else { Failure::stopping() };
            self.reply(id, Err(failure));
        }
        self.scheduler.free_lane();
    }

    /// How things are, without changing them.
    pub fn editor_report(&self, now: Timestamp) -> EditorReport {
        EditorReport {
            server_state: self.server_state(),
            editor_state: self.editor.state(),
            connected: self.link.session().is_some(),
            last_editor_status_seq: self.editor.seq(),
            waiting_reason: self.reason(),
            queue_length: self.scheduler.queue_length(),
            running: self.scheduler.running(now),
            plugin_version: self.link.plugin_version().map(str::to_owned),
            server_version: self.server_version.clone(),
        }
    }

    pub(super) fn report_progress(&mut self, now: Timestamp, id: CallId) {
        let Some(call) = self.scheduler.call(id) else { return };
        let state = match (&call.phase, self.gate) {
            (Phase::InLine(Work::Execute { .. } | Work::RunJob { .. }), Gate::Closed { .. }) => {
                CallState::WaitingEditorReady
            }
            (Phase::InLine(_), Gate::Open | Gate::Closed { .. }) => CallState::Queued,
            (Phase::InLane | Phase::Parked { .. }, Gate::Open | Gate::Closed { .. }) => {
                CallState::Running
            }
        };
        let report = ProgressReport {
            state,
            reason: self.reason().filter(|_| state != CallState::Queued),
            position: self.scheduler.position(call.ticket),
            elapsed: now.since(call.arrived),
            job: match call.phase {
                Phase::Parked { job, .. } => {
                    self.jobs.state(job).map(|state| (state, self.jobs.progress(job)))
                }
                Phase::InLine(_) | Phase::InLane => None,
            },
        };
        self.effects.push(Effect::Progress { call: id, report });
        self.scheduler.set_progress(id, now + self.limits.progress_interval);
    }
}
