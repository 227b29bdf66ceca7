//! What time does, and what must hold when a step is over.

use coordination::{ErrorCode, Guarantee, Reason};
use protocol::{EditorState, JobState};

use super::{
    Ask, Call, CallState, Checked, Editor, Expect, Job, JobLife, Lane, Millis, Model, Owed, Trip,
    Who,
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
        let first = self.line.front()?;
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

    fn window_over_at(&self) -> Option<Millis> {
        let window = match self.editor_state() {
            Some(EditorState::Compiling | EditorState::Reloading) => self.grace(),
            Some(EditorState::Ready) | None => Self::millis(self.limits.reconnect_wait),
        };
        Some(self.lost_at? + window)
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
                Some(sent + timeout + self.grace())
            }
            Lane::Kept { .. } | Lane::Free | Lane::Busy { .. } => None,
        }
    }

    /// A kept request of an earlier session blocks the present one until its own time is over.
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

    /// The next moment at which something must happen by the contract.
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
            CallState::Lined | CallState::InLane => None,
        });
        [
            self.wait_over_at().map(|(at, _)| at),
            self.trip_over_at(),
            self.outlived_at(),
            self.memory_over_at(),
            self.window_over_at(),
            self.pong_over_at(),
        ]
        .into_iter()
        .flatten()
        .chain(jobs)
        .chain(parks)
        .min()
    }

    /// Time has come to `now`. At one moment: waits, then the trip, then memory, then the window.
    pub(crate) fn expire(&mut self, now: Millis) {
        // A loss that brings the next session is one thing: no time passes in between.
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
        match self.line.pop_front().map(|queued| queued.who) {
            Some(Who::Call(call)) => self.fails(call, code, Guarantee::NotExecuted),
            Some(Who::Job(job)) => self.ending.push((job, JobState::Failed, Some(code))),
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
                self.abandoned.push(request);
                self.ending.push((job, JobState::Failed, Some(ErrorCode::RequestTimeout)));
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
        self.lost_at = None;
        self.coverage.mark("a reconnect window closed");
        self.give_up_trip(ErrorCode::ReconnectTimeout);
        for job in 0..self.jobs.len() {
            if let Some(Job { state: JobLife::Running { unity, .. }, .. }) = self.jobs.get(job) {
                if self.owed.contains(&Owed::Job(job)) {
                    self.owe(Owed::Orphan(unity.clone()));
                }
                self.ending.push((job, JobState::Failed, Some(ErrorCode::ReconnectTimeout)));
            }
        }
    }

    /// What Unity was sent and will not answer.
    pub(super) fn give_up_trip(&mut self, code: ErrorCode) {
        match std::mem::replace(&mut self.lane, Lane::Free) {
            Lane::Busy { what: Trip::Execute(call), .. } => {
                self.fails(call, code, Guarantee::Unknown);
            }
            Lane::Busy { what: Trip::Submit(job), request, .. } => {
                self.abandoned.push(request);
                self.ending.push((job, JobState::Failed, Some(code)));
            }
            Lane::Busy { what: Trip::Status(..) | Trip::Cancel(_), .. }
            | Lane::Free
            | Lane::Kept { .. } => {}
        }
    }

    pub(super) fn fails(&mut self, call: u64, code: ErrorCode, guarantee: Guarantee) {
        self.expected.push((call, Expect::Fails(code, guarantee)));
    }

    /// Opens or closes the gate; when it opens, waiting runs become jobs in their order.
    pub(super) fn update_gate(&mut self, now: Millis) {
        match (self.reason(), self.closed_since) {
            (None, _) => {
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
        for index in 0..self.line.len() {
            let Some(Who::Call(id)) = self.line.get(index).map(|queued| queued.who) else {
                continue;
            };
            let Some(Call { ask: Ask::Tests { wait }, arrived, .. }) = self.calls.get(&id).cloned()
            else {
                continue;
            };
            if !self.offers("run_tests") {
                self.fails(id, ErrorCode::UnknownCommand, Guarantee::NotExecuted);
            } else if self.active_jobs() >= self.limits.jobs_active_max {
                self.fails(id, ErrorCode::QueueFull, Guarantee::NotExecuted);
            } else {
                let job = self.issue_job(id);
                if let Some(queued) = self.line.get_mut(index) {
                    queued.who = Who::Job(job);
                }
                if arrived + wait > now {
                    self.park(id, job, arrived + wait);
                } else {
                    self.expected.push((id, Expect::Accepted(job)));
                }
            }
        }
        let failed = |id: u64| {
            let fails =
                |(call, expect): &(u64, Expect)| *call == id && matches!(expect, Expect::Fails(..));
            self.expected.iter().any(fails)
        };
        self.line.retain(|queued| !matches!(queued.who, Who::Call(id) if failed(id)));
    }

    fn issue_job(&mut self, id: u64) -> usize {
        if let Some(call) = self.calls.get(&id) {
            self.jobs.push(Job {
                client: call.client.clone(),
                arrival: call.arrival,
                arrived: call.arrived,
                timeout: call.timeout,
                state: JobLife::Queued,
                cancel_requested: false,
                waiter: None,
            });
        }
        self.jobs.len() - 1
    }

    fn park(&mut self, id: u64, job: usize, until: Millis) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.state = CallState::Parked { job, until };
        }
        if let Some(job) = self.jobs.get_mut(job) {
            job.waiter = Some(id);
        }
    }

    /// The step is over: whatever had to happen must have happened.
    /// `by_time`: the core was called because a deadline came.
    pub(crate) fn settle(&mut self, now: Millis, by_time: bool) -> Checked {
        if let Some((call, expect)) = self.expected.first() {
            return Err(format!("call {call} was not answered with {expect:?}"));
        }
        if let Some((job, state, code)) = self.ending.first() {
            return Err(format!("job {} did not end as {state:?} {code:?}", job + 1));
        }
        if let Some(on) = self.must_adopt.take() {
            return Err(format!(
                "the hello on {on:?} was not answered though there was no session"
            ));
        }
        if let Some(on) = self.must_close.first() {
            return Err(format!("the session on {on:?} ended but was not closed"));
        }
        if self.stopped {
            return if self.calls.is_empty() {
                Ok(())
            } else {
                Err("a stop left calls open".into())
            };
        }
        self.settle_lines(now)?;
        if by_time {
            self.settle_link(now)?;
        }
        self.settle_jobs(now)
    }

    fn settle_lines(&self, now: Millis) -> Checked {
        let lane_free = matches!(self.lane, Lane::Free);
        if lane_free && self.closed_since.is_none() && !self.line.is_empty() {
            return Err("the lane is free and Unity ready, but nothing was sent".into());
        }
        // One more where a frame came back after its queued was taken.
        if self.line.len() > self.limits.queue_max + 1 {
            return Err(format!("{} calls wait or are queued", self.line.len()));
        }
        let target_known = |owed: &Owed| match owed {
            Owed::Orphan(_) => true,
            Owed::Job(job) => {
                let state = self.jobs.get(*job).map(|job| &job.state);
                matches!(state, Some(JobLife::Running { .. }))
            }
        };
        if lane_free && self.session.is_some() && self.owed.iter().any(target_known) {
            return Err("a cancel is owed to Unity and was not sent".into());
        }
        for (id, call) in &self.calls {
            let late = match (&call.ask, call.state) {
                (_, CallState::Parked { job, until }) => {
                    now >= until || self.job_state(job).is_terminal()
                }
                (Ask::Status { job, wait }, CallState::Lined) if self.control_moves() => {
                    let state = self.job_named(job).map(|job| self.job_state(job));
                    let news = state.is_none_or(JobState::is_terminal) || state != call.known;
                    news || now >= call.arrived + wait
                }
                (Ask::Cancel { .. }, CallState::Lined) => self.control_moves(),
                (Ask::State, _) => true,
                (Ask::Status { .. } | Ask::Console | Ask::Tests { .. }, _) => false,
                (Ask::Cancel { .. }, CallState::InLane) => true,
            };
            if late {
                return Err(format!("call {id} ({:?}) should have been answered", call.ask));
            }
        }
        Ok(())
    }

    fn settle_link(&self, now: Millis) -> Checked {
        if self.session.is_some() && self.pong_over_at().is_some_and(|at| at <= now) {
            return Err("a pong is missing but the session goes on".into());
        }
        let answered = self.ping_at.is_none();
        let heard = answered && self.heard;
        if self.session.is_some() && answered && now > self.ping_due {
            return Err("a ping is due and was not sent".into());
        }
        if heard && self.stuck_at().is_some_and(|at| at < now) {
            return Err("an overdue request blocks a living Unity and the session goes on".into());
        }
        Ok(())
    }

    fn settle_jobs(&mut self, now: Millis) -> Checked {
        let open = self.closed_since.is_none();
        for (index, job) in self.jobs.iter_mut().enumerate() {
            let JobLife::Running { limit, last_question, .. } = &mut job.state else { continue };
            if now < *limit {
                continue;
            }
            match last_question {
                None if !open => {
                    return Err(format!("job {} is over its limit without Unity", index + 1));
                }
                None => {
                    self.coverage.mark("a job was asked about at its limit");
                    *last_question = Some(now);
                }
                Some(granted) if now >= *granted + 5_000 => {
                    return Err(format!("job {} was not ended after its last question", index + 1));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
