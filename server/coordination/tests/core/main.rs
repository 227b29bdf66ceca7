//! The core's specification: scripts of what happens and what the core does about it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod audit;
mod cancels;
mod catalogue;
mod catalogue_1_1;
mod check;
mod disconnects;
mod editor_state;
mod editors;
mod failures;
mod frames;
mod heartbeat;
mod job_limits;
mod job_status;
mod job_times;
mod jobs;
mod lane;
mod mcp_cancels;
mod progress;
mod projects;
mod queue;
mod rendering;
mod sessions;
mod stopping;
mod tool_answers;
mod unsent;
mod validation;
mod waiting;
