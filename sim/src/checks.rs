//! What must be true of a run: what the scenario expects, and what is promised always. Judged by the
//! agents' diaries, the bytes on the wires and the books of the Editors; never by what the server says
//! of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mock_unity::Books;
use protocol::Json;
use unity_mcp::coordination::Guarantee;

use crate::agent::{Entry, Pages, Told};
use crate::ledger::Ledger;
use crate::log::{Crossing, Message, Record, What, Wire};
use crate::scenario::{Call, Expected, SERVER, Scenario};
use crate::trace::{self, Outcome};

type AllBooks = BTreeMap<String, (Duration, Books)>;

/// What the scenario itself expects.
pub(crate) fn expectations(scenario: &Scenario, diary: &Pages, books: &AllBooks) -> Vec<String> {
    let mut failures = diary.shut_out.clone();
    for (_, call) in scenario.calls() {
        let entry = diary.entries.get(&call.label).cloned().unwrap_or_default();
        failures.extend(
            judge_call(call, &entry).err().map(|problem| format!("{}: {problem}", call.label)),
        );
    }
    let executed = executed(books);
    if executed != scenario.executed {
        failures.push(format!("Unity ran {executed:?}, expected {:?}", scenario.executed));
    }
    for label in &scenario.executed_once {
        let times = executed.iter().filter(|executed| *executed == label).count();
        if times != 1 {
            failures.push(format!("Unity ran {label} {times} times"));
        }
    }
    failures
}

fn judge_call(call: &Call, entry: &Entry) -> Result<(), String> {
    let (at, told) = match (entry.told.as_slice(), &call.expected) {
        ([], Expected::Nothing) | ([(_, Told::Lost(_))], Expected::Nothing) => return Ok(()),
        ([], _) => return Err("it was not answered".to_owned()),
        ([(at, told)], _) => (*at, told),
        (many, _) => return Err(format!("it was answered {} times", many.len())),
    };
    let fits = match (&call.expected, told) {
        (Expected::Ok(fields), Told::Ok(result)) => contains(result, fields),
        (Expected::Error { code, guarantee }, Told::Failed { code: told, guarantee: says }) => {
            code == told && guarantee == says
        }
        (Expected::Ok(_) | Expected::Error { .. } | Expected::Nothing, _) => false,
    };
    if !fits {
        return Err(format!("it was told {told:?}, expected {:?}", call.expected));
    }
    let took = at.saturating_sub(entry.called);
    match call.within {
        Some(within) if took > within => Err(format!("it took {took:?}, expected {within:?}")),
        Some(_) | None => Ok(()),
    }
}

/// Whether `whole` has at least what `part` has.
fn contains(whole: &Json, part: &Json) -> bool {
    match (whole, part) {
        (Json::Object(whole), Json::Object(part)) => part.iter().all(|(name, value)| {
            whole.get(name).unwrap_or(&Json::Null) == value
                || whole.get(name).is_some_and(|whole| contains(whole, value))
        }),
        (whole, part) => whole == part,
    }
}

/// The calls that Unity ran, in order of time.
fn executed(books: &AllBooks) -> Vec<String> {
    let mut all: Vec<(Duration, String)> = books
        .values()
        .flat_map(|(starts, books)| {
            books.executed.iter().map(move |execution| {
                let name = execution.client_request_id.as_ref().unwrap_or(&execution.tool_name);
                (*starts + execution.at, name.clone())
            })
        })
        .collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, name)| name).collect()
}

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
    /// Calls that came, by connection and id.
    open: BTreeMap<(Wire, String), OpenCall>,
    /// When each call for Unity came.
    arrived: BTreeMap<String, Duration>,
    last_sent: Option<(Duration, String)>,
    /// What runs in Unity, by connection.
    running: BTreeMap<Wire, String>,
    /// The connection that was welcomed last, by server.
    session: BTreeMap<String, Wire>,
}

struct OpenCall {
    label: String,
    for_unity: bool,
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
            // One server relays to another: the agent's call arrives where it is decided.
            (false, Crossing::Received(Message::Json(request))) if is_relay(wire) => {
                self.arrived.insert(label_of(request), at);
                Ok(())
            }
            (false, Crossing::Sent(_) | Crossing::Ended) if is_relay(wire) => Ok(()),
            (false, Crossing::Received(Message::Json(request))) => {
                self.on_call(at, wire, request);
                Ok(())
            }
            (false, Crossing::Sent(Message::Json(answer))) => self.on_answer(wire, answer),
            (false, Crossing::Ended) => {
                for (_, call) in self.open.extract_if(.., |(of, _), _| of == wire) {
                    self.ledger.taken_back(call.label);
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
        let id = request.get("id").map(Json::to_string).unwrap_or_default();
        match text(request, "method").as_str() {
            "tools/call" => {
                let tool = request.pointer("/params/name").and_then(Json::as_str);
                let for_unity = matches!(tool, Some("read_console" | "run_tests"));
                let label = label_of(request);
                if for_unity {
                    self.arrived.entry(label.clone()).or_insert(at);
                }
                self.open.insert((wire.clone(), id), OpenCall { label, for_unity });
            }
            "notifications/cancelled" => {
                let id = request.pointer("/params/requestId").map(Json::to_string);
                if let Some(call) = self.open.remove(&(wire.clone(), id.unwrap_or_default())) {
                    self.ledger.taken_back(call.label);
                }
            }
            _ => {}
        }
    }

    fn on_answer(&mut self, wire: &Wire, answer: &Json) -> Result<(), String> {
        let Some(id) = answer.get("id").filter(|_| answer.get("method").is_none()) else {
            return Ok(());
        };
        let Some(call) = self.open.remove(&(wire.clone(), id.to_string())) else {
            return Ok(()); // Not a call of a tool; a second answer is seen by the agent.
        };
        self.ledger.answered(&call.label)?;
        match trace::outcome_of(answer) {
            Outcome::Ok(result) => {
                let state = text(&result, "state");
                if matches!(state.as_str(), "succeeded" | "failed" | "timeout" | "cancelled") {
                    let code = result.pointer("/error/code").map(Json::to_string);
                    let how = format!("{state} {}", code.unwrap_or_default());
                    self.ledger.job_ended(text(&result, "job_id"), how)?;
                }
                Ok(())
            }
            Outcome::Failed { guarantee, .. } if call.for_unity => {
                let ran = self.ran.contains(&call.label);
                match guarantee.as_str() {
                    "not_executed" => self.ledger.failed(&call.label, Guarantee::NotExecuted, ran),
                    "unknown" => self.ledger.failed(&call.label, Guarantee::Unknown, ran),
                    "completed_error" => {
                        self.ledger.failed(&call.label, Guarantee::CompletedError, ran)
                    }
                    _ => Err(format!("{} failed without a guarantee", call.label)),
                }
            }
            Outcome::Failed { .. } => Ok(()),
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
