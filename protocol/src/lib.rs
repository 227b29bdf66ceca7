//! The wire between the server and the Unity plugin: message types, their JSON and a codec.
//!
//! This crate has no policy. The server's crate `coordination` decides what a message means;
//! `docs/PROTOCOL.md` tells plugin authors what to do well.
//!
//! # Decode, then encode
//!
//! ```
//! use protocol::{Problem, EditorState, FromUnity, Pong, ToUnity, codec};
//!
//! // A plugin receives a frame and answers it.
//! let frame = r#"{"type":"ping","protocol_version":1}"#;
//! assert!(matches!(codec::decode(frame.as_bytes()), Ok(ToUnity::Ping(_))));
//! let pong = FromUnity::Pong(Pong { editor_state: Some(EditorState::Ready), seq: Some(7) });
//! assert_eq!(
//!     codec::encode(&pong),
//!     r#"{"type":"pong","editor_state":"ready","seq":7,"protocol_version":1}"#
//! );
//!
//! // A bad frame is an error that says what is wrong. It never panics.
//! let error = codec::decode::<ToUnity>(br#"{"type":"shrug","protocol_version":1}"#).unwrap_err();
//! assert_eq!(error.problem, Problem::UnknownType { name: "shrug".to_owned() });
//! assert_eq!(error.to_string(), "unknown message type \"shrug\"");
//! ```
//!
//! `examples/answer_a_frame.rs` does the same with an `execute`.
//!
//! # The conversation
//!
//! The plugin connects, the server listens. One WebSocket text frame holds one JSON object:
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

#![warn(missing_docs)]

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

pub use codec::{DecodeError, Problem, json_len, parse_json};
pub use from_unity::{
    CancelResult, CancelStatus, EditorStatus, ExecuteOutcome, ExecuteResult, FromUnity, JobStatus,
    LastCompile, OfferedTool, OfferedTools, PluginHello, Pong, SubmitJobResult, SubmitStatus,
};
pub use ids::{EditorInstanceId, PluginSessionId, RequestId, UnityJobId};
pub use json_size::JsonSize;
pub use printable::{printable, printable_json};
/// A JSON value. `params`, `result` and `details` are of this type.
pub use serde_json::{Map, Value as Json, json};
pub use to_unity::{
    Cancel, Capability, Execute, ExecutionMode, GetJobStatus, Ping, ServerHello, SubmitJob,
    ToUnity, ToolMetadata,
};
pub use version::PROTOCOL_VERSION;
pub use vocabulary::{CompileOutcome, EditorState, ErrorBody, ErrorMessage, JobState, Progress};
