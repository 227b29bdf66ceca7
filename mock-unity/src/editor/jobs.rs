//! Jobs: work in steps. They run while the main thread runs, and survive a domain reload.

use std::time::Duration;

use protocol::{
    CancelStatus, FromUnity, GetJobStatus, JobState, JobStatus, Json, Progress, RequestId,
    UnityJobId,
};

use super::answers::error;
use crate::room;

/// What a job does. A row of the table of tools makes it.
#[derive(Debug)]
pub(super) struct Work {
    /// The job in a message: "the test run has ended".
    pub(super) noun: &'static str,
    /// Its steps in a message, and the beginning of the job's id.
    pub(super) unit: &'static str,
    pub(super) steps: Vec<Step>,
    /// The state after the last step.
    pub(super) ends: JobState,
    /// What a person is shown when it has ended.
    pub(super) summary: String,
    /// What the server gets when it has ended.
    pub(super) result: Json,
    /// It has no steps to run: it ends when the compile that it starts is over.
    pub(super) awaits_compile: bool,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) takes: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: Vec<Job>,
    made: u64,
    /// When the current step ends; `None` while nothing runs or the main thread is blocked.
    next_at: Option<Duration>,
    /// What was left of the current step when the main thread was blocked.
    rest: Option<Duration>,
}

#[derive(Debug)]
struct Job {
    id: UnityJobId,
    request: RequestId,
    state: JobState,
    work: Work,
    done: usize,
    is_cancelled: bool,
}

impl Jobs {
    /// `request`: the submission.
    pub(super) fn start(&mut self, work: Work, request: &RequestId) -> UnityJobId {
        self.made += 1;
        let id = UnityJobId(format!("{}-{}", work.unit, self.made));
        let state = if work.steps.is_empty() { work.ends } else { JobState::Running };
        let (request, done) = (request.clone(), 0);
        self.jobs.push(Job { id: id.clone(), request, state, work, done, is_cancelled: false });
        id
    }

    pub(super) fn knows(&self, id: &UnityJobId) -> bool {
        self.jobs.iter().any(|job| job.id == *id)
    }

    /// The job that this submission started.
    pub(super) fn submitted_by(&self, request: &RequestId) -> Option<UnityJobId> {
        self.jobs.iter().find(|job| job.request == *request).map(|job| job.id.clone())
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
            Some(job) => {
                format!("{} of {} {} done", job.done, job.work.steps.len(), job.work.unit)
            }
            None => "no job running".to_owned(),
        }
    }

    /// Lets the current step run or stand still. One job runs at a time, in order of their start.
    pub(super) fn set_pace(&mut self, now: Duration, runs: bool) {
        match (runs, self.next_at) {
            (true, None) => {
                let current = self.running().and_then(|job| job.work.steps.get(job.done));
                let takes = current.map(|step| step.takes);
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

    /// The job whose steps run. One that waits for a compile does not keep others from running.
    fn running(&mut self) -> Option<&mut Job> {
        let runs = |job: &&mut Job| job.state == JobState::Running && !job.work.awaits_compile;
        self.jobs.iter_mut().find(runs)
    }

    /// A compile is over. Ends the jobs that waited for it; returns their ids.
    pub(super) fn on_compiled(&mut self, ends: JobState, result: &Json) -> Vec<UnityJobId> {
        let waits = |job: &&mut Job| job.state == JobState::Running && job.work.awaits_compile;
        let ended = self.jobs.iter_mut().filter(waits).map(|job| {
            job.state = ends;
            job.work.result = result.clone();
            job.id.clone()
        });
        ended.collect()
    }

    /// Ends the current step. If that ends the job, says which one and how.
    pub(super) fn finish_step(&mut self, now: Duration) -> Option<(UnityJobId, String)> {
        self.next_at = None;
        let mut end = None;
        if let Some(job) = self.running() {
            job.done += 1;
            let Work { noun, unit, steps, ends, summary, .. } = &job.work;
            if job.is_cancelled {
                job.state = JobState::Cancelled;
                let how = format!("the {noun} was cancelled, {unit} done: {}", job.done);
                end = Some((job.id.clone(), how));
            } else if job.done == steps.len() {
                job.state = *ends;
                end = Some((job.id.clone(), format!("the {noun} has ended: {summary}")));
            }
        }
        self.set_pace(now, true);
        end
    }

    pub(super) fn cancel(&mut self, id: &UnityJobId) -> CancelStatus {
        match self.jobs.iter_mut().find(|job| job.id == *id) {
            Some(job) if !job.state.is_terminal() => {
                job.is_cancelled = true;
                CancelStatus::CancelRequested
            }
            Some(_) | None => CancelStatus::Rejected,
        }
    }

    /// `lie` replaces the true state.
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
        let steps = &job.work.steps;
        let current = steps.get(job.done).map(|step| step.name.clone());
        let progress = Progress { done: job.done as u64, total: steps.len() as u64, current };
        let progress = Some(progress).filter(|_| !job.state.is_terminal());
        let ended = matches!(job.state, JobState::Succeeded | JobState::Failed);
        let result = ended.then(|| room::fit(job.work.result.clone(), frame_max));
        let state = lie.unwrap_or(job.state);
        FromUnity::JobStatus(JobStatus { request_id, job_id, state, progress, result, error: None })
    }
}
