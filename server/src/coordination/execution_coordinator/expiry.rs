//! What ends or begins because time passed.

use std::time::Duration;

use protocol::EditorState;

use super::super::event::{CloseCode, Note, Reason};
use super::super::failure::Failure;
use super::super::ids::CallId;
use super::super::request_scheduler::{Lane, Purpose};
use super::super::stores::queue::Item;
use super::super::stores::request::Phase;
use super::super::time::{Deadline, Timestamp, Why};
use super::{ExecutionCoordinator, Gate, Life};

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
        let ready = self.editor.state() == Some(EditorState::Ready);
        // At the same moment the earlier row counts: a call that waited out a compile is told so
        // before the compile is forgotten.
        [
            self.wait_deadline(),
            self.scheduler.trip_deadline(),
            self.editor.deadline(),
            self.link.window_deadline(self.window()),
            self.stuck_deadline(),
            self.link.hello_deadline(&self.limits),
            self.link.probe_deadline(),
            self.link.heartbeat_deadline(ready, &self.limits),
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
            Why::ProbeUnanswered => {
                self.end_session(
                    now,
                    CloseCode::Normal,
                    "did not answer while another Editor asked",
                );
            }
            Why::PingDue => {
                if let Some(on) = self.link.session() {
                    self.ping(now, on);
                }
            }
            Why::PongMissing => self.end_session(now, CloseCode::Policy, "no pong in time"),
            Why::LaneStuck => {
                self.end_session(now, CloseCode::Stuck, "a request has not been finished in time");
            }
            Why::WaitOver => self.on_wait_over(),
            Why::CompileForgotten => self.editor.forget(),
            Why::TripTimeout => self.on_trip_timeout(now),
            Why::WindowCloses => self.on_window_closed(),
            Why::JobDue(job) => self.on_job_due(now, job),
            Why::ParkOver(call) => self.on_park_over(call),
            Why::ProgressDue(call) => self.report_progress(now, call),
        }
    }

    fn end_session(&mut self, now: Timestamp, code: CloseCode, why: &'static str) {
        if let Some(on) = self.link.session() {
            self.close_session(now, on, code, why);
            self.adopt_contender(now);
        }
    }

    // Waiting for the Editor.

    fn wait_limit(&self, reason: Reason) -> Duration {
        match reason {
            Reason::Disconnected | Reason::Unresponsive => self.limits.reconnect_wait,
            Reason::Compiling | Reason::Reloading => self.limits.compile_grace,
        }
    }

    /// Of the one that has waited longest: the others have arrived later and wait no longer.
    fn wait_deadline(&self) -> Option<Deadline> {
        let Gate::Closed { since, reason } = self.gate else { return None };
        let first = self.scheduler.first_waiting()?;
        let at = first.arrived.max(since) + self.wait_limit(reason);
        Some(Deadline { at, why: Why::WaitOver })
    }

    fn on_wait_over(&mut self) {
        let (Some(first), Gate::Closed { reason, .. }) =
            (self.scheduler.first_waiting(), self.gate)
        else {
            return;
        };
        let failure = self.wait_failure(reason);
        match first.item {
            Item::Call(call) => self.reply(call, Err(failure)),
            Item::Job(job) => {
                self.scheduler.withdraw_job(first.ticket);
                self.fail_job(job, failure);
            }
        }
    }

    fn wait_failure(&self, reason: Reason) -> Failure {
        let wait = self.wait_limit(reason);
        match (reason, self.scheduler.kept()) {
            (Reason::Compiling, _) => Failure::compile_timeout("compiling", wait),
            (Reason::Reloading, _) => Failure::compile_timeout("reloading", wait),
            (Reason::Unresponsive, Some(trip)) => Failure::unresponsive(trip.request_id.clone()),
            (Reason::Unresponsive, None) | (Reason::Disconnected, _) => Failure::no_editor(wait),
        }
    }

    // Waiting for Unity's answer.

    fn on_trip_timeout(&mut self, now: Timestamp) {
        let Lane::Taken { trip, purpose } = self.scheduler.lane() else { return };
        let (trip, purpose) = (trip.clone(), *purpose);
        let failure = Failure::request_timeout(trip.timeout);
        self.scheduler.keep_lane();
        match purpose {
            Purpose::Execute { call } => self.reply(call, Err(failure)),
            Purpose::Submit { job } => {
                self.cancels.abandon(trip.request_id, &self.limits);
                self.fail_job(job, failure);
            }
            Purpose::Status { job, asker } => {
                self.note(Note::QuestionUnanswered { request_id: trip.request_id });
                self.on_question_over(now, job);
                if let Some(call) = asker {
                    self.reply(call, Err(failure));
                }
            }
            Purpose::Cancel { .. } => {
                self.note(Note::QuestionUnanswered { request_id: trip.request_id });
            }
        }
    }

    /// How long Unity may be away with what it was sent.
    fn window(&self) -> Duration {
        match self.editor.state() {
            Some(EditorState::Compiling | EditorState::Reloading) => self.limits.compile_grace,
            Some(EditorState::Ready) | None => self.limits.reconnect_wait,
        }
    }

    fn on_window_closed(&mut self) {
        let failure = Failure::reconnect_timeout(self.window());
        self.link.close_window();
        self.give_up_trip(&failure);
        for job in self.jobs.running() {
            self.fail_job(job, failure.clone());
        }
    }

    /// Only a session that still answers its pings is told to start afresh.
    fn stuck_deadline(&self) -> Option<Deadline> {
        let deadline = self.scheduler.stuck_deadline(&self.limits)?;
        self.link.is_alive(deadline.at, &self.limits).then_some(deadline)
    }

    fn on_park_over(&mut self, call: CallId) {
        let phase = self.scheduler.call(call).map(|call| &call.phase);
        if let Some(Phase::Parked { job, .. }) = phase {
            self.unpark(call, *job);
        }
    }
}
