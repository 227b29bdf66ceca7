//! Failure: everything that can go wrong with a call, what it promises and what to do about it.
//!
//! The table is `ErrorCode::row`; which code a cause has is decided by the constructors below, one
//! per cause, and nowhere else. Text from Unity is never part of a message: it is data.

use std::fmt;
use std::time::Duration;

use protocol::{ErrorBody, RequestId};

use super::ids::JobId;
use super::tool_catalog::Tool;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorCode {
    InvalidRequest,
    InvalidParams,
    UnknownCommand,
    EditorNotReady,
    CompileTimeout,
    QueueFull,
    UnityDisconnected,
    ReconnectTimeout,
    RequestTimeout,
    InvalidResponse,
    UnityExecution,
    JobNotFound,
    CancelNotSupported,
    CancelRejected,
    /// Never decided here: the plugin alone knows that it is being reconfigured, and says so.
    ReconfigInProgress,
}

/// What the caller may rely on. `NotExecuted` is never a lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guarantee {
    NotExecuted,
    Unknown,
    CompletedError,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    Retry,
    FixTheCall,
    InspectThenRetry,
    WaitForEditor,
    None,
}

/// What to do after `unknown`, unless running a tool twice does no harm.
const INSPECT: &str = "look at what has changed before repeating";

/// One row of the error table: what a code means unless its cause says otherwise.
pub struct Row {
    pub text: &'static str,
    pub retryable: bool,
    pub guarantee: Guarantee,
    pub recovery: Recovery,
    pub when: &'static str,
}

impl ErrorCode {
    pub const ALL: [Self; 15] = [
        Self::InvalidRequest,
        Self::InvalidParams,
        Self::UnknownCommand,
        Self::EditorNotReady,
        Self::CompileTimeout,
        Self::QueueFull,
        Self::UnityDisconnected,
        Self::ReconnectTimeout,
        Self::RequestTimeout,
        Self::InvalidResponse,
        Self::UnityExecution,
        Self::JobNotFound,
        Self::CancelNotSupported,
        Self::CancelRejected,
        Self::ReconfigInProgress,
    ];

    #[rustfmt::skip] // A table is read by its columns.
    pub fn row(self) -> Row {
        use Guarantee::{CompletedError, NotExecuted, Unknown};
        use Recovery::{FixTheCall, InspectThenRetry, Retry, WaitForEditor};
        let row = |text, retryable, guarantee, recovery, when| Row { text, retryable, guarantee, recovery, when };
        match self {
            Self::InvalidRequest     => row("ERR_INVALID_REQUEST",      false, NotExecuted,    FixTheCall,       "the envelope or the contract is broken"),
            Self::InvalidParams      => row("ERR_INVALID_PARAMS",       false, NotExecuted,    FixTheCall,       "an argument is wrong"),
            Self::UnknownCommand     => row("ERR_UNKNOWN_COMMAND",      false, NotExecuted,    FixTheCall,       "unknown tool or message type"),
            Self::EditorNotReady     => row("ERR_EDITOR_NOT_READY",     true,  NotExecuted,    WaitForEditor,    "no Editor in time, or the server is stopping"),
            Self::CompileTimeout     => row("ERR_COMPILE_TIMEOUT",      true,  NotExecuted,    WaitForEditor,    "a compile or reload outlasted the grace"),
            Self::QueueFull          => row("ERR_QUEUE_FULL",           true,  NotExecuted,    Retry,            "too many calls"),
            Self::UnityDisconnected  => row("ERR_UNITY_DISCONNECTED",   false, Unknown,        InspectThenRetry, "the session that had the call ended and the Editor does not know it any more; also a running call at shutdown"),
            Self::ReconnectTimeout   => row("ERR_RECONNECT_TIMEOUT",    false, Unknown,        InspectThenRetry, "sent, Unity left and did not come back in time"),
            Self::RequestTimeout     => row("ERR_REQUEST_TIMEOUT",      false, Unknown,        InspectThenRetry, "sent, no answer in time"),
            Self::InvalidResponse    => row("ERR_INVALID_RESPONSE",     false, Unknown,        InspectThenRetry, "Unity answered nonsense"),
            Self::UnityExecution     => row("ERR_UNITY_EXECUTION",      false, CompletedError, InspectThenRetry, "it ran in Unity and failed there"),
            Self::JobNotFound        => row("ERR_JOB_NOT_FOUND",        false, NotExecuted,    FixTheCall,       "no such job"),
            Self::CancelNotSupported => row("ERR_CANCEL_NOT_SUPPORTED", false, NotExecuted,    FixTheCall,       "the id is not of a cancellable kind"),
            Self::CancelRejected     => row("ERR_CANCEL_REJECTED",      false, Unknown,        Recovery::None,   "Unity refused the cancel"),
            Self::ReconfigInProgress => row("ERR_RECONFIG_IN_PROGRESS", true,  NotExecuted,    Retry,            "passed on from the plugin"),
        }
    }

    pub fn text(self) -> &'static str {
        self.row().text
    }

    fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.text() == text)
    }

    /// Codes a plugin refuses with before it runs anything.
    fn refuses_before_running(self) -> bool {
        matches!(self, Self::InvalidParams | Self::UnknownCommand | Self::ReconfigInProgress)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Guarantee {
    pub fn text(self) -> &'static str {
        match self {
            Self::NotExecuted => "not_executed",
            Self::Unknown => "unknown",
            Self::CompletedError => "completed_error",
        }
    }
}

impl Recovery {
    pub fn text(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::FixTheCall => "fix_the_call",
            Self::InspectThenRetry => "inspect_then_retry",
            Self::WaitForEditor => "wait_for_editor",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub code: ErrorCode,
    pub guarantee: Guarantee,
    pub retryable: bool,
    pub recovery: Recovery,
    /// One sentence that tells an agent what to do next.
    pub message: String,
    /// The request that is in the way, if one is.
    pub overdue: Option<RequestId>,
    /// What Unity said, in its own words.
    pub unity: Option<Box<ErrorBody>>,
}

impl Failure {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let row = code.row();
        Self {
            code,
            guarantee: row.guarantee,
            retryable: row.retryable,
            recovery: row.recovery,
            message: message.into(),
            overdue: None,
            unity: None,
        }
    }

    /// The same code, but nobody can say whether it ran. Repeating is safe only if the tool says
    /// so: see `for_tool`.
    fn unknown(self) -> Self {
        let recovery = Recovery::InspectThenRetry;
        Self { guarantee: Guarantee::Unknown, retryable: false, recovery, ..self }
    }

    /// What may have run is repeated safely only with a tool that does no harm when run twice.
    pub(super) fn for_tool(mut self, tool: &Tool) -> Self {
        match self.guarantee {
            Guarantee::NotExecuted => {}
            Guarantee::CompletedError => self.retryable = tool.retryable,
            Guarantee::Unknown => {
                self.retryable = tool.retryable;
                if tool.retryable && self.recovery == Recovery::InspectThenRetry {
                    self.recovery = Recovery::Retry;
                    self.message = self.message.replace(INSPECT, "it is safe to repeat the call");
                }
            }
        }
        self
    }

    // Before the queue.

    pub(super) fn bad_client_request_id(tool: &Tool) -> Self {
        let need = if tool.requires_client_request_id { "needs" } else { "accepts" };
        let message = format!(
            "{} {need} a client_request_id of 1 to 128 characters out of A-Z a-z 0-9 . _ : -; correct it and call again.",
            tool.name
        );
        Self::new(ErrorCode::InvalidRequest, message)
    }

    pub(super) fn bad_argument(tool: &Tool, problem: &str) -> Self {
        let message = format!("{}: {problem}; correct the argument and call again.", tool.name);
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub(super) fn call_too_large(bytes: usize, max: usize) -> Self {
        let message =
            format!("The call takes {bytes} bytes but the limit is {max}; send shorter arguments.");
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub(super) fn unknown_tool(known: &[Tool]) -> Self {
        let names: Vec<&str> = known.iter().map(|tool| tool.name).collect();
        let message = format!("There is no such tool; use one of {}.", names.join(", "));
        Self::new(ErrorCode::UnknownCommand, message)
    }

    pub(super) fn tool_not_in_plugin(tool: &Tool) -> Self {
        let message = format!(
            "The Unity plugin does not offer {}; update the plugin or use another tool.",
            tool.name
        );
        Self::new(ErrorCode::UnknownCommand, message)
    }

    pub(super) fn queue_full(max: usize) -> Self {
        let message = format!("{max} calls are waiting already; call again when some have ended.");
        Self::new(ErrorCode::QueueFull, message)
    }

    pub(super) fn too_many_jobs(max: usize) -> Self {
        let message = format!("{max} jobs are queued or running already; wait for one to end.");
        Self::new(ErrorCode::QueueFull, message)
    }

    pub(super) fn port_held(port: u16, holder: &str) -> Self {
        let message = format!(
            "Unity cannot reach this server because port {port} is held by {holder}; free the port or choose another, then call again."
        );
        Self::new(ErrorCode::EditorNotReady, message)
    }

    // While waiting.

    pub(super) fn no_editor(wait: Duration) -> Self {
        let message = format!(
            "No Unity Editor was connected for {}; open the project in Unity, call get_editor_state until it is ready, then repeat.",
            words(wait)
        );
        Self::new(ErrorCode::EditorNotReady, message)
    }

    pub(super) fn unresponsive(overdue: RequestId) -> Self {
        let message = format!(
            "Unity is still busy with {overdue}, which it has not answered; look at the Editor for a dialog or a long operation, then repeat."
        );
        Self { overdue: Some(overdue), ..Self::new(ErrorCode::EditorNotReady, message) }
    }

    pub(super) fn compile_timeout(doing: &str, wait: Duration) -> Self {
        let message = format!(
            "Unity has been {doing} for {}; call get_editor_state until it is ready, then repeat.",
            words(wait)
        );
        Self::new(ErrorCode::CompileTimeout, message)
    }

    pub(super) fn stopping() -> Self {
        let message =
            "The server is stopping and has not run the call; repeat it when the server is back.";
        Self::new(ErrorCode::EditorNotReady, message)
    }

    // After the request was sent.

    pub(super) fn memory_gone() -> Self {
        let message = "Unity reloaded or restarted while it had the call and does not know it any more; look at what has changed before repeating.";
        Self::new(ErrorCode::UnityDisconnected, message)
    }

    pub(super) fn stopped_while_running() -> Self {
        let message = "The server stopped while Unity had the call; look at what has changed before repeating.";
        Self::new(ErrorCode::UnityDisconnected, message)
    }

    pub(super) fn reconnect_timeout(wait: Duration) -> Self {
        let message = format!(
            "Unity disconnected while it had the call and did not come back within {}; look at what has changed before repeating.",
            words(wait)
        );
        Self::new(ErrorCode::ReconnectTimeout, message)
    }

    pub(super) fn request_timeout(wait: Duration) -> Self {
        let message = format!(
            "Unity has not answered within {}; it may still run the call: look at what has changed before repeating.",
            words(wait)
        );
        Self::new(ErrorCode::RequestTimeout, message)
    }

    pub(super) fn bad_answer() -> Self {
        let message = "Unity answered in a way that could not be understood; check the version of the plugin, and look at what has changed before repeating.";
        Self::new(ErrorCode::InvalidResponse, message)
    }

    pub(super) fn answer_too_large(max: usize) -> Self {
        let message = format!(
            "Unity's answer was larger than {max} bytes; ask for less, for example fewer entries or no stack traces."
        );
        Self { recovery: Recovery::FixTheCall, ..Self::new(ErrorCode::InvalidResponse, message) }
    }

    pub(super) fn job_too_large(max: usize) -> Self {
        let message = format!(
            "Unity's report of the job was larger than {max} bytes; run fewer tests at a time with a filter."
        );
        Self { recovery: Recovery::FixTheCall, ..Self::new(ErrorCode::InvalidResponse, message) }
    }

    /// It ran in Unity and failed there.
    pub(super) fn unity_execution(unity: ErrorBody) -> Self {
        let message = "The call ran in Unity and failed there; details.unity says why.";
        Self { unity: Some(Box::new(unity)), ..Self::new(ErrorCode::UnityExecution, message) }
    }

    /// Unity answered with an `error`: what that promises depends on the code alone.
    pub(super) fn refused(unity: ErrorBody) -> Self {
        let code = ErrorCode::named(&unity.code).unwrap_or(ErrorCode::UnityExecution);
        if code == ErrorCode::UnityExecution {
            return Self::unity_execution(unity);
        }
        let failure = if code.refuses_before_running() {
            Self::new(code, "Unity refused the call before running it; details.unity says why.")
        } else {
            let message =
                "Unity answered with an error and may have run the call; details.unity says why.";
            Self::new(code, message).unknown()
        };
        Self { unity: Some(Box::new(unity)), ..failure }
    }

    /// Something inside this server broke after the request was sent.
    pub(super) fn broken_after_sending() -> Self {
        let message = "The server failed while Unity had the call; look at what has changed before repeating.";
        Self::new(ErrorCode::InvalidResponse, message)
    }

    /// Something inside this server broke, and nothing was sent.
    pub(super) fn broken_before_sending() -> Self {
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

    pub(super) fn no_such_job() -> Self {
        let message = "There is no such job; use the job_id that run_tests gave since the server's last start, or run the tests again.";
        Self::new(ErrorCode::JobNotFound, message)
    }

    pub(super) fn job_forgotten(unity: ErrorBody) -> Self {
        let message = "Unity does not know the job any more, so nobody can say how it ended; look at the Editor, then run the tests again.";
        let failure = Self::new(ErrorCode::JobNotFound, message).unknown();
        Self { unity: Some(Box::new(unity)), ..failure }
    }

    /// An accepted job ended with an error: it was accepted, so nobody can say that it never ran.
    pub(super) fn job_error(unity: ErrorBody) -> Self {
        let failure = Self::refused(unity);
        if failure.guarantee == Guarantee::NotExecuted { failure.unknown() } else { failure }
    }

    pub(super) fn cancel_not_supported() -> Self {
        let message = "Only jobs can be cancelled; use the job_id that run_tests gave.";
        Self::new(ErrorCode::CancelNotSupported, message)
    }

    pub(super) fn cancel_rejected(job: JobId, unity: Option<ErrorBody>) -> Self {
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
