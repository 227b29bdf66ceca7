//! Changes of jobs that the server reports, compared with what may happen.

use coordination::{ErrorCode, JobId};
use protocol::JobState;

use super::answers::unknown;
use super::refusals::can_be_cancelled;
use super::{Checked, Expect, Fault, JobLife, Lane, Millis, Model, Owed, Trip, Who};

impl Model {
    pub(super) fn check_job(&mut self, now: Millis, job: JobId, state: JobState) -> Checked {
        let text = job.to_string();
        let Some(index) = self.job_named(&text) else { return Err(format!("no {text}")) };
        if self.job_state(index).is_terminal() {
            return Err(format!("{text} changed after its end"));
        }
        let must = self.ending.iter().position(|(job, must, _)| *job == index && *must == state);
        if let Some((_, state, code)) = must.map(|at| self.ending.remove(at)) {
            self.end_job(index, state, code);
            return Ok(());
        }
        let head = self.queue.front().map(|entry| entry.who);
        match (state, &self.jobs.get(index).map(|job| job.state.clone())) {
            (JobState::Running, Some(JobLife::Submitting)) => Ok(()),
            (JobState::Queued, Some(JobLife::Queued)) => Ok(()),
            (JobState::Timeout, Some(JobLife::Running { limit, .. })) if now >= *limit => {
                self.end_job(index, state, Some(unknown(ErrorCode::RequestTimeout)));
                Ok(())
            }
            (JobState::Failed, Some(JobLife::Queued))
                if head == Some(Who::Job(index)) && self.cannot_start(index).is_some() =>
            {
                self.queue.pop_front();
                let fault = self.cannot_start(index);
                self.end_job(index, state, fault);
                Ok(())
            }
            (_, life) => Err(format!("{text} became {state:?} out of {life:?}")),
        }
    }

    fn end_job(&mut self, index: usize, state: JobState, fault: Option<Fault>) {
        self.coverage.mark(match state {
            JobState::Succeeded => "a job succeeded",
            JobState::Failed => "a job failed",
            JobState::Timeout => "a job timed out",
            JobState::Cancelled => "a job was cancelled",
            JobState::Queued | JobState::Running => "a job did not end",
        });
        let was_owed = self.owed.contains(&Owed::Job(index));
        self.owed.retain(|owed| *owed != Owed::Job(index));
        self.direct.take_if(|(_, job)| *job == Some(index));
        if let Some(job) = self.jobs.get_mut(index) {
            let unity = match &job.state {
                JobLife::Running { unity, .. } if state == JobState::Timeout => Some(unity.clone()),
                JobLife::Queued
                | JobLife::Submitting
                | JobLife::Running { .. }
                | JobLife::Ended(..) => None,
            };
            // A job that times out is cancelled in Unity, unless a cancel is on its way.
            let under_way = job.cancel_requested && !was_owed;
            let is_timeout = fault.is_some_and(|(code, _)| code == ErrorCode::RequestTimeout);
            if is_timeout && !under_way && can_be_cancelled(job.tool) {
                unity
                    .map(Owed::Orphan)
                    .into_iter()
                    .for_each(|orphan| super::owe(&mut self.owed, orphan));
            }
        }
        let was_sent = self.jobs.get(index).is_some_and(|job| job.state != JobLife::Queued);
        let fault = self.end_of_run(index, was_sent, fault);
        if let Some(job) = self.jobs.get_mut(index) {
            job.state = JobLife::Ended(state, fault);
        }
        if let Lane::Busy { what: Trip::Status(asked, asker), .. } = &mut self.lane
            && *asked == index
            && let Some(call) = asker.take()
        {
            self.coverage.mark("a job ended while a call asked about it");
            self.expected.push((call, Expect::Job(index)));
        }
        self.ended.push_back(index);
        if self.ended.len() > self.limits.jobs_kept_max {
            self.ended.pop_front();
            self.coverage.mark("an ended job was forgotten");
        }
    }
}
