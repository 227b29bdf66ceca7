//! Words that messages of both directions are made of.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Json, RequestId};

/// What the Editor is doing, as the plugin reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EditorState {
    Ready,
    Compiling,
    Reloading,
}

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Queued,
    Running,
    Succeeded,
    Failed,
    Timeout,
    Cancelled,
}

impl JobState {
    /// A terminal state never changes again.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Timeout | Self::Cancelled => true,
        }
    }
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    pub done: u64,
    pub total: u64,
    /// What is at work now, such as the name of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

/// What went wrong, in the words of whoever reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    pub code: String,
    pub message: String,
    /// Not used by the server: what may be repeated is its own to decide.
    #[serde(
        default,
        deserialize_with = "flag_or_nothing",
        skip_serializing_if = "Option::is_none"
    )]
    pub retryable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

/// `error`: a request was refused, or a frame was not understood. Both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorMessage {
    /// The request that is refused; absent when the error is about no request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    pub error: ErrorBody,
}

/// A field that is not used must not spoil the message.
fn flag_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Json::deserialize(deserializer).map(|value| value.as_bool())
}
