//! JobStore: the jobs that live, and the last ones that ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use protocol::{JobState, Json, Progress, RequestId, ToUnity, UnityJobId};

use super::super::event::CancelView;
use super::super::failure::Failure;
use super::super::ids::{CallId, JobId};
use super::super::time::Timestamp;
use super::super::tool_catalog::Tool;
use super::queue::Ticket;

#[derive(Debug)]
pub(in super::super) struct Job {
    pub(in super::super) tool: &'static Tool,
    /// Of its submission.
    pub(in super::super) request_id: RequestId,
    /// Its place in the line, and since when it is there.
    pub(in super::super) ticket: Ticket,
    pub(in super::super) arrived: Timestamp,
    pub(in super::super) timeout: Duration,
    pub(in super::super) phase: JobPhase,
    pub(in super::super) cancel: Option<CancelView>,
    /// Calls parked on it.
    pub(in super::super) waiters: Vec<CallId>,
}

#[derive(Debug)]
pub(in super::super) enum JobPhase {
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
pub(in super::super) struct RunningJob {
    pub(in super::super) unity_id: UnityJobId,
    pub(in super::super) progress: Option<Progress>,
    pub(in super::super) poll: Poll,
    pub(in super::super) deadline: JobDeadline,
}

/// When Unity is asked for it next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Poll {
    At(Timestamp),
    /// In line.
    Due,
    /// In the lane.
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum JobDeadline {
    /// Its `timeout_ms`.
    Limit(Timestamp),
    /// The limit has passed; the last question has until then.
    LastQuestion(Timestamp),
}

#[derive(Clone, Debug)]
pub(in super::super) struct Ending {
    pub(in super::super) state: JobState,
    pub(in super::super) progress: Option<Progress>,
    pub(in super::super) result: Option<Json>,
    pub(in super::super) error: Option<Failure>,
}

impl Job {
    /// As agents see it.
    pub(in super::super) fn state(&self) -> JobState {
        match &self.phase {
            JobPhase::Queued { .. } => JobState::Queued,
            JobPhase::Submitting | JobPhase::Running(_) => JobState::Running,
            JobPhase::Ended(ending) => ending.state,
        }
    }

    fn wake_at(&self) -> Option<Timestamp> {
        let JobPhase::Running(running) = &self.phase else { return None };
        let (JobDeadline::Limit(end) | JobDeadline::LastQuestion(end)) = running.deadline;
        Some(match running.poll {
            Poll::At(poll) => poll.min(end),
            Poll::Due | Poll::Asked => end,
        })
    }
}

#[derive(Debug, Default)]
pub(in super::super) struct JobStore {
    jobs: BTreeMap<JobId, Job>,
    active: BTreeSet<JobId>,
    /// In the order in which they ended.
    ended: VecDeque<JobId>,
    wake: BTreeSet<(Timestamp, JobId)>,
}

impl JobStore {
    pub(in super::super) fn insert(&mut self, id: JobId, job: Job) {
        self.active.insert(id);
        self.jobs.insert(id, job);
    }

    pub(in super::super) fn get(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id)
    }

    /// The only way a job changes, so that what is derived from it stays true.
    pub(in super::super) fn update<T>(
        &mut self,
        id: JobId,
        change: impl FnOnce(&mut Job) -> T,
    ) -> Option<T> {
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
    pub(in super::super) fn retain(&mut self, max: usize) {
        while self.ended.len() > max {
            if let Some(oldest) = self.ended.pop_front() {
                self.jobs.remove(&oldest);
            }
        }
    }

    pub(in super::super) fn active(&self) -> Vec<JobId> {
        self.active.iter().copied().collect()
    }

    pub(in super::super) fn active_len(&self) -> usize {
        self.active.len()
    }

    pub(in super::super) fn ended_len(&self) -> usize {
        self.ended.len()
    }

    pub(in super::super) fn first_wake(&self) -> Option<(Timestamp, JobId)> {
        self.wake.first().copied()
    }
}
