//! History: the last records, bounded in number and in bytes. A viewer that is so slow that it misses some is dropped.

use std::collections::VecDeque;

use coordination::Timestamp;
use page::{About, Lane, LaneKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::record::{AgentLane, Known, Millis, Record, What};
use crate::budget::{
    PAGE_AGENTS_MAX, PAGE_HISTORY_BYTES_MAX, PAGE_HISTORY_RECORDS_MAX, PAGE_VIEWERS_MAX,
};

/// The lanes that are always there, by name.
pub(super) const SERVER: &str = "server";
pub(super) const UNITY: &str = "unity";
/// The lane of the agents that have no lane of their own.
const OTHER_AGENTS: &str = "other agents";

pub(super) struct History {
    records: VecDeque<Record>,
    /// The number of the oldest record.
    first: u64,
    bytes: usize,
    /// What was known before the oldest record.
    pub(super) base: Known,
    pub(super) known: Known,
    agents: Vec<String>,
    about: About,
    about_changes: u64,
    viewers: Vec<Place>,
    viewers_ever: u64,
    began: Instant,
}

/// The place of one viewer.
struct Place {
    viewer: u64,
    /// The number of the record that it reads next.
    next: u64,
    dropped: CancellationToken,
}

impl History {
    pub(super) fn new(about: About) -> Self {
        Self {
            records: VecDeque::new(),
            first: 0,
            bytes: 0,
            base: Known::default(),
            known: Known::default(),
            agents: Vec::new(),
            about,
            about_changes: 0,
            viewers: Vec::new(),
            viewers_ever: 0,
            began: Instant::now(),
        }
    }

    /// The moments of the core count from here.
    pub(super) fn begin(&mut self, began: Instant) {
        self.began = began;
    }

    pub(super) fn now(&self) -> Millis {
        millis(Timestamp::default() + self.began.elapsed())
    }

    // What happened.

    /// True if somebody looks.
    pub(super) fn push(&mut self, record: Record) -> bool {
        self.bytes += record.bytes();
        self.records.push_back(record);
        while self.records.len() > PAGE_HISTORY_RECORDS_MAX || self.bytes > PAGE_HISTORY_BYTES_MAX {
            self.forget_oldest();
        }
        !self.viewers.is_empty()
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.records.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(oldest.bytes());
        self.first += 1;
        if let What::Knows(known) = oldest.what {
            self.base = known;
        }
        let first = self.first;
        self.viewers
            .iter()
            .filter(|place| place.next < first)
            .for_each(|slow| slow.dropped.cancel());
    }

    /// The lane of an agent, which is new if it was not seen before.
    pub(super) fn lane_of(&mut self, agent: &str) -> AgentLane {
        if let Some(known) = self.agents.iter().position(|known| known == agent) {
            return known;
        }
        if self.agents.len() < PAGE_AGENTS_MAX {
            self.agents.push(agent.to_owned());
        } else if self.agents.len() == PAGE_AGENTS_MAX {
            self.agents.push(OTHER_AGENTS.to_owned());
        }
        self.agents.len() - 1
    }

    pub(super) fn agent(&self, lane: AgentLane) -> &str {
        self.agents.get(lane).map_or(OTHER_AGENTS, String::as_str)
    }

    pub(super) fn set_about(&mut self, change: impl FnOnce(&mut About)) {
        change(&mut self.about);
        self.about_changes += 1;
    }

    // What viewers read.

    /// The number that the next record will have.
    pub(super) fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    pub(super) fn oldest_at(&self) -> Millis {
        self.records.front().map_or(0, |record| record.at)
    }

    pub(super) fn record(&self, number: u64) -> Option<&Record> {
        let index = number.checked_sub(self.first)?;
        self.records.get(usize::try_from(index).ok()?)
    }

    pub(super) fn about(&self) -> (&About, u64) {
        (&self.about, self.about_changes)
    }

    /// Agents, server, Editor.
    pub(super) fn lanes(&self) -> Vec<Lane> {
        let lane = |id: &str, kind| Lane { id: id.to_owned(), kind };
        let fixed = [lane(SERVER, LaneKind::Server), lane(UNITY, LaneKind::Editor)];
        self.agent_lanes(0).chain(fixed).collect()
    }

    pub(super) fn agent_lanes(&self, from: usize) -> impl Iterator<Item = Lane> + '_ {
        let new = self.agents.iter().skip(from);
        new.map(|id| Lane { id: id.clone(), kind: LaneKind::Agent })
    }

    pub(super) fn agents(&self) -> usize {
        self.agents.len()
    }

    // Viewers.

    /// `None` if there are enough. The number names the viewer, the token is cancelled when it is too slow.
    pub(super) fn enter(&mut self, dropped: CancellationToken) -> Option<u64> {
        if self.viewers.len() >= PAGE_VIEWERS_MAX {
            return None;
        }
        self.viewers_ever += 1;
        let (viewer, next) = (self.viewers_ever, self.first);
        self.viewers.push(Place { viewer, next, dropped });
        Some(viewer)
    }

    pub(super) fn has_read(&mut self, viewer: u64, up_to: u64) {
        if let Some(place) = self.viewers.iter_mut().find(|place| place.viewer == viewer) {
            place.next = up_to;
        }
    }

    pub(super) fn leave(&mut self, viewer: u64) {
        self.viewers.retain(|place| place.viewer != viewer);
    }
}

pub(super) fn millis(at: Timestamp) -> Millis {
    u64::try_from(at.since_start().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: String) -> Record {
        Record { at: 0, what: What::Note { text: text.into(), call: None }, body: None }
    }

    #[test]
    fn it_is_bounded_in_number_and_in_bytes() {
        let mut history = History::new(About::default());
        for _ in 0..2 * PAGE_HISTORY_RECORDS_MAX {
            history.push(note(String::new()));
        }
        assert_eq!(history.records.len(), PAGE_HISTORY_RECORDS_MAX);
        assert_eq!(history.end(), 2 * PAGE_HISTORY_RECORDS_MAX as u64);
        for _ in 0..1_000 {
            history.push(note("x".repeat(10_000)));
        }
        let bytes: usize = history.records.iter().map(Record::bytes).sum();
        assert_eq!(history.bytes, bytes);
        assert!(bytes <= PAGE_HISTORY_BYTES_MAX && history.records.len() > 50, "{bytes}");
    }

    #[test]
    fn a_viewer_that_misses_a_record_is_dropped_and_the_others_stay() {
        let mut history = History::new(About::default());
        let tokens = [(); 3].map(|()| CancellationToken::new());
        let [slow, quick, third] = tokens.clone().map(|token| history.enter(token));
        assert!(slow.is_some() && third.is_none());
        for _ in 0..PAGE_HISTORY_RECORDS_MAX {
            assert!(history.push(note(String::new())), "somebody looks");
        }
        history.has_read(quick.unwrap(), history.end());
        assert!(!tokens[0].is_cancelled(), "it can still read everything");
        history.push(note(String::new()));
        assert!(tokens[0].is_cancelled() && !tokens[1].is_cancelled());
        history.leave(slow.unwrap());
        assert!(history.enter(CancellationToken::new()).is_some(), "its place is free");
    }

    #[test]
    fn what_was_known_before_the_oldest_record_is_kept() {
        let mut history = History::new(About::default());
        let known = Known { queue: 7, ..Known::default() };
        history.push(Record { at: 0, what: What::Knows(known), body: None });
        for _ in 0..PAGE_HISTORY_RECORDS_MAX {
            history.push(note(String::new()));
        }
        assert_eq!(history.base.queue, 7);
    }

    #[test]
    fn agents_beyond_the_limit_share_a_lane() {
        let mut history = History::new(About::default());
        let lanes: Vec<_> = (0..20).map(|agent| history.lane_of(&agent.to_string())).collect();
        assert_eq!(lanes[3], history.lane_of("3"));
        assert_eq!(history.agents(), PAGE_AGENTS_MAX + 1);
        assert_eq!((lanes[19], history.agent(lanes[19])), (PAGE_AGENTS_MAX, OTHER_AGENTS));
    }
}
