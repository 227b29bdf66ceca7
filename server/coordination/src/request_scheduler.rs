//! RequestScheduler: the order of calls and the lane, in which one round trip to Unity fits.

use std::time::Duration;

use protocol::{RequestId, ToUnity};

use crate::event::Running;
use crate::ids::{CallId, ConnectionId, JobId, RequestNames};
use crate::limits::Limits;
use crate::request_validator::Request;
use crate::stores::names::NameStore;
use crate::stores::queue::{Head, Item, Place, QueueStore, Ticket};
use crate::stores::request::{Call, Phase, RequestStore, Work};
use crate::time::{Deadline, Timestamp, Why};

#[derive(Debug)]
pub(crate) struct RequestScheduler {
    calls: RequestStore,
    queue: QueueStore,
    names: NameStore,
    lane: Lane,
}

#[derive(Debug)]
pub(crate) enum Lane {
    Free,
    /// A round trip is under way.
    Taken {
        trip: Trip,
        purpose: Purpose,
    },
    /// The caller has its answer, but Unity has not finished: nothing else may be sent.
    Kept {
        trip: Trip,
    },
}

/// One request that was handed to Unity.
#[derive(Clone, Debug)]
pub(crate) struct Trip {
    pub(crate) request_id: RequestId,
    /// The session it was sent on.
    pub(crate) on: ConnectionId,
    pub(crate) tool_name: &'static str,
    pub(crate) sent_at: Timestamp,
    pub(crate) timeout: Duration,
    /// When a later session said that it is still at work on it.
    pub(crate) confirmed_at: Option<Timestamp>,
}

impl Trip {
    pub(crate) fn new(
        request_id: RequestId,
        on: ConnectionId,
        tool_name: &'static str,
        sent_at: Timestamp,
        timeout: Duration,
    ) -> Self {
        Self { request_id, on, tool_name, sent_at, timeout, confirmed_at: None }
    }

    pub(crate) fn is_of_earlier_session(&self, now: ConnectionId) -> bool {
        self.on != now || self.confirmed_at.is_some()
    }

    pub(crate) fn timeout_at(&self) -> Timestamp {
        self.sent_at + self.timeout
    }

    /// Since when it blocks the session that has it now, beyond its time.
    pub(crate) fn overdue_since(&self) -> Timestamp {
        let over = self.timeout_at();
        self.confirmed_at.map_or(over, |confirmed| confirmed.max(over))
    }
}

/// What the answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Execute {
        call: CallId,
    },
    Submit {
        job: JobId,
    },
    /// `asker` is `None` for the server's own question.
    Status {
        job: JobId,
        asker: Option<CallId>,
    },
    /// `job` is `None` when the job has ended here.
    Cancel {
        job: Option<JobId>,
    },
}

impl RequestScheduler {
    pub(crate) fn new() -> Self {
        Self {
            calls: RequestStore::default(),
            queue: QueueStore::default(),
            names: NameStore::default(),
            lane: Lane::Free,
        }
    }

    // Names for the log.

    pub(crate) fn remember(&mut self, names: RequestNames) {
        self.names.push(names);
    }

    pub(crate) fn names(&self, request_id: &RequestId) -> Option<&RequestNames> {
        self.names.get(request_id)
    }

    // The line.

    pub(crate) fn has_room(&self, request: &Request, limits: &Limits) -> bool {
        let taken =
            if request.needs_unity() { self.queue.unity_len() } else { self.queue.control_len() };
        taken < limits.queue_max
    }

    pub(crate) fn next_ticket(&mut self) -> Ticket {
        self.queue.ticket()
    }

    pub(crate) fn line_up(&mut self, id: CallId, call: Call) {
        let (ticket, arrived) = (call.ticket, call.times.arrived);
        if call.asked.request.needs_unity() {
            self.queue.push_unity(Place { ticket, arrived, item: Item::Call(id) });
        } else {
            self.queue.push_control(ticket, id);
        }
        self.calls.insert(id, call);
    }

    /// A call that waits for something else than its turn.
    pub(crate) fn add(&mut self, id: CallId, call: Call) {
        self.calls.insert(id, call);
    }

    /// Calls that wait for the outcome of this one.
    pub(crate) fn followers(&self, of: CallId) -> Vec<CallId> {
        self.calls.followers(of)
    }

    /// Repeated calls have room of their own.
    pub(crate) fn has_room_to_follow(&self, limits: &Limits) -> bool {
        self.calls.following() < limits.queue_max
    }

    /// Its caller is gone. It goes on for those that follow it.
    pub(crate) fn leave_to_followers(&mut self, id: CallId) {
        self.calls.set_left(id);
    }

    pub(crate) fn call(&self, id: CallId) -> Option<&Call> {
        self.calls.get(id)
    }

    /// Ends a call, wherever it is. A request that is with Unity stays there.
    pub(crate) fn remove(&mut self, id: CallId) -> Option<Call> {
        let call = self.calls.remove(id)?;
        if let Phase::InLine(_) = call.phase {
            self.queue.remove(call.ticket);
        }
        Some(call)
    }

    pub(crate) fn open_calls(&self) -> Vec<CallId> {
        self.calls.ids()
    }

    /// Everything in line that needs a ready Editor, in order.
    pub(crate) fn places(&self) -> Vec<Place> {
        self.queue.places()
    }

    /// Calls in line that need a ready Editor, in order.
    pub(crate) fn waiting_calls(&self) -> impl Iterator<Item = CallId> {
        self.queue.unity_items().filter_map(|item| match item {
            Item::Call(id) => Some(id),
            Item::Job(_) => None,
        })
    }

    /// Those of them that become jobs now that the Editor is ready.
    pub(crate) fn unaccepted(&self) -> Vec<CallId> {
        self.calls.unaccepted(self.waiting_calls())
    }

    /// The call has become a job, which has its place from now on.
    pub(crate) fn exchange_for_job(&mut self, id: CallId, job: JobId) -> Option<ToUnity> {
        let ticket = self.calls.get(id)?.ticket;
        match self.calls.take_work(id)? {
            Work::Send(frame) => {
                self.queue.exchange(ticket, Item::Job(job));
                Some(frame)
            }
            Work::Control { .. } => None,
        }
    }

    /// A queued job leaves the line.
    pub(crate) fn withdraw_job(&mut self, ticket: Ticket) {
        self.queue.remove(ticket);
    }

    pub(crate) fn push_poll(&mut self, job: JobId) {
        self.queue.push_poll(job);
    }

    /// The job needs no question of the server's own now.
    pub(crate) fn withdraw_poll(&mut self, job: JobId) {
        self.queue.remove_poll(job);
    }

    /// The first of all lines.
    pub(crate) fn pop_any(&mut self) -> Option<Head> {
        self.queue.pop_any()
    }

    /// The first of those that need no ready Editor.
    pub(crate) fn pop_control(&mut self) -> Option<CallId> {
        self.queue.pop_control()
    }

    /// The longest waiting call or job that needs a ready Editor.
    pub(crate) fn first_waiting(&self) -> Option<Place> {
        self.queue.first_unity()
    }

    /// It is the turn of a call.
    pub(crate) fn take_work(&mut self, now: Timestamp, id: CallId) -> Option<Work> {
        self.calls.set_served(id, Some(now));
        self.calls.take_work(id)
    }

    /// Status calls that wait for news have a limit of their own, so that they do not keep a cancel out.
    pub(crate) fn has_room_to_park(&self, limits: &Limits) -> bool {
        self.calls.parked_control() < limits.queue_max
    }

    pub(crate) fn park(&mut self, id: CallId, job: JobId, until: Timestamp) {
        self.calls.set_phase(id, Phase::Parked { job, until });
    }

    /// What came back unsent gets its old place again.
    pub(crate) fn return_call(&mut self, id: CallId, frame: ToUnity) {
        let Some(call) = self.calls.get(id) else { return };
        let arrived = call.times.arrived;
        self.queue.return_unity(Place { ticket: call.ticket, arrived, item: Item::Call(id) });
        self.calls.set_phase(id, Phase::InLine(Work::Send(frame)));
        self.calls.set_served(id, None);
    }

    pub(crate) fn return_job(&mut self, ticket: Ticket, arrived: Timestamp, job: JobId) {
        self.queue.return_unity(Place { ticket, arrived, item: Item::Job(job) });
    }

    pub(crate) fn queue_length(&self) -> usize {
        self.queue.unity_len()
    }

    pub(crate) fn position(&self, ticket: Ticket) -> Option<usize> {
        self.queue.position(ticket)
    }

    // The lane.

    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
    }

    pub(crate) fn take_lane(&mut self, trip: Trip, purpose: Purpose) {
        debug_assert!(matches!(self.lane, Lane::Free), "one round trip to Unity at a time");
        self.lane = Lane::Taken { trip, purpose };
    }

    pub(crate) fn free_lane(&mut self) -> Lane {
        std::mem::replace(&mut self.lane, Lane::Free)
    }

    /// The caller has its answer; Unity has not finished.
    pub(crate) fn keep_lane(&mut self) {
        self.lane = match self.free_lane() {
            Lane::Taken { trip, purpose: Purpose::Execute { .. } | Purpose::Submit { .. } } => {
                Lane::Kept { trip }
            }
            // A question does nothing in Unity, so its end does not matter.
            Lane::Taken { purpose: Purpose::Status { .. } | Purpose::Cancel { .. }, .. }
            | Lane::Free => Lane::Free,
            kept @ Lane::Kept { .. } => kept,
        };
    }

    /// The request in the lane is executed by this session now.
    pub(crate) fn move_lane_to(&mut self, session: ConnectionId, now: Timestamp) {
        match &mut self.lane {
            Lane::Free => {}
            Lane::Taken { trip, .. } | Lane::Kept { trip } => {
                (trip.on, trip.confirmed_at) = (session, Some(now));
            }
        }
    }

    /// The call that asked about this job waits no longer. The question itself goes on.
    pub(crate) fn take_asker(&mut self, about: JobId) -> Option<CallId> {
        match &mut self.lane {
            Lane::Taken { purpose: Purpose::Status { job, asker }, .. } if *job == about => {
                asker.take()
            }
            Lane::Taken { .. } | Lane::Free | Lane::Kept { .. } => None,
        }
    }

    /// The lane's request, if it is this one.
    pub(crate) fn holds(&self, request_id: &RequestId) -> bool {
        match &self.lane {
            Lane::Free => false,
            Lane::Taken { trip, .. } | Lane::Kept { trip } => trip.request_id == *request_id,
        }
    }

    /// The answered request that Unity has not finished.
    pub(crate) fn kept(&self) -> Option<&Trip> {
        match &self.lane {
            Lane::Kept { trip } => Some(trip),
            Lane::Free | Lane::Taken { .. } => None,
        }
    }

    /// The round trip in the lane, and whether its caller has been answered.
    pub(crate) fn trip(&self) -> Option<(&Trip, bool)> {
        match &self.lane {
            Lane::Free => None,
            Lane::Taken { trip, .. } => Some((trip, false)),
            Lane::Kept { trip } => Some((trip, true)),
        }
    }

    pub(crate) fn running(&self, now: Timestamp) -> Option<Running> {
        let (trip, overdue) = self.trip()?;
        Some(Running {
            request_id: trip.request_id.clone(),
            tool_name: trip.tool_name,
            elapsed: now.since(trip.sent_at),
            overdue,
        })
    }

    // Time.

    pub(crate) fn trip_deadline(&self) -> Option<Deadline> {
        match &self.lane {
            Lane::Taken { trip, .. } => {
                Some(Deadline { at: trip.timeout_at(), why: Why::TripTimeout })
            }
            Lane::Free | Lane::Kept { .. } => None,
        }
    }

    /// The first call that is queued for Unity, and when it arrived.
    pub(crate) fn first_queued_call(&self) -> Option<(CallId, Timestamp)> {
        let call = self.waiting_calls().next()?;
        self.calls.get(call).map(|record| (call, record.times.arrived))
    }

    /// Of the question about a job that has stood in line longest.
    pub(crate) fn status_wait_deadline(&self, wait: Duration) -> Option<Deadline> {
        let first = self.queue.first_control().and_then(|call| self.calls.get(call))?;
        Some(Deadline { at: first.times.arrived + wait, why: Why::StatusWaitOver })
    }

    pub(crate) fn park_deadline(&self) -> Option<Deadline> {
        self.calls.first_parked().map(|(at, id)| Deadline { at, why: Why::ParkOver(id) })
    }

    pub(crate) fn progress_deadline(&self) -> Option<Deadline> {
        self.calls.first_progress().map(|(at, id)| Deadline { at, why: Why::ProgressDue(id) })
    }

    pub(crate) fn set_progress(&mut self, id: CallId, at: Timestamp) {
        self.calls.set_progress(id, at);
    }

    pub(crate) fn assert_invariants(&self, limits: &Limits) {
        // One more if a frame came back unsent after its place was taken.
        debug_assert!(self.queue.unity_len() <= limits.queue_max + 1, "the queue is bounded");
        debug_assert!(self.queue.control_len() <= limits.queue_max, "control calls are bounded");
        debug_assert!(self.calls.parked_control() <= limits.queue_max, "parked calls are bounded");
        debug_assert!(self.queue.polls_len() <= limits.jobs_active_max, "one poll a job");
        if let Lane::Taken { purpose: Purpose::Status { asker: Some(asker), .. }, .. } = &self.lane
        {
            debug_assert!(self.calls.get(*asker).is_some(), "a call that asks about a job is open");
        }
    }
}
