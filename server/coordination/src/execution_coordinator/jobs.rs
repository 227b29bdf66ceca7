//! What happens to jobs, and who is told.

use protocol::{Cancel as WireCancel, ErrorBody, JobState, JobStatus, UnityJobId};

use super::{ExecutionCoordinator, Gate};
use crate::cancel_manager::Intent;
use crate::event::{Answer, CancelAnswer, Note};
use crate::failure::{ErrorCode, Failure};
use crate::ids::{CallId, JobId};
use crate::job_manager::Due;
use crate::stores::job::{Cancel, Ending};
use crate::time::Timestamp;

impl ExecutionCoordinator {
    pub(super) fn is_terminal(&self, job: JobId) -> bool {
        self.jobs.state(job).is_some_and(JobState::is_terminal)
    }

    /// Tells a caller what is known of a job.
    pub(super) fn reply_report(&mut self, call: CallId, job: JobId) {
        let report = self.jobs.report(job).ok_or_else(Failure::no_such_job);
        self.reply(call, report.map(|report| Answer::Job(Box::new(report))));
    }

    /// Tells the caller that started a job how to follow it.
    pub(super) fn reply_accepted(&mut self, call: CallId, job: JobId) {
        let record = self.jobs.get(job).ok_or_else(Failure::no_such_job);
        let accepted = record.map(|record| {
            let (state, times) = (record.state(), record.times);
            Answer::JobAccepted { job, state, times }
        });
        self.reply(call, accepted);
    }

    /// The state of the job has changed: tells whoever waits for that.
    pub(super) fn announce(&mut self, job: JobId) {
        let Some(state) = self.jobs.state(job) else { return };
        self.note(Note::JobChanged { job, state });
        for call in self.jobs.waiters(job) {
            if state.is_terminal() || !self.started_it(call) {
                self.unpark(call, job);
            }
        }
        if state.is_terminal()
            && let Some(asker) = self.scheduler.take_asker(job)
        {
            self.reply_report(asker, job); // Unity's answer could tell it nothing new.
        }
    }

    /// A caller that is parked on its own job waits for the end of it.
    fn started_it(&self, call: CallId) -> bool {
        self.scheduler.call(call).is_some_and(|call| call.tool.starts_a_job())
    }

    /// Answers a parked call with what is known of its job.
    pub(super) fn unpark(&mut self, call: CallId, job: JobId) {
        self.jobs.remove_waiter(job, call);
        match self.jobs.state(job) {
            Some(state) if self.started_it(call) && !state.is_terminal() => {
                self.reply_accepted(call, job);
            }
            Some(_) | None => self.reply_report(call, job),
        }
    }

    // The end of a job.

    /// The only way a job ends, so it ends once.
    fn end_job(&mut self, job: JobId, ending: Ending) {
        if self.is_terminal(job) {
            return;
        }
        self.cancels.forget(job);
        self.scheduler.withdraw_poll(job);
        self.jobs.end(job, ending);
        self.announce(job); // Before the job may be forgotten to make room.
        self.jobs.retain(&self.limits);
    }

    pub(super) fn fail_job(&mut self, job: JobId, failure: Failure) {
        self.end_job_with(job, JobState::Failed, Some(failure));
    }

    fn end_job_with(&mut self, job: JobId, state: JobState, failure: Option<Failure>) {
        let Some(tool) = self.jobs.get(job).map(|job| job.tool) else { return };
        let progress = self.jobs.progress(job);
        let error = failure.map(|failure| failure.for_tool(tool));
        self.end_job(job, Ending { state, progress, result: None, error });
    }

    /// The job's time is over: it ends here, and is cancelled in Unity unless that is under way.
    fn time_out_job(&mut self, job: JobId) {
        let timeout = self.jobs.get(job).map(|job| job.timeout).unwrap_or_default();
        let unity_id = self.jobs.unity_id(job).cloned();
        let is_owed = self.cancels.owes(job);
        let is_sent = self.jobs.cancel_is_under_way(job) && !is_owed;
        self.end_job_with(job, JobState::Timeout, Some(Failure::request_timeout(timeout)));
        if let Some(unity_id) = unity_id.filter(|_| !is_sent) {
            self.cancel_in_unity(unity_id);
        }
    }

    // What Unity says.

    pub(super) fn on_job_status(
        &mut self,
        now: Timestamp,
        asked_at: Timestamp,
        id: JobId,
        status: JobStatus,
    ) {
        let JobStatus { state, progress, result, error, request_id, .. } = status;
        if !state.is_terminal() {
            // `queued` in Unity's own line is running for us: it has been sent.
            self.jobs.set_progress(id, progress);
            return match self.jobs.over_limit_since(id) {
                Some(since) if asked_at >= since => self.time_out_job(id),
                Some(_) | None => self.on_question_over(now, id),
            };
        }
        let Some((tool, timeout)) = self.jobs.get(id).map(|job| (job.tool, job.timeout)) else {
            return;
        };
        if let Some(Err(problem)) = result.as_ref().map(|result| tool.check_answer(result)) {
            self.note(Note::BadAnswer { request_id, problem });
            return self.fail_job(id, Failure::bad_answer());
        }
        let failure = match (state, error) {
            (_, Some(error)) => Some(Failure::job_error(error)),
            (JobState::Timeout, None) => Some(Failure::request_timeout(timeout)),
            (_, None) => None,
        };
        let error = failure.map(|failure| failure.for_tool(tool));
        self.end_job(id, Ending { state, progress, result, error });
    }

    /// A question is over without an end of the job.
    pub(super) fn on_question_over(&mut self, now: Timestamp, job: JobId) {
        self.jobs.on_question_over(now, job, &self.limits);
        if self.jobs.over_limit_since(job).is_some() {
            self.poll_soon(job); // That was not its last question.
        }
    }

    pub(super) fn poll_soon(&mut self, job: JobId) {
        if self.jobs.make_due(job) {
            self.scheduler.push_poll(job);
        }
    }

    pub(super) fn on_job_due(&mut self, now: Timestamp, job: JobId) {
        match self.jobs.due(now, job) {
            Due::Nothing => {}
            Due::Poll => self.poll_soon(job),
            Due::LastQuestion if self.gate == Gate::Open => {
                self.jobs.grant_last_question(now, job, &self.limits);
                self.poll_soon(job);
            }
            Due::LastQuestion | Due::End => self.time_out_job(job),
        }
    }

    // Cancel.

    /// What a cancel means in each state of the job; `None` if there is no such job.
    pub(super) fn cancel(&mut self, job: JobId) -> Option<CancelAnswer> {
        Some(match self.jobs.state(job)? {
            JobState::Queued => {
                self.withdraw_job(job);
                CancelAnswer::Cancelled
            }
            JobState::Running => {
                if !self.jobs.cancel_is_under_way(job) {
                    self.owe_cancel(job);
                }
                CancelAnswer::CancelRequested
            }
            JobState::Succeeded | JobState::Failed | JobState::Timeout | JobState::Cancelled => {
                CancelAnswer::Rejected
            }
        })
    }

    /// A queued job that never reaches Unity.
    pub(super) fn withdraw_job(&mut self, job: JobId) {
        let Some(ticket) = self.jobs.get(job).map(|job| job.ticket) else { return };
        self.scheduler.withdraw_job(ticket);
        self.end_job_with(job, JobState::Cancelled, None);
    }

    /// Its submission came back unsent: a cancel that was asked for meanwhile ends it here.
    pub(super) fn on_back_in_queue(&mut self, job: JobId) {
        if self.jobs.cancel_is_under_way(job) {
            self.withdraw_job(job);
        } else {
            self.announce(job);
        }
    }

    fn owe_cancel(&mut self, job: JobId) {
        self.jobs.set_cancel(job, Cancel::UnderWay);
        self.cancels.want(Intent::Job(job));
    }

    /// A job that has ended here, or was given up, and may go on in Unity.
    pub(super) fn cancel_in_unity(&mut self, id: UnityJobId) {
        self.cancels.want(Intent::Orphan(id));
    }

    /// Unity calls a new job this: whatever was called so before was in another Editor, which did not say
    /// so, and must be neither asked about nor cancelled under a name that means something else now.
    pub(super) fn lose_namesakes(&mut self, id: &UnityJobId) {
        self.cancels.forget_orphan(id);
        if let Some(namesake) = self.jobs.with_unity_id(id) {
            self.fail_job(namesake, Failure::job_of_another_editor());
        }
    }

    /// A cancel that was not sent is owed again, whether or not its job has ended meanwhile.
    pub(super) fn return_cancel(&mut self, frame: WireCancel) {
        let Some(target) = frame.target_job_id else { return };
        match self.jobs.with_unity_id(&target) {
            Some(job) => self.owe_cancel(job),
            None => self.cancel_in_unity(target),
        }
    }

    /// Unity says that the job has ended by the cancel.
    pub(super) fn on_cancelled_in_unity(&mut self, job: JobId) {
        self.end_job_with(job, JobState::Cancelled, None);
    }

    pub(super) fn on_cancel_refused(&mut self, job: JobId, unity: Option<ErrorBody>) {
        self.jobs.set_cancel(job, Cancel::Rejected(Failure::cancel_rejected(job, unity)));
    }

    /// Nobody knows whether Unity heard: another cancel may be tried.
    pub(super) fn on_cancel_unanswered(&mut self, job: Option<JobId>) {
        if let Some(job) = job {
            self.jobs.set_cancel(job, Cancel::Unanswered);
        }
    }
}

/// Unity says that it does not know the job.
pub(super) fn is_unknown_job(error: &ErrorBody) -> bool {
    error.code == ErrorCode::JobNotFound.text()
}
