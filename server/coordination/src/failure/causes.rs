//! One constructor per cause of a failure: its code, what happened, whether the call ran, and what to do next.

use std::time::Duration;

use protocol::{ErrorBody, RequestId};

use super::{Advice, ErrorCode, Failure, Guarantee, Recovery};
use crate::ids::JobId;
use crate::tool_answers;
use crate::tool_answers::UnwantedOutcome;
use crate::tool_catalog::{Catalog, Tool};

impl Failure {
    // Before the queue.

    pub(crate) fn bad_client_request_id(tool: &Tool) -> Self {
        let need = if tool.requires_client_request_id { "needs" } else { "accepts" };
        let what = format!(
            "{} did not run: it {need} a client_request_id of 1 to 128 characters from A-Z a-z 0-9 . _ : -",
            tool.name
        );
        Self::new(ErrorCode::InvalidRequest, what, own("fix it and call again"))
    }

    pub(crate) fn bad_argument(tool: &Tool, problem: &str) -> Self {
        let what = format!("{} did not run: {problem}", tool.name);
        Self::new(ErrorCode::InvalidParams, what, own("fix the argument and call again"))
    }

    pub(crate) fn call_too_large(bytes: usize, max: usize) -> Self {
        let what =
            format!("The call did not run because it has {bytes} bytes and the limit is {max}");
        Self::new(ErrorCode::InvalidParams, what, own("send shorter arguments"))
    }

    pub(crate) fn unknown_tool(known: Catalog) -> Self {
        let names: Vec<&str> = known.tools().map(|tool| tool.name).collect();
        let advice = own(&format!("use one of {}", names.join(", ")));
        Self::new(ErrorCode::UnknownCommand, "There is no such tool, so nothing ran", advice)
    }

    pub fn unknown_method() -> Self {
        let what = "This server does not have that method, so nothing ran";
        Self::new(ErrorCode::UnknownCommand, what, own("use tools/list and tools/call"))
    }

    pub fn malformed_request() -> Self {
        let what = "The parameters of the request are malformed, so nothing ran";
        Self::new(ErrorCode::InvalidParams, what, own("fix them and send the request again"))
    }

    pub(crate) fn tool_not_in_plugin(tool: &Tool) -> Self {
        let what =
            format!("The Unity plugin does not offer {}, so the call did not run", tool.name);
        let advice = own("ask the user to update the plugin, or use another tool");
        Self::new(ErrorCode::UnknownCommand, what, advice)
    }

    pub(crate) fn reused_client_request_id() -> Self {
        let what = "This client_request_id was used for another call, so the call did not run";
        let advice = own("call again with a new one, such as a UUID");
        Self::new(ErrorCode::InvalidRequest, what, advice)
    }

    /// The job of an earlier call with the same `client_request_id`.
    pub(crate) fn job_not_kept(job: JobId) -> Self {
        let what = format!(
            "An earlier call with this client_request_id started {job}, which may have run and is not kept any more; nothing ran now"
        );
        let advice = own("call with a new client_request_id to run it again");
        Self::new(ErrorCode::JobNotFound, what, advice).unknown()
    }

    /// Catalogue 1.1: Unity would test old code.
    pub(crate) fn last_compile_failed(errors: u64) -> Self {
        let what = format!(
            "The scripts do not compile (errors: {errors}), so Unity would test old code, and the call did not run"
        );
        let advice = own(
            "read the errors with script_recompile_trigger or read_console, fix them and compile, then call again",
        );
        let failure = Self::new(ErrorCode::EditorNotReady, what, advice);
        Self { retryable: false, recovery: Recovery::InspectThenRetry, ..failure }
    }

    pub(crate) fn cancelled_while_running() -> Self {
        let what = "The call was cancelled while Unity ran it, so its outcome is unknown";
        Self::new(ErrorCode::RequestTimeout, what, Advice::CheckFirst)
    }

    pub(crate) fn queue_full(max: usize) -> Self {
        let what = format!("{max} calls are already waiting, so this one did not run");
        Self::new(ErrorCode::QueueFull, what, own("call again when some of them have finished"))
    }

    /// The call that they repeat may be running.
    pub(crate) fn too_many_repeats(max: usize) -> Self {
        let what = format!(
            "An earlier call with this client_request_id has no answer yet, and {max} calls wait for such answers already"
        );
        let advice =
            own("call again with the same client_request_id when some of them have finished");
        Self::new(ErrorCode::QueueFull, what, advice).unknown()
    }

    pub fn too_much_unanswered() -> Self {
        let what = "Too many or too large requests are still unanswered, so this one did not run";
        Self::new(ErrorCode::QueueFull, what, own("call again when some of them are answered"))
    }

    pub(crate) fn too_many_jobs(max: usize) -> Self {
        let what = format!("{max} jobs are already queued or running, so this one did not start");
        Self::new(ErrorCode::QueueFull, what, own("wait for one of them to end, then call again"))
    }

    pub(crate) fn port_held(port: u16, holder: &str) -> Self {
        let what = format!(
            "The call did not run because Unity cannot reach this server: port {port} is held by {holder}"
        );
        let advice = own("ask the user to free the port or to choose another one with --port");
        let failure = Self::new(ErrorCode::EditorNotReady, what, advice);
        Self { retryable: false, recovery: Recovery::None, ..failure } // Waiting does not help.
    }

    /// The unity-mcp to which the call was to be relayed got nothing of it.
    pub fn holder_unreachable(why: &str) -> Self {
        let what = format!(
            "The call did not run because the unity-mcp that holds the port could not be reached ({why})"
        );
        let advice = own("call again, or ask the user to restart that unity-mcp");
        Self { recovery: Recovery::Retry, ..Self::new(ErrorCode::EditorNotReady, what, advice) }
    }

    /// The unity-mcp to which the call was to be relayed has a smaller catalogue.
    pub fn holder_lacks(catalog: Catalog) -> Self {
        let what = format!(
            "The call did not run because the unity-mcp that holds the port has no catalogue {}: it lacks this tool, or would run a repeated client_request_id again",
            catalog.name()
        );
        let advice = own(&format!(
            "ask the user to restart that unity-mcp with --catalog {}, or call another tool without client_request_id",
            catalog.name()
        ));
        Self::new(ErrorCode::InvalidRequest, what, advice)
    }

    // While waiting.

    pub(crate) fn no_editor(wait: Duration) -> Self {
        let what =
            format!("No Unity Editor was connected for {}, so the call did not run", words(wait));
        let advice = own("ask the user to open the project in Unity, then call again");
        Self::new(ErrorCode::EditorNotReady, what, advice)
    }

    pub(crate) fn unresponsive(overdue: RequestId) -> Self {
        let what = format!("Unity has not finished {overdue} yet, so the call did not run");
        let advice = own(
            "ask the user to look in the Editor for an open dialog or a long operation, then call again",
        );
        Self { overdue: Some(overdue), ..Self::new(ErrorCode::EditorNotReady, what, advice) }
    }

    pub(crate) fn another_editor() -> Self {
        let what = "Another Unity Editor took the place of the one that the call waited for, so the call did not run";
        let advice = own("call again if it is meant for the Editor that is connected now");
        Self::new(ErrorCode::EditorNotReady, what, advice)
    }

    pub(crate) fn busy(wait: Duration) -> Self {
        let what =
            format!("Unity was busy with other calls for {}, so the call did not run", words(wait));
        Self::new(ErrorCode::EditorNotReady, what, own("call again when they have finished"))
    }

    pub(crate) fn compile_timeout(doing: &str, wait: Duration) -> Self {
        let what =
            format!("Unity was still {doing} after {}, so the call did not run", words(wait));
        Self::new(ErrorCode::CompileTimeout, what, own("call again to go on waiting for Unity"))
    }

    pub fn stopping() -> Self {
        let what = "The server is stopping, so the call did not run";
        Self::new(ErrorCode::EditorNotReady, what, own("call again when the server is back"))
    }

    // After the request was sent.

    pub(crate) fn memory_gone() -> Self {
        let what = "Unity reloaded or restarted while it had the call and no longer knows it, so it is unknown whether the call ran";
        Self::new(ErrorCode::UnityDisconnected, what, Advice::CheckFirst)
    }

    pub fn stopped_while_running() -> Self {
        let what =
            "The server stopped while Unity had the call, so it is unknown whether the call ran";
        Self::new(ErrorCode::UnityDisconnected, what, Advice::CheckFirst)
    }

    /// The unity-mcp to which the call was relayed has not answered.
    pub fn holder_lost() -> Self {
        let what = "The unity-mcp that holds the port ended or stopped answering while it had the call, so it is unknown whether the call ran";
        Self::new(ErrorCode::UnityDisconnected, what, Advice::CheckFirst)
    }

    pub(crate) fn reconnect_timeout(wait: Duration) -> Self {
        let what = format!(
            "Unity disconnected while it had the call and did not come back within {}, so it is unknown whether the call ran",
            words(wait)
        );
        Self::new(ErrorCode::ReconnectTimeout, what, Advice::CheckFirst)
    }

    pub(crate) fn request_timeout(wait: Duration) -> Self {
        let what =
            format!("Unity did not answer within {} and may still run the call", words(wait));
        Self::new(ErrorCode::RequestTimeout, what, Advice::CheckFirst)
    }

    pub(crate) fn bad_answer() -> Self {
        let what = "Unity's answer could not be understood (is the plugin of another version?), so it is unknown whether the call ran";
        Self::new(ErrorCode::InvalidResponse, what, Advice::CheckFirst)
    }

    pub(crate) fn answer_too_large(max: usize) -> Self {
        let what = format!(
            "Unity's answer was larger than {max} bytes and was dropped, so it is unknown how the call ended"
        );
        let advice = own("ask for less, for example for fewer entries or no stack traces");
        let failure = Self::new(ErrorCode::InvalidResponse, what, advice);
        Self { recovery: Recovery::FixTheCall, ..failure }
    }

    pub(crate) fn job_too_large(max: usize) -> Self {
        let what = format!(
            "Unity's report on the job was larger than {max} bytes and was dropped, so it is unknown how the job ended"
        );
        let advice = own("start a smaller job, for example with a filter");
        let failure = Self::new(ErrorCode::InvalidResponse, what, advice);
        Self { recovery: Recovery::FixTheCall, ..failure }
    }

    /// It ran in Unity and failed there.
    pub(crate) fn unity_execution(unity: ErrorBody) -> Self {
        let advice = own("see details.unity for the cause and fix it before you call again");
        let what = "The call ran in Unity and failed there";
        Self::new(ErrorCode::UnityExecution, what, advice).with_unity(unity)
    }

    /// Unity answered with an `error`. Its code alone decides what is guaranteed.
    pub(crate) fn refused(unity: ErrorBody) -> Self {
        if unity.code == ErrorCode::UnityExecution.text() {
            return Self::unity_execution(unity);
        }
        // Nobody knows whether a made-up code means that it ran.
        let code = ErrorCode::named(&unity.code).unwrap_or(ErrorCode::UnityExecution);
        let failure = if code.refuses_before_running() {
            let advice = own("see details.unity for the cause, fix it and call again");
            Self::new(code, "Unity refused the call before running it", advice)
        } else {
            let what = "Unity answered with an error (see details.unity), so it is unknown whether the call ran";
            Self::new(code, what, Advice::CheckFirst).unknown()
        };
        failure.with_unity(unity)
    }

    /// This server failed after the request was sent.
    pub fn broken_after_sending() -> Self {
        let what =
            "The server failed while Unity had the call, so it is unknown whether the call ran";
        Self::new(ErrorCode::InvalidResponse, what, Advice::CheckFirst)
    }

    /// This server failed, and nothing was sent.
    pub(crate) fn broken_before_sending() -> Self {
        let what = "The server failed before it sent the call to Unity, so the call did not run";
        Self {
            guarantee: Guarantee::NotExecuted,
            retryable: true,
            recovery: Recovery::Retry,
            ..Self::new(ErrorCode::UnityExecution, what, own("call again"))
        }
    }

    // Jobs.

    pub(crate) fn no_such_job() -> Self {
        let advice =
            own("use a job_id that this server gave since it started, or start the job again");
        Self::new(ErrorCode::JobNotFound, "There is no such job", advice)
    }

    pub(crate) fn job_forgotten(unity: ErrorBody) -> Self {
        let what = "Unity no longer knows this job, so it is unknown how it ended";
        let advice = own("check the Editor, then start the job again");
        Self::new(ErrorCode::JobNotFound, what, advice).unknown().with_unity(unity)
    }

    pub(crate) fn job_of_another_editor() -> Self {
        let what = "The Editor that ran this job has closed or was replaced by another one, so it is unknown how the job ended";
        let advice = own("check the Editor, then start the job again");
        Self::new(ErrorCode::JobNotFound, what, advice).unknown()
    }

    /// Unity has done what was asked, and the outcome is none that the agent wants.
    pub(crate) fn unwanted_outcome(UnwantedOutcome { what, advice }: UnwantedOutcome) -> Self {
        Self::new(ErrorCode::UnityExecution, what, own(advice))
    }

    /// Unity accepted the job and then reported an error, so it may have run.
    pub(crate) fn job_error(unity: ErrorBody) -> Self {
        let failure = Self::refused(unity);
        if failure.guarantee == Guarantee::NotExecuted { failure.unknown() } else { failure }
    }

    pub(crate) fn cancel_not_supported() -> Self {
        let what = "Only jobs can be cancelled, so nothing was cancelled";
        Self::new(ErrorCode::CancelNotSupported, what, own("use the job_id of a job"))
    }

    pub(crate) fn cancel_rejected(job: JobId, unity: Option<ErrorBody>) -> Self {
        let what = format!("Unity refused to cancel {job}, so it goes on");
        let failure = Self::new(ErrorCode::CancelRejected, what, own("wait for it to end"));
        match unity {
            Some(unity) => failure.with_unity(unity),
            None => failure,
        }
    }

    fn with_unity(self, unity: ErrorBody) -> Self {
        Self { unity: Some(Box::new(tool_answers::error(unity))), ..self }
    }
}

fn own(advice: &str) -> Advice {
    Advice::Own(advice.to_owned())
}

/// A duration for a reader.
fn words(wait: Duration) -> String {
    let millis = wait.as_millis();
    match (millis / 1_000, millis % 1_000) {
        (0, millis) => format!("{millis} ms"),
        (seconds, 0) => format!("{seconds} s"),
        (seconds, millis) => format!("{seconds}.{} s", millis / 100),
    }
}
