//! The agents of the core level: MCP without its transports.

use coordination::{
    CallId, ErrorCode, Event, Failure, Outcome, ProgressReport, RawCall, Timestamp, rendering,
    validate_with,
};
use protocol::Json;
use serde_json::json;

use super::{CoreLevel, TimedEvent};
use crate::levels::clock;
use crate::record::calls::CallResult;
use crate::record::log::{Crossing, Wire, WireMessage};
use crate::scenario::{Action, Call, SERVER, Via};

/// A call that the server has not answered.
pub(super) struct OpenCall {
    label: String,
    agent: String,
    id: u64,
    wire: Wire,
    /// This call has its own connection (HTTP); otherwise the agent has one for all calls.
    has_own_wire: bool,
}

impl CoreLevel<'_> {
    fn call_of(&self, step: usize) -> Option<&Call> {
        let action = &self.scenario.steps.get(step)?.action;
        if let Action::Call(call) = action { Some(call) } else { None }
    }

    fn via(&self, agent: &str) -> Via {
        self.scenario.agents.get(agent).map_or(Via::Http, |agent| agent.via)
    }

    pub(super) fn on_call_made(&mut self, step: usize) {
        let Some(call) = self.call_of(step) else { return };
        self.context.calls.write(&call.label, |record| record.called_at = Some(clock::now()));
        // Over HTTP a connection is made first.
        let ways = if self.via(&call.agent) == Via::Http { 3 } else { 1 };
        self.schedule(self.now + ways * self.links.usual(), TimedEvent::CallArrives(step));
    }

    pub(super) fn on_call(&mut self, step: usize) {
        let Some(Call { label, agent, tool, arguments, .. }) = self.call_of(step).cloned() else {
            return;
        };
        if self.context.calls.is_closed(&label) {
            return; // Cancelled before it arrived.
        }
        let has_own_wire = self.via(&agent) == Via::Http;
        let number = if has_own_wire { self.next_connection() } else { 0 };
        let wire = Wire { client: agent.as_str().into(), server: SERVER.into(), number };
        let id = step as u64;
        let wants_progress = id.is_multiple_of(3);
        let mut params = json!({ "name": tool, "arguments": arguments });
        if let Json::Object(params) = &mut params
            && wants_progress
        {
            params.insert("_meta".to_owned(), json!({ "progressToken": id }));
        }
        let catalog = self.scenario.limits.catalog;
        let call = validate_with(catalog, RawCall { tool, arguments });
        let open_call = OpenCall { label, agent, id, wire, has_own_wire };
        if self.server.is_none() {
            return self.lose(open_call);
        }
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.note_agent(&open_call.wire, Crossing::Received(WireMessage::Json(request)));
        match call {
            Ok(request) => {
                let call = CallId(id);
                self.calls.insert(call, open_call);
                self.handle(Event::CallReceived { call, request, wants_progress });
            }
            Err(failure) => {
                let told = failed(&failure);
                if failure.code == ErrorCode::UnknownCommand {
                    let told = CallResult::Failed { code: "-32602".to_owned(), guarantee: None };
                    self.answer(&open_call, protocol_error(id, &failure), Some(told));
                } else {
                    self.answer(&open_call, answer(open_call.id, Err(failure)), Some(told));
                }
            }
        }
    }

    fn next_connection(&mut self) -> u16 {
        self.connections = self.connections.wrapping_add(1);
        self.connections
    }

    pub(super) fn on_reply(&mut self, call: CallId, outcome: Outcome) {
        let Some(open_call) = self.calls.remove(&call) else {
            // A shell would drop this answer, so that no wire shows it.
            return self
                .context
                .violations
                .add(format!("call {} was answered after its end", call.0));
        };
        let told = match &outcome {
            Ok(_) => None,
            Err(failure) => Some(failed(failure)),
        };
        let answer = answer(open_call.id, outcome);
        self.answer(&open_call, answer, told);
    }

    pub(super) fn on_progress(&mut self, call: CallId, report: &ProgressReport) {
        let Some(open_call) = self.calls.get(&call) else { return };
        let message =
            if self.context.log.is_brief { None } else { Some(rendering::progress(report)) };
        let params = json!({ "progressToken": open_call.id, "message": message });
        let progress = json!({ "method": "notifications/progress", "params": params });
        self.note_agent(&open_call.wire, Crossing::Sent(WireMessage::Json(progress)));
    }

    /// `failed`: what the agent learns of a failure. Without it the answer is a result.
    fn answer(&mut self, open_call: &OpenCall, answer: Json, failed: Option<CallResult>) {
        let result = || answer.pointer("/result/structuredContent").cloned().unwrap_or_default();
        let told = failed.unwrap_or_else(|| CallResult::Ok(result()));
        self.note_agent(&open_call.wire, Crossing::Sent(WireMessage::Json(answer)));
        self.context.calls.told(&open_call.label, told);
        self.open_calls = self.open_calls.saturating_sub(1);
    }

    /// The server has ended.
    pub(super) fn lose(&mut self, open_call: OpenCall) {
        self.note_agent(&open_call.wire, Crossing::Ended);
        self.context
            .calls
            .told(&open_call.label, CallResult::Lost("the server is gone".to_owned()));
        self.open_calls = self.open_calls.saturating_sub(1);
    }

    pub(super) fn on_cancelled(&mut self, label: &str) {
        self.pass_deadline(); // An answer that is due now comes before the cancel.
        if self.context.calls.is_closed(label) {
            return;
        }
        self.context.calls.write(label, |record| record.cancelled_at = Some(clock::now()));
        self.open_calls = self.open_calls.saturating_sub(1);
        let found = self.calls.iter().find(|(_, open_call)| open_call.label == label);
        let Some(call) = found.map(|(call, _)| *call) else { return };
        let Some(open_call) = self.calls.remove(&call) else { return };
        let crossing = if open_call.has_own_wire {
            Crossing::Ended
        } else {
            let params = json!({ "requestId": open_call.id });
            Crossing::Received(WireMessage::Json(
                json!({ "method": "notifications/cancelled", "params": params }),
            ))
        };
        self.note_agent(&open_call.wire, crossing);
        self.handle(Event::CallCancelled { call });
    }

    /// The agent's calls end, and so does a server that it has started.
    pub(super) fn on_left(&mut self, agent: &str) {
        self.pass_deadline(); // As for a cancel.
        let of_agent =
            |(call, open_call): (&CallId, &OpenCall)| (open_call.agent == agent).then_some(*call);
        let calls: Vec<CallId> = self.calls.iter().filter_map(of_agent).collect();
        for call in calls {
            if let Some(open_call) = self.calls.remove(&call) {
                self.lose(open_call);
                self.handle(Event::CallCancelled { call });
            }
        }
        if self.via(agent) == Via::Stdio {
            self.handle(Event::StopRequested);
        }
    }

    fn note_agent(&self, wire: &Wire, crossing: Crossing) {
        self.context.log.crossing(&wire.server, wire, crossing);
    }
}

fn failed(failure: &Failure) -> CallResult {
    let (code, guarantee) = (failure.code.text(), failure.guarantee.text());
    CallResult::Failed { code: code.to_owned(), guarantee: Some(guarantee.to_owned()) }
}

fn moment(at: Timestamp) -> String {
    format!("{:?}", at.since_start())
}

fn answer(id: u64, outcome: Outcome) -> Json {
    let result = match outcome {
        Ok(answer) => json!({ "structuredContent": rendering::answer(answer, &moment) }),
        Err(failure) => {
            let text = json!({ "error": rendering::failure(&failure) }).to_string();
            json!({ "isError": true, "content": [{ "type": "text", "text": text }] })
        }
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn protocol_error(id: u64, failure: &Failure) -> Json {
    let error = json!({ "code": -32602, "data": rendering::failure(failure) });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}
