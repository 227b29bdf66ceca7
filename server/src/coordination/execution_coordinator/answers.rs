//! What Unity answers, and what that means for whoever waits.

use protocol::{
    CancelStatus, ErrorBody, ExecuteOutcome, JobStatus, Json, RequestId, ToUnity, UnityJobId,
};

use super::super::event::{Answer, Note};
use super::super::failure::Failure;
use super::super::ids::{CallId, ConnectionId, JobId};
use super::super::request_scheduler::{Lane, Purpose, Trip};
use super::super::time::Timestamp;
use super::super::tool_catalog::{Route, Tool};
use super::ExecutionCoordinator;
use super::jobs::is_unknown_job;

/// An answer to a request, whatever message it came in.
pub(super) enum UnityAnswer {
    Result(ExecuteOutcome),
    Accepted(UnityJobId),
    Status(JobStatus),
    Cancel(CancelStatus),
    Error(ErrorBody),
    /// It names the request, but cannot be understood.
    Broken {
        problem: String,
    },
}

impl UnityAnswer {
    fn name(&self) -> &'static str {
        match self {
            Self::Result(_) => "result",
            Self::Accepted(_) => "submit_job_result",
            Self::Status(_) => "job_status",
            Self::Cancel(_) => "cancel_result",
            Self::Error(_) => "error",
            Self::Broken { .. } => "a broken message",
        }
    }
}

impl ExecutionCoordinator {
    /// The first answer to the request in the lane ends the round trip; any other is dropped.
    pub(super) fn on_answer(&mut self, now: Timestamp, request_id: RequestId, answer: UnityAnswer) {
        if !self.scheduler.holds(&request_id) {
            return self.on_stray_answer(request_id, answer);
        }
        match self.scheduler.free_lane() {
            Lane::Free => {}
            Lane::Kept { submission, .. } => {
                if submission {
                    return self.on_stray_answer(request_id, answer);
                }
                self.note(Note::LaneFreed { request_id });
            }
            Lane::Taken { trip, purpose } => match purpose {
                Purpose::Execute { call } => self.on_execute_answer(&trip, call, answer),
                Purpose::Submit { job } => self.on_submit_answer(now, &trip, job, answer),
                Purpose::Status { job, asker } => {
                    self.on_status_answer(now, &trip, job, asker, answer);
                }
                Purpose::Cancel { job } => self.on_cancel_answer(&trip, job, answer),
            },
        }
    }

    /// Nobody waits for it; but a job that Unity accepts too late must not go on running there.
    fn on_stray_answer(&mut self, request_id: RequestId, answer: UnityAnswer) {
        let abandoned = self.cancels.was_abandoned(&request_id);
        match answer {
            UnityAnswer::Accepted(unity_id) if abandoned => {
                self.note(Note::LateAcceptance { request_id });
                self.cancel_in_unity(unity_id);
            }
            UnityAnswer::Accepted(_)
            | UnityAnswer::Result(_)
            | UnityAnswer::Status(_)
            | UnityAnswer::Cancel(_)
            | UnityAnswer::Error(_)
            | UnityAnswer::Broken { .. } => self.note(Note::AnswerDropped { request_id }),
        }
    }

    fn on_execute_answer(&mut self, trip: &Trip, call: CallId, answer: UnityAnswer) {
        let outcome = match answer {
            UnityAnswer::Result(ExecuteOutcome::Ok(result)) => {
                match check_answer(trip.tool, &result) {
                    Ok(()) => Ok(Answer::Unity(result)),
                    Err(problem) => Err(self.bad_answer(trip, problem)),
                }
            }
            UnityAnswer::Result(ExecuteOutcome::Error(error)) => {
                Err(Failure::unity_execution(error))
            }
            UnityAnswer::Error(error) => Err(Failure::refused(error)),
            UnityAnswer::Broken { problem } => Err(self.bad_answer(trip, problem)),
            other
            @ (UnityAnswer::Accepted(_) | UnityAnswer::Status(_) | UnityAnswer::Cancel(_)) => {
                Err(self.wrong_type(trip, &other))
            }
        };
        self.reply(call, outcome);
    }

    fn on_submit_answer(&mut self, now: Timestamp, trip: &Trip, job: JobId, answer: UnityAnswer) {
        match answer {
            UnityAnswer::Accepted(unity_id) => {
                self.jobs.on_accepted(now, job, unity_id, trip.sent_at, &self.limits);
            }
            UnityAnswer::Error(error) => self.fail_job(job, Failure::refused(error)),
            UnityAnswer::Broken { problem } => {
                let failure = self.bad_answer(trip, problem);
                self.fail_job(job, failure);
            }
            other @ (UnityAnswer::Result(_) | UnityAnswer::Status(_) | UnityAnswer::Cancel(_)) => {
                let failure = self.wrong_type(trip, &other);
                self.fail_job(job, failure);
            }
        }
    }

    fn on_status_answer(
        &mut self,
        now: Timestamp,
        trip: &Trip,
        job: JobId,
        asker: Option<CallId>,
        answer: UnityAnswer,
    ) {
        if self.is_terminal(job) {
            return; // It ended meanwhile, and whoever asked has been told.
        }
        let failure = match answer {
            UnityAnswer::Status(status) if self.jobs.unity_id(job) == Some(&status.job_id) => {
                self.on_job_status(now, job, status);
                return self.answer_asker(asker, job);
            }
            UnityAnswer::Error(error) if is_unknown_job(&error) => {
                self.on_job_unknown_to_unity(job, error);
                return self.answer_asker(asker, job);
            }
            UnityAnswer::Error(error) => Failure::refused(error),
            UnityAnswer::Broken { problem } => self.bad_answer(trip, problem),
            UnityAnswer::Status(_) => self.bad_answer(trip, "it names another job".to_owned()),
            other
            @ (UnityAnswer::Result(_) | UnityAnswer::Accepted(_) | UnityAnswer::Cancel(_)) => {
                self.wrong_type(trip, &other)
            }
        };
        self.on_question_over(now, job);
        if let Some(call) = asker {
            self.reply(call, Err(failure));
        }
    }

    /// Tells the asker what is known now.
    pub(super) fn answer_asker(&mut self, asker: Option<CallId>, job: JobId) {
        if let (Some(call), Some(report)) = (asker, self.jobs.report(job)) {
            self.reply(call, Ok(Answer::Job(Box::new(report))));
        }
    }

    fn on_cancel_answer(&mut self, trip: &Trip, job: Option<JobId>, answer: UnityAnswer) {
        let Some(job) = job else { return };
        match answer {
            UnityAnswer::Cancel(CancelStatus::Cancelled) => self.on_cancelled_in_unity(job),
            UnityAnswer::Cancel(CancelStatus::CancelRequested) => self.poll_soon(job),
            UnityAnswer::Cancel(CancelStatus::Rejected) => self.on_cancel_refused(job, None),
            UnityAnswer::Error(error) if is_unknown_job(&error) => self.poll_soon(job),
            UnityAnswer::Error(error) => self.on_cancel_refused(job, Some(error)),
            UnityAnswer::Broken { problem } => {
                self.bad_answer(trip, problem);
            }
            other
            @ (UnityAnswer::Result(_) | UnityAnswer::Accepted(_) | UnityAnswer::Status(_)) => {
                self.wrong_type(trip, &other);
            }
        }
    }

    fn bad_answer(&mut self, trip: &Trip, problem: String) -> Failure {
        self.note(Note::BadAnswer { request_id: trip.request_id.clone(), problem });
        Failure::bad_answer()
    }

    fn wrong_type(&mut self, trip: &Trip, answer: &UnityAnswer) -> Failure {
        self.bad_answer(trip, format!("{} is no answer to {}", answer.name(), trip.tool.name))
    }

    /// Unity's answer was too large to read: whoever waits for the lane must ask for less.
    pub(super) fn on_answer_too_large(&mut self, now: Timestamp) {
        let failure = Failure::answer_too_large(self.limits.message_max_bytes);
        match self.scheduler.free_lane() {
            Lane::Taken { purpose: Purpose::Execute { call }, .. } => {
                self.reply(call, Err(failure))
            }
            Lane::Taken { purpose: Purpose::Submit { job }, .. } => self.fail_job(job, failure),
            Lane::Taken { purpose: Purpose::Status { job, asker }, .. } => {
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply(call, Err(failure));
                }
            }
            Lane::Taken { purpose: Purpose::Cancel { .. }, .. }
            | Lane::Free
            | Lane::Kept { .. } => {}
        }
    }

    /// Not a byte of the frame was written: its owner is back where it was.
    pub(super) fn on_not_sent(&mut self, now: Timestamp, on: ConnectionId, frame: ToUnity) {
        let Some(request_id) = request_id_of(&frame) else { return };
        if !self.scheduler.holds(request_id) {
            return;
        }
        match (self.scheduler.free_lane(), frame) {
            (Lane::Taken { purpose: Purpose::Execute { call }, .. }, frame) => {
                self.scheduler.return_call(call, frame);
            }
            (Lane::Taken { purpose: Purpose::Submit { job }, .. }, frame) => {
                if let Some((ticket, arrived)) =
                    self.jobs.get(job).map(|job| (job.ticket, job.arrived))
                {
                    self.scheduler.return_job(ticket, arrived, job);
                    self.jobs.return_to_queue(job, frame);
                    self.announce(job);
                }
            }
            (Lane::Taken { purpose: Purpose::Status { job, asker }, .. }, _) => {
                self.on_question_over(now, job);
                self.answer_asker(asker, job);
            }
            (Lane::Taken { purpose: Purpose::Cancel { job }, .. }, ToUnity::Cancel(frame)) => {
                self.return_cancel(job, frame.target_job_id);
            }
            (Lane::Taken { .. } | Lane::Free | Lane::Kept { .. }, _) => {}
        }
        self.on_bridge_gone(now, on);
    }
}

/// Whether Unity's answer is what the tool's row says.
fn check_answer(tool: &Tool, answer: &Json) -> Result<(), String> {
    match &tool.route {
        Route::Execute { answer: shape } => shape.check(answer),
        Route::EditorState | Route::SubmitJob { .. } | Route::JobStatus | Route::CancelJob => {
            Ok(())
        }
    }
}

fn request_id_of(frame: &ToUnity) -> Option<&RequestId> {
    match frame {
        ToUnity::Execute(frame) => Some(&frame.request_id),
        ToUnity::SubmitJob(frame) => Some(&frame.request_id),
        ToUnity::GetJobStatus(frame) => Some(&frame.request_id),
        ToUnity::Cancel(frame) => Some(&frame.request_id),
        ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Ping(_) | ToUnity::Error(_) => None,
    }
}
