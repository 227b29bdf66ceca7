//! What ends or begins because time has passed.

use std::time::Duration;

use protocol::EditorState;

use super::{ExecutionCoordinator, Gate, Life};
use crate::event::{Note, Reason, SessionEnd};
use crate::failure::Failure;
use crate::ids::CallId;
use crate::request_scheduler::Lane;
use crate::stores::queue::Item;
use crate::stores::request::Phase;
use crate::time::{Deadline, Timestamp, Why};

impl ExecutionCoordinator {
    /// When `handle` must be called again at the latest, and why.
    pub fn next_deadline(&self) -> Option<Deadline> {
        match self.life {
            Life::Stopping { until } => Some(Deadline { at: until, why: Why::StopOver }),
            Life::Stopped => None,
            Life::Booting | Life::Listening | Life::PortHeld { .. } => self.next_living_deadline(),
        }
    }

    fn next_living_deadline(&self) -> Option<Deadline> {
        // If two are due at the same moment, the earlier row counts: a call that waited for a compile gets a compile
        // timeout before the compile is forgotten.
        [
            self.wait_deadline(),
            self.scheduler.trip_deadline(),
            self.editor.deadline(),
            self.link.window_deadline(self.limit_now(self.limits.reconnect_wait)),
            self.link.jobs_deadline(self.limits.compile_grace),
            self.queue_wait_deadline(),
            self.scheduler.status_wait_deadline(self.limits.status_wait),
            self.stuck_deadline(),
            self.link.hello_deadline(&self.limits),
            self.link.probe_deadline(),
            self.link.heartbeat_deadline(self.limit_now(self.limits.heartbeat_timeout)),
            self.jobs.deadline(),
            self.scheduler.park_deadline(),
            self.scheduler.progress_deadline(),
        ]
        .iter()
        .flatten()
        .min_by_key(|deadline| deadline.at)
        .copied()
    }

    /// Deadlines are met in their own order, however late we are called.
    pub(super) fn expire(&mut self, now: Timestamp) {
        while let Some(deadline) = self.next_deadline().filter(|deadline| deadline.at <= now) {
            self.meet(now, deadline.why);
            self.update_gate(now);
        }
    }

    fn meet(&mut self, now: Timestamp, why: Why) {
        match why {
            Why::StopOver => self.finish_stop(),
            Why::HelloMissing(on) => self.refuse(on, "no hello in time"),
            Why::ProbeUnanswered => self.end_present_session(now, SessionEnd::ProbeUnanswered),
            Why::PingDue => {
                if let Some(on) = self.link.session() {
                    self.ping(now, on);
                }
            }
            Why::PongMissing => {
                let silent = self.link.silent_for(now);
                self.end_present_session(now, SessionEnd::NoPong { silent });
            }
            Why::LaneStuck => self.end_present_session(now, SessionEnd::Stuck),
            Why::LaneOutlived => self.on_lane_outlived(),
            Why::WaitOver => self.on_wait_over(now),
            Why::CompileForgotten => self.editor.forget(),
            Why::TripTimeout => self.on_trip_timeout(now),
            Why::WindowCloses => self.on_window_closed(now),
            Why::JobsLost => self.on_jobs_lost(now),
            Why::QueueWaitOver => self.on_queue_wait_over(now),
            Why::StatusWaitOver => self.on_status_wait_over(now),
            Why::JobDue(job) => self.on_job_due(now, job),
            Why::ParkOver(call) => self.on_park_over(call),
            Why::ProgressDue(call) => self.report_progress(now, call),
        }
    }

    fn end_present_session(&mut self, now: Timestamp, why: SessionEnd) {
        if let Some(on) = self.link.session() {
            self.end_session(now, on, why);
        }
    }

    // Waiting for the Editor.

    /// An Editor that compiles or reloads gets as long as a compile may take; otherwise `usual` is the limit.
    fn limit_now(&self, usual: Duration) -> Duration {
        match self.editor.state() {
            Some(EditorState::Compiling | EditorState::Reloading) => self.limits.compile_grace,
            Some(EditorState::Ready) | None => usual,
        }
    }

    /// Since when the first in line has waited: the others came later and give up later.
    fn waiting_since(&self) -> Option<Timestamp> {
        let Gate::Closed { since, .. } = self.gate else { return None };
        self.scheduler.first_waiting().map(|first| first.arrived.max(since))
    }

    fn wait_deadline(&self) -> Option<Deadline> {
        let at = self.waiting_since()? + self.limit_now(self.limits.reconnect_wait);
        Some(Deadline { at, why: Why::WaitOver })
    }

    fn on_wait_over(&mut self, now: Timestamp) {
        let (Some(first), Some(since)) = (self.scheduler.first_waiting(), self.waiting_since())
        else {
            return;
        };
        let failure = self.while_waiting(self.wait_failure(now.since(since)));
        match first.item {
            Item::Call(call) => self.reply(call, Err(failure)),
            Item::Job(job) => {
                self.scheduler.withdraw_job(first.ticket);
                self.fail_job(now, job, failure);
            }
        }
    }

    fn wait_failure(&self, waited: Duration) -> Failure {
        match (self.reason(), self.scheduler.kept()) {
            (Some(Reason::Compiling), _) => Failure::compile_timeout("compiling", waited),
            (Some(Reason::Reloading), _) => Failure::compile_timeout("reloading", waited),
            (Some(Reason::Unresponsive), Some(trip)) => {
                Failure::unresponsive(trip.request_id.clone())
            }
            (Some(Reason::Unresponsive), None) | (Some(Reason::Disconnected) | None, _) => {
                Failure::no_editor(waited)
            }
        }
    }

    // Waiting for Unity's answer.

    fn on_trip_timeout(&mut self, now: Timestamp) {
        let Lane::Taken { trip, .. } = self.scheduler.lane() else { return };
        let failure = Failure::request_timeout(trip.timeout);
        self.give_up_call(now, failure);
    }

    /// The call that Unity had when it went waits no longer. Jobs do: they hold no lane.
    fn on_window_closed(&mut self, now: Timestamp) {
        let Some(lost_at) = self.link.close_window() else { return };
        self.give_up_trip(now, Failure::reconnect_timeout(now.since(lost_at)));
    }

    fn on_jobs_lost(&mut self, now: Timestamp) {
        let Some(lost_at) = self.link.close_jobs_window() else { return };
        let failure = Failure::reconnect_timeout(now.since(lost_at));
        for job in self.jobs.running() {
            let owed = self.jobs.unity_id(job).filter(|_| self.cancels.owes(job)).cloned();
            self.fail_job(now, job, failure.clone());
            if let Some(unity_id) = owed {
                self.cancel_in_unity(unity_id); // Promised to its caller, and still owed.
            }
        }
    }

    // Waiting behind others.

    /// Only while the Editor is ready: `wait_deadline` has the limits of the other times.
    fn queue_wait_deadline(&self) -> Option<Deadline> {
        let Gate::Open { since } = self.gate else { return None };
        let (_, arrived) = self.scheduler.first_queued_call()?;
        let at = arrived.max(since) + self.limits.queue_wait_max;
        Some(Deadline { at, why: Why::QueueWaitOver })
    }

    fn on_queue_wait_over(&mut self, now: Timestamp) {
        if let Some((call, arrived)) = self.scheduler.first_queued_call() {
            let failure = self.while_waiting(Failure::busy(now.since(arrived)));
            self.reply(call, Err(failure));
        }
    }

    /// A request of this session blocks it for the grace. Then the plugin must restart its session, if it
    /// still answers its pings. A request of an earlier session blocks nothing beyond its own timeout.
    fn stuck_deadline(&self) -> Option<Deadline> {
        let (trip, session) = (self.scheduler.kept()?, self.link.session()?);
        if trip.on != session {
            return Some(Deadline { at: trip.timeout_at(), why: Why::LaneOutlived });
        }
        let at = trip.overdue_since() + self.limits.compile_grace;
        let stuck = Deadline { at, why: Why::LaneStuck };
        self.link.is_alive(at, &self.limits).then_some(stuck)
    }

    fn on_lane_outlived(&mut self) {
        if let Lane::Kept { trip } = self.scheduler.free_lane() {
            self.note(Note::LaneFreed { request_id: trip.request_id });
        }
    }

    fn on_park_over(&mut self, call: CallId) {
        let phase = self.scheduler.call(call).map(|call| &call.phase);
        if let Some(Phase::Parked { job, .. }) = phase {
            let job = *job;
            self.jobs.remove_waiter(job, call);
            self.reply_about(call, job);
        }
    }
}
