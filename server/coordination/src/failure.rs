//! Failure: everything that can go wrong with a call, what it promises and what to do about it.
//!
//! The table is `ErrorCode::row`; which code a cause has is decided by the constructors in `causes`,
//! one per cause, and nowhere else. Text from Unity is never part of a message: it is data.

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
    pub fn for_tool(mut self, tool: &Tool) -> Self {
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
}
