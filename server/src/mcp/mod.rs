//! MCP: requests of agents become calls, outcomes become results.

pub mod adapter;
mod handler;
pub(crate) mod json_guard;
mod line_reader;
pub mod rendering;
pub mod stdio_transport;
pub(crate) mod tasks;
pub(crate) mod tool_results;
mod tool_schemas;
