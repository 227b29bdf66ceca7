//! CallError: why a call has no result, as the error object of the server, and the exit code that follows from it.

use coordination::{Failure, rendering};
use protocol::{Json, printable};
use rmcp::model::ErrorData;
use serde_json::json;

use super::{EXIT_FAILED, EXIT_NOT_EXECUTED, EXIT_UNKNOWN, EXIT_USAGE};

/// `{code, message, retryable, details}`, from the server or from this command.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallError(pub(super) Json);

impl CallError {
    /// The command line is wrong, and nothing was sent.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::not_executed("ERR_INVALID_PARAMS", &message.into(), "fix_the_call")
    }

    /// There is no server that could run it.
    pub(super) fn no_server(message: &str) -> Self {
        Self::not_executed("ERR_EDITOR_NOT_READY", message, "none")
    }

    fn not_executed(code: &str, message: &str, recovery: &str) -> Self {
        Self(json!({
            "code": code, "message": message, "retryable": false,
            "details": { "execution_guarantee": "not_executed", "recovery_action": recovery },
        }))
    }

    /// A job was started, and how it ended cannot be found out.
    pub(super) fn job_lost(job: &str, why: &Self) -> Self {
        Self(json!({
            "code": "ERR_UNITY_DISCONNECTED",
            "message": format!(
                "{job} was started, but it is unknown how it ended: {} Look at the Editor before you run it again.",
                why.message(),
            ),
            "retryable": false,
            "details": { "execution_guarantee": "unknown", "recovery_action": "inspect_then_retry" },
        }))
    }

    /// An error of JSON-RPC. The server puts its own error object into it.
    pub(super) fn of_protocol(error: ErrorData) -> Self {
        match error.data {
            Some(data) if data.get("details").is_some() => Self(data),
            Some(_) | None => {
                let what = printable(&error.message, 500);
                Self(json!({
                    "code": "ERR_INVALID_RESPONSE",
                    "message": format!("The server refused the request: {what}"),
                    "retryable": false,
                    "details": { "execution_guarantee": "unknown", "recovery_action": "none" },
                }))
            }
        }
    }

    pub(super) fn message(&self) -> &str {
        self.0.get("message").and_then(Json::as_str).unwrap_or("The call failed.")
    }

    /// With the words of Unity, which the message has not.
    pub(super) fn told(&self) -> String {
        let unity = self.0.pointer("/details/unity/message").and_then(Json::as_str);
        let unity = unity.map(|said| format!(" Unity says: {said}"));
        format!("{}{}", self.message(), unity.unwrap_or_default())
    }

    pub(super) fn exit_code(&self) -> i32 {
        let detail = |name: &str| self.0.pointer(&format!("/details/{name}"))?.as_str();
        match (detail("execution_guarantee"), detail("recovery_action")) {
            (Some("completed_error"), _) => EXIT_FAILED,
            (Some("not_executed"), Some("fix_the_call")) => EXIT_USAGE,
            (Some("not_executed"), _) => EXIT_NOT_EXECUTED,
            (_, _) => EXIT_UNKNOWN,
        }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self(rendering::failure(&failure))
    }
}

/// The exit code that the answer of a tool means: a job that has ended badly is no success.
pub(super) fn exit_code_of(answer: &Json) -> i32 {
    let is_job = answer.get("job_id").is_some();
    let state = answer.get("state").and_then(Json::as_str).filter(|_| is_job);
    match (state, answer.get("error")) {
        (Some("failed" | "timeout" | "cancelled"), Some(error)) => {
            CallError(error.clone()).exit_code()
        }
        (Some("failed" | "cancelled"), None) => EXIT_FAILED,
        (Some("timeout"), None) => EXIT_UNKNOWN,
        (_, _) => super::EXIT_OK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_the_guarantee() {
        for (failure, code) in [
            (Failure::malformed_request(), 2),
            (Failure::stopping(), 4),
            (Failure::too_much_unanswered(), 4),
            (Failure::holder_lost(), 5),
        ] {
            assert_eq!(CallError::from(failure).exit_code(), code);
        }
        let ran = json!({ "details": { "execution_guarantee": "completed_error" } });
        assert_eq!(CallError(ran).exit_code(), 1);
        assert_eq!(CallError(json!({ "code": "new" })).exit_code(), 5);
    }

    #[test]
    fn a_job_that_ended_badly_is_no_success() {
        let job = |state: &str| json!({ "job_id": "job-a-1", "state": state });
        for (state, code) in [
            ("queued", 0),
            ("running", 0),
            ("succeeded", 0),
            ("failed", 1),
            ("cancelled", 1),
            ("timeout", 5),
        ] {
            assert_eq!(exit_code_of(&job(state)), code, "{state}");
        }
        let lost = rendering::with(
            job("failed"),
            "error",
            json!({ "details": { "execution_guarantee": "unknown" } }),
        );
        assert_eq!(exit_code_of(&lost), 5);
        assert_eq!(exit_code_of(&json!({ "state": "failed" })), 0, "it is not a job");
    }
}
