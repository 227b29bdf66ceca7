//! Drops: where a call was when the session with Unity ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::Json;

use crate::record::log::Wire;

/// A session that ends within this time after an answer counts as ended after it.
const SOON: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Drops {
    /// From the books of Unity.
    pub(super) ran_at: BTreeMap<String, Duration>,
    /// Requests whose answer has left Unity.
    answered: BTreeSet<String>,
    /// When the last answer came over each connection.
    pub(super) answered_at: BTreeMap<Wire, Duration>,
    /// Connections on which one end has sent a close.
    pub(super) closing: BTreeSet<Wire>,
    pub(super) ended: BTreeSet<Wire>,
}

impl Drops {
    /// Unity has sent this frame.
    pub(super) fn on_sent_by_client(&mut self, frame: &Json) {
        if let Some(id) = frame.get("request_id").and_then(Json::as_str) {
            self.answered.insert(id.to_owned());
        }
    }

    /// `running`: the request that Unity has.
    pub(super) fn moment(
        &self,
        at: Duration,
        wire: &Wire,
        running: Option<&str>,
    ) -> Option<&'static str> {
        if self.closing.contains(wire) {
            return Some("during a close");
        }
        match running {
            Some(id) if self.answered.contains(id) => Some("after the result"),
            Some(id) if self.ran_at.get(id).is_some_and(|ran| *ran <= at) => {
                Some("after a call ran")
            }
            Some(_) => Some("after a call was sent"),
            None => {
                let answered = self.answered_at.get(wire)?;
                (at.saturating_sub(*answered) <= SOON).then_some("after the result")
            }
        }
    }
}
