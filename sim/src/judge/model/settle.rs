//! What must hold after each event.

use protocol::JobState;

use super::{Ask, CallState, Checked, JobLife, Lane, Millis, Model, Owed, Trip};

impl Model {
    /// Everything that had to happen must have happened. `by_time`: the event was a deadline.
    pub(crate) fn settle(&mut self, now: Millis, by_time: bool) -> Checked {
        if let Some((call, expect)) = self.expected.first() {
            return Err(format!("call {call} was not answered with {expect}"));
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
        self.settle_queues(now)?;
        if by_time {
            self.settle_link(now)?;
        }
        self.settle_jobs(now)
    }

    fn settle_queues(&self, now: Millis) -> Checked {
        let lane_free = matches!(self.lane, Lane::Free);
        if lane_free && self.closed_since.is_none() && !self.queue.is_empty() {
            return Err("the lane is free and Unity ready, but nothing was sent".into());
        }
        // One more when a frame comes back after another call took its place.
        if self.queue.len() > self.limits.queue_max + 1 {
            return Err(format!("{} calls wait or are queued", self.queue.len()));
        }
        let target_known = |owed: &Owed| match owed {
            Owed::Orphan(_) | Owed::Submission(_) => true,
            Owed::Job(job) => {
                let state = self.jobs.get(*job).map(|job| &job.state);
                matches!(state, Some(JobLife::Running { .. }))
            }
        };
        if lane_free && self.session.is_some() && self.owed.iter().any(target_known) {
            return Err("a cancel is owed to Unity and was not sent".into());
        }
        if let Lane::Busy { what: Trip::Submit(job), on, .. } = &self.lane
            && self.session.is_some()
            && (*on != self.session || self.confirmed_at > 0)
            && self.owed.contains(&Owed::Job(*job))
        {
            return Err("a cancel of a submission of an earlier session was not sent".into());
        }
        if let Lane::Kept { request, on, .. } = &self.lane
            && self.session.is_some()
            && (*on != self.session || self.confirmed_at > 0)
            && self.owed.contains(&Owed::Submission(request.clone()))
        {
            return Err("a cancel of a submission that is kept was not sent".into());
        }
        for (id, call) in &self.calls {
            let late = match (&call.ask, call.state) {
                (_, CallState::Parked { job, until }) => {
                    now >= until || self.job_state(job).is_terminal()
                }
                (Ask::Status { job, wait }, CallState::Waiting)
                    if self.control_moves() || now >= call.arrived + 1_000 =>
                {
                    let state = self.job_named(job).map(|job| self.job_state(job));
                    let news = state.is_none_or(JobState::is_terminal) || state != call.known;
                    news || now >= call.arrived + wait
                }
                (Ask::State | Ask::Cancel { .. }, _) => true,
                (_, CallState::Following(first)) => !self.calls.contains_key(&first),
                (Ask::Status { .. } | Ask::Execute { .. } | Ask::Job { .. }, _) => false,
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
            return Err(
                "an overdue request blocks a Unity that answers pings, and the session goes on"
                    .into(),
            );
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
