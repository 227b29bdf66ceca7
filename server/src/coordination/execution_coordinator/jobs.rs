//! What happens to jobs, and who is told.

use protocol::{ErrorBody, JobState, JobStatus, Json, UnityJobId};

use super::super::cancel_manager::Intent;
use super::super::event::{Answer, CancelView, Note};
use super::super::failure::{ErrorCode, Failure};
use super::super::ids::{CallId, JobId};
use super::super::job_manager::Due;
use super::super::stores::job::Ending;
use super::super::time::Timestamp;
use super::super::tool_catalog::{Route, Tool};
use super::{ExecutionCoordinator, Gate};

impl ExecutionCoordinator {
    /// The state of the job has changed: tells whoever is parked on it.
    pub(super) fn announce(&mut self, job: JobId) {
        let Some(state) = self.jobs.get(job).map(|job| job.state()) else { return };
        self.note(Note::JobChanged { job, state });
        for call in self.jobs.waiters(job) {
            let waits_for_the_end =
                self.scheduler.call(call).is_some_and(|call| call.tool.starts_a_job());
            if state.is_terminal() || !waits_for_the_end {
                self.unpark(call, job);
            }
        }
        if state.is_terminal()
            && let Some(asker) = self.scheduler.take_asker(job)
        {
            self.answer_asker(Some(asker), job); // Unity's answer could tell it nothing new.
        }
    }

    /// Answers a parked call with what is known of its job.
    pub(super) fn unpark(&mut self, call: CallId, job: JobId) {
        self.jobs.remove_waiter(job, call);
        let Some(report) = self.jobs.report(job) else { return };
        let started_it = self.scheduler.call(call).is_some_and(|call| call.tool.starts_a_job());
        let answer = if started_it && !report.state.is_terminal() {
            Answer::JobAccepted { job, state: report.state }
        } else {
            Answer::Job(Box::new(report))
        };
        self.reply(call, Ok(answer));
    }

    /// The only way a job ends, so it ends once.
    pub(super) fn end_job(&mut self, job: JobId, ending: Ending) {
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
        self.end_job_with(job, JobState::Failed, failure);
    }

    fn end_job_with(&mut self, job: JobId, state: JobState, failure: Failure) {
        let Some(tool) = self.jobs.get(job).map(|job| job.tool) else { return };
        let progress = self.jobs.progress(job).and_then(|(_, progress)| progress);
        let error = Some(failure.for_tool(tool));
        self.end_job(job, Ending { state, progress, result: None, error });
    }

    /// A queued job that never reaches Unity.
    pub(super) fn withdraw_job(&mut self, job: JobId) {
        let Some(ticket) = self.jobs.get(job).map(|job| job.ticket) else { return };
        self.scheduler.withdraw_job(ticket);
        let state = JobState::Cancelled;
        self.end_job(job, Ending { state, progress: None, result: None, error: None });
    }

    /// Unity said how the job is.
    pub(super) fn on_job_status(&mut self, now: Timestamp, id: JobId, status: JobStatus) {
        let JobStatus { state, progress, result, error, .. } = status;
        if !state.is_terminal() {
            // `queued` in Unity's own line is running for us: it has been sent.
            self.jobs.set_progress(id, progress);
            return self.on_question_over(now, id);
        }
        let Some(tool) = self.jobs.get(id).map(|job| job.tool) else { return };
        if result.as_ref().is_some_and(|result| check_result(tool, result).is_err()) {
            return self.fail_job(id, Failure::bad_answer());
        }
        let error = match (state, error) {
            (_, Some(error)) => Some(Failure::refused(error)),
            (JobState::Timeout, None) => {
                let timeout = self.jobs.get(id).map(|job| job.timeout).unwrap_or_default();
                Some(Failure::request_timeout(timeout))
            }
            (_, None) => None,
        };
        let error = error.map(|failure| failure.for_tool(tool));
        self.end_job(id, Ending { state, progress, result, error });
    }

    /// A question is over without an end of the job.
    pub(super) fn on_question_over(&mut self, now: Timestamp, job: JobId) {
        self.jobs.on_question_over(now, job, &self.limits);
        if self.jobs.is_out_of_time(job) {
            self.time_out_job(job);
        }
    }

    pub(super) fn on_job_unknown_to_unity(&mut self, job: JobId, error: ErrorBody) {
        self.fail_job(job, Failure::job_forgotten(error));
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
                self.jobs.grant_last_question(job, now + self.limits.status_timeout);
                self.poll_soon(job);
            }
            Due::LastQuestion | Due::End => self.time_out_job(job),
        }
    }

    /// The job's time is over: it ends here, and is cancelled in Unity unless that is under way.
    fn time_out_job(&mut self, job: JobId) {
        let Some(record) = self.jobs.get(job) else { return };
        let failure = Failure::request_timeout(record.timeout);
        let was_asked_for = record.cancel == Some(CancelView::Requested);
        let unity_id = self.jobs.unity_id(job).cloned();
        let was_owed = self.cancels.forget(job);
        self.end_job_with(job, JobState::Timeout, failure);
        if was_owed || !was_asked_for {
            unity_id.into_iter().for_each(|id| self.cancel_in_unity(id));
        }
    }

    /// A job that nobody here waits for any more.
    pub(super) fn cancel_in_unity(&mut self, id: UnityJobId) {
        self.cancels.want(Intent::Orphan(id));
    }

    /// Unity says that the job has ended by the cancel.
    pub(super) fn on_cancelled_in_unity(&mut self, job: JobId) {
        let progress = self.jobs.progress(job).and_then(|(_, progress)| progress);
        let state = JobState::Cancelled;
        self.end_job(job, Ending { state, progress, result: None, error: None });
    }

    /// A cancel that was not sent is owed again.
    pub(super) fn return_cancel(&mut self, job: Option<JobId>, target: Option<UnityJobId>) {
        match (job, target) {
            (Some(job), _) => self.cancels.want(Intent::Job(job)),
            (None, Some(target)) => self.cancels.want(Intent::Orphan(target)),
            (None, None) => {}
        }
    }

    pub(super) fn on_cancel_refused(&mut self, job: JobId, unity: Option<ErrorBody>) {
        let failure = Failure::cancel_rejected(job, unity);
        self.jobs.set_cancel(job, CancelView::Rejected(failure));
    }
}

/// Whether a result is what the tool's row says.
fn check_result(tool: &Tool, result: &Json) -> Result<(), String> {
    match &tool.route {
        Route::SubmitJob { result: shape } => shape.check(result),
        Route::EditorState | Route::Execute { .. } | Route::JobStatus | Route::CancelJob => Ok(()),
    }
}

/// Unity says that it does not know the job.
pub(super) fn is_unknown_job(error: &ErrorBody) -> bool {
    error.code == ErrorCode::JobNotFound.text()
}
