//! What agents do: call, cancel, ask how things are.

use protocol::{Execute, JobState, SubmitJob, ToUnity, codec};

use super::super::event::{
    Answer, CallState, CancelAnswer, EditorReport, Effect, Note, ProgressReport, Reason,
};
use super::super::failure::Failure;
use super::super::ids::{CallId, JobId};
use super::super::request_scheduler::{Lane, NewCall, Purpose};
use super::super::request_validator::{Request, ValidCall};
use super::super::stores::request::{Phase, Work};
use super::super::time::Timestamp;
use super::{ExecutionCoordinator, Gate, Life};

impl ExecutionCoordinator {
    pub(super) fn on_call(&mut self, now: Timestamp, id: CallId, call: ValidCall, progress: bool) {
        match self.admit(now, id, call, progress) {
            Ok(Admitted::Lined) => {}
            Ok(Admitted::Answered(answer)) => {
                self.effects.push(Effect::Reply { call: id, outcome: Ok(answer) });
            }
            Err(failure) => self.effects.push(Effect::Reply { call: id, outcome: Err(failure) }),
        }
    }

    fn admit(
        &mut self,
        now: Timestamp,
        id: CallId,
        call: ValidCall,
        wants_progress: bool,
    ) -> Result<Admitted, Failure> {
        let request_id = self.ids.request();
        let ValidCall { tool, client_request_id, timeout, request } = call;
        let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let work = match request {
            Request::EditorState => {
                return Ok(Admitted::Answered(Answer::EditorState(Box::new(
                    self.editor_report(now),
                ))));
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
                Work::JobStatus { job_id, wait_until: now + wait }
            }
            Request::CancelJob { job_id } => match self.withdraw_queued(&job_id) {
                Some(answer) => return Ok(Admitted::Answered(answer)),
                None => Work::CancelJob { job_id },
            },
        };
        self.check_admission(&work)?;
        let new = NewCall { id, request_id, tool, timeout, work, wants_progress };
        self.scheduler.line_up(now, new, &self.limits);
        Ok(Admitted::Lined)
    }

    /// A job that is still queued is cancelled at once: in the line it would be sent before its
    /// cancel has its turn.
    fn withdraw_queued(&mut self, job_id: &str) -> Option<Answer> {
        let job = self.ids.parse_job(job_id)?;
        self.is_queued(job).then(|| {
            self.withdraw_job(job);
            Answer::Cancel { job, status: CancelAnswer::Cancelled }
        })
    }

    /// Size, life and room, in this order: a bad call is bad whatever else is wrong.
    fn check_admission(&self, work: &Work) -> Result<(), Failure> {
        self.check_size(work)?;
        match (&self.life, work) {
            (Life::Stopping { .. } | Life::Stopped, _) => return Err(Failure::stopping()),
            (Life::PortHeld { port, holder }, Work::Execute { .. } | Work::RunJob { .. }) => {
                return Err(Failure::port_held(*port, holder));
            }
            (Life::PortHeld { .. }, Work::JobStatus { .. } | Work::CancelJob { .. })
            | (Life::Booting | Life::Listening, _) => {}
        }
        let jobs_have_room =
            !matches!(work, Work::RunJob { .. }) || self.jobs.has_room(&self.limits);
        if self.scheduler.has_room(work, &self.limits) && jobs_have_room {
            Ok(())
        } else {
            Err(Failure::queue_full(self.limits.queue_max))
        }
    }

    fn check_size(&self, work: &Work) -> Result<(), Failure> {
        let max = self.limits.message_max_bytes;
        let bytes = match work {
            Work::Execute { frame } | Work::RunJob { frame, .. } => codec::encoded_len(frame),
            Work::JobStatus { .. } | Work::CancelJob { .. } => 0,
        };
        if bytes > max { Err(Failure::call_too_large(bytes, max)) } else { Ok(()) }
    }

    /// The agent wants no answer any more. Never answered; what was not sent is never sent.
    pub(super) fn on_call_cancelled(&mut self, id: CallId) {
        let Some(call) = self.scheduler.remove(id) else { return };
        self.note(Note::CallCancelled { call: id });
        match call.phase {
            Phase::Lined(_) => {}
            Phase::InLane => self.leave_lane(id),
            Phase::Parked { job, .. } => {
                self.jobs.remove_waiter(job, id);
                if call.tool.starts_a_job() {
                    // It waited for its own job, so nobody else knows the job's id.
                    self.cancel_unknown_job(job);
                }
            }
        }
    }

    /// The adapter failed: the agent is told what is true.
    pub(super) fn on_call_broke(&mut self, id: CallId) {
        let Some(call) = self.scheduler.call(id) else { return };
        match call.phase {
            Phase::Lined(_) => self.reply(id, Err(Failure::broken_inside(false))),
            Phase::InLane => {
                self.reply(id, Err(Failure::broken_inside(true)));
                self.leave_lane(id);
            }
            Phase::Parked { job, .. } => {
                let sent = call.tool.starts_a_job() && !self.is_queued(job);
                let owns_it = call.tool.starts_a_job();
                self.jobs.remove_waiter(job, id);
                self.reply(id, Err(Failure::broken_inside(sent)));
                if owns_it {
                    self.cancel_unknown_job(job);
                }
            }
        }
    }

    fn is_queued(&self, job: JobId) -> bool {
        self.jobs.get(job).is_some_and(|job| job.state() == JobState::Queued)
    }

    /// The caller is gone, its request is still in Unity.
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
            let Some(call) = self.scheduler.call(id) else { continue };
            let failure = match call.phase {
                Phase::Lined(_) => Failure::stopping(),
                Phase::InLane => Failure::stopped_while_running(),
                // Its job may be with Unity; a question, or a job in line, has done nothing.
                Phase::Parked { job, .. } if call.tool.starts_a_job() && !self.is_queued(job) => {
                    Failure::stopped_while_running()
                }
                Phase::Parked { .. } => Failure::stopping(),
            };
            self.reply(id, Err(failure));
        }
        self.scheduler.free_lane();
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
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
        let needs_unity =
            matches!(&call.phase, Phase::Lined(Work::Execute { .. } | Work::RunJob { .. }));
        let (state, reason) = match (&call.phase, self.gate) {
            (Phase::Lined(_), Gate::Closed { reason, .. }) if needs_unity => {
                (CallState::WaitingEditorReady, Some(reason))
            }
            (Phase::Lined(_), Gate::Closed { .. } | Gate::Open) => (CallState::Queued, None),
            (Phase::InLane | Phase::Parked { .. }, gate) => (CallState::Running, reason_of(gate)),
        };
        let report = ProgressReport {
            state,
            reason,
            position: self.scheduler.position(call.ticket),
            elapsed: now.since(call.arrived),
            job: match call.phase {
                Phase::Parked { job, .. } => self.jobs.progress(job),
                Phase::Lined(_) | Phase::InLane => None,
            },
        };
        self.effects.push(Effect::Progress { call: id, report });
        self.scheduler.set_progress(id, now + self.limits.progress_interval);
    }
}

fn reason_of(gate: Gate) -> Option<Reason> {
    match gate {
        Gate::Open => None,
        Gate::Closed { reason, .. } => Some(reason),
    }
}

enum Admitted {
    Lined,
    Answered(Answer),
}
