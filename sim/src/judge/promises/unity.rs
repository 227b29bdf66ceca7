//! What the server sends to Unity and what Unity answers, read from their wires.

use std::time::Duration;

use protocol::Json;

use super::agents::OpenRequest;
use super::turns::Turns;
use super::{Came, PromiseChecker, SETTLES, text};
use crate::record::log::Wire;

impl PromiseChecker<'_> {
    pub(super) fn on_request(
        &mut self,
        at: Duration,
        wire: &Wire,
        frame: &Json,
    ) -> Result<(), String> {
        let (kind, id) = (text(frame, "type"), text(frame, "request_id"));
        self.editors.on_reply(wire);
        match kind.as_str() {
            "hello" => {
                self.on_session(at, wire);
                return Ok(());
            }
            "execute" | "submit_job" | "get_job_status" | "cancel" => {}
            _ => return Ok(()),
        }
        if self.session.get(&wire.server) != Some(wire) {
            return Err(format!("{kind} {id} was sent on a connection that is not the session"));
        }
        if !self.sent.insert(id.clone()) {
            return Err(format!("{kind} {id} was sent twice"));
        }
        if self.turns_of(wire).on_sent(at, wire, frame) {
            self.coverage.mark("a promised cancel was sent");
        }
        if kind == "cancel" {
            // The answer to this cancel says what became of the submission.
            self.editors.on_answered(wire, &text(frame, "target_request_id"));
        }
        if kind != "execute" && kind != "submit_job" {
            return Ok(());
        }
        self.editors.on_sent(at, wire, frame);
        let running = self.running.insert(wire.clone(), id.clone());
        if let Some(other) = running.filter(|_| !self.rules.is_forged) {
            return Err(format!("{id} was sent while Unity had {other}"));
        }
        let label = text(frame, "client_request_id");
        // A cancel that has just arrived may not have reached the core, nor the end of a relay its holder.
        let relayed = self.closed_at.get(&label).filter(|_| self.servers.has_passed_on(&label));
        let ended = self.cancelled_at.get(&label).or(relayed);
        let has_just_ended = ended.is_some_and(|ended| at <= *ended + self.settles(&label));
        if kind == "execute" && self.outcomes.is_closed(&label) && !has_just_ended {
            return Err(format!("{label} was sent after its end"));
        }
        self.check_sender(wire, &label)?;
        self.labels.insert(id, (label.clone(), kind == "execute"));
        if kind == "submit_job" {
            let timeout = frame.get("timeout_ms").and_then(Json::as_u64).unwrap_or(u64::MAX);
            self.submitted_at.insert(label.clone(), at);
            self.ends_at.insert(label.clone(), at.saturating_add(Duration::from_millis(timeout)));
        }
        if let Some(arrived) = self.arrived.get(&label) {
            if self.editors.is_of_another_project(wire, *arrived) {
                return Err(format!("{label} waited for another Editor and was sent to this one"));
            }
            let is_ordered = !self.servers.waited_for_port(&wire.server, &label, *arrived);
            if let Some((before, other)) = self.last_sent.get(&wire.server)
                && before > arrived
                && is_ordered
            {
                return Err(format!("{label} came before {other} and was sent after it"));
            }
            if is_ordered {
                self.last_sent.insert(wire.server.clone(), (*arrived, label.clone()));
            } else {
                self.coverage.mark("a call followed the port");
            }
        }
        self.outcomes.sent(label)
    }

    pub(super) fn turns_of(&mut self, wire: &Wire) -> &mut Turns {
        let rules = self.rules;
        self.turns.entry(wire.server.clone()).or_insert_with(|| Turns::new(rules))
    }

    /// The server has answered the hello on this connection.
    fn on_session(&mut self, at: Duration, wire: &Wire) {
        self.session.insert(wire.server.clone(), wire.clone());
        self.servers.on_session(at, &wire.server);
        let lost_at = self.lost_at.remove(&wire.server);
        let away = lost_at.map(|lost| at.saturating_sub(lost)).unwrap_or_default();
        if away + SETTLES >= self.rules.reconnect_wait {
            self.editors.on_given_up(&wire.server);
        }
        let (place, before) = self.editors.on_session(at, wire);
        let is_other = before.is_some_and(|before| place.is_other(&before));
        self.turns_of(wire).on_session(at, wire, &place, is_other);
    }

    pub(super) fn on_session_lost(&mut self, at: Duration, wire: &Wire) {
        self.turns_of(wire).on_lost(at, wire);
        self.doubt_reports(at);
        if self.session.get(&wire.server) == Some(wire) {
            self.lost_at.entry(wire.server.clone()).or_insert(at);
        }
    }

    pub(super) fn on_frame(&mut self, at: Duration, wire: &Wire, frame: &Json) {
        let id = text(frame, "request_id");
        match text(frame, "type").as_str() {
            "hello" => self.editors.on_hello(at, wire, frame),
            "editor_status" => {
                self.editors.on_status(wire, frame);
                self.turns_of(wire).on_status(at, wire, frame);
            }
            _ if id.is_empty() => return,
            _ => {}
        }
        if let Some((label, is_sure)) = self.turns_of(wire).on_answer(at, wire, frame) {
            self.on_report(at, &label, &id, is_sure);
        }
        if self.session.get(&wire.server) == Some(wire) {
            self.editors.on_answered(wire, &id);
        }
        self.running.retain(|_, running| *running != id);
        let Some((label, is_execute)) = self.labels.get(&id) else { return };
        self.drops.answered_at.insert(wire.clone(), at);
        let is_session = self.session.get(&wire.server) == Some(wire);
        let is_result = *is_execute && text(frame, "type") == "result";
        if is_session && is_result && !self.outcomes.is_closed(label) {
            let is_in_books = self.given.contains_key(id.as_str());
            let result = frame.get("result").filter(|_| !is_in_books);
            let result = result.cloned().unwrap_or_default();
            let is_due = !self.drops.closing.contains(wire);
            let came = Came { at, on: wire.clone(), request: id, result, is_due };
            self.results.entry(label.clone()).or_insert(came);
        }
    }

    /// A result that arrives together with the end of its session may be too late.
    pub(super) fn excuse(&mut self, at: Duration, wire: &Wire) {
        let together =
            self.results.values_mut().filter(|given| given.on == *wire && given.at == at);
        together.for_each(|given| given.is_due = false);
    }

    /// Counts where calls were when the session ended.
    pub(super) fn on_socket_ended(&mut self, at: Duration, wire: &Wire) {
        self.excuse(at, wire);
        self.editors.on_ended(wire);
        self.on_session_lost(at, wire);
        let running = self.running.remove(wire);
        if self.session.get(&wire.server) != Some(wire) || !self.drops.ended.insert(wire.clone()) {
            return;
        }
        let waits = |request: &OpenRequest| {
            let label = request.label.as_ref().filter(|_| request.is_for_unity());
            label.is_some_and(|label| !self.outcomes.was_sent(label))
        };
        if self.open.values().any(waits) {
            self.coverage.count("lost ", "before a call was sent");
        }
        if let Some(moment) = self.drops.moment(at, wire, running.as_deref()) {
            self.coverage.count("lost ", moment);
        }
    }
}
