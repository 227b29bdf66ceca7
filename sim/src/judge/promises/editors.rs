//! Which Editor has the session, and which one ran a call. Requests of two sessions must not overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use protocol::Json;

use super::{SETTLES, text};
use crate::record::log::Wire;

/// How long Unity has to accept a job.
pub(super) const SUBMISSION: Duration = Duration::from_secs(30);

/// What the hello of a plugin says about its Editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The host, which every Editor has, even if it does not name itself.
    pub(super) host: String,
    /// Changes when the Editor restarts.
    pub(super) instance: String,
    /// Changes when the plugin may have forgotten a request.
    pub(super) plugin_session: String,
    /// Empty for a plugin that does not name its project.
    pub(super) project: String,
    /// A request of an earlier session that it still runs.
    pub(super) still_runs: String,
    pub(super) is_ready: bool,
    /// Of the last status.
    seq: u64,
}

impl Place {
    pub(super) fn of(wire: &Wire, hello: &Json) -> Self {
        Self {
            host: wire.client.to_string(),
            instance: text(hello, "editor_instance_id"),
            plugin_session: text(hello, "plugin_session_id"),
            project: text(hello, "project_path"),
            still_runs: text(hello, "running_request_id"),
            is_ready: text(hello, "state") == "ready",
            seq: 0,
        }
    }

    /// Whether calls that waited for the Editor before must not go to this one.
    fn is_no_place_for_its_calls(&self, before: &Self) -> bool {
        let are_named = !self.instance.is_empty() && !before.instance.is_empty();
        let is_same_project = !self.project.is_empty() && self.project == before.project;
        are_named && self.instance != before.instance && !is_same_project
    }

    /// Another Editor, or the same one after a restart.
    pub(super) fn is_other(&self, before: &Self) -> bool {
        self.host != before.host || self.instance != before.instance
    }
}

/// The request that one server has sent to Unity and that has no answer.
struct Sent {
    id: String,
    label: String,
    on: Wire,
    /// `None` for an `execute`, which lasts until its call has ended.
    until: Option<Duration>,
}

/// A request that was sent on a new session while an earlier one had no answer.
struct Overlap {
    at: Duration,
    id: String,
    earlier: String,
    /// The call of the earlier one: it is right if that has ended. Without one it is wrong.
    call: Option<String>,
}

#[derive(Default)]
pub(super) struct Editors {
    /// By the hello that each connection has sent.
    places: BTreeMap<Wire, Place>,
    /// When a hello came that the server has not answered: the connection may have ended before.
    greeted_at: BTreeMap<Wire, Duration>,
    /// The session of each server, and when another Editor last took it.
    sessions: BTreeMap<Arc<str>, Place>,
    changed_at: Option<Duration>,
    /// Who may have had the session of each server for a moment: the answer to its hello was not sent.
    unanswered_places: BTreeMap<Arc<str>, Place>,
    /// When another project took the session of each server: calls from before must not run there.
    moved_at: BTreeMap<Arc<str>, Duration>,
    unanswered: BTreeMap<Arc<str>, Sent>,
    overlaps: Vec<Overlap>,
    /// Where each request was sent, and when.
    sent_to: BTreeMap<String, (Wire, Duration)>,
    /// Requests of servers that have ended.
    left_behind: BTreeSet<String>,
    /// Servers whose Unity was still at work for another server. Its hello names one request, so these do not know
    /// what else it has.
    shared: BTreeSet<Arc<str>>,
}

impl Editors {
    pub(super) fn on_hello(&mut self, at: Duration, wire: &Wire, hello: &Json) {
        self.greeted_at.entry(wire.clone()).or_insert(at);
        self.places.entry(wire.clone()).or_insert_with(|| Place::of(wire, hello));
    }

    /// The server has sent something on this connection.
    pub(super) fn on_reply(&mut self, wire: &Wire) {
        self.greeted_at.remove(wire);
    }

    /// A connection that ended before its hello was answered may have been the session for a moment.
    pub(super) fn on_ended(&mut self, wire: &Wire) {
        let (Some(greeted), Some(place)) = (self.greeted_at.get(wire), self.places.get(wire))
        else {
            return;
        };
        if self.sessions.get(&wire.server).is_some_and(|before| place.is_other(before)) {
            self.changed_at = self.changed_at.max(Some(*greeted));
        }
        self.unanswered_places.insert(wire.server.clone(), place.clone());
    }

    /// The server has accepted this connection. Returns who is there now, and who was before.
    /// A plugin may send a status before it has the session.
    pub(super) fn on_status(&mut self, wire: &Wire, status: &Json) {
        let seq = status.get("seq").and_then(Json::as_u64).unwrap_or_default();
        if let Some(place) = self.places.get_mut(wire).filter(|place| seq > place.seq) {
            (place.seq, place.is_ready) = (seq, text(status, "state") == "ready");
        }
    }

    pub(super) fn on_session(&mut self, at: Duration, wire: &Wire) -> (Place, Option<Place>) {
        let place = self.places.get(wire).cloned().unwrap_or_default();
        let before = self.sessions.insert(wire.server.clone(), place.clone());
        let is_of_another = |(sent, _): &(Wire, Duration)| sent.server != wire.server;
        if self.left_behind.contains(&place.still_runs)
            || self.sent_to.get(&place.still_runs).is_some_and(is_of_another)
        {
            self.shared.insert(wire.server.clone());
        }
        let unanswered = self.unanswered_places.remove(&wire.server);
        if [&before, &unanswered].into_iter().flatten().any(|before| place.is_other(before)) {
            self.changed_at = Some(at);
        }
        if before.as_ref().is_some_and(|before| place.is_no_place_for_its_calls(before)) {
            let moved = self.accepted_before(wire, &place).unwrap_or(at);
            self.moved_at.insert(wire.server.clone(), moved);
        }
        let forgot = before.as_ref().is_some_and(|before| {
            before.plugin_session != place.plugin_session || place.is_other(before)
        });
        if forgot {
            // A submission ends with the memory of the plugin. A call ends with its answer.
            let ends = |sent: &Sent| sent.until.is_some();
            self.unanswered.retain(|server, sent| *server != wire.server || !ends(sent));
        }
        (place, before)
    }

    /// When the server accepted this Editor on a connection that ended before the answer to its hello.
    fn accepted_before(&self, wire: &Wire, place: &Place) -> Option<Duration> {
        let is_it = |other: &Wire| {
            let same = self.places.get(other).is_some_and(|other| other.instance == place.instance);
            same && other.server == wire.server
        };
        self.greeted_at.iter().filter(|(other, _)| is_it(other)).map(|(_, at)| *at).min()
    }

    /// Another Editor has taken the session since then: calls that waited may have ended.
    pub(super) fn has_changed_since(&self, at: Duration) -> bool {
        self.changed_at.is_some_and(|changed| at <= changed)
    }

    /// A call that arrived then must not run in the Editor that is there now.
    pub(super) fn is_of_another_project(&self, wire: &Wire, arrived: Duration) -> bool {
        let moved = self.moved_at.get(&wire.server);
        moved.is_some_and(|moved| arrived + SETTLES < *moved)
    }

    /// An `execute` or a `submit_job`. Two on one session are judged elsewhere.
    pub(super) fn on_sent(&mut self, at: Duration, wire: &Wire, frame: &Json) {
        let (id, label) = (text(frame, "request_id"), text(frame, "client_request_id"));
        self.sent_to.insert(id.clone(), (wire.clone(), at));
        let timeout = frame.get("timeout_ms").and_then(Json::as_u64).unwrap_or_default();
        let limit = Duration::from_millis(timeout).min(SUBMISSION);
        let until = (text(frame, "type") == "submit_job").then_some(at + limit);
        let sent = Sent { id: id.clone(), label, on: wire.clone(), until };
        let before = self.unanswered.insert(wire.server.clone(), sent);
        let Some(earlier) = before.filter(|before| before.on != *wire) else { return };
        if self.shared.contains(&wire.server) {
            return;
        }
        if earlier.until.is_none_or(|until| until > at + SETTLES) {
            let is_named =
                self.places.get(wire).is_some_and(|place| place.still_runs == earlier.id);
            let call = earlier.until.is_none().then_some(earlier.label);
            let call = call.filter(|_| !is_named);
            self.overlaps.push(Overlap { at, id, earlier: earlier.id, call });
        }
    }

    /// What is wrong, in the end. `ended_at`: when the call of this name was answered or cancelled.
    pub(super) fn check(&self, ended_at: impl Fn(&str) -> Option<Duration>) -> Vec<String> {
        let is_right = |overlap: &Overlap| {
            let ended = overlap.call.as_deref().and_then(&ended_at);
            ended.is_some_and(|ended| ended <= overlap.at + SETTLES)
        };
        let wrong = self.overlaps.iter().filter(|overlap| !is_right(overlap));
        let show = |Overlap { at, id, earlier, .. }: &Overlap| {
            format!("at {at:?}: {id} was sent while {earlier} of an earlier session had no answer")
        };
        wrong.map(show).collect()
    }

    pub(super) fn on_answered(&mut self, wire: &Wire, id: &str) {
        if self.unanswered.get(&wire.server).is_some_and(|sent| sent.id == id) {
            self.unanswered.remove(&wire.server);
        }
    }

    /// Unity has left for so long that the server gave up what it had sent.
    pub(super) fn on_given_up(&mut self, server: &Arc<str>) {
        self.unanswered.remove(server);
    }

    pub(super) fn forget(&mut self, server: &str) {
        self.unanswered.retain(|of, _| **of != *server);
        self.sessions.retain(|of, _| **of != *server);
        self.moved_at.retain(|of, _| **of != *server);
        self.shared.retain(|of| **of != *server);
        let of_it = self.sent_to.iter().filter(|(_, (wire, _))| *wire.server == *server);
        self.left_behind.extend(of_it.map(|(id, _)| id.clone()));
    }

    /// Where a request was sent.
    pub(super) fn sent_to(&self, id: &str) -> Option<&str> {
        self.sent_to.get(id).map(|(wire, _)| &*wire.client)
    }

    pub(super) fn sent_at(&self, id: &str) -> Option<Duration> {
        self.sent_to.get(id).map(|(_, at)| *at)
    }
}
