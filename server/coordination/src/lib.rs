//! The core of unity-mcp. It decides everything and does nothing itself: an event and the time go in, effects come
//! out. The crate depends on the wire's types alone.
//!
//! | responsibility | file | what it alone writes |
//! |---|---|---|
//! | the transition function | `execution_coordinator` | nothing itself: it asks the managers |
//! | is this call valid? | `request_validator` (with `tool_catalog`, `shape`) | — |
//! | what an agent gets of Unity's answer | `tool_answers` | — |
//! | answers and failures as JSON | `rendering` | — |
//! | order, the lane, the life of a call | `request_scheduler` | `stores::{request, queue, names}` |
//! | work that outlives its call | `job_manager` | `stores::job` |
//! | what a cancel means, and which Unity is owed | `cancel_manager` | its intents |
//! | what the Editor is doing | `editor_state_tracker` | its last observation |
//! | sockets, sessions, heartbeat, windows | `reconnect_controller` | `stores::{connection, version, capability}` |
//! | every failure and what it promises | `failure` | — |

#![forbid(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros)]

mod cancel_manager;
mod deduplicator;
mod editor_state_tracker;
mod event;
mod execution_coordinator;
mod failure;
mod heartbeat;
mod ids;
mod job_manager;
mod limits;
mod project;
mod reconnect_controller;
pub mod rendering;
mod request_scheduler;
mod request_validator;
mod settings;
mod shape;
mod stores;
mod time;
mod tool_answers;
mod tool_catalog;

pub use event::{
    Answer, CallState, CancelAnswer, CancelView, CloseCode, ClosedBy, CompileReport, EditorReport,
    Effect, Event, JobReport, JobSummary, Load, Note, Outcome, ProgressReport, ProjectReport,
    Reason, RefusedReport, Running, ServerState, SessionEnd,
};
pub use execution_coordinator::{Core, ExecutionCoordinator};
pub use failure::{ErrorCode, Failure, Guarantee, Recovery, Row};
pub use ids::{Boot, CallId, ConnectionId, JobId, RequestNames};
pub use limits::Limits;
pub use project::ProjectRules;
pub use request_validator::{RawCall, Request, ValidCall, validate, validate_with};
pub use settings::{SETTINGS, Setting};
pub use shape::{Field, Shape};
pub use time::{CallTimes, Deadline, JobTimes, Timestamp, Why};
pub use tool_answers::{Problem, Tell, UnwantedOutcome};
pub use tool_catalog::{Catalog, ForUnity, Kind, Need, Parameter, Route, TOOLS, Tool, UnityAnswer};
