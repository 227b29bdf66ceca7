//! ToUnity: everything the server may say to the plugin.

use serde::de::Error;
use serde::{Deserialize, Serialize};

use crate::codec::{Body, Message};
use crate::{ErrorMessage, Json, RequestId, UnityJobId};

/// A message from the server to the plugin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToUnity {
    Hello(ServerHello),
    Capability(Capability),
    Ping(Ping),
    Execute(Execute),
    SubmitJob(SubmitJob),
    GetJobStatus(GetJobStatus),
    Cancel(Cancel),
    Error(ErrorMessage),
}

impl Message for ToUnity {
    fn from_body(message_type: &str, body: Body) -> Option<serde_json::Result<Self>> {
        Some(match message_type {
            "hello" => body.parse().map(Self::Hello),
            "capability" => body.parse().map(Self::Capability),
            "ping" => body.parse().map(Self::Ping),
            "execute" => body.parse().map(Self::Execute),
            "submit_job" => body.parse().map(Self::SubmitJob),
            "get_job_status" => body.parse().map(Self::GetJobStatus),
            "cancel" => body.parse().and_then(Cancel::with_a_target).map(Self::Cancel),
            "error" => body.parse().map(Self::Error),
            _ => return None,
        })
    }
}

/// `hello`: the answer to the plugin's hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerHello {
    pub server_version: String,
    /// Bytes that a frame of the plugin may have; a larger one ends the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_message_bytes: Option<u64>,
}

/// `capability`: the tools the server serves, once after its hello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capability {
    pub tools: Vec<ToolMetadata>,
}

/// One row of the tool catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolMetadata {
    pub name: String,
    pub execution_mode: ExecutionMode,
    pub supports_cancel: bool,
    pub default_timeout_ms: u64,
    pub max_timeout_ms: u64,
    pub requires_client_request_id: bool,
    pub execution_error_retryable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// One request, one answer.
    Sync,
    /// Submitted, then asked about.
    Job,
}

/// `ping`: answer with a `pong`, at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {}

/// `execute`: run a tool now and answer with a `result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Execute {
    pub request_id: RequestId,
    /// The agent's own name for the call, for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<String>,
    pub tool_name: String,
    pub params: Json,
    /// How long the server waits for the answer.
    pub timeout_ms: u64,
}

/// `submit_job`: start a job and answer with a `submit_job_result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmitJob {
    pub request_id: RequestId,
    /// The agent's own name for the call, for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<String>,
    pub tool_name: String,
    pub params: Json,
    /// How long the server lets the whole job run.
    pub timeout_ms: u64,
}

/// `get_job_status`: answer with a `job_status`. Has no effect on the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetJobStatus {
    pub request_id: RequestId,
    pub job_id: UnityJobId,
}

/// `cancel`: end a job or a request, and answer with a `cancel_result`. One target at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cancel {
    pub request_id: RequestId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_request_id: Option<RequestId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_job_id: Option<UnityJobId>,
}

impl Cancel {
    fn with_a_target(self) -> serde_json::Result<Self> {
        if self.target_request_id.is_none() && self.target_job_id.is_none() {
            return Err(serde_json::Error::custom("neither target_request_id nor target_job_id"));
        }
        Ok(self)
    }
}
