//! ToUnity: every message that the server may send to the plugin.

use serde::de::Error;
use serde::{Deserialize, Serialize};

use crate::codec::{Body, Message, direction};
use crate::{ErrorMessage, Json, RequestId, UnityJobId};

direction! {
    /// A message from the server to the plugin.
    ToUnity {
        /// The answer to the plugin's hello: the session is accepted.
        "hello" => Hello(ServerHello),
        /// Once after the hello: the tools of the server.
        "capability" => Capability(Capability),
        /// Answer with `pong`.
        "ping" => Ping(Ping),
        /// Run a tool; answer with `result`.
        "execute" => Execute(Execute),
        /// Start a job; answer with `submit_job_result`.
        "submit_job" => SubmitJob(SubmitJob),
        /// Answer with `job_status`.
        "get_job_status" => GetJobStatus(GetJobStatus),
        /// End a job; answer with `cancel_result`.
        "cancel" => Cancel(Cancel) read by Cancel::read,
        /// The server rejects the session, or did not understand a frame.
        "error" => Error(ErrorMessage),
    }
}

/// `hello`: the server accepts the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerHello {
    /// The version of the server, for logs. A plugin must not compare it.
    pub server_version: String,
    /// The largest frame in bytes that the server accepts. It closes the session (1009) after a larger one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_message_bytes: Option<u64>,
}

/// `capability`: the tools of the server, sent once after its hello. A plugin may ignore it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capability {
    /// One entry per tool of the server, even those that never reach Unity.
    pub tools: Vec<ToolMetadata>,
}

/// One tool of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolMetadata {
    /// The name of the tool, as in `tool_name`.
    pub name: String,
    /// Whether the tool is an `execute` or a `submit_job`.
    pub execution_mode: ExecutionMode,
    /// Whether a call of the tool can be cancelled while it runs.
    pub supports_cancel: bool,
    /// The timeout in milliseconds of a call that sets none.
    pub default_timeout_ms: u64,
    /// The longest timeout in milliseconds that a call may set.
    pub max_timeout_ms: u64,
    /// Whether a call must have a `client_request_id`.
    pub requires_client_request_id: bool,
    /// Whether it is safe to run the tool again after it failed.
    pub execution_error_retryable: bool,
    /// Whether a request with a `client_request_id` that the plugin has begun before must be answered from its book,
    /// and not run again. Left out if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deduplicated: bool,
}

/// How a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// One request, one answer.
    Sync,
    /// Started by one request; later requests ask for its status.
    Job,
}

/// `ping`: answer with `pong` at once. The server drops a session that does not answer in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {}

/// `execute`: run a tool now and answer with a `result`.
///
/// The server sends a request at most once. Never run the same `request_id` twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Execute {
    /// Repeat it in the answer.
    pub request_id: RequestId,
    /// The agent's own name for the call. For a deduplicated tool it names one run. Otherwise it is only for logs and
    /// need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<String>,
    /// Which tool.
    pub tool_name: String,
    /// The arguments of the tool, an object. The server has checked them.
    pub params: Json,
    /// How long the server waits for the answer, in milliseconds.
    pub timeout_ms: u64,
}

/// `submit_job`: start a job and answer with a `submit_job_result`.
///
/// The job must survive a domain reload: the server asks for its status after the reconnect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmitJob {
    /// Repeat it in the answer.
    pub request_id: RequestId,
    /// The agent's own name for the call. For a deduplicated tool it names one run. Otherwise it is only for logs and
    /// need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_request_id: Option<String>,
    /// Which tool.
    pub tool_name: String,
    /// The arguments of the tool, an object. The server has checked them.
    pub params: Json,
    /// How long the whole job may run, in milliseconds.
    pub timeout_ms: u64,
}

/// `get_job_status`: answer with a `job_status`. It has no effect on the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetJobStatus {
    /// Repeat it in the answer.
    pub request_id: RequestId,
    /// Which job.
    pub job_id: UnityJobId,
}

/// `cancel`: end a job or a request, and answer with a `cancel_result`. It has at least one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cancel {
    /// Repeat it in the answer.
    pub request_id: RequestId,
    /// The request to end: a `submit_job` whose acceptance has not arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_request_id: Option<RequestId>,
    /// The job to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_job_id: Option<UnityJobId>,
}

impl Cancel {
    /// It must have a target.
    fn read(body: Body) -> serde_json::Result<Self> {
        let cancel: Self = body.parse()?;
        if cancel.target_request_id.is_none() && cancel.target_job_id.is_none() {
            return Err(serde_json::Error::custom("neither target_request_id nor target_job_id"));
        }
        Ok(cancel)
    }
}
