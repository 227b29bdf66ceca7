//! What agents ask and receive, read from their wires.

use std::time::Duration;

use coordination::Guarantee;
use protocol::Json;

use super::{Given, PromiseChecker, label_of, text};
use crate::record::log::Wire;
use crate::record::trace::{self, Outcome};

/// How soon after Unity's result the agent must have its answer.
const PROMPT: Duration = Duration::from_millis(30);

pub(super) struct OpenRequest {
    /// The name of the call, if it is a call.
    pub(super) label: Option<String>,
    kind: Kind,
}

/// By the name of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Console,
    Tests,
    State,
    Other,
}

impl OpenRequest {
    pub(super) fn is_for_unity(&self) -> bool {
        matches!(self.kind, Kind::Console | Kind::Tests)
    }
}

impl PromiseChecker {
    pub(super) fn on_call(&mut self, at: Duration, wire: &Wire, request: &Json) {
        let id = request.get("id").map(Json::to_string);
        match text(request, "method").as_str() {
            "notifications/cancelled" => {
                let id = request.pointer("/params/requestId").map(Json::to_string);
                let cancelled = self.open.remove(&(wire.clone(), id.unwrap_or_default()));
                cancelled.into_iter().for_each(|request| self.on_cancelled(at, request));
            }
            "tools/call" => {
                let tool = request.pointer("/params/name").and_then(Json::as_str);
                let label = label_of(request);
                let kind = match tool {
                    Some("read_console") => Kind::Console,
                    Some("run_tests") => Kind::Tests,
                    Some("get_editor_state") => Kind::State,
                    Some(_) | None => Kind::Other,
                };
                let request = OpenRequest { label: Some(label.clone()), kind };
                if request.is_for_unity() {
                    self.arrived.entry(label).or_insert(at);
                }
                self.open.insert((wire.clone(), id.unwrap_or_default()), request);
            }
            _ => {
                if let Some(id) = id {
                    let request = OpenRequest { label: None, kind: Kind::Other };
                    self.open.insert((wire.clone(), id), request);
                }
            }
        }
    }

    pub(super) fn on_cancelled(&mut self, at: Duration, request: OpenRequest) {
        let for_unity = request.is_for_unity();
        let Some(label) = request.label else { return };
        if for_unity {
            let when = if self.outcomes.was_sent(&label) { "after" } else { "before" };
            self.coverage.count("cancelled ", &format!("{when} it was sent"));
        }
        self.cancelled_at.insert(label.clone(), at);
        self.outcomes.cancelled(label);
    }

    pub(super) fn on_answer(
        &mut self,
        at: Duration,
        wire: &Wire,
        answer: &Json,
    ) -> Result<(), String> {
        let is_answer = answer.get("jsonrpc").is_some() && answer.get("method").is_none();
        let Some(id) = answer.get("id").filter(|_| is_answer) else { return Ok(()) };
        let Some(request) = self.open.remove(&(wire.clone(), id.to_string())) else {
            return Err(format!("an answer to {id}, which {} does not wait for", wire.client));
        };
        let (kind, for_unity) = (request.kind, request.is_for_unity());
        let Some(label) = request.label else { return Ok(()) };
        self.outcomes.answered(&label)?;
        if let Some(Given { at: came, is_due: true, .. }) = self.results.get(&label)
            && at.saturating_sub(*came) > PROMPT
        {
            return Err(format!("the result of {label} came at {came:?} and was not passed on"));
        }
        match trace::outcome_of(answer) {
            Outcome::Ok(result) if kind == Kind::Console => self.on_console(&label, &result),
            Outcome::Ok(result) => self.on_result((kind == Kind::Tests).then_some(label), &result),
            Outcome::Failed { code, guarantee, retryable } => {
                self.coverage.count("told ", code.rsplit(' ').next().unwrap_or_default());
                self.coverage.count("told ", &guarantee);
                let may_repeat = matches!(kind, Kind::Console | Kind::State);
                if retryable && guarantee != "not_executed" && !may_repeat {
                    return Err(format!("{label} may have run, and is reported as retryable"));
                }
                if for_unity { self.on_failure(&label, &guarantee) } else { Ok(()) }
            }
        }
    }

    /// The agent must get what Unity answered for this call.
    fn on_console(&mut self, label: &str, answer: &Json) -> Result<(), String> {
        self.coverage.count("told ", "completed");
        if !self.ran.iter().any(|ran| ran == label) {
            return Err(format!("{label} was answered, but never ran"));
        }
        match self.results.get(label) {
            Some(given) if is_digest(&given.result, answer) => Ok(()),
            Some(_) | None => Err(format!("{label} got what Unity did not answer for it")),
        }
    }

    /// A result that is not a console may show how a job ended. `starter`: the call, if it starts jobs.
    pub(super) fn on_result(
        &mut self,
        starter: Option<String>,
        result: &Json,
    ) -> Result<(), String> {
        let either = |one: &str, other: &str| {
            let first = text(result, one);
            if first.is_empty() { text(result, other) } else { first }
        };
        let (job, state) = (either("job_id", "taskId"), either("state", "status"));
        if job.is_empty() {
            return Ok(());
        }
        for (group, name) in [("cancel_job: ", "status"), ("a job shows cancel: ", "cancel")] {
            let value = text(result, name);
            if !value.is_empty() {
                self.coverage.count(group, &value);
            }
        }
        let cancel_error = result.pointer("/cancel_error/code").and_then(Json::as_str);
        cancel_error.into_iter().for_each(|code| self.coverage.count("told ", code));
        self.jobs.extend(starter.map(|label| (job.clone(), label)));
        let label = self.jobs.get(&job).cloned();
        if !matches!(state.as_str(), "succeeded" | "failed" | "timeout" | "cancelled") {
            return Ok(());
        }
        let of_error = |pointer: &str| result.pointer(pointer).and_then(Json::as_str);
        let code = of_error("/error/code").unwrap_or_default();
        if !code.is_empty() {
            self.coverage.count("told ", code);
        }
        self.outcomes.job_ended(job, format!("{state} {code}"))?;
        // A status call can show the end of a job before the call that started it is answered.
        match (label, of_error("/error/details/execution_guarantee")) {
            (Some(label), Some(guarantee)) => self.on_failure(&label, guarantee),
            (None, _) | (_, None) => Ok(()),
        }
    }

    pub(super) fn on_failure(&mut self, label: &str, guarantee: &str) -> Result<(), String> {
        let ran = self.ran.iter().any(|ran| ran == label);
        let guarantee = match guarantee {
            "not_executed" => Guarantee::NotExecuted,
            "unknown" => {
                let ran = if ran { " and it ran" } else { " and it did not run" };
                self.coverage.count("told unknown", ran);
                Guarantee::Unknown
            }
            "completed_error" => Guarantee::CompletedError,
            _ => return Err(format!("{label} failed without a guarantee")),
        };
        self.outcomes.failed(label, guarantee, ran)
    }
}

/// Whether a console is what Unity answered: newest first, without gaps.
fn is_digest(given: &Json, told: &Json) -> bool {
    let entries = |console: &Json| -> Vec<(String, String)> {
        let rows = console.get("entries").and_then(Json::as_array).cloned().unwrap_or_default();
        let times = |row: &Json| row.get("count").and_then(Json::as_u64).unwrap_or(1);
        let said = |row: &Json| (text(row, "type"), text(row, "message"));
        rows.iter().flat_map(|row| (0..times(row)).map(|_| said(row))).collect()
    };
    let (mut given_entries, told_entries) = (entries(given), entries(told));
    given_entries.reverse();
    let is_whole = given_entries.len() == told_entries.len();
    let was_whole = given.get("truncated") == Some(&Json::Bool(false));
    given_entries.starts_with(&told_entries)
        && told.get("truncated") == Some(&Json::Bool(!(is_whole && was_whole)))
}
