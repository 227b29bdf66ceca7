//! FromUnity: every message that the plugin may send.

use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use crate::codec::{Body, Message, direction};
use crate::{
    CompileOutcome, EditorInstanceId, EditorState, ErrorBody, ErrorMessage, JobState, Json,
    PluginSessionId, Progress, RequestId, UnityJobId,
};

direction! {
    /// A message from the plugin to the server.
    FromUnity {
        /// The first message on a socket.
        "hello" => Hello(PluginHello),
        /// Optional, after the hello: the tools that this plugin can run.
        "capability" => Capability(OfferedTools),
        /// The Editor's state has changed.
        "editor_status" => EditorStatus(EditorStatus),
        /// The answer to `ping`.
        "pong" => Pong(Pong),
        /// The answer to `execute`.
        "result" => Result(ExecuteResult) read by ExecuteResult::read,
        /// The answer to `submit_job`.
        "submit_job_result" => SubmitJobResult(SubmitJobResult),
        /// The answer to `get_job_status`.
        "job_status" => JobStatus(JobStatus),
        /// The answer to `cancel`.
        "cancel_result" => CancelResult(CancelResult),
        /// The plugin rejects a request without running it, or did not understand a frame.
        "error" => Error(ErrorMessage),
    }
}

/// `hello`: the first message on a socket. It makes the socket a session.
///
/// Send it at once: the server closes a socket that does not send a hello in time. Send the optional fields
/// too; without them the server must be more careful after a reconnect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PluginHello {
    /// The version of the plugin, for logs. The server does not compare it.
    pub plugin_version: String,
    /// What the Editor is doing now.
    pub state: EditorState,
    /// Names the Editor process: the same on every socket of one process. With it, a new socket of the same
    /// Editor replaces the old one at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_instance_id: Option<EditorInstanceId>,
    /// New after every domain reload. If it is unchanged, the plugin may still answer an older request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_session_id: Option<PluginSessionId>,
    /// Grows with every connection of an Editor process. It tells a stale socket from a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_attempt_seq: Option<u64>,
    /// The folder of the project, absolute. A server that was started for another project refuses the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_path: Option<String>,
    /// The name of the project, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// The version of Unity, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unity_version: Option<String>,
    /// A request of an earlier session that is still being executed. The server sends nothing else until it has
    /// been answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_request_id: Option<RequestId>,
    /// Stays the same as long as the plugin remembers which `client_request_id`s of deduplicated tools it has begun.
    /// Then the server may repeat a request whose outcome is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_book: Option<String>,
    /// How the last compile of the scripts ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_compile: Option<LastCompile>,
}

/// How the last compile of the scripts ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastCompile {
    /// Whether the scripts compile.
    pub outcome: CompileOutcome,
    /// The number of errors.
    pub errors: u64,
    /// The number of warnings.
    pub warnings: u64,
    /// How long ago it ended, in milliseconds.
    pub ended_ms_ago: u64,
}

/// `capability`: the tools that this plugin can run. Without this message, the server assumes all tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedTools {
    /// One entry per tool. Names that the server does not know are ignored.
    pub tools: Vec<OfferedTool>,
}

/// One tool that a plugin offers. The server decides its other metadata and ignores other fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedTool {
    /// The name of the tool, as in `tool_name` of an `execute`.
    pub name: String,
}

/// `editor_status`: the Editor's state has changed.
///
/// Send it before a compile or a domain reload blocks the plugin: the server then waits for minutes
/// instead of seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EditorStatus {
    /// The new state.
    pub state: EditorState,
    /// Starts at 1 in each session and grows with every `editor_status` and `pong`. The server drops a status
    /// with a `seq` that is not higher than the last one.
    pub seq: u64,
    /// How the last compile of the scripts ended. Without it, nothing has changed since the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_compile: Option<LastCompile>,
}

/// `pong`: the answer to `ping`. Send it from a thread that a busy Editor does not block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    /// What the Editor is doing now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_state: Option<EditorState>,
    /// Counts on as in `editor_status`. Without it, `editor_state` counts as newer than all before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// `result`: how an `execute` ended. Send it once per request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WireResult", into = "WireResult")]
pub struct ExecuteResult {
    /// The `request_id` of the `execute`.
    pub request_id: RequestId,
    /// What the tool returned.
    pub outcome: ExecuteOutcome,
}

impl ExecuteResult {
    /// A result may be large: it is moved, not read once more.
    fn read(mut body: Body) -> serde_json::Result<Self> {
        let result = body.take("result");
        let wire = WireResult { result, ..body.parse()? };
        Self::try_from(wire).map_err(serde_json::Error::custom)
    }
}

/// How a tool that ran has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecuteOutcome {
    /// `status: ok`. The result of the tool, always a JSON object.
    Ok(Json),
    /// `status: error`. The tool ran in Unity and failed there. To reject a request without running it, send
    /// an `error` message instead.
    Error(ErrorBody),
}

/// `result` on the wire: `status` decides which other field is required.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ExecuteResult"))]
struct WireResult {
    request_id: RequestId,
    status: ResultStatus,
    /// The result of the tool, an object. Required when `status` is `ok`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Json>,
    /// Required when `status` is `error`. The server also accepts this object in the field `result`.
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

/// `submit_job_result`: the plugin accepts a job. To reject it, send an `error` instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SubmitJobResult {
    /// The `request_id` of the `submit_job`.
    pub request_id: RequestId,
    /// Always `accepted`.
    pub status: SubmitStatus,
    /// The plugin's name for the job. No two jobs may have the same name, even in two Editors: use a GUID.
    pub job_id: UnityJobId,
}

/// The status of a [`SubmitJobResult`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubmitStatus {
    /// The job is queued or runs.
    Accepted,
}

/// `job_status`: the state of a job. If the plugin does not know the job, it sends an `error` with the code
/// `ERR_JOB_NOT_FOUND` instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobStatus {
    /// The `request_id` of the `get_job_status`.
    pub request_id: RequestId,
    /// The job that the server asked about.
    pub job_id: UnityJobId,
    /// The state of the job.
    pub state: JobState,
    /// How far the job is, while it runs.
    #[serde(default)]
    pub progress: Option<Progress>,
    /// The result of a job that has ended. A test run with failed tests has a result too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why a job could not run to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// `cancel_result`: the answer to a `cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CancelResult {
    /// The `request_id` of the `cancel`.
    pub request_id: RequestId,
    /// What the plugin did.
    pub status: CancelStatus,
}

/// What a plugin did with a `cancel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelStatus {
    /// The job has ended, cancelled.
    Cancelled,
    /// The job will end soon. The server asks for its status.
    CancelRequested,
    /// The job cannot be cancelled, or it has ended already.
    Rejected,
}
