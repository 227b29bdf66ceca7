//! QueueStore: the calls and jobs in line, in order of arrival.

use std::collections::VecDeque;

use crate::ids::{CallId, JobId};
use crate::time::Timestamp;

/// A place in the one order of arrival that all lines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[derive(Debug, Default)]
pub(crate) struct QueueStore {
    last_ticket: u64,
    /// Needs a ready Editor: calls, and jobs that have not been submitted.
    unity: VecDeque<Place>,
    /// Needs no ready Editor.
    control: VecDeque<(Ticket, CallId)>,
    /// The server's own questions about running jobs.
    polls: VecDeque<(Ticket, JobId)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) ticket: Ticket,
    pub(crate) arrived: Timestamp,
    pub(crate) item: Item,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Call(CallId),
    Job(JobId),
}

/// The head of one of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Unity(Item),
    Control(CallId),
    Poll(JobId),
}

impl QueueStore {
    pub(crate) fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    pub(crate) fn push_unity(&mut self, place: Place) {
        self.unity.push_back(place);
    }

    /// What came back unsent gets its old place again.
    pub(crate) fn return_unity(&mut self, place: Place) {
        let index = self.unity.partition_point(|other| other.ticket < place.ticket);
        self.unity.insert(index, place);
    }

    pub(crate) fn push_control(&mut self, ticket: Ticket, call: CallId) {
        self.control.push_back((ticket, call));
    }

    pub(crate) fn push_poll(&mut self, job: JobId) {
        let ticket = self.ticket();
        self.polls.push_back((ticket, job));
    }

    pub(crate) fn remove_poll(&mut self, job: JobId) {
        self.polls.retain(|(_, other)| *other != job);
    }

    pub(crate) fn unity_len(&self) -> usize {
        self.unity.len()
    }

    pub(crate) fn control_len(&self) -> usize {
        self.control.len()
    }

    pub(crate) fn polls_len(&self) -> usize {
        self.polls.len()
    }

    pub(crate) fn first_unity(&self) -> Option<Place> {
        self.unity.front().copied()
    }

    pub(crate) fn first_control(&self) -> Option<CallId> {
        self.control.front().map(|(_, call)| *call)
    }

    pub(crate) fn places(&self) -> Vec<Place> {
        self.unity.iter().copied().collect()
    }

    pub(crate) fn unity_items(&self) -> impl Iterator<Item = Item> {
        self.unity.iter().map(|place| place.item)
    }

    /// A job takes the place of the call that asked for it.
    pub(crate) fn exchange(&mut self, ticket: Ticket, item: Item) {
        if let Ok(index) = self.unity.binary_search_by_key(&ticket, |place| place.ticket)
            && let Some(place) = self.unity.get_mut(index)
        {
            place.item = item;
        }
    }

    /// How many places of the same line are before this one.
    pub(crate) fn position(&self, ticket: Ticket) -> Option<usize> {
        let unity = self.unity.binary_search_by_key(&ticket, |place| place.ticket);
        unity.or_else(|_| self.control.binary_search_by_key(&ticket, |place| place.0)).ok()
    }

    pub(crate) fn remove(&mut self, ticket: Ticket) {
        if let Ok(index) = self.unity.binary_search_by_key(&ticket, |place| place.ticket) {
            self.unity.remove(index);
        } else if let Ok(index) = self.control.binary_search_by_key(&ticket, |place| place.0) {
            self.control.remove(index);
        }
    }

    /// Takes the first of all lines.
    pub(crate) fn pop_any(&mut self) -> Option<Head> {
        let unity = self.unity.front().map(|place| place.ticket);
        let control = self.control.front().map(|place| place.0);
        let poll = self.polls.front().map(|place| place.0);
        let first = [unity, control, poll].into_iter().flatten().min()?;
        if unity == Some(first) {
            self.unity.pop_front().map(|place| Head::Unity(place.item))
        } else if control == Some(first) {
            self.pop_control().map(Head::Control)
        } else {
            self.polls.pop_front().map(|(_, job)| Head::Poll(job))
        }
    }

    pub(crate) fn pop_control(&mut self) -> Option<CallId> {
        self.control.pop_front().map(|(_, call)| call)
    }
}
