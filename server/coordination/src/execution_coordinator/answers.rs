//! What Unity answers, or fails to answer, and what that means for whoever waits.

use protocol::{
    CancelStatus, ErrorBody, ExecuteOutcome, JobStatus, RequestId, ToUnity, UnityJobId,
};

use super::ExecutionCoordinator;
use super::jobs::is_unknown_job;
use crate::event::{Answer, Note, SessionEnd};
use crate::failure::Failure;
use crate::ids::{CallId, ConnectionId, JobId};
use crate::request_scheduler::{Lane, Purpose, Trip};
use crate::stores::connection::Role;
use crate::time::Timestamp;

/// Bytes of a name that Unity gives to a job: it is kept for every job.
const UNITY_JOB_ID_MAX: usize = 256;

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
            Lane::Kept { .. } => {
                self.note(Note::LaneFreed { request_id: request_id.clone() });
                self.on_stray_answer(request_id, answer);
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
        let abandoned = self.cancels.take_abandoned(&request_id);
        match answer {
            UnityAnswer::Accepted(unity_id)
                if abandoned && unity_id.0.len() <= UNITY_JOB_ID_MAX =>
            {
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
                let tool = self.scheduler.call(call).map(|call| call.tool);
                match tool.map_or(Ok(()), |tool| tool.check_answer(&result)) {
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
        let failure = match answer {
            UnityAnswer::Accepted(unity_id) if unity_id.0.len() > UNITY_JOB_ID_MAX => {
                self.bad_answer(trip, "its job_id is too long".to_owned())
            }
            UnityAnswer::Accepted(unity_id) => {
                self.lose_namesakes(&unity_id);
                let sent_at = trip.sent_at;
                return self.jobs.on_accepted(now, job, unity_id, sent_at, &self.limits);
            }
            UnityAnswer::Error(error) => Failure::refused(error),
            UnityAnswer::Broken { problem } => self.bad_answer(trip, problem),
            other @ (UnityAnswer::Result(_) | UnityAnswer::Status(_) | UnityAnswer::Cancel(_)) => {
                self.wrong_type(trip, &other)
            }
        };
        // Should it be accepted after all, it must not run for nobody.
        self.cancels.abandon(trip.request_id.clone(), &self.limits);
        self.fail_job(job, failure);
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
        let outcome = match answer {
            UnityAnswer::Status(status) if self.jobs.unity_id(job) == Some(&status.job_id) => {
                self.on_job_status(now, trip.sent_at, job, status);
                Ok(())
            }
            UnityAnswer::Error(error) if is_unknown_job(&error) => {
                self.fail_job(job, Failure::job_forgotten(error));
                Ok(())
            }
            UnityAnswer::Error(error) => Err(Failure::refused(error)),
            UnityAnswer::Broken { problem } => Err(self.bad_answer(trip, problem)),
            UnityAnswer::Status(_) => Err(self.bad_answer(trip, "it names another job".to_owned())),
            other
            @ (UnityAnswer::Result(_) | UnityAnswer::Accepted(_) | UnityAnswer::Cancel(_)) => {
                Err(self.wrong_type(trip, &other))
            }
        };
        if outcome.is_err() {
            self.on_question_over(now, job);
        }
        match (asker, outcome) {
            (None, _) => {}
            (Some(call), Ok(())) => self.reply_report(call, job),
            (Some(call), Err(failure)) => self.reply(call, Err(failure)),
        }
    }

    fn on_cancel_answer(&mut self, trip: &Trip, job: Option<JobId>, answer: UnityAnswer) {
        let Some(job) = job.filter(|job| !self.is_terminal(*job)) else { return };
        match answer {
            UnityAnswer::Cancel(CancelStatus::Cancelled) => self.on_cancelled_in_unity(job),
            UnityAnswer::Cancel(CancelStatus::CancelRequested) => self.poll_soon(job),
            UnityAnswer::Cancel(CancelStatus::Rejected) => self.on_cancel_refused(job, None),
            UnityAnswer::Error(error) if is_unknown_job(&error) => self.poll_soon(job),
            UnityAnswer::Error(error) => self.on_cancel_refused(job, Some(error)),
            UnityAnswer::Broken { problem } => {
                self.bad_answer(trip, problem);
                self.on_cancel_unanswered(Some(job));
            }
            other
            @ (UnityAnswer::Result(_) | UnityAnswer::Accepted(_) | UnityAnswer::Status(_)) => {
                self.wrong_type(trip, &other);
                self.on_cancel_unanswered(Some(job));
            }
        }
    }

    fn bad_answer(&mut self, trip: &Trip, problem: String) -> Failure {
        self.note(Note::BadAnswer { request_id: trip.request_id.clone(), problem });
        Failure::bad_answer()
    }

    fn wrong_type(&mut self, trip: &Trip, answer: &UnityAnswer) -> Failure {
        self.bad_answer(trip, format!("{} does not answer {}", answer.name(), trip.tool_name))
    }

    // No answer.

    /// The one end of a round trip without a good answer: whoever waits for it gets the failure.
    pub(super) fn fail_trip(
        &mut self,
        now: Timestamp,
        trip: Trip,
        purpose: Purpose,
        failure: Failure,
    ) {
        match purpose {
            Purpose::Execute { call } => self.reply(call, Err(failure)),
            Purpose::Submit { job } => {
                self.cancels.abandon(trip.request_id, &self.limits);
                self.fail_job(job, failure);
            }
            Purpose::Status { job, asker } => {
                self.note(Note::QuestionUnanswered { request_id: trip.request_id });
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply(call, Err(failure));
                }
            }
            Purpose::Cancel { job } => {
                self.note(Note::QuestionUnanswered { request_id: trip.request_id });
                self.on_cancel_unanswered(job);
            }
        }
    }

    /// Unity will not answer what is in the lane: the lane is free.
    pub(super) fn give_up_trip(&mut self, now: Timestamp, failure: Failure) {
        if let Lane::Taken { trip, purpose } = self.scheduler.free_lane() {
            self.fail_trip(now, trip, purpose, failure);
        }
    }

    /// The session is lost. What Unity was sent to do is held; a mere question is not.
    pub(super) fn drop_question(&mut self, now: Timestamp) {
        match self.scheduler.lane() {
            Lane::Taken { purpose: Purpose::Status { job, asker }, .. } => {
                let (job, asker) = (*job, *asker);
                self.scheduler.free_lane();
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply_report(call, job);
                }
            }
            Lane::Taken { purpose: Purpose::Cancel { job }, .. } => {
                let job = *job;
                self.scheduler.free_lane();
                self.on_cancel_unanswered(job);
            }
            Lane::Taken { purpose: Purpose::Execute { .. } | Purpose::Submit { .. }, .. }
            | Lane::Free
            | Lane::Kept { .. } => {}
        }
    }

    /// Not a byte of the frame was written: its owner is back where it was, and the session is as
    /// good as gone, though nobody has said so yet. If the frame is nobody's, the request in the lane may
    /// be about to come back too: the end of the session is what its socket says after that.
    pub(super) fn on_not_sent(&mut self, now: Timestamp, on: ConnectionId, frame: ToUnity) {
        if request_id_of(&frame).is_some_and(|id| self.scheduler.holds(id)) {
            self.return_frame(now, frame);
            if self.link.role(on) == Role::Session {
                self.end_session(now, on, SessionEnd::NotWritable);
            }
        } else if let ToUnity::Cancel(frame) = frame {
            self.return_cancel(frame); // The loss of its session was reported first.
        }
    }

    fn return_frame(&mut self, now: Timestamp, frame: ToUnity) {
        let Lane::Taken { purpose, .. } = self.scheduler.free_lane() else { return };
        match (purpose, frame) {
            (Purpose::Execute { call }, frame) => self.scheduler.return_call(call, frame),
            (Purpose::Submit { job }, frame) => {
                if let Some(record) = self.jobs.get(job) {
                    self.scheduler.return_job(record.ticket, record.arrived, job);
                    self.jobs.return_to_queue(job, frame);
                    self.on_back_in_queue(job);
                }
            }
            (Purpose::Status { job, asker }, _) => {
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply_report(call, job);
                }
            }
            (Purpose::Cancel { .. }, ToUnity::Cancel(frame)) => self.return_cancel(frame),
            (Purpose::Cancel { .. }, _) => {
                debug_assert!(false, "a cancel is with Unity as a cancel");
            }
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
