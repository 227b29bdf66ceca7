//! Drops: where a call was when the session with Unity ended.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::Json;

use crate::record::log::Wire;

/// A session that ends so soon after an answer ends after it.
const JUST_NOW: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Drops {
    /// By the books of Unity.
    pub(super) ran_at: BTreeMap<String, Duration>,
    /// Requests whose answer has left Unity.
    said: BTreeSet<String>,
    /// When the last answer came over each connection.
    pub(super) answered_at: BTreeMap<Wire, Duration>,
    /// Connections on which one end has said goodbye.
    pub(super) closing: BTreeSet<Wire>,
    pub(super) ended: BTreeSet<Wire>,
}

impl Drops {
    /// What the other end of a wire has sent: Unity's answers are of interest.
    pub(super) fn on_sent_by_client(&mut self, frame: &Json) {
        if let Some(id) = frame.get("request_id").and_then(Json::as_str) {
            self.said.insert(id.to_owned());
        }
    }

    /// `running` is the request that Unity has.
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
            Some(id) if self.said.contains(id) => Some("after the result"),
            Some(id) if self.ran_at.get(id).is_some_and(|ran| *ran <= at) => {
                Some("after a call ran")
            }
            Some(_) => Some("after a call was sent"),
            None => {
                let answered = self.answered_at.get(wire)?;
                (at.saturating_sub(*answered) <= JUST_NOW).then_some("after the result")
            }
        }
    }
}
