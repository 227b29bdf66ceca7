//! Several servers on one port: which of them has it, which calls a relay has passed on, and that a call which was not
//! sent follows the port.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use protocol::Json;

use super::agents::OpenRequest;
use super::{PromiseChecker, SETTLES, label_of, text};
use crate::record::log::{Crossing, Wire, WireMessage};
use crate::record::trace;
use crate::scenario::SERVER;

/// A relay knows by then who has the port: it asks four times a second, and a question may take a second.
const FINDS_HOLDER: Duration = Duration::from_millis(1_500);
/// A call that a relay passes on later has waited for the next holder.
const AT_ONCE: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct Servers {
    /// Servers that were asked to stop, or killed, and have not started again.
    ending: BTreeSet<String>,
    /// Servers that have asked or used another one.
    relays: BTreeSet<Arc<str>>,
    /// Since when a server is known to have the port.
    has_port: BTreeMap<Arc<str>, Duration>,
    /// The connection from a relay to the holder that a call was passed on over.
    passed_on: BTreeMap<String, Wire>,
    /// Since when a server has a session with Unity.
    session_at: BTreeMap<Arc<str>, Duration>,
}

impl Servers {
    /// The server that answers this call was asked to stop, or killed.
    pub(super) fn are_ending(&self, wire: &Wire, label: &str) -> bool {
        let passed = self.passed_on.get(label).map(|passed| &passed.server);
        [Some(&wire.server), passed].into_iter().flatten().any(|host| self.ending.contains(&**host))
    }

    pub(super) fn has_passed_on(&self, label: &str) -> bool {
        self.passed_on.contains_key(label)
    }

    /// A call that waited until this server had the port. Such calls have no order among themselves.
    pub(super) fn waited_for_port(&self, server: &str, label: &str, arrived: Duration) -> bool {
        let since = self.has_port.get(server);
        !self.has_passed_on(label)
            && self.relays.contains(server)
            && since.is_none_or(|since| arrived <= *since)
    }

    pub(super) fn on_session(&mut self, at: Duration, server: &Arc<str>) {
        self.session_at.insert(server.clone(), at);
    }
}

fn is_relay(wire: &Wire) -> bool {
    trace::is_server(&wire.client)
}

impl PromiseChecker<'_> {
    /// A server ends or starts, or an agent leaves, and its server with it.
    pub(super) fn on_server_note(&mut self, actor: &str, kind: &str) {
        let own = format!("{SERVER}-of-{actor}");
        let hosts = match kind {
            "leaves" => vec![SERVER, own.as_str()],
            "is stopped" | "is killed" | "starts" => vec![actor],
            _ => return,
        };
        if self.rules.has_relays && matches!(kind, "is stopped" | "is killed") {
            let has_port = self.servers.has_port.contains_key(actor);
            let who = if has_port { "a holder " } else { "a relay " };
            self.coverage.count(who, kind);
        }
        for host in hosts {
            match kind {
                "starts" => self.servers.ending.remove(host),
                _ => self.servers.ending.insert(host.to_owned()),
            };
            self.servers.has_port.remove(host);
            self.servers.relays.remove(host);
            self.servers.session_at.remove(host);
            self.turns.remove(host); // A server that starts again knows no job.
            self.editors.forget(host);
        }
    }

    /// The relay's end of its connection with the holder.
    pub(super) fn see_relay(
        &mut self,
        at: Duration,
        wire: &Wire,
        crossing: &Crossing,
    ) -> Result<(), String> {
        match crossing {
            Crossing::Opened => drop(self.servers.relays.insert(wire.client.clone())),
            Crossing::Sent(WireMessage::Json(request)) => {
                return self.on_passed_on(at, wire, &label_of(request));
            }
            Crossing::Sent(_) | Crossing::Received(_) | Crossing::Ended => {}
        }
        Ok(())
    }

    fn on_passed_on(&mut self, at: Duration, wire: &Wire, label: &str) -> Result<(), String> {
        if label.is_empty() {
            return Ok(());
        }
        let before = self.servers.passed_on.insert(label.to_owned(), wire.clone());
        if before.is_some_and(|before| before != *wire) {
            return Err(format!("{label} was passed on a second time"));
        }
        self.coverage.mark("a relay passed on a call");
        let arrived = self.open.values().find(|request| request.label.as_deref() == Some(label));
        if arrived.is_some_and(|request| request.at + AT_ONCE + self.rules.detour < at) {
            self.coverage.mark("a call followed the port");
        }
        self.outcomes.sent(label.to_owned())
    }

    /// The holder's end of a connection that is not an agent's: the server has the port.
    pub(super) fn on_port_used(&mut self, at: Duration, wire: &Wire) {
        let is_first = !self.servers.has_port.contains_key(&wire.server);
        if is_first && (trace::is_unity(&wire.client) || is_relay(wire)) {
            self.servers.has_port.insert(wire.server.clone(), at);
            if self.servers.relays.contains(&wire.server) {
                self.coverage.mark("a relay took over the port");
            }
        }
    }

    /// A call arrives at the holder.
    pub(super) fn on_relayed(
        &mut self,
        at: Duration,
        wire: &Wire,
        request: &Json,
    ) -> Result<(), String> {
        let label = label_of(request);
        if label.is_empty() {
            return Ok(());
        }
        self.arrived.insert(label.clone(), at);
        self.servers.passed_on.entry(label.clone()).or_insert_with(|| wire.clone());
        self.outcomes.sent(label)
    }

    /// Only the server that a call was passed on to may send it to Unity, and only once.
    pub(super) fn check_sender(&mut self, wire: &Wire, label: &str) -> Result<(), String> {
        if let Some(passed) = self.servers.passed_on.get(label)
            && passed.server != wire.server
        {
            let (to, by) = (&passed.server, &wire.server);
            return Err(format!("{label} was passed on to {to}, and {by} sent it to Unity"));
        }
        if !label.is_empty() && !self.sent_calls.insert(label.to_owned()) {
            return Err(format!("{label} was sent to Unity a second time"));
        }
        Ok(())
    }

    /// A call that was sent nowhere does not fail while Unity is at another server.
    pub(super) fn check_follows(
        &mut self,
        at: Duration,
        wire: &Wire,
        request: &OpenRequest,
        error: &Json,
    ) -> Result<(), String> {
        let label = request.label.as_deref().unwrap_or_default();
        if text(error, "code") == "ERR_UNITY_DISCONNECTED" && self.servers.has_passed_on(label) {
            self.coverage.mark("a call was lost with its holder");
        }
        let is_waiting_over = text(error, "code") == "ERR_EDITOR_NOT_READY";
        if !is_waiting_over || self.servers.has_passed_on(label) {
            return Ok(());
        }
        let began = |server: &Arc<str>| self.servers.session_at.get(server).copied();
        let elsewhere =
            self.session.keys().filter(|server| **server != wire.server).find(|server| {
                let is_there = !self.lost_at.contains_key(*server);
                is_there
                    && began(server).is_some_and(|began| began.max(request.at) + FINDS_HOLDER < at)
            });
        let is_ending = self.servers.are_ending(wire, label);
        match elsewhere.filter(|_| !is_ending) {
            Some(other) => Err(format!("it was given up, although Unity is at {other}")),
            None => Ok(()),
        }
    }

    /// How long the news of an answer, a cancel or a report may take between two wires of this call.
    pub(super) fn settles(&self, label: &str) -> Duration {
        let detour =
            if self.servers.has_passed_on(label) { self.rules.detour } else { Duration::ZERO };
        SETTLES + detour
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{AllBooks, Rules, judge};
    use super::*;
    use crate::record::log::{Record, RecordKind};

    const HOLDER: &str = SERVER;
    const RELAY: &str = "server-of-bob";

    /// At this time, at this end of a connection between two hosts.
    fn at(millis: u64, host: &str, (client, server): (&str, &str), crossing: Crossing) -> Record {
        let wire =
            Wire { client: client.into(), server: server.into(), number: millis as u16 / 1_000 };
        let what = RecordKind::Crossing { host: host.into(), wire, crossing };
        Record { at: Duration::from_millis(millis), what }
    }

    fn call() -> WireMessage {
        let arguments = json!({ "client_request_id": "r1" });
        let params = json!({ "name": "read_console", "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        WireMessage::Json(call)
    }

    fn passed_on(millis: u64) -> Record {
        at(millis, RELAY, (RELAY, HOLDER), Crossing::Sent(call()))
    }

    fn hello(millis: u64, server: &str) -> Record {
        let hello = WireMessage::Json(json!({ "type": "hello" }));
        at(millis, server, ("unity", server), Crossing::Sent(hello))
    }

    fn execute(millis: u64, server: &str, id: &str) -> Record {
        let frame = json!({ "type": "execute", "request_id": id, "client_request_id": "r1" });
        at(millis, server, ("unity", server), Crossing::Sent(WireMessage::Json(frame)))
    }

    fn failures(records: &[Record]) -> String {
        judge(records, &AllBooks::default(), Rules { has_relays: true, ..Rules::default() })
            .0
            .concat()
    }

    #[test]
    fn a_call_that_is_passed_on_once_and_sent_once_is_right() {
        let records = [hello(1_000, HOLDER), passed_on(1_100), execute(1_200, HOLDER, "req-1")];
        assert_eq!(failures(&records), "");
    }

    #[test]
    fn a_call_that_is_passed_on_again_is_noticed() {
        assert!(failures(&[passed_on(1_000), passed_on(2_000)]).contains("a second time"));
    }

    #[test]
    fn a_call_that_two_servers_send_to_unity_is_noticed() {
        let one = [hello(1_000, HOLDER), passed_on(1_100), execute(1_200, HOLDER, "req-1")];
        let other = [hello(2_000, RELAY), execute(2_100, RELAY, "req-2")];
        let noticed = failures(&[one.to_vec(), other.to_vec()].concat());
        assert!(noticed.contains("server-of-bob sent it to Unity"), "{noticed}");
    }

    #[test]
    fn a_call_that_is_given_up_while_unity_is_at_another_server_is_noticed() {
        let details =
            json!({ "execution_guarantee": "not_executed", "recovery_action": "wait_for_editor" });
        let error = json!({ "error": { "code": "ERR_EDITOR_NOT_READY", "details": details } });
        let content = json!([{ "type": "text", "text": error.to_string() }]);
        let answer =
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "isError": true, "content": content } });
        let pipes = ("bob", RELAY);
        let asked = at(1_100, RELAY, pipes, Crossing::Received(call()));
        let Record { what, .. } =
            at(1_100, RELAY, pipes, Crossing::Sent(WireMessage::Json(answer)));
        let given_up = |after| Record { at: Duration::from_millis(after), what: what.clone() };
        let noticed = failures(&[asked.clone(), hello(1_500, HOLDER), given_up(4_000)]);
        assert!(noticed.contains("although Unity is at server"), "{noticed}");
        let soon = failures(&[asked, hello(1_500, HOLDER), given_up(2_000)]);
        assert_eq!(soon, "");
    }
}
