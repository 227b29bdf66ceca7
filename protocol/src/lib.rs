//! The wire between the server and the Unity plugin, and nothing else: message types, their JSON
//! and a codec. No policy: what a message means is decided in the server's `coordination`.
//!
//! The plugin dials, the server listens. One JSON object per WebSocket text frame:
//!
//! ```text
//!   plugin                                            server
//!     | -- hello(plugin_version, state, …) ------------> |   first, else error + close
//!     | <------------------------ hello(server_version)  |
//!     | <---------------------------- capability(tools)  |
//!     | -- capability(tools) ------------------------>   |   optional
//!     | -- editor_status(state, seq) ---------------->   |   whenever it changes
//!     | <------------------------------------------ ping |   every heartbeat_interval_ms
//!     | -- pong(editor_state?, seq?) ---------------->   |
//!     | <------------- execute(request_id, tool_name, …) |   one round trip at a time:
//!     | -- result(request_id, …) -------------------->   |
//!     | <---------- submit_job(request_id, tool_name, …) |
//!     | -- submit_job_result(request_id, job_id) ---->   |
//!     | <----------- get_job_status(request_id, job_id)  |
//!     | -- job_status(request_id, job_id, state, …) ->   |
//!     | <---------- cancel(request_id, target_job_id, …) |
//!     | -- cancel_result(request_id, status) -------->   |
//!     | <-- error(request_id?, error) --> either way     |
//! ```

pub mod codec;
mod from_unity;
mod ids;
mod json_size;
mod printable;
#[cfg(feature = "schema")]
pub mod schema;
mod strict_json;
mod to_unity;
mod version;
mod vocabulary;

pub use codec::{DecodeError, parse_json};
pub use from_unity::{
    CancelResult, CancelStatus, EditorStatus, ExecuteOutcome, ExecuteResult, FromUnity, JobStatus,
    OfferedTool, OfferedTools, PluginHello, Pong, SubmitJobResult, SubmitStatus,
};
pub use ids::{EditorInstanceId, PluginSessionId, RequestId, UnityJobId};
pub use json_size::JsonSize;
pub use printable::{printable, printable_json};
/// A JSON value as data. The core hands it on and looks into it; the codec alone reads and writes it.
pub use serde_json::{Map, Value as Json};
pub use to_unity::{
    Cancel, Capability, Execute, ExecutionMode, GetJobStatus, Ping, ServerHello, SubmitJob,
    ToUnity, ToolMetadata,
};
pub use version::PROTOCOL_VERSION;
pub use vocabulary::{EditorState, ErrorBody, ErrorMessage, JobState, Progress};
