//! JobManager: work that outlives the call that started it.

use protocol::{JobState, JobStatus, Progress, ToUnity, UnityJobId};

use crate::event::{Answer, CancelView, JobReport, JobSummary, Outcome};
use crate::failure::Failure;
use crate::ids::{CallId, JobId};
use crate::limits::Limits;
use crate::stores::job::{
    Cancel, Ending, Job, JobDeadline, JobPhase, JobStore, Poll, RunningJob, Waiter,
};
use crate::stores::request::Call;
use crate::time::{Deadline, JobTimes, Timestamp, Why};
use crate::tool_answers;

#[derive(Debug, Default)]
pub(crate) struct JobManager {
    jobs: JobStore,
}

/// What a job that is due needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A question to Unity.
    Ask,
    /// Its time is over.
    TimeOut,
    Nothing,
}

/// What Unity's report on a job means.
#[derive(Debug)]
pub(crate) enum Reported {
    GoesOn,
    /// It goes on, but its time was over when it was asked about.
    OverLimit,
    Ended(Ending),
    /// The report makes no sense; this says why.
    Nonsense(String),
}

impl JobManager {
    pub(crate) fn has_room(&self, limits: &Limits) -> bool {
        self.jobs.active_len() < limits.jobs_active_max
    }

    /// The call has become a job: from now on it has an id.
    pub(crate) fn issue(&mut self, now: Timestamp, id: JobId, call: &Call, frame: ToUnity) {
        let job = Job {
            asked: call.asked.clone(),
            request_id: call.request_id.clone(),
            ticket: call.ticket,
            times: JobTimes {
                submitted: call.times.arrived,
                sent: None,
                issued: now,
                changed: now,
            },
            phase: JobPhase::Queued { frame },
            cancel: None,
            waiters: Vec::new(),
            is_known: false,
        };
        self.jobs.insert(id, job);
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(id)
    }

    pub(crate) fn state(&self, id: JobId) -> Option<JobState> {
        self.jobs.get(id).map(Job::state)
    }

    pub(crate) fn is_terminal(&self, id: JobId) -> bool {
        self.state(id).is_some_and(JobState::is_terminal)
    }

    /// The answer to a call about a job. A caller that started it gets its id until it has ended.
    pub(crate) fn tell(&self, id: JobId, started_it: bool) -> Outcome {
        let job = self.jobs.get(id).ok_or_else(Failure::no_such_job)?;
        let (state, times) = (job.state(), job.times);
        if started_it && !state.is_terminal() {
            return Ok(Answer::JobAccepted { job: id, state, times });
        }
        let (result, error) = match &job.phase {
            JobPhase::Queued { .. } | JobPhase::Submitting | JobPhase::Running(_) => (None, None),
            JobPhase::Ended(ending) => (ending.result.clone(), ending.error.clone()),
        };
        let cancel = job.cancel.as_ref().map(|cancel| match cancel {
            Cancel::UnderWay | Cancel::Unanswered => CancelView::Requested,
            Cancel::Rejected(failure) => CancelView::Rejected(failure.clone()),
        });
        let progress = job.progress().cloned();
        let report = JobReport { job: id, state, times, progress, result, error, cancel };
        Ok(Answer::Job(Box::new(report)))
    }

    /// Every job that has not ended, and the last `ended_max` that ended, newest first.
    pub(crate) fn summaries(&self, now: Timestamp, ended_max: usize) -> Vec<JobSummary> {
        let newest = self.jobs.active().into_iter().rev().chain(self.jobs.last_ended(ended_max));
        let summary = |id: JobId| {
            let job = self.jobs.get(id)?;
            let submitted = job.times.submitted;
            let (tool_name, state) = (job.asked.tool.name, job.state());
            Some(JobSummary { job: id, tool_name, state, submitted, age: now.since(submitted) })
        };
        newest.filter_map(summary).collect()
    }

    // Life.

    /// The submission leaves for Unity. It can be taken only once.
    pub(crate) fn start(&mut self, now: Timestamp, id: JobId) -> Option<ToUnity> {
        self.jobs.update(id, |job| {
            match std::mem::replace(&mut job.phase, JobPhase::Submitting) {
                JobPhase::Queued { frame } => {
                    job.times.changed = now;
                    job.times.sent = Some(now);
                    Some(frame)
                }
                other @ (JobPhase::Submitting | JobPhase::Running(_) | JobPhase::Ended(_)) => {
                    job.phase = other;
                    None
                }
            }
        })?
    }

    /// The submission came back unsent.
    pub(crate) fn return_to_queue(&mut self, now: Timestamp, id: JobId, frame: ToUnity) {
        self.jobs.update(id, |job| {
            job.phase = JobPhase::Queued { frame };
            job.times.changed = now;
            job.times.sent = None;
        });
    }

    /// Unity has it. Its time counts from the submission.
    pub(crate) fn on_accepted(
        &mut self,
        now: Timestamp,
        id: JobId,
        unity_id: UnityJobId,
        sent_at: Timestamp,
        limits: &Limits,
    ) {
        self.jobs.update(id, |job| {
            job.phase = JobPhase::Running(RunningJob {
                unity_id,
                progress: None,
                poll: Poll::At(now + limits.job_poll_interval),
                deadline: JobDeadline::Limit(sent_at + job.asked.timeout),
            });
        });
    }

    pub(crate) fn on_status(
        &mut self,
        now: Timestamp,
        asked_at: Timestamp,
        id: JobId,
        status: JobStatus,
    ) -> Reported {
        let JobStatus { state, progress, result, error, .. } = status;
        let progress = progress.map(tool_answers::progress);
        if !state.is_terminal() {
            // `queued` in Unity's own line is running for us: it has been sent.
            self.set_progress(now, id, progress);
            return match self.over_limit_since(id) {
                Some(since) if asked_at >= since => Reported::OverLimit,
                Some(_) | None => Reported::GoesOn,
            };
        }
        let Some(job) = self.jobs.get(id) else { return Reported::GoesOn };
        let took = job.times.sent.map(|sent| now.since(sent)).unwrap_or_default();
        let told = result.map(|given| job.asked.tell(given, took)).transpose();
        let result = match told {
            Ok(told) => told,
            Err(problem) => return Reported::Nonsense(problem),
        };
        let problem = result.as_ref().and_then(|told| job.asked.problem(told));
        let (state, failure) = match (state, error, problem) {
            (_, Some(error), _) => (state, Some(Failure::job_error(error))),
            (JobState::Timeout, None, _) => {
                (state, Some(Failure::request_timeout(job.asked.timeout)))
            }
            (JobState::Succeeded | JobState::Failed, None, Some(problem)) => {
                (JobState::Failed, Some(Failure::unwanted_outcome(problem)))
            }
            (_, None, _) => (state, None),
        };
        let error = failure.map(|failure| failure.for_tool(job.asked.tool));
        Reported::Ended(Ending { state, progress, result, error })
    }

    /// How a job ends that Unity does not report on.
    pub(crate) fn ending(&self, id: JobId, state: JobState, failure: Option<Failure>) -> Ending {
        let job = self.jobs.get(id);
        let error = failure.zip(job).map(|(failure, job)| failure.for_tool(job.asked.tool));
        Ending { state, progress: self.progress(id), result: None, error }
    }

    /// The only way a job ends. A terminal state never changes.
    pub(crate) fn end(&mut self, now: Timestamp, id: JobId, ending: Ending) {
        debug_assert!(ending.state.is_terminal());
        self.jobs.update(id, |job| {
            debug_assert!(!job.state().is_terminal());
            job.phase = JobPhase::Ended(ending);
            job.times.changed = now;
        });
    }

    pub(crate) fn retain(&mut self, limits: &Limits) {
        self.jobs.retain(limits.jobs_kept_max);
    }

    // Running jobs.

    pub(crate) fn unity_id(&self, id: JobId) -> Option<&UnityJobId> {
        match &self.jobs.get(id)?.phase {
            JobPhase::Running(running) => Some(&running.unity_id),
            JobPhase::Queued { .. } | JobPhase::Submitting | JobPhase::Ended(_) => None,
        }
    }

    pub(crate) fn running(&self) -> Vec<JobId> {
        let is_running = |id: &JobId| self.unity_id(*id).is_some();
        self.jobs.active().into_iter().filter(is_running).collect()
    }

    /// The running job that Unity knows by this name.
    pub(crate) fn with_unity_id(&self, unity_id: &UnityJobId) -> Option<JobId> {
        self.running().into_iter().find(|job| self.unity_id(*job) == Some(unity_id))
    }

    pub(crate) fn progress(&self, id: JobId) -> Option<Progress> {
        self.jobs.get(id)?.progress().cloned()
    }

    fn set_progress(&mut self, now: Timestamp, id: JobId, progress: Option<Progress>) {
        self.jobs.update(id, |job| {
            if let JobPhase::Running(running) = &mut job.phase
                && running.progress != progress
            {
                running.progress = progress;
                job.times.changed = now;
            }
        });
    }

    /// Puts the job in line to be asked about; false if it is there already.
    pub(crate) fn make_due(&mut self, id: JobId) -> bool {
        let changed = self.update_running(id, |running| {
            let waits = matches!(running.poll, Poll::At(_));
            if waits {
                running.poll = Poll::Due;
            }
            waits
        });
        changed.unwrap_or(false)
    }

    pub(crate) fn on_asked(&mut self, id: JobId) {
        self.update_running(id, |running| running.poll = Poll::Asked);
    }

    /// A question is over without an end of the job. True if the job needs another one at once, because its
    /// last question was not answered.
    pub(crate) fn on_question_over(&mut self, now: Timestamp, id: JobId, limits: &Limits) -> bool {
        let next = Poll::At(now + limits.job_poll_interval);
        self.update_running(id, |running| running.poll = next);
        self.over_limit_since(id).is_some()
    }

    /// Since when the job is over its limit, if it is.
    fn over_limit_since(&self, id: JobId) -> Option<Timestamp> {
        let JobPhase::Running(running) = &self.jobs.get(id)?.phase else { return None };
        match running.deadline {
            JobDeadline::Limit(_) => None,
            JobDeadline::LastQuestion { since, .. } => Some(since),
        }
    }

    /// What the job needs now. At its limit it is asked about once more, if Unity can be asked.
    pub(crate) fn on_due(
        &mut self,
        now: Timestamp,
        id: JobId,
        can_ask: bool,
        limits: &Limits,
    ) -> Due {
        let last = JobDeadline::LastQuestion { since: now, until: now + limits.status_timeout };
        let due = self.update_running(id, |running| match (running.deadline, running.poll) {
            (JobDeadline::LastQuestion { until, .. }, _) if until <= now => Due::TimeOut,
            (JobDeadline::Limit(at), _) if at <= now && can_ask => {
                running.deadline = last;
                Due::Ask
            }
            (JobDeadline::Limit(at), _) if at <= now => Due::TimeOut,
            (_, Poll::At(at)) if at <= now => Due::Ask,
            (_, Poll::At(_) | Poll::Due | Poll::Asked) => Due::Nothing,
        });
        due.unwrap_or(Due::Nothing)
    }

    fn update_running<T>(
        &mut self,
        id: JobId,
        change: impl FnOnce(&mut RunningJob) -> T,
    ) -> Option<T> {
        self.jobs.update(id, |job| match &mut job.phase {
            JobPhase::Running(running) => Some(change(running)),
            JobPhase::Queued { .. } | JobPhase::Submitting | JobPhase::Ended(_) => None,
        })?
    }

    // Cancel and waiters.

    pub(crate) fn set_cancel(&mut self, id: JobId, cancel: Cancel) {
        self.jobs.update(id, |job| job.cancel = Some(cancel));
    }

    /// Whether Unity can cancel it.
    pub(crate) fn can_be_cancelled(&self, id: JobId) -> bool {
        self.jobs.get(id).is_some_and(|job| job.asked.tool.supports_cancel)
    }

    pub(crate) fn cancel_is_under_way(&self, id: JobId) -> bool {
        let cancel = self.jobs.get(id).and_then(|job| job.cancel.as_ref());
        matches!(cancel, Some(Cancel::UnderWay))
    }

    pub(crate) fn add_waiter(&mut self, id: JobId, waiter: Waiter) {
        self.jobs.update(id, |job| job.waiters.push(waiter));
    }

    pub(crate) fn has_waiter(&self, id: JobId, call: CallId) -> bool {
        let waits = |job: &Job| job.waiters.iter().any(|waiter| waiter.call == call);
        self.jobs.get(id).is_some_and(waits)
    }

    /// Nobody waits for its end, and no caller that started it was told its id.
    pub(crate) fn is_unwanted(&self, id: JobId) -> bool {
        let waits = |job: &Job| job.waiters.iter().any(|waiter| waiter.for_end);
        self.jobs.get(id).is_some_and(|job| !job.is_known && !waits(job))
    }

    /// A caller that started it gets its id.
    pub(crate) fn set_known(&mut self, id: JobId) {
        self.jobs.update(id, |job| job.is_known = true);
    }

    /// Every job that has not ended.
    pub(crate) fn active(&self) -> Vec<JobId> {
        self.jobs.active()
    }

    pub(crate) fn remove_waiter(&mut self, id: JobId, call: CallId) {
        self.jobs.update(id, |job| job.waiters.retain(|waiter| waiter.call != call));
    }

    /// The state of the job has changed. Takes the calls that waited for that.
    pub(crate) fn take_waiters(&mut self, id: JobId) -> Vec<CallId> {
        let taken = self.jobs.update(id, |job| {
            let ended = job.state().is_terminal();
            let (told, waiting): (Vec<Waiter>, Vec<Waiter>) =
                job.waiters.iter().partition(|waiter| ended || !waiter.for_end);
            job.waiters = waiting;
            told.into_iter().map(|waiter| waiter.call).collect()
        });
        taken.unwrap_or_default()
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.jobs.first_wake().map(|(at, id)| Deadline { at, why: Why::JobDue(id) })
    }

    pub(crate) fn assert_invariants(&self, limits: &Limits, is_open: impl Fn(CallId) -> bool) {
        let waits = |job: &Job| job.waiters.iter().all(|waiter| is_open(waiter.call));
        let running = self.running();
        let mut running = running.iter().filter_map(|id| self.jobs.get(*id));
        debug_assert!(running.all(waits), "a call that waits for a job is open");
        debug_assert!(self.jobs.ended_len() <= limits.jobs_kept_max, "ended jobs are bounded");
        debug_assert!(self.jobs.active_len() <= limits.jobs_active_max, "active jobs are bounded");
    }
}
