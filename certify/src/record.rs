//! Record: everything that crossed the wire, in order. Failures are shown with their part of it.

use std::time::Duration;

use protocol::{FromUnity, printable};
use tokio::time::Instant;

/// Characters of a frame that are kept for people.
const SHOWN_MAX: usize = 300;

pub(crate) struct Record {
    started: Instant,
    entries: Vec<Entry>,
}

pub(crate) struct Entry {
    pub(crate) at: Duration,
    pub(crate) socket: u64,
    pub(crate) fact: Fact,
    /// The frame or what happened, printable and cut.
    pub(crate) text: String,
}

pub(crate) enum Fact {
    /// The plugin has opened a socket.
    Opened,
    /// A valid message of the plugin.
    Received { message: Box<FromUnity>, bytes: usize },
    /// A frame of the plugin that is not a message.
    Invalid,
    /// A frame to the plugin.
    Sent,
    /// The plugin has closed the socket with this code, or it is lost.
    Ended { code: Option<u16> },
    /// What certify, its driver or a person did.
    Done,
}

impl Fact {
    /// The column that says who did it.
    pub(crate) fn direction(&self) -> &'static str {
        match self {
            Self::Received { .. } | Self::Invalid => "plugin",
            Self::Sent => "server",
            Self::Opened | Self::Ended { .. } => "socket",
            Self::Done => "certify",
        }
    }
}

impl Record {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), entries: Vec::new() }
    }

    /// Returns the index of the new entry.
    pub(crate) fn push(&mut self, at: Instant, socket: u64, fact: Fact, text: &str) -> usize {
        let at = at.saturating_duration_since(self.started);
        self.entries.push(Entry { at, socket, fact, text: printable(text, SHOWN_MAX) });
        self.entries.len() - 1
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    pub(crate) fn since(&self, mark: usize) -> &[Entry] {
        self.entries.get(mark..).unwrap_or_default()
    }

    /// The valid messages of the plugin since `mark`.
    pub(crate) fn received_since(&self, mark: usize) -> impl Iterator<Item = (&Entry, &FromUnity)> {
        self.since(mark).iter().filter_map(|entry| match &entry.fact {
            Fact::Received { message, .. } => Some((entry, &**message)),
            Fact::Opened | Fact::Invalid | Fact::Sent | Fact::Ended { .. } | Fact::Done => None,
        })
    }
}
