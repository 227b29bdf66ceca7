//! Jobs: test runs, test by test. They go on while the main thread does, and survive a domain reload.

use std::time::Duration;

use protocol::{CancelStatus, FromUnity, GetJobStatus, JobState, JobStatus, Progress, UnityJobId};

use super::answers::error;
use crate::suite::{Test, report};

#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: Vec<Job>,
    made: u64,
    /// When the test that is running ends; `None` while nothing runs or the main thread is busy.
    next_at: Option<Duration>,
    /// What is left of the test that is running, counted when it was interrupted.
    rest: Option<Duration>,
}

#[derive(Debug)]
struct Job {
    id: UnityJobId,
    state: JobState,
    tests: Vec<Test>,
    done: usize,
    ends_early: bool,
}

impl Jobs {
    pub(super) fn start(&mut self, tests: Vec<Test>) -> UnityJobId {
        self.made += 1;
        let id = UnityJobId(format!("tests-{}", self.made));
        let state = if tests.is_empty() { JobState::Succeeded } else { JobState::Running };
        self.jobs.push(Job { id: id.clone(), state, tests, done: 0, ends_early: false });
        id
    }

    pub(super) fn knows(&self, id: &UnityJobId) -> bool {
        self.jobs.iter().any(|job| job.id == *id)
    }

    pub(super) fn forget(&mut self) {
        self.jobs.clear();
        (self.next_at, self.rest) = (None, None);
    }

    pub(super) fn next_at(&self) -> Option<Duration> {
        self.next_at
    }

    pub(super) fn describe(&self) -> String {
        match self.jobs.iter().find(|job| job.state == JobState::Running) {
            Some(job) => format!("{} of {} tests done", job.done, job.tests.len()),
            None => "no tests running".to_owned(),
        }
    }

    /// Tests go on, or stand still: one run at a time, in order of their start.
    pub(super) fn set_pace(&mut self, now: Duration, goes_on: bool) {
        match (goes_on, self.next_at) {
            (true, None) => {
                let current = self.running().and_then(|job| job.tests.get(job.done));
                let takes = current.map(|test| test.takes);
                let left = self.rest.take().or(takes);
                self.next_at = left.filter(|_| takes.is_some()).map(|left| now + left);
            }
            (false, Some(at)) => {
                self.rest = Some(at.saturating_sub(now));
                self.next_at = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn running(&mut self) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.state == JobState::Running)
    }

    /// The test that was running has ended; says so if its run has too.
    pub(super) fn finish_test(&mut self, now: Duration) -> Option<String> {
        self.next_at = None;
        let mut end = None;
        if let Some(job) = self.running() {
            job.done += 1;
            let failed = job.failed().count();
            if job.ends_early {
                job.state = JobState::Cancelled;
                end = Some(format!("the test run was cancelled after {} tests", job.done));
            } else if job.done == job.tests.len() {
                job.state = if failed == 0 { JobState::Succeeded } else { JobState::Failed };
                end = Some(format!("the test run has ended: {} tests, {failed} failed", job.done));
            }
        }
        self.set_pace(now, true);
        end
    }

    pub(super) fn cancel(&mut self, id: &UnityJobId) -> CancelStatus {
        match self.jobs.iter_mut().find(|job| job.id == *id) {
            Some(job) if !job.state.is_terminal() => {
                job.ends_early = true;
                CancelStatus::CancelRequested
            }
            Some(_) | None => CancelStatus::Rejected,
        }
    }

    /// `lie`: what to say instead of the truth.
    pub(super) fn status(
        &self,
        frame: GetJobStatus,
        lie: Option<JobState>,
        frame_max: usize,
    ) -> FromUnity {
        let GetJobStatus { request_id, job_id } = frame;
        let Some(job) = self.jobs.iter().find(|job| job.id == job_id) else {
            return error(request_id, "ERR_JOB_NOT_FOUND", "the job is not known here");
        };
        let current = job.tests.get(job.done).map(|test| test.name.clone());
        let progress = Progress { done: job.done as u64, total: job.tests.len() as u64, current };
        let progress = Some(progress).filter(|_| !job.state.is_terminal());
        let ended = matches!(job.state, JobState::Succeeded | JobState::Failed);
        let result = ended.then(|| report(&job.tests, frame_max));
        let state = lie.unwrap_or(job.state);
        FromUnity::JobStatus(JobStatus { request_id, job_id, state, progress, result, error: None })
    }
}

impl Job {
    fn failed(&self) -> impl Iterator<Item = &Test> {
        let done = self.tests.iter().take(self.done);
        done.filter(|test| test.outcome == crate::suite::TestOutcome::Fail)
    }
}
