//! JobManager: work that outlives the call that started it.

use protocol::{JobState, Progress, ToUnity, UnityJobId};

use crate::event::{CancelView, JobReport};
use crate::ids::{CallId, JobId};
use crate::limits::Limits;
use crate::stores::job::{Cancel, Ending, Job, JobDeadline, JobPhase, JobStore, Poll, RunningJob};
use crate::stores::request::Call;
use crate::time::{Deadline, JobTimes, Timestamp, Why};

#[derive(Debug, Default)]
pub(crate) struct JobManager {
    jobs: JobStore,
}

/// What a job that is due wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Poll,
    /// Its limit has passed: ask once more, if Unity is there.
    LastQuestion,
    /// Its limit has passed, and the last question was of no use.
    End,
    Nothing,
}

impl JobManager {
    /// Whatever changes until this is called again, changes now.
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.jobs.set_now(now);
    }

    pub(crate) fn has_room(&self, limits: &Limits) -> bool {
        self.jobs.active_len() < limits.jobs_active_max
    }

    /// The call has become a job: from now on it has an id.
    pub(crate) fn issue(&mut self, id: JobId, call: &Call, frame: ToUnity) {
        let job = Job {
            tool: call.tool,
            request_id: call.request_id.clone(),
            ticket: call.ticket,
            arrived: call.arrived,
            times: JobTimes { issued: self.jobs.now(), changed: self.jobs.now() },
            timeout: call.timeout,
            phase: JobPhase::Queued { frame },
            cancel: None,
            waiters: Vec::new(),
        };
        self.jobs.insert(id, job);
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(id)
    }

    pub(crate) fn report(&self, id: JobId) -> Option<JobReport> {
        let job = self.jobs.get(id)?;
        let (result, error) = match &job.phase {
            JobPhase::Queued { .. } | JobPhase::Submitting | JobPhase::Running(_) => (None, None),
            JobPhase::Ended(ending) => (ending.result.clone(), ending.error.clone()),
        };
        let cancel = job.cancel.as_ref().map(|cancel| match cancel {
            Cancel::UnderWay | Cancel::Unanswered => CancelView::Requested,
            Cancel::Rejected(failure) => CancelView::Rejected(failure.clone()),
        });
        let progress = job.progress().cloned();
        let (state, times) = (job.state(), job.times);
        Some(JobReport { job: id, state, times, progress, result, error, cancel })
    }

    /// The submission leaves for Unity; it can be taken only once.
    pub(crate) fn start(&mut self, id: JobId) -> Option<ToUnity> {
        self.jobs.update(id, |job| {
            match std::mem::replace(&mut job.phase, JobPhase::Submitting) {
                JobPhase::Queued { frame } => Some(frame),
                other @ (JobPhase::Submitting | JobPhase::Running(_) | JobPhase::Ended(_)) => {
                    job.phase = other;
                    None
                }
            }
        })?
    }

    /// The submission came back unsent.
    pub(crate) fn return_to_queue(&mut self, id: JobId, frame: ToUnity) {
        self.jobs.update(id, |job| job.phase = JobPhase::Queued { frame });
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
                deadline: JobDeadline::Limit(sent_at + job.timeout),
            });
        });
    }

    pub(crate) fn end(&mut self, id: JobId, ending: Ending) {
        debug_assert!(ending.state.is_terminal());
        self.jobs.update(id, |job| {
            debug_assert!(!job.state().is_terminal(), "terminal states never change");
            job.phase = JobPhase::Ended(ending);
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

    pub(crate) fn progress(&self, id: JobId) -> Option<Progress> {
        self.jobs.get(id)?.progress().cloned()
    }

    pub(crate) fn state(&self, id: JobId) -> Option<JobState> {
        self.jobs.get(id).map(Job::state)
    }

    pub(crate) fn set_progress(&mut self, id: JobId, progress: Option<Progress>) {
        self.update_running(id, |running| running.progress = progress);
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

    /// The question is over; the next one comes an interval later.
    pub(crate) fn on_question_over(&mut self, now: Timestamp, id: JobId, limits: &Limits) {
        let next = Poll::At(now + limits.job_poll_interval);
        self.update_running(id, |running| running.poll = next);
    }

    /// Since when the job is over its limit, if it is.
    pub(crate) fn over_limit_since(&self, id: JobId) -> Option<Timestamp> {
        let JobPhase::Running(running) = &self.jobs.get(id)?.phase else { return None };
        match running.deadline {
            JobDeadline::Limit(_) => None,
            JobDeadline::LastQuestion { since, .. } => Some(since),
        }
    }

    /// The running job that Unity knows by this name.
    pub(crate) fn with_unity_id(&self, unity_id: &UnityJobId) -> Option<JobId> {
        self.running().into_iter().find(|job| self.unity_id(*job) == Some(unity_id))
    }

    pub(crate) fn due(&self, now: Timestamp, id: JobId) -> Due {
        let phase = self.jobs.get(id).map(|job| &job.phase);
        let Some(JobPhase::Running(running)) = phase else { return Due::Nothing };
        match (running.deadline, running.poll) {
            (JobDeadline::LastQuestion { until, .. }, _) if until <= now => Due::End,
            (JobDeadline::Limit(at), _) if at <= now => Due::LastQuestion,
            (_, Poll::At(at)) if at <= now => Due::Poll,
            (_, Poll::At(_) | Poll::Due | Poll::Asked) => Due::Nothing,
        }
    }

    pub(crate) fn grant_last_question(&mut self, now: Timestamp, id: JobId, limits: &Limits) {
        let deadline = JobDeadline::LastQuestion { since: now, until: now + limits.status_timeout };
        self.update_running(id, |running| running.deadline = deadline);
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

    pub(crate) fn cancel_is_under_way(&self, id: JobId) -> bool {
        let cancel = self.jobs.get(id).and_then(|job| job.cancel.as_ref());
        matches!(cancel, Some(Cancel::UnderWay))
    }

    pub(crate) fn add_waiter(&mut self, id: JobId, call: CallId) {
        self.jobs.update(id, |job| job.waiters.push(call));
    }

    pub(crate) fn remove_waiter(&mut self, id: JobId, call: CallId) {
        self.jobs.update(id, |job| job.waiters.retain(|waiter| *waiter != call));
    }

    pub(crate) fn waiters(&self, id: JobId) -> Vec<CallId> {
        self.jobs.get(id).map(|job| job.waiters.clone()).unwrap_or_default()
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.jobs.first_wake().map(|(at, id)| Deadline { at, why: Why::JobDue(id) })
    }

    pub(crate) fn assert_invariants(&self, limits: &Limits, is_open: impl Fn(CallId) -> bool) {
        let waits = |job: JobId| self.waiters(job).into_iter().all(&is_open);
        debug_assert!(self.running().into_iter().all(waits), "whoever waits for a job is open");
        debug_assert!(self.jobs.ended_len() <= limits.jobs_kept_max, "ended jobs are bounded");
        debug_assert!(self.jobs.active_len() <= limits.jobs_active_max, "active jobs are bounded");
    }
}
