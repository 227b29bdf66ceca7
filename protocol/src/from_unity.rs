//! FromUnity: everything the plugin may say.

use serde::{Deserialize, Serialize};

use crate::codec::{Body, Message};
use crate::{
    EditorInstanceId, EditorState, ErrorBody, ErrorMessage, JobState, Json, PluginSessionId,
    Progress, RequestId, UnityJobId,
};

/// A message from the plugin to the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromUnity {
    Hello(PluginHello),
    Capability(OfferedTools),
    EditorStatus(EditorStatus),
    Pong(Pong),
    Result(ExecuteResult),
    SubmitJobResult(SubmitJobResult),
    JobStatus(JobStatus),
    CancelResult(CancelResult),
    Error(ErrorMessage),
}

impl Message for FromUnity {
    fn from_body(message_type: &str, body: Body) -> Option<serde_json::Result<Self>> {
        Some(match message_type {
            "hello" => body.parse().map(Self::Hello),
            "capability" => body.parse().map(Self::Capability),
            "editor_status" => body.parse().map(Self::EditorStatus),
            "pong" => body.parse().map(Self::Pong),
            "result" => body.parse().map(Self::Result),
            "submit_job_result" => body.parse().map(Self::SubmitJobResult),
            "job_status" => body.parse().map(Self::JobStatus),
            "cancel_result" => body.parse().map(Self::CancelResult),
            "error" => body.parse().map(Self::Error),
            _ => return None,
        })
    }
}

/// `hello`: the first message on a socket; makes it a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PluginHello {
    pub plugin_version: String,
    pub state: EditorState,
    /// The same for every socket of one Editor process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_instance_id: Option<EditorInstanceId>,
    /// New at every domain reload: tells whether the plugin can still know an older request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_session_id: Option<PluginSessionId>,
    /// Grows with every connection an Editor makes: tells a stale socket from a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_attempt_seq: Option<u64>,
}

/// `capability`: the tools this plugin can execute. Without it, all are taken to be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedTools {
    pub tools: Vec<OfferedTool>,
}

/// One tool a plugin offers. Its other metadata is the server's to decide and is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedTool {
    pub name: String,
}

/// `editor_status`: the Editor's state changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditorStatus {
    pub state: EditorState,
    /// Starts at 1 in each session and only grows; what does not grow is dropped.
    pub seq: u64,
}

/// `pong`: the answer to a ping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_state: Option<EditorState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// `result`: how an `execute` ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireResult", into = "WireResult")]
pub struct ExecuteResult {
    pub request_id: RequestId,
    pub outcome: ExecuteOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteOutcome {
    Ok(Json),
    /// It ran in Unity and failed there.
    Error(ErrorBody),
}

/// `result` as it is written: which fields it needs depends on `status`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ExecuteResult"))]
struct WireResult {
    request_id: RequestId,
    status: ResultStatus,
    /// What the tool gave, an object; needed when the status is `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Json>,
    /// Needed when the status is `error`; the same object under `result` is understood too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum ResultStatus {
    Ok,
    Error,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ExecuteResult {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        WireResult::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WireResult::json_schema(generator)
    }
}

impl TryFrom<WireResult> for ExecuteResult {
    type Error = String;

    fn try_from(wire: WireResult) -> Result<Self, String> {
        let outcome = match (wire.status, wire.result, wire.error) {
            (ResultStatus::Ok, Some(result), _) if result.is_object() => ExecuteOutcome::Ok(result),
            (ResultStatus::Ok, _, _) => return Err("status is ok but result is no object".into()),
            (ResultStatus::Error, _, Some(error)) => ExecuteOutcome::Error(error),
            (ResultStatus::Error, Some(result), None) => ExecuteOutcome::Error(
                serde_json::from_value(result)
                    .map_err(|error| format!("result is no error object: {error}"))?,
            ),
            (ResultStatus::Error, None, None) => {
                return Err("status is error but the field error is missing".into());
            }
        };
        Ok(Self { request_id: wire.request_id, outcome })
    }
}

impl From<ExecuteResult> for WireResult {
    fn from(message: ExecuteResult) -> Self {
        let request_id = message.request_id;
        match message.outcome {
            ExecuteOutcome::Ok(result) => {
                Self { request_id, status: ResultStatus::Ok, result: Some(result), error: None }
            }
            ExecuteOutcome::Error(error) => {
                Self { request_id, status: ResultStatus::Error, result: None, error: Some(error) }
            }
        }
    }
}

/// `submit_job_result`: the job is accepted. A refusal is an `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmitJobResult {
    pub request_id: RequestId,
    pub status: SubmitStatus,
    pub job_id: UnityJobId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubmitStatus {
    Accepted,
}

/// `job_status`: where a job is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobStatus {
    pub request_id: RequestId,
    pub job_id: UnityJobId,
    pub state: JobState,
    #[serde(default)]
    pub progress: Option<Progress>,
    /// What the run gave, also when tests failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why the run could not take place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// `cancel_result`: what became of a `cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CancelResult {
    pub request_id: RequestId,
    pub status: CancelStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelStatus {
    /// It has ended, cancelled.
    Cancelled,
    /// It will end; ask for its status.
    CancelRequested,
    Rejected,
}
