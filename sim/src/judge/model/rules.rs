//! Deadlines: what is due when, and what must follow.

use coordination::{ErrorCode, Guarantee, Reason};
use protocol::{EditorState, JobState};

use super::answers::unknown;
use super::refusals::not_executed;
use super::{
    Ask, Call, CallState, Editor, Expect, Job, JobLife, Lane, Millis, Model, Owed, Trip, Who,
};

impl Model {
    fn millis(wait: std::time::Duration) -> Millis {
        wait.as_millis() as Millis
    }

    fn wait_limit(&self, reason: Reason) -> Millis {
        Self::millis(match reason {
            Reason::Disconnected | Reason::Unresponsive => self.limits.reconnect_wait,
            Reason::Compiling | Reason::Reloading => self.limits.compile_grace,
        })
    }

    fn grace(&self) -> Millis {
        Self::millis(self.limits.compile_grace)
    }

    fn wait_over_at(&self) -> Option<(Millis, Reason)> {
        let (since, reason) = (self.closed_since?, self.reason()?);
        let first = self.queue.front()?;
        Some((first.arrived.max(since) + self.wait_limit(reason), reason))
    }

    fn trip_over_at(&self) -> Option<Millis> {
        match self.lane {
            Lane::Busy { sent, timeout, .. } => Some(sent + timeout),
            Lane::Free | Lane::Kept { .. } => None,
        }
    }

    fn memory_over_at(&self) -> Option<Millis> {
        match self.editor {
            Editor::Remembered(_, at) => Some(at + self.grace()),
            Editor::Unknown | Editor::Seen(..) => None,
        }
    }

    /// While the Editor is ready, a call is queued behind others for so long.
    fn queue_over_at(&self) -> Option<(Millis, u64)> {
        let open_since = self.open_since.filter(|_| self.closed_since.is_none())?;
        let first = self.queue.iter().find_map(|entry| match entry.who {
            Who::Call(id) => Some((entry.arrived, id)),
            Who::Job(_) => None,
        });
        let (arrived, id) = first?;
        Some((arrived.max(open_since) + Self::millis(self.limits.queue_wait_max), id))
    }

    /// By then a question about a job is answered from what is known.
    fn status_over_at(&self) -> Option<Millis> {
        let waits = self.calls.values().filter_map(|call| match (&call.ask, call.state) {
            (Ask::Status { wait, .. }, CallState::Waiting) => Some(call.arrived + 1_000.max(*wait)),
            _ => None,
        });
        waits.min()
    }

    fn jobs_over_at(&self) -> Option<Millis> {
        Some(self.lost_at.filter(|_| self.holds_jobs)? + self.grace())
    }

    fn window_over_at(&self) -> Option<Millis> {
        let window = match self.editor_state() {
            Some(EditorState::Compiling | EditorState::Reloading) => self.grace(),
            Some(EditorState::Ready) | None => Self::millis(self.limits.reconnect_wait),
        };
        Some(self.lost_at.filter(|_| self.holds_call)? + window)
    }

    pub(super) fn pong_over_at(&self) -> Option<Millis> {
        let limit = match self.editor_state() {
            Some(EditorState::Ready) => Self::millis(self.limits.heartbeat_timeout),
            Some(EditorState::Compiling | EditorState::Reloading) | None => self.grace(),
        };
        Some(self.ping_at? + limit)
    }

    pub(super) fn stuck_at(&self) -> Option<Millis> {
        match self.lane {
            Lane::Kept { on, sent, timeout, .. }
                if self.session.is_some() && on == self.session =>
            {
                Some((sent + timeout).max(self.confirmed_at) + self.grace())
            }
            Lane::Kept { .. } | Lane::Free | Lane::Busy { .. } => None,
        }
    }

    /// A kept request of an earlier session blocks this session until its own timeout.
    fn outlived_at(&self) -> Option<Millis> {
        match self.lane {
            Lane::Kept { on, sent, timeout, .. }
                if self.session.is_some() && on != self.session =>
            {
                Some(sent + timeout)
            }
            Lane::Kept { .. } | Lane::Free | Lane::Busy { .. } => None,
        }
    }

    /// The next time at which something must happen.
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        if self.stopped {
            return None;
        }
        let jobs = self.jobs.iter().filter_map(|job| match job.state {
            JobLife::Running { limit, last_question, .. } => {
                Some(last_question.map_or(limit, |granted| granted + 5_000))
            }
            JobLife::Queued | JobLife::Submitting | JobLife::Ended(..) => None,
        });
        let parks = self.calls.values().filter_map(|call| match call.state {
            CallState::Parked { until, .. } => Some(until),
            CallState::Waiting | CallState::InLane | CallState::Following(_) => None,
        });
        [
            self.wait_over_at().map(|(at, _)| at),
            self.trip_over_at(),
            self.outlived_at(),
            self.memory_over_at(),
            self.window_over_at(),
            self.jobs_over_at(),
            self.queue_over_at().map(|(at, _)| at),
            self.status_over_at(),
            self.pong_over_at(),
        ]
        .into_iter()
        .flatten()
        .chain(jobs)
        .chain(parks)
        .min()
    }

    /// Meets all deadlines up to `now`. At the same time: waits, then the trip, then memory, then the window.
    pub(crate) fn expire(&mut self, now: Millis) {
        // No time passes between the loss of a session and the next session that waits.
        while !self.stopped && self.must_adopt.is_none() {
            if let Some((_, reason)) = self.wait_over_at().filter(|(at, _)| *at <= now) {
                self.wait_over(reason);
            } else if self.trip_over_at().is_some_and(|at| at <= now) {
                self.trip_over();
            } else if self.outlived_at().is_some_and(|at| at <= now) {
                self.lane = Lane::Free;
                self.coverage.mark("a request of an earlier session had its time");
            } else if self.memory_over_at().is_some_and(|at| at <= now) {
                self.editor = Editor::Unknown;
                self.coverage.mark("a remembered compile was forgotten");
            } else if self.window_over_at().is_some_and(|at| at <= now) {
                self.window_over();
            } else if self.jobs_over_at().is_some_and(|at| at <= now) {
                self.jobs_over();
            } else if let Some((_, call)) = self.queue_over_at().filter(|(at, _)| *at <= now) {
                self.coverage.mark("waited too long behind others");
                self.queue.retain(|entry| entry.who != Who::Call(call));
                self.fails(call, ErrorCode::EditorNotReady, Guarantee::NotExecuted);
            } else {
                break;
            }
            self.update_gate(now);
        }
    }

    fn wait_over(&mut self, reason: Reason) {
        let code = match reason {
            Reason::Disconnected | Reason::Unresponsive => ErrorCode::EditorNotReady,
            Reason::Compiling | Reason::Reloading => ErrorCode::CompileTimeout,
        };
        self.coverage.mark(match reason {
            Reason::Disconnected => "waited too long for an Editor",
            Reason::Unresponsive => "waited too long behind an overdue request",
            Reason::Compiling => "waited too long for a compile",
            Reason::Reloading => "waited too long for a reload",
        });
        match self.queue.pop_front().map(|entry| entry.who) {
            Some(Who::Call(call)) => self.fails(call, code, Guarantee::NotExecuted),
            Some(Who::Job(job)) => {
                self.ending.push((job, JobState::Failed, Some(not_executed(code))))
            }
            None => {}
        }
    }

    fn trip_over(&mut self) {
        let Lane::Busy { request, on, what, sent, timeout } = self.lane.clone() else { return };
        self.lane = match what {
            Trip::Execute(_) | Trip::Submit(_) => {
                Lane::Kept { request: request.clone(), on, sent, timeout }
            }
            Trip::Status(..) | Trip::Cancel(_) => Lane::Free,
        };
        match what {
            Trip::Execute(call) => self.fails(call, ErrorCode::RequestTimeout, Guarantee::Unknown),
            Trip::Submit(job) => {
                self.coverage.mark("a submission timed out");
                self.abandon(job, request);
                let state = if timeout < 30_000 { JobState::Timeout } else { JobState::Failed };
                self.ending.push((job, state, Some(unknown(ErrorCode::RequestTimeout))));
            }
            Trip::Status(_, asker) => {
                self.coverage.mark("a question timed out");
                if let Some(call) = asker {
                    self.fails(call, ErrorCode::RequestTimeout, Guarantee::Unknown);
                }
            }
            Trip::Cancel(job) => {
                self.coverage.mark("a cancel was not answered");
                self.cancel_unanswered(job);
            }
        }
    }

    fn window_over(&mut self) {
        self.holds_call = false;
        self.coverage.mark("a reconnect window closed");
        self.give_up_trip(ErrorCode::ReconnectTimeout);
    }

    fn jobs_over(&mut self) {
        self.holds_jobs = false;
        for job in 0..self.jobs.len() {
            if let Some(Job { state: JobLife::Running { unity, .. }, .. }) = self.jobs.get(job) {
                if self.owed.contains(&Owed::Job(job)) {
                    self.owe(Owed::Orphan(unity.clone()));
                }
                self.coverage.mark("a job was kept for the grace and lost");
                let fault = unknown(ErrorCode::ReconnectTimeout);
                self.ending.push((job, JobState::Failed, Some(fault)));
            }
        }
    }

    /// Unity will not answer the request in the lane.
    pub(super) fn give_up_trip(&mut self, code: ErrorCode) {
        match std::mem::replace(&mut self.lane, Lane::Free) {
            Lane::Busy { what: Trip::Execute(call), .. } => {
                self.fails(call, code, Guarantee::Unknown);
            }
            Lane::Busy { what: Trip::Submit(job), request, .. } => {
                self.abandon(job, request);
                self.ending.push((job, JobState::Failed, Some(unknown(code))));
            }
            Lane::Busy { what: Trip::Status(..) | Trip::Cancel(_), .. }
            | Lane::Free
            | Lane::Kept { .. } => {}
        }
    }

    pub(super) fn fails(&mut self, call: u64, code: ErrorCode, guarantee: Guarantee) {
        self.answer(call, Expect::Fails(code, guarantee));
    }

    /// Opens or closes the gate; when it opens, waiting runs become jobs in their order.
    pub(super) fn update_gate(&mut self, now: Millis) {
        match (self.reason(), self.closed_since) {
            (None, closed_since) => {
                // What closes and opens at the same moment was never closed.
                if closed_since.is_some_and(|since| since != now) || self.open_since.is_none() {
                    self.open_since = Some(now);
                }
                self.closed_since = None;
                self.accept_jobs(now);
            }
            (Some(_), None) => self.closed_since = Some(now),
            (Some(_), Some(_)) => {}
        }
    }

    fn accept_jobs(&mut self, now: Millis) {
        if self.stopped {
            return;
        }
        for index in 0..self.queue.len() {
            let Some(Who::Call(id)) = self.queue.get(index).map(|entry| entry.who) else {
                continue;
            };
            let Some(Call { ask: Ask::Job { tool, wait }, arrived, run, .. }) =
                self.calls.get(&id).cloned()
            else {
                continue;
            };
            if !self.offers(tool) {
                self.fails(id, ErrorCode::UnknownCommand, Guarantee::NotExecuted);
            } else if self.active_jobs() >= self.limits.jobs_active_max {
                self.fails(id, ErrorCode::QueueFull, Guarantee::NotExecuted);
            } else if self.tests_old_code(tool) || !self.may_run(run.as_deref()) {
                self.fails(id, ErrorCode::EditorNotReady, Guarantee::NotExecuted);
            } else {
                let job = self.issue_job(id, tool);
                self.run_is_job(now, id, job);
                if let Some(entry) = self.queue.get_mut(index) {
                    entry.who = Who::Job(job);
                }
                if arrived + wait > now {
                    self.park(id, job, arrived + wait);
                } else {
                    self.answer(id, Expect::Accepted(job));
                }
            }
        }
        let failed = |id: u64| {
            let is_answered = |(call, _): &(u64, Expect)| *call == id;
            self.expected.iter().any(is_answered) || !self.calls.contains_key(&id)
        };
        self.queue.retain(|entry| !matches!(entry.who, Who::Call(id) if failed(id)));
    }

    fn issue_job(&mut self, id: u64, tool: &'static str) -> usize {
        if let Some(call) = self.calls.get(&id) {
            self.jobs.push(Job {
                tool,
                request: call.request,
                run: call.run.clone(),
                client: call.client.clone(),
                arrival: call.arrival,
                arrived: call.arrived,
                timeout: call.timeout,
                state: JobLife::Queued,
                cancel_requested: false,
                is_known: false,
            });
        }
        self.jobs.len() - 1
    }

    pub(super) fn park(&mut self, id: u64, job: usize, until: Millis) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.state = CallState::Parked { job, until };
        }
    }
}
