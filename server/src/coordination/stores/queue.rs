//! QueueStore: who stands in line, in the order of arrival.

use std::collections::VecDeque;

use super::super::ids::{CallId, JobId};
use super::super::time::Timestamp;

/// A place in the one order of arrival that all lines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Ticket(u64);

#[derive(Debug, Default)]
pub(in super::super) struct QueueStore {
    last_ticket: u64,
    /// Needs a ready Editor: calls, and jobs that have not been submitted.
    unity: VecDeque<Place>,
    /// Needs no ready Editor.
    control: VecDeque<(Ticket, CallId)>,
    /// The server's own questions about running jobs.
    polls: VecDeque<(Ticket, JobId)>,
}

#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Place {
    pub(in super::super) ticket: Ticket,
    pub(in super::super) arrived: Timestamp,
    pub(in super::super) item: Item,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Item {
    Call(CallId),
    Job(JobId),
}

/// The head of one of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Head {
    Unity(Item),
    Control(CallId),
    Poll(JobId),
}

impl QueueStore {
    pub(in super::super) fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    pub(in super::super) fn push_unity(&mut self, place: Place) {
        self.unity.push_back(place);
    }

    /// What was taken out for nothing gets its old place again.
    pub(in super::super) fn return_unity(&mut self, place: Place) {
        let index = self.unity.partition_point(|other| other.ticket < place.ticket);
        self.unity.insert(index, place);
    }

    pub(in super::super) fn push_control(&mut self, ticket: Ticket, call: CallId) {
        self.control.push_back((ticket, call));
    }

    pub(in super::super) fn push_poll(&mut self, job: JobId) {
        let ticket = self.ticket();
        self.polls.push_back((ticket, job));
    }

    pub(in super::super) fn remove_poll(&mut self, job: JobId) {
        self.polls.retain(|(_, other)| *other != job);
    }

    pub(in super::super) fn unity_len(&self) -> usize {
        self.unity.len()
    }

    pub(in super::super) fn control_len(&self) -> usize {
        self.control.len()
    }

    pub(in super::super) fn polls_len(&self) -> usize {
        self.polls.len()
    }

    pub(in super::super) fn first_unity(&self) -> Option<Place> {
        self.unity.front().copied()
    }

    pub(in super::super) fn unity_items(&self) -> impl Iterator<Item = Item> {
        self.unity.iter().map(|place| place.item)
    }

    /// A job takes the place of the call that asked for it.
    pub(in super::super) fn exchange(&mut self, ticket: Ticket, item: Item) {
        if let Ok(index) = self.unity.binary_search_by_key(&ticket, |place| place.ticket)
            && let Some(place) = self.unity.get_mut(index)
        {
            place.item = item;
        }
    }

    /// How many places of the same line are before this one.
    pub(in super::super) fn position(&self, ticket: Ticket) -> Option<usize> {
        let unity = self.unity.binary_search_by_key(&ticket, |place| place.ticket);
        unity.or_else(|_| self.control.binary_search_by_key(&ticket, |place| place.0)).ok()
    }

    pub(in super::super) fn remove(&mut self, ticket: Ticket) {
        if let Ok(index) = self.unity.binary_search_by_key(&ticket, |place| place.ticket) {
            self.unity.remove(index);
        } else if let Ok(index) = self.control.binary_search_by_key(&ticket, |place| place.0) {
            self.control.remove(index);
        }
    }

    /// Takes the earliest head among the lines that may move now.
    pub(in super::super) fn pop(&mut self, unity_moves: bool, control_moves: bool) -> Option<Head> {
        let unity = self.unity.front().filter(|_| unity_moves).map(|place| place.ticket);
        let control = self.control.front().filter(|_| control_moves).map(|place| place.0);
        let poll = self.polls.front().filter(|_| unity_moves).map(|place| place.0);
        let first = [unity, control, poll].into_iter().flatten().min()?;
        if unity == Some(first) {
            self.unity.pop_front().map(|place| Head::Unity(place.item))
        } else if control == Some(first) {
            self.control.pop_front().map(|(_, call)| Head::Control(call))
        } else {
            self.polls.pop_front().map(|(_, job)| Head::Poll(job))
        }
    }
}
