//! JobStore: the jobs that live, and the last ones that ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use protocol::{JobState, Json, Progress, RequestId, ToUnity, UnityJobId};

use super::queue::Ticket;
use crate::failure::Failure;
use crate::ids::{CallId, JobId};
use crate::time::{JobTimes, Timestamp};
use crate::tool_catalog::Tool;

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) tool: &'static Tool,
    /// Of its submission.
    pub(crate) request_id: RequestId,
    /// Its place in the line, and since when it is there.
    pub(crate) ticket: Ticket,
    pub(crate) arrived: Timestamp,
    pub(crate) times: JobTimes,
    pub(crate) timeout: Duration,
    pub(crate) phase: JobPhase,
    pub(crate) cancel: Option<Cancel>,
    /// Calls parked on it.
    pub(crate) waiters: Vec<CallId>,
}

#[derive(Debug)]
pub(crate) enum JobPhase {
    /// In line: Unity has never heard of it.
    Queued {
        frame: ToUnity,
    },
    /// Its submission is with Unity, which has not said yes. Shown as `running`.
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

/// What became of the wish to cancel a job.
#[derive(Debug)]
pub(crate) enum Cancel {
    /// Unity is owed a cancel, or has it and has not refused.
    UnderWay,
    /// Unity was sent one, but nobody knows whether it heard.
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
    /// The limit has passed; what is asked since then has until then.
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
    /// The moment of the event that is being handled.
    now: Timestamp,
}

impl JobStore {
    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

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
        let shown = (job.state(), job.progress().cloned());
        let changed = change(job);
        if (job.state(), job.progress()) != (shown.0, shown.1.as_ref()) {
            job.times.changed = self.now;
        }
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
