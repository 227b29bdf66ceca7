//! CallRecords: each call of an agent and the answers it received.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::Json;

use crate::levels::clock;

/// What an agent received for a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallResult {
    Ok(Json),
    Failed {
        code: String,
        guarantee: Option<String>,
    },
    /// There will be no answer.
    Lost(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallRecord {
    pub(crate) called_at: Option<Duration>,
    pub(crate) answers: Vec<(Duration, CallResult)>,
    pub(crate) cancelled_at: Option<Duration>,
}

/// By the label of the call; shared by the agents of a simulation.
#[derive(Clone, Default)]
pub(crate) struct CallRecords(Arc<Mutex<CallRecordsSnapshot>>);

#[derive(Clone, Default)]
pub(crate) struct CallRecordsSnapshot {
    pub(crate) calls: BTreeMap<String, CallRecord>,
    /// Agents that could not connect.
    pub(crate) not_joined: Vec<String>,
}

impl CallRecords {
    pub(crate) fn snapshot(&self) -> CallRecordsSnapshot {
        self.lock().clone()
    }

    pub(crate) fn is_closed(&self, label: &str) -> bool {
        let snapshot = self.lock();
        snapshot
            .calls
            .get(label)
            .is_some_and(|record| !record.answers.is_empty() || record.cancelled_at.is_some())
    }

    pub(crate) fn write(&self, label: &str, change: impl FnOnce(&mut CallRecord)) {
        change(self.lock().calls.entry(label.to_owned()).or_default());
    }

    /// An agent could not connect.
    pub(crate) fn not_joined(&self, problem: String) {
        self.lock().not_joined.push(problem);
    }

    fn lock(&self) -> MutexGuard<'_, CallRecordsSnapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn told(&self, label: &str, told: CallResult) {
        self.write(label, |record| record.answers.push((clock::now(), told)));
    }
}
