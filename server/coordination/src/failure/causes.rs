//! One constructor per cause of a failure: its code, and one sentence that tells an agent what to do.

use std::time::Duration;

use protocol::{ErrorBody, RequestId};

use super::{ErrorCode, Failure, Guarantee, Recovery};
use crate::ids::JobId;
use crate::tool_catalog::Tool;

impl Failure {
    // Before the queue.

    pub(crate) fn bad_client_request_id(tool: &Tool) -> Self {
        let need = if tool.requires_client_request_id { "needs" } else { "accepts" };
        let message = format!(
            "{} {need} a client_request_id of 1 to 128 characters out of A-Z a-z 0-9 . _ : -; correct it and call again.",
            tool.name
        );
        Self::new(ErrorCode::InvalidRequest, message)
    }

    pub(crate) fn bad_argument(tool: &Tool, problem: &str) -> Self {
        let message = format!("{}: {problem}; correct the argument and call again.", tool.name);
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub(crate) fn call_too_large(bytes: usize, max: usize) -> Self {
        let message =
            format!("The call takes {bytes} bytes but the limit is {max}; send shorter arguments.");
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub(crate) fn unknown_tool(known: &[Tool]) -> Self {
        let names: Vec<&str> = known.iter().map(|tool| tool.name).collect();
        let message = format!("There is no such tool; use one of {}.", names.join(", "));
        Self::new(ErrorCode::UnknownCommand, message)
    }

    pub fn unknown_method() -> Self {
        let message =
            "There is no such method; this server has tools alone: use tools/list and tools/call.";
        Self::new(ErrorCode::UnknownCommand, message)
    }

    pub fn malformed_request() -> Self {
        let message = "The parameters of the request are malformed; correct them and ask again.";
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub(crate) fn tool_not_in_plugin(tool: &Tool) -> Self {
        let message = format!(
            "The Unity plugin does not offer {}; update the plugin or use another tool.",
            tool.name
        );
        Self::new(ErrorCode::UnknownCommand, message)
    }

    pub(crate) fn queue_full(max: usize) -> Self {
        let message = format!("{max} calls are waiting already; call again when some have ended.");
        Self::new(ErrorCode::QueueFull, message)
    }

    pub fn too_much_unanswered() -> Self {
        let message =
            "Too many or too large requests have no answer yet; call again when some have one.";
        Self::new(ErrorCode::QueueFull, message)
    }

    pub(crate) fn too_many_jobs(max: usize) -> Self {
        let message = format!("{max} jobs are queued or running already; wait for one to end.");
        Self::new(ErrorCode::QueueFull, message)
    }

    pub(crate) fn port_held(port: u16, holder: &str) -> Self {
        let message = format!(
            "Unity cannot reach this server because port {port} is held by {holder}; free the port or choose another, then call again."
        );
        Self::new(ErrorCode::EditorNotReady, message)
    }

    // While waiting.

    pub(crate) fn no_editor(wait: Duration) -> Self {
        let message = format!(
            "No Unity Editor was connected for {}; open the project in Unity, call get_editor_state until it is ready, then repeat.",
            words(wait)
        );
        Self::new(ErrorCode::EditorNotReady, message)
    }

    pub(crate) fn unresponsive(overdue: RequestId) -> Self {
        let message = format!(
            "Unity is still busy with {overdue}, which it has not answered; look at the Editor for a dialog or a long operation, then repeat."
        );
        Self { overdue: Some(overdue), ..Self::new(ErrorCode::EditorNotReady, message) }
    }

    pub(crate) fn compile_timeout(doing: &str, wait: Duration) -> Self {
        let message = format!(
            "Unity has been {doing} for {}; call get_editor_state until it is ready, then repeat.",
            words(wait)
        );
        Self::new(ErrorCode::CompileTimeout, message)
    }

    pub fn stopping() -> Self {
        let message =
            "The server is stopping and has not run the call; repeat it when the server is back.";
        Self::new(ErrorCode::EditorNotReady, message)
    }

    // After the request was sent.

    pub(crate) fn memory_gone() -> Self {
        let message = "Unity reloaded or restarted while it had the call and does not know it any more; look at what has changed before repeating.";
        Self::new(ErrorCode::UnityDisconnected, message)
    }

    pub fn stopped_while_running() -> Self {
        let message = "The server stopped while Unity had the call; look at what has changed before repeating.";
        Self::new(ErrorCode::UnityDisconnected, message)
    }

    /// The unity-mcp that the call was relayed to has not answered.
    pub fn holder_lost() -> Self {
        let message = "The unity-mcp that holds the port ended or fell silent while it had the call; look at what has changed before repeating.";
        Self::new(ErrorCode::UnityDisconnected, message)
    }

    pub(crate) fn reconnect_timeout(wait: Duration) -> Self {
        let message = format!(
            "Unity disconnected while it had the call and did not come back within {}; look at what has changed before repeating.",
            words(wait)
        );
        Self::new(ErrorCode::ReconnectTimeout, message)
    }

    pub(crate) fn request_timeout(wait: Duration) -> Self {
        let message = format!(
            "Unity has not answered within {}; it may still run the call: look at what has changed before repeating.",
            words(wait)
        );
        Self::new(ErrorCode::RequestTimeout, message)
    }

    pub(crate) fn bad_answer() -> Self {
        let message = "Unity answered in a way that could not be understood; check the version of the plugin, and look at what has changed before repeating.";
        Self::new(ErrorCode::InvalidResponse, message)
    }

    pub(crate) fn answer_too_large(max: usize) -> Self {
        let message = format!(
            "Unity's answer was larger than {max} bytes; ask for less, for example fewer entries or no stack traces."
        );
        Self { recovery: Recovery::FixTheCall, ..Self::new(ErrorCode::InvalidResponse, message) }
    }

    pub(crate) fn job_too_large(max: usize) -> Self {
        let message = format!(
            "Unity's report of the job was larger than {max} bytes; run fewer tests at a time with a filter."
        );
        Self { recovery: Recovery::FixTheCall, ..Self::new(ErrorCode::InvalidResponse, message) }
    }

    /// It ran in Unity and failed there.
    pub(crate) fn unity_execution(unity: ErrorBody) -> Self {
        let message = "The call ran in Unity and failed there; details.unity says why: mend that before repeating.";
        Self { unity: Some(Box::new(unity)), ..Self::new(ErrorCode::UnityExecution, message) }
    }

    /// Unity answered with an `error`: what that promises depends on the code alone.
    pub(crate) fn refused(unity: ErrorBody) -> Self {
        let code = ErrorCode::named(&unity.code).unwrap_or(ErrorCode::UnityExecution);
        if code == ErrorCode::UnityExecution {
            return Self::unity_execution(unity);
        }
        let failure = if code.refuses_before_running() {
            let message = "Unity refused the call before running it; details.unity says why: correct that, then call again.";
            Self::new(code, message)
        } else {
            let message = "Unity answered with an error, which details.unity shows, and may have run the call; look at what has changed before repeating.";
            Self::new(code, message).unknown()
        };
        Self { unity: Some(Box::new(unity)), ..failure }
    }

    /// Something inside this server broke after the request was sent.
    pub fn broken_after_sending() -> Self {
        let message = "The server failed while Unity had the call; look at what has changed before repeating.";
        Self::new(ErrorCode::InvalidResponse, message)
    }

    /// Something inside this server broke, and nothing was sent.
    pub(crate) fn broken_before_sending() -> Self {
        Self {
            guarantee: Guarantee::NotExecuted,
            retryable: true,
            recovery: Recovery::Retry,
            ..Self::new(
                ErrorCode::UnityExecution,
                "The server failed before the call was sent to Unity; call again.",
            )
        }
    }

    // Jobs.

    pub(crate) fn no_such_job() -> Self {
        let message = "There is no such job; use the job_id that run_tests gave since the server's last start, or run the tests again.";
        Self::new(ErrorCode::JobNotFound, message)
    }

    pub(crate) fn job_forgotten(unity: ErrorBody) -> Self {
        let message = "Unity does not know the job any more, so nobody can say how it ended; look at the Editor, then run the tests again.";
        let failure = Self::new(ErrorCode::JobNotFound, message).unknown();
        Self { unity: Some(Box::new(unity)), ..failure }
    }

    pub(crate) fn job_of_another_editor() -> Self {
        let message = "The Editor that ran the job has ended or was replaced by another, so nobody can say how the job ended; look at the Editor, then run the tests again.";
        Self::new(ErrorCode::JobNotFound, message).unknown()
    }

    /// An accepted job ended with an error: it was accepted, so nobody can say that it never ran.
    pub(crate) fn job_error(unity: ErrorBody) -> Self {
        let failure = Self::refused(unity);
        if failure.guarantee == Guarantee::NotExecuted { failure.unknown() } else { failure }
    }

    pub(crate) fn cancel_not_supported() -> Self {
        let message = "Only jobs can be cancelled; use the job_id that run_tests gave.";
        Self::new(ErrorCode::CancelNotSupported, message)
    }

    pub(crate) fn cancel_rejected(job: JobId, unity: Option<ErrorBody>) -> Self {
        let message = format!("Unity refused to cancel {job}; wait for it to end.");
        Self { unity: unity.map(Box::new), ..Self::new(ErrorCode::CancelRejected, message) }
    }
}

/// A duration as people say it.
fn words(wait: Duration) -> String {
    let millis = wait.as_millis();
    match (millis / 1_000, millis % 1_000) {
        (0, millis) => format!("{millis} ms"),
        (seconds, 0) => format!("{seconds} s"),
        (seconds, millis) => format!("{seconds}.{} s", millis / 100),
    }
}
