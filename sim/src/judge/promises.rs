//! The promises of every run: reads the server's end of every wire in order and compares it with the books of Unity.

mod agents;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use protocol::Json;

use mock_unity::Execution;

use super::drops::Drops;
use super::expectations::{AllBooks, executed};
use crate::judge::call_outcomes::CallOutcomes;
use crate::judge::coverage::Coverage;
use crate::record::log::{Crossing, Record, RecordKind, Wire, WireMessage};
use crate::record::trace;
use crate::scenario::SERVER;
use agents::OpenRequest;

/// The delay between one wire and another inside the server: two ticks.
const SETTLES: Duration = Duration::from_millis(2);

/// The broken promises, and the coverage. `is_forged`: Unity sends answers to requests that it has not handled, so that
/// it can get the next request too early.
pub(crate) fn promises(
    records: &[Record],
    books: &AllBooks,
    is_forged: bool,
) -> (Vec<String>, Coverage) {
    let mut checker =
        PromiseChecker { ran: executed(books), is_forged, ..PromiseChecker::default() };
    for (starts, books) in books.values() {
        let ran_at = |ran: &Execution| (ran.request_id.0.clone(), *starts + ran.at);
        checker.drops.ran_at.extend(books.executed.iter().map(ran_at));
    }
    let mut failures = Vec::new();
    for record in records {
        match &record.what {
            RecordKind::Crossing { host, wire, crossing } if *host == wire.server => {
                let problem = checker.see(record.at, wire, crossing).err();
                failures.extend(problem.map(|problem| format!("at {:?}: {problem}", record.at)));
            }
            RecordKind::Crossing { crossing: Crossing::Sent(WireMessage::Json(frame)), .. } => {
                checker.drops.on_sent_by_client(frame);
            }
            RecordKind::Crossing { .. } | RecordKind::Note { .. } => {}
        }
    }
    let ran = checker.ran.iter().map(String::as_str);
    failures.extend(checker.outcomes.close(ran).err());
    for (editor, (_, books)) in books {
        let overlapping = books.overlapping.iter().filter(|_| !is_forged);
        failures.extend(overlapping.map(|id| format!("{editor} got {id} before it was done")));
        failures
            .extend(books.sent_twice().into_iter().map(|id| format!("{editor} got {id} twice")));
        if books.not_understood > 0 {
            failures.push(format!("{editor} did not understand {} frames", books.not_understood));
        }
    }
    (failures, checker.coverage)
}

#[derive(Default)]
struct PromiseChecker {
    outcomes: CallOutcomes,
    ran: Vec<String>,
    /// The wires do not show whether Unity is free; the model does.
    is_forged: bool,
    /// Requests that were sent to Unity.
    sent: BTreeSet<String>,
    /// Requests of agents without an answer, by connection and id.
    open: BTreeMap<(Wire, String), OpenRequest>,
    /// When each call for Unity arrived.
    arrived: BTreeMap<String, Duration>,
    last_sent: Option<(Duration, String)>,
    /// What runs in Unity, by connection.
    running: BTreeMap<Wire, String>,
    /// The connection that got the last hello of each server.
    session: BTreeMap<Arc<str>, Wire>,
    /// The calls that started the jobs.
    jobs: BTreeMap<String, String>,
    /// The call of each request that runs in Unity, and whether Unity's answer is the answer of the call.
    labels: BTreeMap<String, (String, bool)>,
    /// What Unity answered for a call.
    results: BTreeMap<String, Given>,
    cancelled_at: BTreeMap<String, Duration>,
    drops: Drops,
    coverage: Coverage,
}

struct Given {
    at: Duration,
    on: Wire,
    result: Json,
    /// Whether the agent must get it at once.
    is_due: bool,
}

impl PromiseChecker {
    fn see(&mut self, at: Duration, wire: &Wire, crossing: &Crossing) -> Result<(), String> {
        match (trace::is_unity(&wire.client), crossing) {
            (true, Crossing::Sent(WireMessage::Json(frame))) => self.on_request(at, wire, frame),
            (true, Crossing::Received(WireMessage::Json(frame))) => {
                self.on_frame(at, wire, frame);
                Ok(())
            }
            // An answer that cannot be read is still the end of its request.
            (true, Crossing::Received(WireMessage::Text(text))) => {
                self.running.retain(|_, running| !text.contains(&format!("\"{running}\"")));
                Ok(())
            }
            (true, Crossing::Sent(WireMessage::Close { .. })) => {
                self.excuse(at, wire);
                self.drops.closing.insert(wire.clone());
                Ok(())
            }
            (true, Crossing::Received(WireMessage::Close { .. })) => {
                self.drops.closing.insert(wire.clone());
                Ok(())
            }
            // One server relays to another: the call arrives at the second, and the first has sent it.
            (false, Crossing::Received(WireMessage::Json(request))) if is_relay(wire) => {
                self.arrived.insert(label_of(request), at);
                self.outcomes.sent(label_of(request))
            }
            (false, Crossing::Sent(_) | Crossing::Ended) if is_relay(wire) => Ok(()),
            (false, Crossing::Received(WireMessage::Json(request))) => {
                self.on_call(at, wire, request);
                Ok(())
            }
            (false, Crossing::Sent(WireMessage::Json(answer))) => self.on_answer(at, wire, answer),
            (false, Crossing::Sent(WireMessage::Text(text))) => {
                Err(format!("{} was sent something that is not MCP: {text}", wire.client))
            }
            (false, Crossing::Ended) => {
                let open = self.open.extract_if(.., |(of, _), _| of == wire);
                for (_, request) in open.collect::<Vec<_>>() {
                    self.on_cancelled(at, request);
                }
                Ok(())
            }
            (true, Crossing::Ended) => {
                self.on_socket_ended(at, wire);
                Ok(())
            }
            (_, Crossing::Opened | Crossing::Sent(_) | Crossing::Received(_)) => Ok(()),
        }
    }

    fn on_request(&mut self, at: Duration, wire: &Wire, frame: &Json) -> Result<(), String> {
        let (kind, id) = (text(frame, "type"), text(frame, "request_id"));
        match kind.as_str() {
            "hello" => {
                self.session.insert(wire.server.clone(), wire.clone());
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
        if kind != "execute" && kind != "submit_job" {
            return Ok(());
        }
        let running = self.running.insert(wire.clone(), id.clone());
        if let Some(other) = running.filter(|_| !self.is_forged) {
            return Err(format!("{id} was sent while Unity had {other}"));
        }
        let label = text(frame, "client_request_id");
        // A cancel that has just arrived may not have reached the core.
        let has_just_ended =
            self.cancelled_at.get(&label).is_some_and(|back| at <= *back + SETTLES);
        if kind == "execute" && self.outcomes.is_closed(&label) && !has_just_ended {
            return Err(format!("{label} was sent after its end"));
        }
        self.labels.insert(id, (label.clone(), kind == "execute"));
        if let Some(arrived) = self.arrived.get(&label) {
            if let Some((before, other)) = &self.last_sent
                && before > arrived
            {
                return Err(format!("{label} came before {other} and was sent after it"));
            }
            self.last_sent = Some((*arrived, label.clone()));
        }
        self.outcomes.sent(label)
    }

    fn on_frame(&mut self, at: Duration, wire: &Wire, frame: &Json) {
        let id = text(frame, "request_id");
        self.running.retain(|_, running| *running != id);
        let Some((label, is_execute)) = self.labels.get(&id) else { return };
        self.drops.answered_at.insert(wire.clone(), at);
        let is_session = self.session.get(&wire.server) == Some(wire);
        let is_result = *is_execute && text(frame, "type") == "result";
        if is_session && is_result && !self.outcomes.is_closed(label) {
            let result = frame.get("result").cloned().unwrap_or_default();
            let is_due = !self.drops.closing.contains(wire);
            let given = Given { at, on: wire.clone(), result, is_due };
            self.results.entry(label.clone()).or_insert(given);
        }
    }

    /// A result that arrives together with the end of its session may be too late.
    fn excuse(&mut self, at: Duration, wire: &Wire) {
        let together =
            self.results.values_mut().filter(|given| given.on == *wire && given.at == at);
        together.for_each(|given| given.is_due = false);
    }

    /// Counts where calls were when the session ended.
    fn on_socket_ended(&mut self, at: Duration, wire: &Wire) {
        self.excuse(at, wire);
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

fn is_relay(wire: &Wire) -> bool {
    wire.client.starts_with(SERVER)
}

fn label_of(call: &Json) -> String {
    let label = call.pointer("/params/arguments/client_request_id");
    label.and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The server's end of the pipes of an agent and of the socket of Unity: who sends, and what.
    fn failures(said: &[(&str, Json)], ran: &[&str]) -> Vec<String> {
        let wire = |client: &str| Wire { client: client.into(), server: SERVER.into(), number: 1 };
        let records: Vec<Record> = (1..)
            .zip(said)
            .map(|(at, (who, message))| {
                let client = if who.contains("unity") { "unity" } else { "ann" };
                let text = message.as_str().map(|text| WireMessage::Text(text.to_owned()));
                let message = text.unwrap_or_else(|| WireMessage::Json(message.clone()));
                let crossing = if who.starts_with("to ") {
                    Crossing::Sent(message)
                } else {
                    Crossing::Received(message)
                };
                let (host, wire) = (SERVER.into(), wire(client));
                let what = RecordKind::Crossing { host, wire, crossing };
                Record { at: Duration::from_millis(at), what }
            })
            .collect();
        promises(&records, &books_with(ran), false).0
    }

    fn call(id: u64, label: &str) -> (&'static str, Json) {
        let arguments = json!({ "client_request_id": label });
        let params = json!({ "name": "read_console", "arguments": arguments });
        (
            "from ann",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
        )
    }

    fn answer(id: u64) -> (&'static str, Json) {
        let result = json!({ "structuredContent": { "entries": [], "truncated": false } });
        ("to ann", json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn error(id: u64, guarantee: &str) -> (&'static str, Json) {
        let error = json!({ "error": { "code": "ERR_X", "details": { "execution_guarantee": guarantee } } });
        let content = json!([{ "type": "text", "text": error.to_string() }]);
        let result = json!({ "isError": true, "content": content });
        ("to ann", json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn execute(id: &str, label: &str) -> (&'static str, Json) {
        ("to unity", json!({ "type": "execute", "request_id": id, "client_request_id": label }))
    }

    fn result(id: &str) -> (&'static str, Json) {
        console(id, &json!([]))
    }

    fn console(id: &str, entries: &Json) -> (&'static str, Json) {
        let result = json!({ "entries": entries, "truncated": false });
        ("from unity", json!({ "type": "result", "request_id": id, "result": result }))
    }

    /// The books of a Unity that ran these calls.
    fn books_with(ran: &[&str]) -> AllBooks {
        let execution = |call: &&str| Execution {
            at: Duration::ZERO,
            request_id: protocol::RequestId("r1".to_owned()),
            client_request_id: Some((*call).to_owned()),
            tool_name: "read_console".to_owned(),
        };
        let executed = ran.iter().map(execution).collect();
        let books = mock_unity::Books { executed, ..mock_unity::Books::default() };
        AllBooks::from([("unity".to_owned(), (Duration::ZERO, books))])
    }

    #[test]
    fn what_is_right_passes_and_each_broken_promise_is_noticed() {
        let hello = ("to unity", json!({ "type": "hello" }));
        let cancel = json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let cancel = ("from ann", cancel);
        let right = [hello.clone(), call(1, "a"), execute("r1", "a"), result("r1"), answer(1)];
        assert_eq!(failures(&right, &["a"]), Vec::<String>::new());
        assert!(failures(&right, &[]).concat().contains("never ran"));
        let others = console("r1", &json!([{ "type": "log", "message": "x" }]));
        let told = [hello.clone(), call(1, "a"), execute("r1", "a"), others, answer(1)];
        assert!(failures(&told, &["a"]).concat().contains("did not answer"));
        let pause = (0..40).map(|_| ("to unity", json!({ "type": "ping" })));
        let late: Vec<_> = right.iter().take(4).cloned().chain(pause).chain([answer(1)]).collect();
        assert!(failures(&late, &["a"]).concat().contains("not passed on"));
        for (said, noticed) in [
            (vec![call(1, "a"), answer(1), answer(1)], "does not wait for"),
            (vec![call(1, "a"), cancel, answer(1)], "does not wait for"),
            (vec![("to ann", json!("println was here"))], "not MCP"),
            (vec![execute("r1", "a")], "not the session"),
            (
                vec![hello.clone(), execute("r1", "a"), result("r1"), execute("r1", "a")],
                "sent twice",
            ),
            (vec![hello.clone(), execute("r1", "a"), execute("r2", "b")], "while Unity had r1"),
            (
                vec![
                    hello.clone(),
                    call(1, "a"),
                    call(2, "b"),
                    execute("r2", "b"),
                    result("r2"),
                    execute("r1", "a"),
                ],
                "a came before b",
            ),
            (
                vec![hello, call(1, "a"), error(1, "not_executed"), execute("r1", "a")],
                "after its end",
            ),
            (vec![call(1, "a"), error(1, "unknown")], "a was never sent"),
            (vec![call(1, "a"), error(1, "")], "without a guarantee"),
        ] {
            let failures = failures(&said, &[]);
            assert!(
                failures.iter().any(|failure| failure.contains(noticed)),
                "{noticed}: {failures:?}"
            );
        }
    }

    #[test]
    fn a_promise_that_the_books_refute_is_noticed_of_calls_and_of_jobs() {
        let mut checker = PromiseChecker {
            ran: vec!["a".to_owned(), "t".to_owned()],
            ..PromiseChecker::default()
        };
        assert!(checker.on_failure("a", "not_executed").is_err());
        let accepted = json!({ "job_id": "job-1", "state": "queued" });
        assert_eq!(checker.on_result(Some("t".to_owned()), &accepted), Ok(()));
        let failed = json!({
            "job_id": "job-1",
            "state": "failed",
            "error": { "code": "ERR_X", "details": { "execution_guarantee": "not_executed" } },
        });
        assert!(checker.on_result(None, &failed).unwrap_err().contains("t ran"));
        let succeeded = json!({ "job_id": "job-1", "state": "succeeded" });
        assert!(checker.on_result(None, &succeeded).unwrap_err().contains("became"));
    }
}
