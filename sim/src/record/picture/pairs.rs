//! Both ends of each message: when it was sent, and when it arrived.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::record::log::{Crossing, Record, RecordKind, Wire};

#[derive(Default)]
pub(super) struct Pairs {
    /// The record of the arrival, by the record of the sending.
    arrivals: BTreeMap<usize, usize>,
    /// Arrivals whose sending is not recorded: the core level has only the server's end of agents.
    alone: BTreeSet<usize>,
    hosts: BTreeSet<Arc<str>>,
}

impl Pairs {
    pub(super) fn new(records: &[Record]) -> Self {
        let mut pairs = Self::default();
        let mut sent: BTreeMap<(&Wire, &str), VecDeque<usize>> = BTreeMap::new();
        for (number, record) in records.iter().enumerate() {
            let RecordKind::Crossing { host, wire, crossing } = &record.what else { continue };
            pairs.hosts.insert(host.clone());
            match crossing {
                Crossing::Sent(_) => sent.entry((wire, host)).or_default().push_back(number),
                Crossing::Received(message) => {
                    let waiting = sent.entry((wire, other_end(host, wire))).or_default();
                    let is_it = |sent: &usize| {
                        matches!(records.get(*sent).map(|record| &record.what),
                            Some(RecordKind::Crossing { crossing: Crossing::Sent(other), .. }) if other == message)
                    };
                    match waiting.iter().position(is_it) {
                        Some(place) => {
                            // What was sent before it and has not arrived is lost.
                            let found = waiting.drain(..=place).next_back();
                            pairs.arrivals.extend(found.map(|found| (found, number)));
                        }
                        None => {
                            pairs.alone.insert(number);
                        }
                    }
                }
                Crossing::Opened | Crossing::Ended => {}
            }
        }
        pairs
    }

    pub(super) fn arrival(&self, sent: usize) -> Option<usize> {
        self.arrivals.get(&sent).copied()
    }

    pub(super) fn is_alone(&self, received: usize) -> bool {
        self.alone.contains(&received)
    }

    /// Whether anything of this end is recorded.
    pub(super) fn knows(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }
}

pub(super) fn other_end<'a>(host: &str, wire: &'a Wire) -> &'a str {
    if *host == *wire.client { &wire.server } else { &wire.client }
}
