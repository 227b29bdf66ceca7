//! What happens to jobs, and which calls are answered by it.

use protocol::{Cancel as WireCancel, ErrorBody, JobState, JobStatus, UnityJobId};

use super::ExecutionCoordinator;
use crate::cancel_manager::Intent;
use crate::event::{CancelAnswer, Note};
use crate::failure::{ErrorCode, Failure};
use crate::ids::{CallId, JobId};
use crate::job_manager::{Due, Reported};
use crate::stores::job::{Cancel, Ending};
use crate::stores::request::Call;
use crate::time::Timestamp;

impl ExecutionCoordinator {
    /// Answers a call with what is known of a job.
    pub(super) fn reply_about(&mut self, call: CallId, job: JobId) {
        let started_it = self.started_job(call);
        if started_it {
            self.jobs.set_known(job);
        }
        let outcome = self.jobs.tell(job, started_it);
        self.reply(call, outcome);
    }

    pub(super) fn started_job(&self, call: CallId) -> bool {
        self.scheduler.call(call).is_some_and(Call::starts_job)
    }

    /// The state of the job has changed: answers the calls that waited for that.
    pub(super) fn announce(&mut self, job: JobId) {
        let Some(state) = self.jobs.state(job) else { return };
        self.note(Note::JobChanged { job, state });
        for call in self.jobs.take_waiters(job) {
            self.reply_about(call, job);
        }
        if state.is_terminal()
            && let Some(asker) = self.scheduler.take_asker(job)
        {
            self.reply_about(asker, job); // Unity's answer would say nothing new.
        }
    }

    // The end of a job.

    fn end_job(&mut self, now: Timestamp, job: JobId, ending: Ending) {
        let Some(state) = self.jobs.state(job).filter(|state| !state.is_terminal()) else { return };
        let ending = self.end_of_run(job, ending, state != JobState::Queued);
        self.jobs.end(now, job, ending);
        self.cancels.forget(job);
        self.scheduler.withdraw_poll(job);
        self.announce(job); // Before the job may be forgotten to make room.
        self.jobs.retain(&self.limits);
    }

    pub(super) fn fail_job(&mut self, now: Timestamp, job: JobId, failure: Failure) {
        let ending = self.jobs.ending(job, JobState::Failed, Some(failure));
        self.end_job(now, job, ending);
    }

    pub(super) fn end_timed_out(&mut self, now: Timestamp, job: JobId, failure: Failure) {
        let ending = self.jobs.ending(job, JobState::Timeout, Some(failure));
        self.end_job(now, job, ending);
    }

    fn end_cancelled(&mut self, now: Timestamp, job: JobId) {
        let ending = self.jobs.ending(job, JobState::Cancelled, None);
        self.end_job(now, job, ending);
    }

    /// The job's time is over: it ends here, and is cancelled in Unity.
    fn time_out_job(&mut self, now: Timestamp, job: JobId) {
        let timeout = self.jobs.get(job).map(|job| job.asked.timeout).unwrap_or_default();
        let under_way = self.jobs.cancel_is_under_way(job);
        let is_left = self.cancels.must_follow_timeout(job, under_way);
        let is_left = is_left && self.jobs.can_be_cancelled(job);
        let unity_id = self.jobs.unity_id(job).filter(|_| is_left).cloned();
        self.end_timed_out(now, job, Failure::request_timeout(timeout));
        if let Some(unity_id) = unity_id {
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
        let request_id = status.request_id.clone();
        match self.jobs.on_status(now, asked_at, id, status) {
            Reported::GoesOn => self.on_question_over(now, id),
            Reported::OverLimit => self.time_out_job(now, id),
            Reported::Ended(ending) => self.end_job(now, id, ending),
            Reported::Nonsense(problem) => {
                self.note(Note::BadAnswer { request_id, problem });
                self.fail_job(now, id, Failure::bad_answer());
            }
        }
    }

    /// A question is over without an end of the job.
    pub(super) fn on_question_over(&mut self, now: Timestamp, job: JobId) {
        if self.jobs.on_question_over(now, job, &self.limits) {
            self.poll_soon(job);
        }
    }

    pub(super) fn poll_soon(&mut self, job: JobId) {
        if self.jobs.make_due(job) {
            self.scheduler.push_poll(job);
        }
    }

    pub(super) fn on_job_due(&mut self, now: Timestamp, job: JobId) {
        let can_ask = self.is_open();
        match self.jobs.on_due(now, job, can_ask, &self.limits) {
            Due::Nothing => {}
            Due::Ask => self.poll_soon(job),
            Due::TimeOut => self.time_out_job(now, job),
        }
    }

    // Cancel.

    /// `None` if there is no such job.
    pub(super) fn cancel(&mut self, now: Timestamp, job: JobId) -> Option<CancelAnswer> {
        // Unity is told only of what it can cancel; the agent gets the same answer.
        let under_way = self.jobs.cancel_is_under_way(job) || !self.jobs.can_be_cancelled(job);
        let answer = self.cancels.on_request(job, self.jobs.state(job)?, under_way);
        match answer {
            CancelAnswer::Cancelled => self.withdraw_job(now, job),
            CancelAnswer::CancelRequested => self.jobs.set_cancel(job, Cancel::UnderWay),
            CancelAnswer::Rejected => {}
        }
        Some(answer)
    }

    /// A queued job that never reaches Unity.
    pub(super) fn withdraw_job(&mut self, now: Timestamp, job: JobId) {
        let Some(ticket) = self.jobs.get(job).map(|job| job.ticket) else { return };
        self.scheduler.withdraw_job(ticket);
        self.end_cancelled(now, job);
    }

    /// Its submission came back unsent. If it was cancelled in the meantime, it ends here.
    pub(super) fn on_back_in_queue(&mut self, now: Timestamp, job: JobId) {
        if self.jobs.cancel_is_under_way(job) {
            self.withdraw_job(now, job);
        } else {
            self.announce(job);
        }
    }

    /// A job that has ended here, or was given up, and may go on in Unity.
    pub(super) fn cancel_in_unity(&mut self, id: UnityJobId) {
        self.cancels.want(Intent::Orphan(id));
    }

    /// Unity gives this name to a new job. A job that had the name before was in another Editor, which did not
    /// say so. It must be neither asked about nor cancelled under a name that means another job now.
    pub(super) fn lose_namesakes(&mut self, now: Timestamp, id: &UnityJobId) {
        self.cancels.forget_orphan(id);
        if let Some(namesake) = self.jobs.with_unity_id(id) {
            self.fail_job(now, namesake, Failure::job_of_another_editor());
        }
    }

    /// A cancel that was not sent is owed again, even if its job has ended in the meantime.
    pub(super) fn return_cancel(&mut self, frame: WireCancel) {
        self.cancel_had_its_turn = false;
        if let Some(submission) = frame.target_request_id {
            self.cancels.want(Intent::Submission(submission));
        }
        let Some(target) = frame.target_job_id else { return };
        match self.jobs.with_unity_id(&target) {
            Some(job) => {
                self.jobs.set_cancel(job, Cancel::UnderWay);
                self.cancels.want(Intent::Job(job));
            }
            None => self.cancel_in_unity(target),
        }
    }

    pub(super) fn on_cancelled_in_unity(&mut self, now: Timestamp, job: JobId) {
        self.end_cancelled(now, job);
    }

    pub(super) fn on_cancel_refused(&mut self, job: JobId, unity: Option<ErrorBody>) {
        self.jobs.set_cancel(job, Cancel::Rejected(Failure::cancel_rejected(job, unity)));
    }

    /// It is unknown whether Unity has the cancel: the agent may try another one.
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

#[cfg(test)]
mod tests {
    use protocol::codec::decode;
    use protocol::{JobState, Map};

    use crate::{
        Answer, Boot, CallId, CancelAnswer, ConnectionId, Effect, Event, ExecutionCoordinator,
        Limits, RawCall, TOOLS, Timestamp, Tool, validate,
    };

    /// A core whose job cannot be cancelled in Unity, and runs there.
    fn core_with_job() -> ExecutionCoordinator {
        let tool = TOOLS.iter().find(|tool| tool.name == "run_tests").unwrap();
        let tool: &'static Tool =
            Box::leak(Box::new(Tool { supports_cancel: false, ..tool.clone() }));
        let mut core = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
        let on = ConnectionId(1);
        let mut request =
            validate(RawCall { tool: tool.name.to_owned(), arguments: Map::new() }).unwrap();
        request.tool = tool;
        let frame = |text: &str| Event::UnityFrame { on, frame: decode(text.as_bytes()) };
        for event in [
            Event::PortBound,
            Event::UnityOpened { on },
            frame(r#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready"}"#),
            Event::CallReceived { call: CallId(1), request, wants_progress: false },
            frame(
                r#"{"type":"submit_job_result","protocol_version":1,"request_id":"req-t-1","status":"accepted","job_id":"u1"}"#,
            ),
        ] {
            core.handle(Timestamp::default(), event);
        }
        core
    }

    fn is_cancel(effect: &Effect) -> bool {
        matches!(effect, Effect::Send { frame: protocol::ToUnity::Cancel(_), .. })
    }

    #[test]
    fn a_job_that_unity_cannot_cancel_is_cancel_requested_and_nothing_is_sent() {
        let mut core = core_with_job();
        let job = core.jobs.running()[0];
        let arguments =
            Map::from_iter([("job_id".to_owned(), protocol::Json::from(job.to_string()))]);
        let request = validate(RawCall { tool: "cancel_job".to_owned(), arguments }).unwrap();
        let event = Event::CallReceived { call: CallId(2), request, wants_progress: false };
        let effects = core.handle(Timestamp::default(), event);
        let told = effects.iter().find_map(|effect| {
            if let Effect::Reply { outcome: Ok(Answer::Cancel { status, .. }), .. } = effect {
                Some(*status)
            } else {
                None
            }
        });
        assert_eq!(told, Some(CancelAnswer::CancelRequested));
        assert!(!effects.iter().any(is_cancel));
        assert_eq!(core.jobs.state(job), Some(JobState::Running));
    }

    #[test]
    fn a_job_that_unity_cannot_cancel_is_not_cancelled_there_when_its_time_is_over() {
        let mut core = core_with_job();
        let job = core.jobs.running()[0];
        core.time_out_job(Timestamp::default(), job);
        let effects = core.handle(Timestamp::default(), Event::DeadlineReached);
        assert_eq!(core.jobs.state(job), Some(JobState::Timeout));
        assert!(!effects.iter().any(is_cancel));
    }
}
