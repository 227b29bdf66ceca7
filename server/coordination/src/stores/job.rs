//! JobStore: the jobs that have not ended, and the last ones that ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::{JobState, Json, Progress, RequestId, ToUnity, UnityJobId};

use super::queue::Ticket;
use crate::failure::Failure;
use crate::ids::{CallId, JobId};
use crate::request_validator::ValidCall;
use crate::time::{JobTimes, Timestamp};

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) asked: ValidCall,
    /// Of its submission.
    pub(crate) request_id: RequestId,
    /// Its place in the line, and since when it has it.
    pub(crate) ticket: Ticket,
    pub(crate) times: JobTimes,
    pub(crate) phase: JobPhase,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) waiters: Vec<Waiter>,
    /// A caller that started it was told its id.
    pub(crate) is_known: bool,
}

/// A call that is parked on a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) call: CallId,
    /// It waits for the end of the job, not just for a change.
    pub(crate) for_end: bool,
}

#[derive(Debug)]
pub(crate) enum JobPhase {
    /// In line. Nothing was sent to Unity.
    Queued {
        frame: ToUnity,
    },
    /// Its submission is with Unity, which has not answered. Shown as `running`.
    Submitting,
    Running(RunningJob),
    Ended(Ending),
}

#[derive(Debug)]
pub(crate) struct RunningJob {
    pub(crate) unity_id: UnityJobId,
    pub(crate) progress: Option<Progress>,
    pub(crate) poll: Poll,
    pub(crate) deadline: JobDeadline,
}

/// What became of a request to cancel a job.
#[derive(Debug)]
pub(crate) enum Cancel {
    /// Unity is owed a cancel, or has it and has not refused.
    UnderWay,
    /// Unity was sent one and did not answer.
    Unanswered,
    Rejected(Failure),
}

/// When Unity is asked about it next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Poll {
    At(Timestamp),
    /// In line.
    Due,
    /// In the lane.
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobDeadline {
    /// Its `timeout_ms`.
    Limit(Timestamp),
    /// The limit has passed. A question that was sent after `since` has until `until`.
    LastQuestion { since: Timestamp, until: Timestamp },
}

#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) state: JobState,
    pub(crate) progress: Option<Progress>,
    pub(crate) result: Option<Json>,
    pub(crate) error: Option<Failure>,
}

impl Job {
    /// As agents see it.
    pub(crate) fn state(&self) -> JobState {
        match &self.phase {
            JobPhase::Queued { .. } => JobState::Queued,
            JobPhase::Submitting | JobPhase::Running(_) => JobState::Running,
            JobPhase::Ended(ending) => ending.state,
        }
    }

    pub(crate) fn progress(&self) -> Option<&Progress> {
        match &self.phase {
            JobPhase::Queued { .. } | JobPhase::Submitting => None,
            JobPhase::Running(running) => running.progress.as_ref(),
            JobPhase::Ended(ending) => ending.progress.as_ref(),
        }
    }

    fn wake_at(&self) -> Option<Timestamp> {
        let JobPhase::Running(running) = &self.phase else { return None };
        let (JobDeadline::Limit(end) | JobDeadline::LastQuestion { until: end, .. }) =
            running.deadline;
        Some(match running.poll {
            Poll::At(poll) => poll.min(end),
            Poll::Due | Poll::Asked => end,
        })
    }
}

#[derive(Debug, Default)]
pub(crate) struct JobStore {
    jobs: BTreeMap<JobId, Job>,
    active: BTreeSet<JobId>,
    /// In the order in which they ended.
    ended: VecDeque<JobId>,
    wake: BTreeSet<(Timestamp, JobId)>,
}

impl JobStore {
    pub(crate) fn insert(&mut self, id: JobId, job: Job) {
        self.active.insert(id);
        self.jobs.insert(id, job);
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    /// The only way a job changes, so that what is derived from it stays true.
    pub(crate) fn update<T>(&mut self, id: JobId, change: impl FnOnce(&mut Job) -> T) -> Option<T> {
        let job = self.jobs.get_mut(&id)?;
        if let Some(at) = job.wake_at() {
            self.wake.remove(&(at, id));
        }
        let changed = change(job);
        if let Some(at) = job.wake_at() {
            self.wake.insert((at, id));
        }
        if job.state().is_terminal() && self.active.remove(&id) {
            self.ended.push_back(id);
        }
        Some(changed)
    }

    /// Forgets the oldest ended jobs beyond `max`.
    pub(crate) fn retain(&mut self, max: usize) {
        while self.ended.len() > max {
            if let Some(oldest) = self.ended.pop_front() {
                self.jobs.remove(&oldest);
            }
        }
    }

    /// The last `max` jobs that ended, newest first.
    pub(crate) fn last_ended(&self, max: usize) -> impl Iterator<Item = JobId> {
        self.ended.iter().rev().take(max).copied()
    }

    pub(crate) fn active(&self) -> Vec<JobId> {
        self.active.iter().copied().collect()
    }

    pub(crate) fn active_len(&self) -> usize {
        self.active.len()
    }

    pub(crate) fn ended_len(&self) -> usize {
        self.ended.len()
    }

    pub(crate) fn first_wake(&self) -> Option<(Timestamp, JobId)> {
        self.wake.first().copied()
    }
}
