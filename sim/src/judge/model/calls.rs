//! Events of agents, and what must follow from them.

use coordination::{CancelAnswer, ErrorCode, Guarantee};
use protocol::JobState;

use super::refusals::can_be_cancelled;
use super::{
    Ask, Asked, Call, CallState, Expect, Lane, Millis, Model, Owed, QueueEntry, Trip, Who,
};

impl Model {
    pub(crate) fn on_call(
        &mut self,
        now: Millis,
        id: u64,
        Asked { ask, client, timeout, params }: Asked,
    ) {
        self.requests += 1;
        self.arrivals += 1;
        let (request, arrival) = (self.requests, self.arrivals);
        let known = match &ask {
            Ask::Status { job, .. } => self.job_named(job).map(|job| self.job_state(job)),
            Ask::Execute { .. } | Ask::Job { .. } | Ask::Cancel { .. } | Ask::State => None,
        };
        let state = CallState::Waiting;
        let call = Call {
            ask: ask.clone(),
            run: self.run_name(&ask, client.as_deref()),
            is_repeat: false,
            is_left: false,
            client,
            request,
            arrival,
            arrived: now,
            timeout,
            known,
            state,
        };
        self.calls.insert(id, call);
        let run = self.calls.get(&id).and_then(|call| call.run.clone());
        let may_repeat = matches!(ask, Ask::Execute { .. } | Ask::Job { .. });
        let repeats = may_repeat && self.repeats(now, id, &params);
        if self.stopped && !repeats && ask != Ask::State {
            let expect = self.rejection(run.as_deref(), ErrorCode::EditorNotReady);
            return self.expected.push((id, expect));
        }
        match ask {
            Ask::State => {}
            Ask::Execute { .. } | Ask::Job { .. } if repeats => {}
            Ask::Execute { .. } | Ask::Job { .. } => {
                let no_job = matches!(ask, Ask::Job { .. })
                    && self.active_jobs() >= self.limits.jobs_active_max;
                if self.queue.len() >= self.limits.queue_max || no_job {
                    let expect = self.rejection(run.as_deref(), ErrorCode::QueueFull);
                    return self.expected.push((id, expect));
                }
                self.begin_run(id, params);
                self.queue.push_back(QueueEntry { arrival, arrived: now, who: Who::Call(id) });
            }
            Ask::Status { .. } => self.control.push_back(id),
            Ask::Cancel { job } => self.on_cancel_job(id, &job),
        }
        self.update_gate(now);
    }

    /// Answered at once, whatever the state is.
    fn on_cancel_job(&mut self, id: u64, name: &str) {
        if name.starts_with("req-") {
            return self.fails(id, ErrorCode::CancelNotSupported, Guarantee::NotExecuted);
        }
        let Some(job) = self.job_named(name) else {
            return self.fails(id, ErrorCode::JobNotFound, Guarantee::NotExecuted);
        };
        let answer = match self.job_state(job) {
            JobState::Queued => {
                self.withdraw(job);
                CancelAnswer::Cancelled
            }
            JobState::Running => {
                self.owe_cancel(job);
                CancelAnswer::CancelRequested
            }
            JobState::Succeeded | JobState::Failed | JobState::Timeout | JobState::Cancelled => {
                CancelAnswer::Rejected
            }
        };
        self.expected.push((id, Expect::Cancel(job, answer)));
    }

    /// A queued job ends without being sent.
    fn withdraw(&mut self, job: usize) {
        self.queue.retain(|entry| entry.who != Who::Job(job));
        self.ending.push((job, JobState::Cancelled, None));
    }

    pub(crate) fn on_cancelled(&mut self, now: Millis, id: u64) {
        if !self.goes_on_for_others(id)
            && let Some(call) = self.calls.remove(&id)
        {
            self.abandon_run(&call);
            self.leave(id, &call);
        }
        self.update_gate(now);
    }

    /// The agent has cancelled, or its adapter broke.
    pub(super) fn leave(&mut self, id: u64, call: &Call) {
        self.queue.retain(|entry| entry.who != Who::Call(id));
        self.control.retain(|other| *other != id);
        match call.state {
            CallState::Waiting => self.coverage.mark("a queued call was cancelled"),
            CallState::InLane => self.leave_lane(id),
            CallState::Parked { job, .. } => {
                self.coverage.mark("a call that waits for its job was cancelled");
                match self.job_state(job) {
                    _ if self.is_wanted(job, id) => {}
                    JobState::Queued => self.withdraw(job),
                    JobState::Running => self.owe_cancel(job),
                    JobState::Succeeded
                    | JobState::Failed
                    | JobState::Timeout
                    | JobState::Cancelled => {}
                }
            }
            CallState::Following(first) => self.follower_left(id, first),
        }
    }

    fn leave_lane(&mut self, id: u64) {
        self.coverage.mark("a running call was cancelled");
        match &mut self.lane {
            Lane::Busy { what: Trip::Execute(call), request, on, sent, timeout } if *call == id => {
                let (request, on, sent, timeout) = (request.clone(), *on, *sent, *timeout);
                self.lane = Lane::Kept { request, on, sent, timeout };
            }
            Lane::Busy { what: Trip::Status(_, asker), .. } if *asker == Some(id) => *asker = None,
            Lane::Busy { .. } | Lane::Free | Lane::Kept { .. } => {}
        }
    }

    pub(super) fn owe_cancel(&mut self, index: usize) {
        if let Some(job) = self.jobs.get_mut(index)
            && !job.cancel_requested
        {
            job.cancel_requested = true;
            if can_be_cancelled(job.tool) {
                self.owe(Owed::Job(index));
            }
        }
    }

    pub(crate) fn on_broke(&mut self, now: Millis, id: u64) {
        let Some(call) = self.calls.get(&id).cloned() else { return };
        let sent = self.was_sent(&call);
        self.coverage.mark(if sent {
            "an adapter broke after its call was sent"
        } else {
            "an adapter broke before its call was sent"
        });
        // The model does not follow a waiting status call; it has sent nothing.
        if sent {
            self.fails(id, ErrorCode::InvalidResponse, Guarantee::Unknown);
        } else {
            self.fails(id, ErrorCode::UnityExecution, Guarantee::NotExecuted);
        }
        self.leave(id, &call);
        self.update_gate(now);
    }

    pub(crate) fn on_stop(&mut self, now: Millis) {
        self.stopped = true;
        let ids: Vec<u64> = self.calls.keys().copied().collect();
        for id in ids {
            let is_answered = self.expected.iter().any(|(answered, _)| *answered == id);
            let Some(call) = self.calls.get(&id).filter(|_| !is_answered) else { continue };
            if self.was_sent(call) {
                self.fails(id, ErrorCode::UnityDisconnected, Guarantee::Unknown);
            } else {
                self.fails(id, ErrorCode::EditorNotReady, Guarantee::NotExecuted);
            }
        }
        self.lane = Lane::Free;
        self.queue.clear();
        self.control.clear();
        self.lose(now);
    }
}
