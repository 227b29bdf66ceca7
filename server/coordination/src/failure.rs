//! Failure: everything that can go wrong with a call, what it guarantees and what to do about it.
//!
//! The table is `ErrorCode::row`. The constructors in `causes`, one per cause, decide which code a cause has.
//! Text from Unity is data: it is never part of a message.

mod causes;

use std::fmt;

use protocol::{ErrorBody, RequestId};

use crate::tool_catalog::Tool;

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
    /// Only the plugin decides this: the server passes it on.
    ReconfigInProgress,
}

/// What the caller may rely on. `NotExecuted` must never be wrong.
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

/// What to do next, as the second half of a message.
#[derive(Clone, Debug, PartialEq)]
enum Advice {
    /// In the words of the cause.
    Own(String),
    /// It may have run.
    CheckFirst,
    /// It may have run, but running it twice does no harm.
    Repeat,
}

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
            Self::InvalidRequest     => row("ERR_INVALID_REQUEST",      false, NotExecuted,    FixTheCall,       "the request breaks the contract"),
            Self::InvalidParams      => row("ERR_INVALID_PARAMS",       false, NotExecuted,    FixTheCall,       "an argument is wrong"),
            Self::UnknownCommand     => row("ERR_UNKNOWN_COMMAND",      false, NotExecuted,    FixTheCall,       "unknown tool or message type"),
            Self::EditorNotReady     => row("ERR_EDITOR_NOT_READY",     true,  NotExecuted,    WaitForEditor,    "no Editor in time, the Editor is busy, or the server is stopping"),
            Self::CompileTimeout     => row("ERR_COMPILE_TIMEOUT",      true,  NotExecuted,    WaitForEditor,    "a compile or reload took longer than `compile_grace_timeout_ms`"),
            Self::QueueFull          => row("ERR_QUEUE_FULL",           true,  NotExecuted,    Retry,            "too many calls"),
            Self::UnityDisconnected  => row("ERR_UNITY_DISCONNECTED",   false, Unknown,        InspectThenRetry, "the session that had the call ended, and the Editor no longer knows the call; also a running call when the server stops"),
            Self::ReconnectTimeout   => row("ERR_RECONNECT_TIMEOUT",    false, Unknown,        InspectThenRetry, "sent; then Unity disconnected and did not come back in time"),
            Self::RequestTimeout     => row("ERR_REQUEST_TIMEOUT",      false, Unknown,        InspectThenRetry, "sent; no answer in time"),
            Self::InvalidResponse    => row("ERR_INVALID_RESPONSE",     false, Unknown,        InspectThenRetry, "Unity's answer could not be understood"),
            Self::UnityExecution     => row("ERR_UNITY_EXECUTION",      false, CompletedError, InspectThenRetry, "it ran in Unity and failed there"),
            Self::JobNotFound        => row("ERR_JOB_NOT_FOUND",        false, NotExecuted,    FixTheCall,       "no such job"),
            Self::CancelNotSupported => row("ERR_CANCEL_NOT_SUPPORTED", false, NotExecuted,    FixTheCall,       "the id is not the id of a job"),
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
    /// What happened, and whether the call ran.
    what: String,
    advice: Advice,
    /// The request that is in the way, if there is one.
    pub overdue: Option<RequestId>,
    /// Why the call waited, if it ended while it did.
    pub waiting: Option<&'static str>,
    /// It is how an earlier call with the same `client_request_id` ended.
    pub replayed: bool,
    /// What Unity said.
    pub unity: Option<Box<ErrorBody>>,
}

impl Failure {
    fn new(code: ErrorCode, what: impl Into<String>, advice: Advice) -> Self {
        let Row { guarantee, retryable, recovery, .. } = code.row();
        let what = what.into();
        let (overdue, waiting, replayed, unity) = (None, None, false, None);
        Self {
            code,
            guarantee,
            retryable,
            recovery,
            what,
            advice,
            overdue,
            waiting,
            replayed,
            unity,
        }
    }

    /// One sentence: what happened, whether the call ran, and what to do next.
    pub fn message(&self) -> String {
        let advice = match &self.advice {
            Advice::Own(advice) => advice,
            Advice::CheckFirst => "check what has changed before you call again",
            Advice::Repeat => "it is safe to call again",
        };
        format!("{}; {advice}.", self.what)
    }

    /// The same code, but it is unknown whether the call ran. `for_tool` decides whether to repeat it.
    fn unknown(self) -> Self {
        let recovery = Recovery::InspectThenRetry;
        Self { guarantee: Guarantee::Unknown, retryable: false, recovery, ..self }
    }

    pub(crate) fn replayed(self) -> Self {
        Self { replayed: true, ..self }
    }

    pub(crate) fn after_waiting(self, reason: &'static str) -> Self {
        Self { waiting: Some(reason), ..self }
    }

    /// A call that may have run is safe to repeat only if its tool does no harm when it runs twice.
    pub fn for_tool(mut self, tool: &Tool) -> Self {
        match self.guarantee {
            Guarantee::NotExecuted => {}
            Guarantee::CompletedError => self.retryable = tool.retryable,
            Guarantee::Unknown => {
                self.retryable = tool.retryable;
                if tool.retryable && self.recovery == Recovery::InspectThenRetry {
                    self.recovery = Recovery::Retry;
                    if self.advice == Advice::CheckFirst {
                        self.advice = Advice::Repeat;
                    }
                }
            }
        }
        self
    }
}
