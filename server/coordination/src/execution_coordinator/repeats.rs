//! Calls that repeat a `client_request_id` (catalogue 1.1): they get the answer of the first one, and run nothing.

use super::ExecutionCoordinator;
use crate::deduplicator::{Doubt, Meaning, Told};
use crate::event::{Answer, Outcome};
use crate::failure::{Failure, Guarantee};
use crate::ids::{CallId, JobId};
use crate::request_validator::ValidCall;
use crate::stores::job::{Ending, Waiter};
use crate::stores::request::{Call, Phase};
use crate::time::Timestamp;

impl ExecutionCoordinator {
    pub(super) fn meaning(&self, asked: &ValidCall) -> Meaning {
        match self.run_name(asked) {
            Some(name) => self.repeats.meaning(name, asked, |job| self.jobs.state(job).is_some()),
            None => Meaning::New,
        }
    }

    /// The `client_request_id`, if it names one run of a deduplicated tool.
    fn run_name<'a>(&self, asked: &'a ValidCall) -> Option<&'a str> {
        let deduplicated = self.limits.catalog.deduplicates(asked.tool);
        asked.client_request_id.as_deref().filter(|_| deduplicated)
    }

    /// Why a call is rejected. Not `not_executed`, if one before it may have run.
    pub(super) fn rejection(&self, asked: &ValidCall, failure: Failure) -> Failure {
        let doubt = self.run_name(asked).and_then(|name| self.repeats.doubt(name));
        doubt.map_or(failure, |doubt| doubt.failure.clone().replayed())
    }

    /// A new call runs.
    pub(super) fn begin_run(&mut self, call: CallId, asked: &ValidCall) {
        let Some(name) = self.run_name(asked) else { return };
        let earlier = self.repeats.doubt(name).and_then(|doubt| self.jobs.get(doubt.job?));
        if let Some(earlier) = earlier {
            self.cancels.forgive(&earlier.request_id);
        }
        let jobs = &self.jobs;
        let is_active = |job| jobs.state(job).is_some_and(|state| !state.is_terminal());
        self.repeats.begin(name, call, asked, self.limits.repeats_max, is_active);
    }

    /// A repeated call about a job waits for its end, or is answered at once.
    pub(super) fn attach(&mut self, now: Timestamp, id: CallId, call: Call, job: JobId) {
        let until = call.wait_until();
        let is_over = self.jobs.state(job).is_none_or(protocol::JobState::is_terminal);
        self.scheduler.add(id, call);
        if until > now && !is_over && !self.is_stopping() {
            self.scheduler.park(id, job, until);
            self.jobs.add_waiter(job, Waiter { call: id, for_end: true });
        } else {
            self.reply_about(id, job);
        }
    }

    // What happens to the call that runs.

    pub(super) fn may_run(&self, asked: &ValidCall) -> bool {
        let name = self.run_name(asked);
        name.is_none_or(|name| self.repeats.may_send(name, self.link.request_book()))
    }

    pub(super) fn on_run_sent(&mut self, asked: &ValidCall) {
        if let Some(name) = self.run_name(asked) {
            let name = name.to_owned();
            self.repeats.on_sent(&name, self.link.request_book());
        }
    }

    /// The call that runs has become a job: so have those that follow it.
    pub(super) fn on_run_is_job(&mut self, now: Timestamp, first: CallId, job: JobId) {
        let Some(asked) = self.scheduler.call(first).map(|call| call.asked.clone()) else { return };
        if let Some(name) = self.run_name(&asked) {
            self.repeats.on_job(name, job);
        }
        for follower in self.scheduler.followers(first) {
            if let Some(call) = self.scheduler.remove(follower) {
                self.attach(now, follower, call, job);
            }
        }
    }

    /// A call has this outcome. Returns what its caller, and those that follow it, get.
    pub(super) fn end_run(&mut self, ended: &Call, outcome: Outcome) -> Outcome {
        let Some(name) = self.run_name(&ended.asked) else { return outcome };
        let told = if ended.is_repeated {
            self.repeats.told(name, outcome)
        } else {
            self.repeats.on_outcome(name, outcome)
        };
        match told {
            Told::Outcome(outcome) => outcome,
            Told::Doubt(Doubt { job: Some(job), .. }) if self.jobs.get(job).is_some() => {
                replayed(self.jobs.tell(job, true))
            }
            Told::Doubt(Doubt { failure, .. }) => Err(failure.replayed()),
        }
    }

    /// The caller of a call that runs is gone. True if others still wait for its outcome: then it goes on.
    pub(super) fn goes_on_for_others(&mut self, id: CallId) -> bool {
        let has_followers = !self.scheduler.followers(id).is_empty();
        if has_followers {
            self.scheduler.leave_to_followers(id);
        }
        has_followers
    }

    /// The caller of a call that ran alone is gone, and nobody gets its outcome.
    pub(super) fn abandon_run(&mut self, call: &Call) {
        let Some(name) = self.run_name(&call.asked).filter(|_| !call.is_repeated) else { return };
        let failure = match call.phase {
            Phase::InLine(_) => Failure::broken_before_sending(),
            Phase::InLane => Failure::cancelled_while_running().for_tool(call.asked.tool),
            Phase::Parked { .. } | Phase::Following { .. } => return,
        };
        let name = name.to_owned();
        // Its caller gets no answer; a repeated call does.
        drop(self.repeats.on_outcome(&name, Err(failure)));
    }

    /// A follower is gone. If it was the last one that wanted the outcome, the call that runs is not wanted any more.
    pub(super) fn on_follower_gone(&mut self, now: Timestamp, first: CallId) {
        let is_left = self.scheduler.call(first).is_some_and(|call| call.is_left);
        if is_left && self.scheduler.followers(first).is_empty() {
            self.on_call_cancelled(now, first);
        }
    }

    /// How a job ends. If it did not run, a repeated call runs it; but if the call before it may have run, that is
    /// all there is to say.
    pub(super) fn end_of_run(&mut self, job: JobId, mut ending: Ending, was_sent: bool) -> Ending {
        let Some(record) = self.jobs.get(job) else { return ending };
        let Some(name) = self.run_name(&record.asked) else { return ending };
        let not_executed = |error: &Failure| error.guarantee == Guarantee::NotExecuted;
        let ran = was_sent && !ending.error.as_ref().is_some_and(not_executed);
        let name = name.to_owned();
        let before = self.repeats.on_job_ended(&name, job, ending.error.as_ref(), ran);
        ending.error = before.map(Failure::replayed).or(ending.error);
        ending
    }
}

/// The answer to an earlier call.
pub(super) fn replayed(outcome: Outcome) -> Outcome {
    match outcome {
        Ok(answer @ Answer::Replayed(_)) => Ok(answer),
        Ok(answer) => Ok(Answer::Replayed(Box::new(answer))),
        Err(failure) => Err(failure.replayed()),
    }
}
