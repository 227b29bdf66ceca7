//! Types that several messages share.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Json, RequestId};

/// What the Editor is doing, as the plugin reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EditorState {
    /// The main thread runs tools.
    Ready,
    /// Scripts are compiling. Nothing runs; a domain reload usually follows.
    Compiling,
    /// The domain reloads. The socket is about to close, and the plugin comes back with a new hello.
    Reloading,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Accepted, not started.
    Queued,
    /// Started.
    Running,
    /// Ended well. A test run is `succeeded` if no test failed.
    Succeeded,
    /// Ended with an error, or with failed tests.
    Failed,
    /// The plugin stopped it because it took too long.
    Timeout,
    /// Ended because of a cancel.
    Cancelled,
}

impl JobState {
    /// Whether the job has ended. A terminal state never changes.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Timeout | Self::Cancelled => true,
        }
    }
}

/// Whether the scripts compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompileOutcome {
    /// Without an error.
    Succeeded,
    /// With errors: Unity goes on with the old code.
    Failed,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Steps that are done.
    pub done: u64,
    /// All steps.
    pub total: u64,
    /// What runs now, such as the name of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

/// What went wrong, as the sender reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    /// A code such as `ERR_INVALID_PARAMS`. Only `ERR_INVALID_PARAMS`, `ERR_UNKNOWN_COMMAND` and
    /// `ERR_RECONFIG_IN_PROGRESS` tell the server that nothing ran.
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// The server ignores it: it decides itself what an agent may retry.
    #[serde(
        default,
        deserialize_with = "flag_or_nothing",
        skip_serializing_if = "Option::is_none"
    )]
    pub retryable: Option<bool>,
    /// Anything else that helps, for example a stack trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

/// `error`, in both directions: the sender rejects a request, or did not understand a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorMessage {
    /// The request that is rejected. Absent if the error is not about a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// What went wrong.
    pub error: ErrorBody,
}

/// An unused field of the wrong type must not make the message invalid.
fn flag_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Json::deserialize(deserializer).map(|value| value.as_bool())
}
