//! What is promised always: the server's end of every wire is read in order, and compared with Unity's books.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::Json;
use unity_mcp::coordination::Guarantee;

use super::{AllBooks, executed};
use crate::ledger::Ledger;
use crate::log::{Crossing, Message, Record, What, Wire};
use crate::scenario::SERVER;
use crate::trace::{self, Outcome};

/// What is promised always.
pub(crate) fn promises(records: &[Record], books: &AllBooks) -> Vec<String> {
    let mut auditor = Auditor { ran: executed(books), ..Auditor::default() };
    let mut failures = Vec::new();
    for record in records {
        if let What::Crossing { host, wire, crossing } = &record.what
            && *host == wire.server
        {
            let problem = auditor.see(record.at, wire, crossing).err();
            failures.extend(problem.map(|problem| format!("at {:?}: {problem}", record.at)));
        }
    }
    let ran = auditor.ran.iter().map(String::as_str);
    failures.extend(auditor.ledger.close(ran).err());
    for (editor, (_, books)) in books {
        failures
            .extend(books.sent_twice().into_iter().map(|id| format!("{editor} got {id} twice")));
        if books.not_understood > 0 {
            failures.push(format!("{editor} did not understand {} frames", books.not_understood));
        }
    }
    failures
}

/// Sees the server's end of every wire, in order.
#[derive(Default)]
struct Auditor {
    ledger: Ledger,
    ran: Vec<String>,
    /// Requests that were sent to Unity.
    sent: BTreeSet<String>,
    /// Requests of agents without an answer, by connection and id.
    open: BTreeMap<(Wire, String), OpenRequest>,
    /// When each call for Unity came.
    arrived: BTreeMap<String, Duration>,
    last_sent: Option<(Duration, String)>,
    /// What runs in Unity, by connection.
    running: BTreeMap<Wire, String>,
    /// The connection that was welcomed last, by server.
    session: BTreeMap<String, Wire>,
    /// The calls that started the jobs.
    jobs: BTreeMap<String, String>,
}

struct OpenRequest {
    /// The name of the call, if it is one.
    label: Option<String>,
    for_unity: bool,
    starts_a_job: bool,
}

impl Auditor {
    fn see(&mut self, at: Duration, wire: &Wire, crossing: &Crossing) -> Result<(), String> {
        match (trace::is_unity(&wire.client), crossing) {
            (true, Crossing::Sent(Message::Json(frame))) => self.on_request(wire, frame),
            (true, Crossing::Received(Message::Json(frame))) => {
                let id = text(frame, "request_id");
                self.running.retain(|_, running| *running != id);
                Ok(())
            }
            // One server relays to another: there the call arrives where it is decided, and for the
            // first one it has left.
            (false, Crossing::Received(Message::Json(request))) if is_relay(wire) => {
                self.arrived.insert(label_of(request), at);
                self.ledger.handed(label_of(request))
            }
            (false, Crossing::Sent(_) | Crossing::Ended) if is_relay(wire) => Ok(()),
            (false, Crossing::Received(Message::Json(request))) => {
                self.on_call(at, wire, request);
                Ok(())
            }
            (false, Crossing::Sent(Message::Json(answer))) => self.on_answer(wire, answer),
            (false, Crossing::Sent(Message::Text(text))) => {
                Err(format!("{} was sent something that is not MCP: {text}", wire.client))
            }
            (false, Crossing::Ended) => {
                for (_, request) in self.open.extract_if(.., |(of, _), _| of == wire) {
                    request.label.into_iter().for_each(|label| self.ledger.taken_back(label));
                }
                Ok(())
            }
            (true, Crossing::Ended) => {
                self.running.remove(wire);
                Ok(())
            }
            (_, Crossing::Opened | Crossing::Sent(_) | Crossing::Received(_)) => Ok(()),
        }
    }

    fn on_request(&mut self, wire: &Wire, frame: &Json) -> Result<(), String> {
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
        if let Some(other) = self.running.insert(wire.clone(), id.clone()) {
            return Err(format!("{id} was sent while Unity had {other}"));
        }
        let label = text(frame, "client_request_id");
        if let Some(arrived) = self.arrived.get(&label) {
            if let Some((before, other)) = &self.last_sent
                && before > arrived
            {
                return Err(format!("{label} came before {other} and was sent after it"));
            }
            self.last_sent = Some((*arrived, label.clone()));
        }
        self.ledger.handed(label)
    }

    fn on_call(&mut self, at: Duration, wire: &Wire, request: &Json) {
        let id = request.get("id").map(Json::to_string);
        match text(request, "method").as_str() {
            "notifications/cancelled" => {
                let id = request.pointer("/params/requestId").map(Json::to_string);
                let taken_back = self.open.remove(&(wire.clone(), id.unwrap_or_default()));
                let label = taken_back.and_then(|request| request.label);
                label.into_iter().for_each(|label| self.ledger.taken_back(label));
            }
            "tools/call" => {
                let tool = request.pointer("/params/name").and_then(Json::as_str);
                let for_unity = matches!(tool, Some("read_console" | "run_tests"));
                let label = label_of(request);
                if for_unity {
                    self.arrived.entry(label.clone()).or_insert(at);
                }
                let starts_a_job = tool == Some("run_tests");
                let request = OpenRequest { label: Some(label), for_unity, starts_a_job };
                self.open.insert((wire.clone(), id.unwrap_or_default()), request);
            }
            _ => {
                if let Some(id) = id {
                    let request =
                        OpenRequest { label: None, for_unity: false, starts_a_job: false };
                    self.open.insert((wire.clone(), id), request);
                }
            }
        }
    }

    fn on_answer(&mut self, wire: &Wire, answer: &Json) -> Result<(), String> {
        let is_answer = answer.get("jsonrpc").is_some() && answer.get("method").is_none();
        let Some(id) = answer.get("id").filter(|_| is_answer) else { return Ok(()) };
        let Some(request) = self.open.remove(&(wire.clone(), id.to_string())) else {
            return Err(format!("an answer to {id}, which {} does not wait for", wire.client));
        };
        let Some(label) = request.label else { return Ok(()) };
        self.ledger.answered(&label)?;
        match trace::outcome_of(answer) {
            Outcome::Ok(result) => self.on_result(request.starts_a_job.then_some(label), &result),
            Outcome::Failed { guarantee, .. } if request.for_unity => {
                self.on_failure(&label, &guarantee)
            }
            Outcome::Failed { .. } => Ok(()),
        }
    }

    /// Whatever else it is, it may say how a job ended. `starter`: the call, if it starts jobs.
    fn on_result(&mut self, starter: Option<String>, result: &Json) -> Result<(), String> {
        let (job, state) = (text(result, "job_id"), text(result, "state"));
        if job.is_empty() {
            return Ok(());
        }
        self.jobs.extend(starter.map(|label| (job.clone(), label)));
        let label = self.jobs.get(&job).cloned();
        if !matches!(state.as_str(), "succeeded" | "failed" | "timeout" | "cancelled") {
            return Ok(());
        }
        let of_error = |pointer: &str| result.pointer(pointer).and_then(Json::as_str);
        let code = of_error("/error/code").unwrap_or_default();
        self.ledger.job_ended(job, format!("{state} {code}"))?;
        // Another may hear of the end of a job before its starter, which waits for it, is answered.
        match (label, of_error("/error/details/execution_guarantee")) {
            (Some(label), Some(guarantee)) => self.on_failure(&label, guarantee),
            (None, _) | (_, None) => Ok(()),
        }
    }

    fn on_failure(&mut self, label: &str, guarantee: &str) -> Result<(), String> {
        let ran = self.ran.iter().any(|ran| ran == label);
        let guarantee = match guarantee {
            "not_executed" => Guarantee::NotExecuted,
            "unknown" => Guarantee::Unknown,
            "completed_error" => Guarantee::CompletedError,
            _ => return Err(format!("{label} failed without a guarantee")),
        };
        self.ledger.failed(label, guarantee, ran)
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

    /// The server's end of a conversation over pipes and of one with Unity: who sends, and what.
    fn failures(said: &[(&str, Json)]) -> Vec<String> {
        let wire = |client: &str| Wire { client: client.into(), server: SERVER.into(), number: 1 };
        let records: Vec<Record> = (1..)
            .zip(said)
            .map(|(at, (who, message))| {
                let client = if who.contains("unity") { "unity" } else { "ann" };
                let text = message.as_str().map(|text| Message::Text(text.to_owned()));
                let message = text.unwrap_or_else(|| Message::Json(message.clone()));
                let crossing = if who.starts_with("to ") {
                    Crossing::Sent(message)
                } else {
                    Crossing::Received(message)
                };
                let (host, wire) = (SERVER.to_owned(), wire(client));
                let what = What::Crossing { host, wire, crossing };
                Record { at: Duration::from_millis(at), what }
            })
            .collect();
        promises(&records, &AllBooks::new())
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
        ("to ann", json!({ "jsonrpc": "2.0", "id": id, "result": { "structuredContent": {} } }))
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
        ("from unity", json!({ "type": "result", "request_id": id }))
    }

    #[test]
    fn what_is_right_passes_and_each_broken_promise_is_noticed() {
        let hello = ("to unity", json!({ "type": "hello" }));
        let cancel = json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let cancel = ("from ann", cancel);
        let right = [hello.clone(), call(1, "a"), execute("r1", "a"), result("r1"), answer(1)];
        assert_eq!(failures(&right), Vec::<String>::new());
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
                "after the promise",
            ),
            (vec![call(1, "a"), error(1, "unknown")], "a never left"),
            (vec![call(1, "a"), error(1, "")], "without a guarantee"),
        ] {
            let failures = failures(&said);
            assert!(
                failures.iter().any(|failure| failure.contains(noticed)),
                "{noticed}: {failures:?}"
            );
        }
    }

    #[test]
    fn a_promise_that_the_books_refute_is_noticed_of_calls_and_of_jobs() {
        let mut auditor =
            Auditor { ran: vec!["a".to_owned(), "t".to_owned()], ..Auditor::default() };
        assert!(auditor.on_failure("a", "not_executed").is_err());
        let accepted = json!({ "job_id": "job-1", "state": "queued" });
        assert_eq!(auditor.on_result(Some("t".to_owned()), &accepted), Ok(()));
        let failed = json!({
            "job_id": "job-1",
            "state": "failed",
            "error": { "code": "ERR_X", "details": { "execution_guarantee": "not_executed" } },
        });
        assert!(auditor.on_result(None, &failed).unwrap_err().contains("t ran"));
        let succeeded = json!({ "job_id": "job-1", "state": "succeeded" });
        assert!(auditor.on_result(None, &succeeded).unwrap_err().contains("became"));
    }
}
