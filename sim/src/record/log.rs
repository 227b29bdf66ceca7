//! Log: all records of a run, from both ends of every wire.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protocol::Json;

use crate::levels::clock;

/// The kind of a note about a job: `job-s1-1 running`. Only the picture uses it.
pub(crate) const JOB_NOTE: &str = "job";

/// One connection between two hosts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wire {
    pub(crate) client: Arc<str>,
    pub(crate) server: Arc<str>,
    /// Distinguishes the connections of one client.
    pub(crate) number: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) at: Duration,
    pub(crate) what: RecordKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RecordKind {
    /// At one end of a wire.
    Crossing { host: Arc<str>, wire: Wire, crossing: Crossing },
    /// An event at `actor` that is not a message.
    Note { actor: String, kind: &'static str, text: String },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Crossing {
    Opened,
    Sent(WireMessage),
    Received(WireMessage),
    /// This end is closed, or knows that the other is.
    Ended,
}

/// What one end sent to the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WireMessage {
    Json(Json),
    /// A text frame that is not JSON.
    Text(String),
    Binary(usize),
    Close {
        code: Option<u16>,
        reason: String,
    },
    /// An HTTP request without a body.
    Get(String),
    /// An HTTP answer with an unusual status.
    Status(u16),
}

/// Shared by all programs of a run.
#[derive(Clone, Default)]
pub(crate) struct Log {
    records: Arc<Mutex<Vec<Record>>>,
    /// Only what the checks read.
    pub(crate) is_brief: bool,
}

impl Log {
    pub(crate) fn brief() -> Self {
        Self { is_brief: true, ..Self::default() }
    }

    pub(crate) fn crossing(&self, host: &Arc<str>, wire: &Wire, crossing: Crossing) {
        let what = RecordKind::Crossing { host: host.clone(), wire: wire.clone(), crossing };
        self.add(clock::now(), what);
    }

    pub(crate) fn note(&self, at: Duration, actor: &str, kind: &'static str, text: String) {
        self.add(at, RecordKind::Note { actor: actor.to_owned(), kind, text });
    }

    /// Takes all records.
    pub(crate) fn take(&self) -> Vec<Record> {
        std::mem::take(&mut *self.records.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, at: Duration, what: RecordKind) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(Record { at, what });
    }
}
