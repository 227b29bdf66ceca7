//! What agents ask and receive, read from their wires.

use std::time::Duration;

use coordination::Guarantee;
use protocol::Json;

use super::waits::ProgressWatch;
use super::{Came, PromiseChecker, label_of, recovery, text};
use crate::record::log::Wire;
use crate::record::trace::{self, Outcome};

/// How soon after Unity's result the agent must have its answer.
const PROMPT: Duration = Duration::from_millis(30);

pub(super) struct OpenRequest {
    /// The name of the call, if it is a call.
    pub(super) label: Option<String>,
    pub(super) kind: Kind,
    /// When it arrived.
    pub(super) at: Duration,
    pub(super) tool: String,
    /// The arguments of the tool.
    pub(super) asked: Json,
    /// The progress that its agent asked for.
    pub(super) watch: Option<ProgressWatch>,
    /// Questions with a `wait_ms` that were open when it arrived.
    pub(super) questions: usize,
}

const TESTS: &str = "run_tests";
/// Unity cannot cancel it.
const COMPILE: &str = "script_recompile_trigger";

/// By the name of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Console,
    /// Another tool that Unity answers at once.
    Execute,
    Job,
    Status,
    Other,
}

impl OpenRequest {
    pub(super) fn has_wait(&self) -> bool {
        self.asked.get("wait_ms").and_then(Json::as_u64).is_some_and(|wait| wait > 0)
    }

    pub(super) fn is_for_unity(&self) -> bool {
        matches!(self.kind, Kind::Console | Kind::Execute | Kind::Job)
    }
}

impl PromiseChecker<'_> {
    pub(super) fn on_call(
        &mut self,
        at: Duration,
        wire: &Wire,
        request: &Json,
    ) -> Result<(), String> {
        let id = request.get("id").map(Json::to_string);
        match text(request, "method").as_str() {
            "notifications/cancelled" => {
                let id = request.pointer("/params/requestId").map(Json::to_string);
                let cancelled = self.open.remove(&(wire.clone(), id.unwrap_or_default()));
                cancelled.into_iter().try_for_each(|request| self.on_cancelled(at, request))?;
            }
            "tools/call" => {
                let tool = request.pointer("/params/name").and_then(Json::as_str);
                let tool = tool.unwrap_or_default().to_owned();
                let label = label_of(request);
                let kind = match tool.as_str() {
                    "read_console" => Kind::Console,
                    TESTS | COMPILE => Kind::Job,
                    "ping" | "list_scenes" | "list_assets" | "get_selection" | "open_scene" => {
                        Kind::Execute
                    }
                    "get_job_status" => Kind::Status,
                    _ => Kind::Other,
                };
                let asked = request.pointer("/params/arguments").cloned().unwrap_or_default();
                let watch = ProgressWatch::of(request, at);
                let label_now = Some(label.clone());
                let questions = self.waiting_questions();
                let request =
                    OpenRequest { label: label_now, kind, at, tool, asked, watch, questions };
                if request.is_for_unity() {
                    self.arrived.entry(label.clone()).or_insert(at);
                }
                if request.kind == Kind::Job {
                    self.job_tools.insert(label, request.tool.clone());
                }
                self.open.insert((wire.clone(), id.unwrap_or_default()), request);
            }
            _ => {
                if let Some(id) = id {
                    let (kind, tool, asked) = (Kind::Other, String::new(), Json::Null);
                    let request = OpenRequest {
                        label: None,
                        kind,
                        at,
                        tool,
                        asked,
                        watch: None,
                        questions: 0,
                    };
                    self.open.insert((wire.clone(), id), request);
                }
            }
        }
        Ok(())
    }

    /// How many questions about jobs wait for news.
    pub(super) fn waiting_questions(&self) -> usize {
        let waits = |request: &&OpenRequest| request.kind == Kind::Status && request.has_wait();
        self.open.values().filter(waits).count()
    }

    pub(super) fn on_cancelled(
        &mut self,
        at: Duration,
        request: OpenRequest,
    ) -> Result<(), String> {
        let for_unity = request.is_for_unity();
        let Some(label) = request.label else { return Ok(()) };
        if for_unity {
            let when = if self.outcomes.was_sent(&label) { "after" } else { "before" };
            self.coverage.count("cancelled ", &format!("{when} it was sent"));
        }
        self.cancelled_at.insert(label.clone(), at);
        self.closed_at.insert(label.clone(), at);
        let heard = request.watch.map_or(Ok(()), |watch| watch.check(at));
        let heard = heard.map_err(|problem| format!("{label}: {problem}"));
        self.outcomes.cancelled(label);
        heard
    }

    pub(super) fn on_answer(
        &mut self,
        at: Duration,
        wire: &Wire,
        answer: &Json,
    ) -> Result<(), String> {
        if text(answer, "method") == "notifications/progress" {
            return self.on_progress(at, wire, answer);
        }
        let is_answer = answer.get("jsonrpc").is_some() && answer.get("method").is_none();
        let Some(id) = answer.get("id").filter(|_| is_answer) else { return Ok(()) };
        let Some(request) = self.open.remove(&(wire.clone(), id.to_string())) else {
            return Err(format!("an answer to {id}, which {} does not wait for", wire.client));
        };
        let Some(label) = request.label.clone() else { return Ok(()) };
        self.outcomes.answered(&label)?;
        self.closed_at.insert(label.clone(), at);
        if let Some(watch) = &request.watch {
            watch.check(at).map_err(|problem| format!("{label}: {problem}"))?;
        }
        if let Some(Came { at: came, is_due: true, .. }) = self.results.get(&label)
            && at.saturating_sub(*came) > PROMPT + self.settles(&label)
        {
            return Err(format!("the result of {label} came at {came:?} and was not passed on"));
        }
        match trace::outcome_of(answer) {
            Outcome::Ok(result) if request.kind == Kind::Console => {
                self.coverage.count("told ", "completed");
                self.check_console(&request, &label, &result)
            }
            Outcome::Ok(_) if request.kind == Kind::Execute => self.check_ran(&label).map(|_| ()),
            Outcome::Ok(result) => {
                self.check_wait(at, &request, &result)
                    .map_err(|problem| format!("{label}: {problem}"))?;
                self.on_told_job(at, wire, &request, &result);
                self.on_result(at, (request.kind == Kind::Job).then_some(label), &result)
            }
            Outcome::Failed { code, guarantee, error } => {
                self.coverage.count("told ", code.rsplit(' ').next().unwrap_or_default());
                self.coverage.count("told ", &guarantee);
                self.check_follows(at, wire, &request, &error)
                    .map_err(|problem| format!("{label}: {problem}"))?;
                self.check_given_up(at, wire, &request, &error)
                    .map_err(|problem| format!("{label}: {problem}"))?;
                let retryable = error.get("retryable") == Some(&Json::Bool(true));
                let may_repeat = recovery::is_repeatable(&request.tool);
                if retryable && guarantee != "not_executed" && !may_repeat {
                    return Err(format!("{label} may have run, and is reported as retryable"));
                }
                if request.is_for_unity() {
                    self.on_failure(&label, &guarantee)?;
                }
                recovery::check(&request.tool, &error, self.was_too_large)
            }
        }
    }

    /// A result that is not a console may show how a job ended. `starter`: the call, if it starts jobs.
    pub(super) fn on_result(
        &mut self,
        at: Duration,
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
        self.jobs.extend(starter.map(|label| (job.clone(), label)));
        let label = self.jobs.get(&job).cloned();
        let tool = label.as_ref().and_then(|label| self.job_tools.get(label)).cloned();
        for error in ["cancel_error", "error"].map(|name| result.get(name)).into_iter().flatten() {
            if !error.is_null() {
                self.coverage.count("told ", &text(error, "code"));
                let check = |tool: &str| recovery::check(tool, error, self.was_too_large);
                match &tool {
                    Some(tool) => check(tool)?,
                    // The call that started the job has no answer yet.
                    None => check(TESTS).or_else(|_| check(COMPILE))?,
                }
            }
        }
        if text(result, "status") == "cancel_requested" && tool.as_deref() != Some(COMPILE) {
            self.cancels_promised.entry(job.clone()).or_insert(at);
        }
        if let Some(label) = &label
            && let Some(promised) = self.cancels_promised.remove(&job)
            && tool.as_deref() != Some(COMPILE)
        {
            self.turns.values_mut().for_each(|turns| turns.on_cancel_promised(promised, label));
        }
        if !matches!(state.as_str(), "succeeded" | "failed" | "timeout" | "cancelled") {
            return Ok(());
        }
        let of_error = |pointer: &str| result.pointer(pointer).and_then(Json::as_str);
        let code = of_error("/error/code").unwrap_or_default();
        if let Some(label) = &label {
            self.turns.values_mut().for_each(|turns| turns.on_told_end(label));
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
