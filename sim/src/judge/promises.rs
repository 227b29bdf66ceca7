//! The promises of every run: reads the server's end of every wire in order and compares it with the books of Unity.

mod agents;
mod content;
mod editors;
mod recovery;
mod servers;
#[cfg(test)]
mod tests;
mod turns;
mod unity;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mock_unity::{Execution, Given, JobRecord};
use protocol::Json;

use super::drops::Drops;
use super::expectations::{AllBooks, executed};
use crate::judge::call_outcomes::CallOutcomes;
use crate::judge::coverage::Coverage;
use crate::record::log::{Crossing, Record, RecordKind, Wire, WireMessage};
use crate::record::trace;
use crate::scenario::Scenario;
use agents::OpenRequest;
use content::{Report, ToldJob};
use editors::Editors;
use servers::Servers;
use turns::Turns;

/// The delay between one wire and another inside the server: two ticks.
const SETTLES: Duration = Duration::from_millis(2);

/// Trips of a message that goes through a relay, and of the connection that is made for it.
const DETOUR: u32 = 4;

/// What the settings of a scenario promise.
#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    /// Unity sends answers to requests that it has not handled: it can get the next request too early, and the
    /// wires do not show whether it is free. The model does.
    is_forged: bool,
    reconnect_wait: Duration,
    compile_grace: Duration,
    queue_wait: Duration,
    poll_interval: Duration,
    queue_max: usize,
    has_relays: bool,
    /// How long a message to or from a relay takes more.
    detour: Duration,
}

/// The broken promises, and the coverage.
pub(crate) fn promises(
    records: &[Record],
    books: &AllBooks,
    scenario: &Scenario,
) -> (Vec<String>, Coverage) {
    let limits = &scenario.limits;
    let rules = Rules {
        is_forged: scenario.forges_answers(),
        reconnect_wait: limits.reconnect_wait,
        compile_grace: limits.compile_grace,
        queue_wait: limits.queue_wait_max,
        poll_interval: limits.job_poll_interval,
        queue_max: limits.queue_max,
        has_relays: scenario.has_relays(),
        detour: scenario.latency * DETOUR,
    };
    judge(records, books, rules)
}

fn judge(records: &[Record], books: &AllBooks, rules: Rules) -> (Vec<String>, Coverage) {
    let mut checker = PromiseChecker { ran: executed(books), rules, ..PromiseChecker::default() };
    for (starts, books) in books.values() {
        let ran_at = |ran: &Execution| (ran.request_id.0.clone(), *starts + ran.at);
        checker.drops.ran_at.extend(books.executed.iter().map(ran_at));
        checker.given.extend(books.given.iter().map(|(id, given)| (id.0.as_str(), given)));
        let jobs = books.jobs.iter().map(|job| (job.request_id.0.as_str(), (*starts, job)));
        checker.jobs_in_unity.extend(jobs);
    }
    let mut failures = Vec::new();
    for record in records {
        failures
            .extend(checker.read(record).map(|problem| format!("at {:?}: {problem}", record.at)));
    }
    failures.extend(checker.close(books));
    (failures, checker.coverage)
}

#[derive(Default)]
struct PromiseChecker<'a> {
    rules: Rules,
    outcomes: CallOutcomes,
    ran: Vec<String>,
    /// From the books of Unity: what it gave for each request, and its jobs by their submission.
    given: BTreeMap<&'a str, &'a Given>,
    jobs_in_unity: BTreeMap<&'a str, (Duration, &'a JobRecord)>,
    /// Requests that were sent to Unity.
    sent: BTreeSet<String>,
    /// Calls that were sent to Unity, by whichever server.
    sent_calls: BTreeSet<String>,
    /// Requests of agents without an answer, by connection and id.
    open: BTreeMap<(Wire, String), OpenRequest>,
    /// When each call for Unity arrived.
    arrived: BTreeMap<String, Duration>,
    /// When each job was sent to Unity, and when its time is over.
    submitted_at: BTreeMap<String, Duration>,
    ends_at: BTreeMap<String, Duration>,
    /// The call that each server sent last, and when it had arrived.
    last_sent: BTreeMap<Arc<str>, (Duration, String)>,
    /// What runs in Unity, by connection.
    running: BTreeMap<Wire, String>,
    /// The connection that got the last hello of each server.
    session: BTreeMap<Arc<str>, Wire>,
    /// When the session of each server ended.
    lost_at: BTreeMap<Arc<str>, Duration>,
    editors: Editors,
    turns: BTreeMap<Arc<str>, Turns>,
    /// The calls that started the jobs.
    jobs: BTreeMap<String, String>,
    /// The tools of calls that start jobs.
    job_tools: BTreeMap<String, String>,
    /// Jobs whose cancel was promised before the call that started them was answered.
    cancels_promised: BTreeMap<String, Duration>,
    told_jobs: Vec<ToldJob>,
    /// What Unity has reported about the job of a call.
    reports: BTreeMap<String, Vec<Report<'a>>>,
    /// The call of each request that runs in Unity, and whether Unity's answer is the answer of the call.
    labels: BTreeMap<String, (String, bool)>,
    /// What Unity answered for a call.
    results: BTreeMap<String, Came>,
    /// When each call was answered or cancelled.
    closed_at: BTreeMap<String, Duration>,
    cancelled_at: BTreeMap<String, Duration>,
    /// Unity has sent a frame over the limit.
    was_too_large: bool,
    servers: Servers,
    now: Duration,
    drops: Drops,
    coverage: Coverage,
}

/// A result of Unity that has reached the server.
struct Came {
    at: Duration,
    on: Wire,
    request: String,
    /// Only if the books do not have it.
    result: Json,
    /// Whether the agent must get it at once.
    is_due: bool,
}

impl PromiseChecker<'_> {
    /// What is wrong with this record, if something is.
    fn read(&mut self, record: &Record) -> Option<String> {
        self.now = record.at;
        let late = self.check_turns().err();
        let problem = match &record.what {
            RecordKind::Crossing { host, wire, crossing } if *host == wire.server => {
                self.see(record.at, wire, crossing).err()
            }
            RecordKind::Crossing { wire, crossing, .. } if is_relay(wire) => {
                self.see_relay(record.at, wire, crossing).err()
            }
            RecordKind::Crossing { crossing: Crossing::Sent(WireMessage::Json(frame)), .. } => {
                self.drops.on_sent_by_client(frame);
                None
            }
            RecordKind::Note { actor, kind, .. } => {
                self.on_server_note(actor, kind);
                None
            }
            RecordKind::Crossing { .. } => None,
        };
        late.or(problem)
    }

    fn check_turns(&mut self) -> Result<(), String> {
        if self.rules.is_forged {
            return Ok(());
        }
        let (now, jobs) = (self.now, &self.jobs_in_unity);
        let running_since = |submission: &str| {
            jobs.get(submission).and_then(|(starts, job)| turns::running_since(job, *starts, now))
        };
        self.turns.values_mut().try_for_each(|turns| turns.check(now, running_since))
    }

    /// The end of the run.
    fn close(&mut self, books: &AllBooks) -> Vec<String> {
        let mut failures = self.check_told_jobs();
        let now = self.now;
        let watched =
            self.open.values().filter_map(|request| Some((request, request.watch.as_ref()?)));
        for (request, watch) in watched {
            let problem = watch.check(now).err();
            let label = request.label.as_deref().unwrap_or_default();
            failures.extend(problem.map(|problem| format!("{label}: {problem}")));
        }
        if !self.rules.is_forged {
            failures.extend(self.editors.check(|label| self.ended_at(label)));
        }
        failures.extend(self.outcomes.close(self.ran.iter().map(String::as_str)).err());
        for (editor, (_, books)) in books {
            let overlapping = books.overlapping.iter().filter(|_| !self.rules.is_forged);
            failures.extend(overlapping.map(|id| format!("{editor} got {id} before it was done")));
            let twice = books.sent_twice().into_iter();
            failures.extend(twice.map(|id| format!("{editor} got {id} twice")));
            if books.not_understood > 0 {
                let count = books.not_understood;
                failures.push(format!("{editor} did not understand {count} frames"));
            }
            failures.extend(self.check_books(editor, books));
        }
        failures
    }

    /// When a call had ended at the server that ran it.
    fn ended_at(&self, label: &str) -> Option<Duration> {
        let travels = self.settles(label).saturating_sub(SETTLES);
        self.closed_at.get(label).map(|closed| closed.saturating_sub(travels))
    }

    /// Each call ran in the Editor that it was sent to, after the one before it had ended.
    fn check_books(&mut self, editor: &str, books: &mock_unity::Books) -> Vec<String> {
        let mut failures = Vec::new();
        for Execution { request_id, .. } in &books.executed {
            self.coverage.count("ran in ", editor);
            let sent_to = self.editors.sent_to(&request_id.0);
            if sent_to.is_some_and(|sent_to| sent_to != editor) {
                failures.push(format!("{request_id} ran in {editor}, but was sent to {sent_to:?}"));
            }
        }
        for (earlier, new) in &books.overlapping_sessions {
            let call = self.labels.get(&earlier.0).filter(|(_, is_execute)| *is_execute);
            let sent_at = self.editors.sent_at(&new.0);
            let (Some((label, _)), Some(sent_at)) = (call, sent_at) else { continue };
            let is_over = self.ended_at(label).is_some_and(|over| over <= sent_at + SETTLES);
            if !is_over && !self.rules.is_forged {
                failures.push(format!("{editor} got {new} while it had {earlier}, which is open"));
            }
        }
        failures
    }

    fn see(&mut self, at: Duration, wire: &Wire, crossing: &Crossing) -> Result<(), String> {
        match (trace::is_unity(&wire.client), crossing) {
            (true, Crossing::Sent(WireMessage::Json(frame))) => self.on_request(at, wire, frame),
            (true, Crossing::Received(WireMessage::Json(frame))) => {
                self.on_frame(at, wire, frame);
                Ok(())
            }
            // What cannot be read but names a request ends it.
            (true, Crossing::Received(WireMessage::Text(text))) => {
                if let Some(id) = self.turns_of(wire).named_in(text) {
                    self.on_frame(at, wire, &serde_json::json!({ "request_id": id }));
                }
                Ok(())
            }
            (true, Crossing::Sent(WireMessage::Close { code, .. })) => {
                if *code == Some(1009) {
                    self.was_too_large = true;
                    self.editors.on_given_up(&wire.server); // It ends what Unity had.
                    self.turns_of(wire).on_too_large(at);
                }
                self.excuse(at, wire);
                self.drops.closing.insert(wire.clone());
                self.on_session_lost(at, wire);
                Ok(())
            }
            (true, Crossing::Received(WireMessage::Close { .. })) => {
                self.drops.closing.insert(wire.clone());
                self.on_session_lost(at, wire);
                Ok(())
            }
            // It ends the session. What comes behind it is not read.
            (true, Crossing::Received(WireMessage::Binary(_))) => {
                self.on_session_lost(at, wire);
                Ok(())
            }
            // One server relays to another: the call arrives at the second, and the first has sent it.
            (false, Crossing::Received(WireMessage::Json(request))) if is_relay(wire) => {
                self.on_relayed(at, wire, request)
            }
            (false, Crossing::Sent(_) | Crossing::Ended) if is_relay(wire) => Ok(()),
            (false, Crossing::Received(WireMessage::Json(request))) => {
                self.on_call(at, wire, request)
            }
            (false, Crossing::Sent(WireMessage::Json(answer))) => self.on_answer(at, wire, answer),
            (false, Crossing::Sent(WireMessage::Text(text))) => {
                Err(format!("{} was sent something that is not MCP: {text}", wire.client))
            }
            (false, Crossing::Ended) => {
                let open = self.open.extract_if(.., |(of, _), _| of == wire);
                for (_, request) in open.collect::<Vec<_>>() {
                    self.on_cancelled(at, request)?;
                }
                Ok(())
            }
            (true, Crossing::Ended) => {
                self.on_socket_ended(at, wire);
                Ok(())
            }
            (_, Crossing::Opened) => {
                self.on_port_used(at, wire);
                Ok(())
            }
            (_, Crossing::Sent(_) | Crossing::Received(_)) => Ok(()),
        }
    }
}

fn is_relay(wire: &Wire) -> bool {
    trace::is_server(&wire.client)
}

fn label_of(call: &Json) -> String {
    let label = call.pointer("/params/arguments/client_request_id");
    label.and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}
