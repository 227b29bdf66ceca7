//! What Unity answers, or fails to answer, and what that means for the calls and jobs that wait for it.

use protocol::{
    CancelResult, CancelStatus, ErrorMessage, ExecuteOutcome, ExecuteResult, FromUnity, RequestId,
    SubmitJobResult, ToUnity,
};

use super::ExecutionCoordinator;
use super::jobs::is_unknown_job;
use crate::cancel_manager::Intent;
use crate::event::{Answer, Note, SessionEnd};
use crate::failure::{ErrorCode, Failure};
use crate::ids::{CallId, ConnectionId, JobId};
use crate::request_scheduler::{Lane, Purpose, Trip};
use crate::time::Timestamp;

/// Bytes of a name that Unity gives to a job: it is kept for every job.
const UNITY_JOB_ID_MAX: usize = 256;

/// A message that names a request, or what is wrong with it.
pub(super) type UnityAnswer = Result<FromUnity, String>;

impl ExecutionCoordinator {
    /// The first answer to the request in the lane ends the round trip; any other is dropped.
    pub(super) fn on_answer(&mut self, now: Timestamp, request_id: RequestId, answer: UnityAnswer) {
        match self.cancels.take_direct(&request_id) {
            Some(Some(job)) => return self.on_direct_cancel_answer(now, request_id, job, answer),
            Some(None) => return, // Its job has ended. Only the answer to the submission frees the lane.
            None => {}
        }
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
                Purpose::Execute { call } => self.on_execute_answer(now, &trip, call, answer),
                Purpose::Submit { job } => self.on_submit_answer(now, &trip, job, answer),
                Purpose::Status { job, asker } => {
                    self.on_status_answer(now, &trip, job, asker, answer);
                }
                Purpose::Cancel { job } => self.on_cancel_answer(now, &trip, job, answer),
            },
        }
    }

    /// No call waits for it. But a job that Unity accepts too late must not go on running there.
    fn on_stray_answer(&mut self, request_id: RequestId, answer: UnityAnswer) {
        let abandoned = self.cancels.take_abandoned(&request_id);
        match answer {
            Ok(FromUnity::SubmitJobResult(SubmitJobResult { job_id, .. }))
                if abandoned && job_id.0.len() <= UNITY_JOB_ID_MAX =>
            {
                self.note(Note::LateAcceptance { request_id });
                self.cancel_in_unity(job_id);
            }
            Ok(_) | Err(_) => self.note(Note::AnswerDropped { request_id }),
        }
    }

    fn on_execute_answer(
        &mut self,
        now: Timestamp,
        trip: &Trip,
        call: CallId,
        answer: UnityAnswer,
    ) {
        let outcome = match answer {
            Ok(FromUnity::Result(ExecuteResult { outcome: ExecuteOutcome::Ok(given), .. })) => {
                let Some(record) = self.scheduler.call(call) else { return };
                let told = record.asked.tell(given, now.since(trip.sent_at));
                told.map(Answer::Unity).map_err(|problem| self.bad_answer(trip, problem))
            }
            Ok(FromUnity::Result(ExecuteResult {
                outcome: ExecuteOutcome::Error(error), ..
            })) => Err(Failure::unity_execution(error)),
            Ok(FromUnity::Error(ErrorMessage { error, .. })) => Err(Failure::refused(error)),
            Ok(other) => Err(self.wrong_type(trip, &other)),
            Err(problem) => Err(self.bad_answer(trip, problem)),
        };
        self.reply(call, outcome);
    }

    fn on_submit_answer(&mut self, now: Timestamp, trip: &Trip, job: JobId, answer: UnityAnswer) {
        let failure = match answer {
            Ok(FromUnity::SubmitJobResult(SubmitJobResult { job_id, .. }))
                if job_id.0.len() > UNITY_JOB_ID_MAX =>
            {
                self.bad_answer(trip, "its job_id is too long".to_owned())
            }
            Ok(FromUnity::SubmitJobResult(SubmitJobResult { job_id, .. })) => {
                self.lose_namesakes(now, &job_id);
                return self.jobs.on_accepted(now, job, job_id, trip.sent_at, &self.limits);
            }
            Ok(FromUnity::Error(ErrorMessage { error, .. })) => {
                self.cancels.take(job); // There is nothing to cancel.
                Failure::refused(error)
            }
            Ok(other) => self.wrong_type(trip, &other),
            Err(problem) => self.bad_answer(trip, problem),
        };
        self.abandon(job, &trip.request_id);
        self.fail_job(now, job, failure);
    }

    /// A submission ends without Unity's acceptance. If that comes after all, the job is cancelled there. A cancel that
    /// was promised is sent under the name of the submission.
    fn abandon(&mut self, job: JobId, submission: &RequestId) {
        if !self.jobs.can_be_cancelled(job) {
            return;
        }
        if self.cancels.take(job) {
            self.cancels.want(Intent::Submission(submission.clone()));
        }
        self.cancels.abandon(submission.clone(), &self.limits);
    }

    /// Unity's answer to a cancel that names the submission in the lane.
    fn on_direct_cancel_answer(
        &mut self,
        now: Timestamp,
        request_id: RequestId,
        job: JobId,
        answer: UnityAnswer,
    ) {
        match answer {
            Ok(FromUnity::CancelResult(CancelResult { status, .. })) => match status {
                CancelStatus::Cancelled => {
                    self.leave_submission(job);
                    self.on_cancelled_in_unity(now, job);
                }
                CancelStatus::CancelRequested => {}
                CancelStatus::Rejected => self.on_cancel_refused(job, None),
            },
            // The submission never reached Unity, or Unity has forgotten it.
            Ok(FromUnity::Error(ErrorMessage { error, .. })) if is_unknown_job(&error) => {
                self.leave_submission(job);
                self.fail_job(now, job, Failure::job_forgotten(error));
            }
            Ok(FromUnity::Error(ErrorMessage { error, .. })) => {
                self.on_cancel_refused(job, Some(error));
            }
            Ok(other) => {
                let problem = format!("{} does not answer cancel_job", type_of(&other));
                self.note(Note::BadAnswer { request_id, problem });
                self.on_cancel_unanswered(Some(job));
            }
            Err(problem) => {
                self.note(Note::BadAnswer { request_id, problem });
                self.on_cancel_unanswered(Some(job));
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
        if self.jobs.is_terminal(job) {
            return; // It has ended in the meantime, and the asker has its answer.
        }
        let outcome = match answer {
            Ok(FromUnity::JobStatus(status)) if self.jobs.unity_id(job) == Some(&status.job_id) => {
                self.on_job_status(now, trip.sent_at, job, status);
                Ok(())
            }
            Ok(FromUnity::JobStatus(_)) => {
                Err(self.bad_answer(trip, "it names another job".to_owned()))
            }
            Ok(FromUnity::Error(ErrorMessage { error, .. })) if is_unknown_job(&error) => {
                self.fail_job(now, job, Failure::job_forgotten(error));
                Ok(())
            }
            Ok(FromUnity::Error(ErrorMessage { error, .. })) => Err(Failure::refused(error)),
            Ok(other) => Err(self.wrong_type(trip, &other)),
            Err(problem) => Err(self.bad_answer(trip, problem)),
        };
        if outcome.is_err() {
            self.on_question_over(now, job);
        }
        match (asker, outcome) {
            (None, _) => {}
            (Some(call), Ok(())) => self.reply_about(call, job),
            (Some(call), Err(failure)) => self.reply(call, Err(failure)),
        }
    }

    fn on_cancel_answer(
        &mut self,
        now: Timestamp,
        trip: &Trip,
        job: Option<JobId>,
        answer: UnityAnswer,
    ) {
        let Some(job) = job.filter(|job| !self.jobs.is_terminal(*job)) else { return };
        match answer {
            Ok(FromUnity::CancelResult(CancelResult { status, .. })) => match status {
                CancelStatus::Cancelled => self.on_cancelled_in_unity(now, job),
                CancelStatus::CancelRequested => self.poll_soon(job),
                CancelStatus::Rejected => self.on_cancel_refused(job, None),
            },
            Ok(FromUnity::Error(ErrorMessage { error, .. })) if is_unknown_job(&error) => {
                self.poll_soon(job);
            }
            Ok(FromUnity::Error(ErrorMessage { error, .. })) => {
                self.on_cancel_refused(job, Some(error));
            }
            Ok(other) => {
                self.wrong_type(trip, &other);
                self.on_cancel_unanswered(Some(job));
            }
            Err(problem) => {
                self.bad_answer(trip, problem);
                self.on_cancel_unanswered(Some(job));
            }
        }
    }

    /// Nothing more will come of the submission of this job, if it still holds the lane.
    fn leave_submission(&mut self, of: JobId) {
        if let Lane::Taken { purpose: Purpose::Submit { job }, .. } = self.scheduler.lane()
            && *job == of
        {
            self.scheduler.free_lane();
        }
    }

    fn bad_answer(&mut self, trip: &Trip, problem: String) -> Failure {
        self.note(Note::BadAnswer { request_id: trip.request_id.clone(), problem });
        Failure::bad_answer()
    }

    fn wrong_type(&mut self, trip: &Trip, answer: &FromUnity) -> Failure {
        self.bad_answer(trip, format!("{} does not answer {}", type_of(answer), trip.tool_name))
    }

    // No answer.

    /// The one end of a round trip without a good answer: what waits for it gets the failure.
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
                self.abandon(job, &trip.request_id);
                // The shorter of two limits has passed: that of the job, or that of every submission.
                let own_limit = trip.timeout < self.limits.submit_timeout;
                if failure.code == ErrorCode::RequestTimeout && own_limit {
                    self.end_timed_out(now, job, failure);
                } else {
                    self.fail_job(now, job, failure);
                }
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

    /// The caller gets the failure, but Unity is still at work: the lane is kept.
    pub(super) fn give_up_call(&mut self, now: Timestamp, failure: Failure) {
        if let Lane::Taken { trip, purpose } = self.scheduler.lane() {
            let (trip, purpose) = (trip.clone(), *purpose);
            self.scheduler.keep_lane();
            self.fail_trip(now, trip, purpose, failure);
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
        let direct = self.cancels.lose_direct();
        self.on_cancel_unanswered(direct);
        match self.scheduler.lane() {
            Lane::Taken { purpose: Purpose::Status { job, asker }, .. } => {
                let (job, asker) = (*job, *asker);
                self.scheduler.free_lane();
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply_about(call, job);
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

    /// Not a byte of the frame was written: its owner is back where it was. The session cannot be written to,
    /// so it ends. If the frame belongs to no request in the lane, that request may come back next, and the
    /// socket reports the end of the session after that.
    pub(super) fn on_not_sent(&mut self, now: Timestamp, on: ConnectionId, frame: ToUnity) {
        let Some(id) = request_id_of(&frame) else { return };
        let direct = self.cancels.take_direct(id);
        if direct.is_some() || self.scheduler.holds(id) {
            match direct {
                Some(Some(job)) => self.cancels.want(Intent::Job(job)),
                Some(None) => {
                    if let ToUnity::Cancel(frame) = frame {
                        self.return_cancel(frame);
                    }
                }
                None => self.return_frame(now, frame),
            }
            if self.link.is_session(on) {
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
                    self.scheduler.return_job(record.ticket, record.times.submitted, job);
                    self.jobs.return_to_queue(now, job, frame);
                    self.on_back_in_queue(now, job);
                }
            }
            (Purpose::Status { job, asker }, _) => {
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply_about(call, job);
                }
            }
            (Purpose::Cancel { .. }, ToUnity::Cancel(frame)) => self.return_cancel(frame),
            (Purpose::Cancel { .. }, _) => {
                debug_assert!(false, "a cancel is with Unity as a cancel");
            }
        }
    }
}

/// The type on the wire.
fn type_of(message: &FromUnity) -> &'static str {
    match message {
        FromUnity::Hello(_) => "hello",
        FromUnity::Capability(_) => "capability",
        FromUnity::EditorStatus(_) => "editor_status",
        FromUnity::Pong(_) => "pong",
        FromUnity::Result(_) => "result",
        FromUnity::SubmitJobResult(_) => "submit_job_result",
        FromUnity::JobStatus(_) => "job_status",
        FromUnity::CancelResult(_) => "cancel_result",
        FromUnity::Error(_) => "error",
    }
}

/// The request that a message answers.
pub(super) fn answered_by(message: &FromUnity) -> Option<&RequestId> {
    match message {
        FromUnity::Result(message) => Some(&message.request_id),
        FromUnity::SubmitJobResult(message) => Some(&message.request_id),
        FromUnity::JobStatus(message) => Some(&message.request_id),
        FromUnity::CancelResult(message) => Some(&message.request_id),
        FromUnity::Error(message) => message.request_id.as_ref(),
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_) => None,
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
