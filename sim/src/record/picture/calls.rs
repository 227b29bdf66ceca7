//! The calls of a run: which messages belong to which call, and how it ended.

use std::collections::BTreeMap;

use page::{CallOutcome, Event};
use protocol::Json;

use crate::record::log::Wire;
use crate::record::trace::{Outcome, outcome_of};

/// Calls that need no Unity, or that pass the others.
const CONTROL: [&str; 3] = ["get_editor_state", "get_job_status", "cancel_job"];

#[derive(Default)]
pub(super) struct Calls {
    /// By connection and id of the request, at the agent.
    open: BTreeMap<(Wire, String), String>,
    /// The call that has this label last: labels may be used twice.
    by_label: BTreeMap<String, String>,
    by_request: BTreeMap<String, String>,
    by_job: BTreeMap<String, String>,
    by_token: BTreeMap<String, String>,
    /// Calls without an end, with their tool and whether they were sent to Unity.
    alive: BTreeMap<String, Alive>,
    used: BTreeMap<String, usize>,
}

struct Alive {
    agent: String,
    tool: String,
    is_served: bool,
}

impl Calls {
    /// An agent sends a request. The event is for a call of a tool.
    pub(super) fn begin(&mut self, at: u64, wire: &Wire, request: &Json) -> Option<Event> {
        let text = |pointer: &str| request.pointer(pointer).and_then(Json::as_str);
        if text("/method")? != "tools/call" {
            return None;
        }
        let label = text("/params/arguments/client_request_id")?.to_owned();
        let tool = text("/params/name")?.to_owned();
        let times = self.used.entry(label.clone()).or_default();
        *times += 1;
        let call = if *times == 1 { label.clone() } else { format!("{label} ({times})") };
        if let Some(id) = request.get("id") {
            self.open.insert((wire.clone(), id.to_string()), call.clone());
        }
        if let Some(token) = request.pointer("/params/_meta/progressToken") {
            self.by_token.insert(token.to_string(), call.clone());
        }
        self.by_label.insert(label, call.clone());
        let agent = wire.client.to_string();
        let alive = Alive { agent: agent.clone(), tool: tool.clone(), is_served: false };
        self.alive.insert(call.clone(), alive);
        Some(Event::CallBegan { at, lane: agent, call, tool })
    }

    /// The call that a message between an agent or a server and a server is about.
    pub(super) fn of_mcp(&self, wire: &Wire, message: &Json) -> Option<String> {
        let text = |pointer: &str| message.pointer(pointer).and_then(Json::as_str);
        if let Some(label) = text("/params/arguments/client_request_id") {
            return self.by_label.get(label).cloned();
        }
        if let Some(token) = message.pointer("/params/progressToken") {
            return self.by_token.get(&token.to_string()).cloned();
        }
        let id = message.get("id").or_else(|| message.pointer("/params/requestId"))?;
        self.open.get(&(wire.clone(), id.to_string())).cloned()
    }

    /// The call that a frame between a server and Unity is about.
    pub(super) fn of_frame(&mut self, frame: &Json) -> Option<String> {
        let text = |name: &str| frame.get(name).and_then(Json::as_str).map(str::to_owned);
        let call = text("client_request_id")
            .and_then(|label| self.by_label.get(&label).cloned())
            .or_else(|| self.by_request.get(&text("request_id")?).cloned())
            .or_else(|| {
                self.by_job.get(&text("job_id").or_else(|| text("target_job_id"))?).cloned()
            })?;
        self.by_request.extend(text("request_id").map(|request| (request, call.clone())));
        self.by_job.extend(text("job_id").map(|job| (job, call.clone())));
        Some(call)
    }

    /// The server sends something of this call to Unity.
    pub(super) fn serve(&mut self, at: u64, call: &str) -> Option<Event> {
        let alive = self.alive.get_mut(call).filter(|alive| !alive.is_served)?;
        alive.is_served = true;
        Some(Event::CallServed { at, call: call.to_owned() })
    }

    /// The agent receives an answer.
    pub(super) fn answered(&mut self, at: u64, wire: &Wire, answer: &Json) -> Option<Event> {
        if answer.get("method").is_some() {
            return None;
        }
        let call = self.open.remove(&(wire.clone(), answer.get("id")?.to_string()))?;
        self.alive.remove(&call)?;
        let replayed = answer.pointer("/result/_meta/replayed").and_then(Json::as_bool);
        let replayed = replayed.unwrap_or_default();
        let (outcome, code, guarantee) = match outcome_of(answer) {
            Outcome::Ok(_) => (CallOutcome::Ok, None, None),
            Outcome::Failed { code, guarantee, .. } => {
                let guarantee = (!guarantee.is_empty()).then_some(guarantee);
                (CallOutcome::Failed, Some(code.trim().to_owned()), guarantee)
            }
        };
        Some(Event::CallEnded { at, call, outcome, code, guarantee, replayed })
    }

    pub(super) fn cancelled(&mut self, at: u64, label: &str) -> Option<Event> {
        let call = self.by_label.get(label).cloned().unwrap_or_else(|| label.to_owned());
        self.alive.remove(&call)?;
        Some(end(at, call, CallOutcome::Cancelled))
    }

    /// The agent's end of a connection is closed: its calls get no answer.
    pub(super) fn lost_with(&mut self, at: u64, wire: &Wire) -> Vec<Event> {
        let lost = self.open.extract_if(.., |(of, _), _| of == wire).map(|(_, call)| call);
        let lost: Vec<String> = lost.filter(|call| self.alive.remove(call).is_some()).collect();
        lost.into_iter().map(|call| end(at, call, CallOutcome::Lost)).collect()
    }

    /// How many calls wait for Unity.
    pub(super) fn waiting(&self) -> u64 {
        let waits = |alive: &&Alive| !alive.is_served && !CONTROL.contains(&alive.tool.as_str());
        self.alive.values().filter(waits).count() as u64
    }

    pub(super) fn agent_of(&self, call: &str) -> Option<&str> {
        self.alive.get(call).map(|alive| alive.agent.as_str())
    }
}

fn end(at: u64, call: String, outcome: CallOutcome) -> Event {
    Event::CallEnded { at, call, outcome, code: None, guarantee: None, replayed: false }
}
