//! Faults of what agents are told: the core decides right, and the answer says something else.

use coordination::{
    Answer, Failure, Guarantee, Outcome, RawCall, Recovery, Request, ValidCall, validate,
};
use protocol::{Json, Map};
use serde_json::json;

use super::core::CoreFault;

pub(super) fn change(fault: CoreFault, outcome: Outcome) -> Outcome {
    match (fault, outcome) {
        (CoreFault::TellAnEmptyConsole, Ok(Answer::Unity(_))) => {
            Ok(Answer::Unity(json!({ "count": 0, "entries": [], "truncated": true })))
        }
        (CoreFault::KeepTheResultOfAJob, Ok(Answer::Job(mut report))) => {
            report.result = None;
            Ok(Answer::Job(report))
        }
        (CoreFault::KeepTheProgressOfAJob, Ok(Answer::Job(mut report))) => {
            report.progress = None;
            Ok(Answer::Job(report))
        }
        (CoreFault::AdviseNothing, Ok(Answer::Job(mut report))) => {
            report.error = report.error.map(without_advice);
            Ok(Answer::Job(report))
        }
        (CoreFault::LieAboutExecution, Err(mut failure)) => {
            failure.guarantee = Guarantee::NotExecuted;
            Err(failure)
        }
        (CoreFault::AdviseNothing, Err(failure)) => Err(without_advice(failure)),
        (_, outcome) => outcome,
    }
}

fn without_advice(mut failure: Failure) -> Failure {
    failure.recovery = Recovery::None;
    failure
}

/// The same call without `wait_ms`.
pub(super) fn without_wait(call: ValidCall) -> ValidCall {
    let mut arguments = Map::new();
    match call.request() {
        Request::JobStatus { job_id, .. } => {
            arguments.insert("job_id".to_owned(), job_id.as_str().into());
        }
        Request::RunJob { asked, .. } => {
            arguments.extend(asked.as_object().cloned().unwrap_or_default());
        }
        Request::EditorState | Request::Execute { .. } | Request::CancelJob { .. } => return call,
    }
    let timeout = Json::from(call.timeout().as_millis() as u64);
    arguments.insert("timeout_ms".to_owned(), timeout);
    let name = call.client_request_id().map(|name| ("client_request_id".to_owned(), name.into()));
    arguments.extend(name);
    let tool = call.tool().name.to_owned();
    validate(RawCall { tool, arguments }).unwrap_or(call)
}
