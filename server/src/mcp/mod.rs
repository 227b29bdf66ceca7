//! MCP: requests of agents become calls, outcomes become results. Names the core's vocabulary, the event loop, and
//! `port::upstream`, which decides where a request runs.

pub(crate) mod adapter;
mod handler;
mod line_reader;
pub(crate) mod message_check;
pub(crate) mod stdio_transport;
pub(crate) mod tasks;
pub(crate) mod tool_results;
mod tool_schemas;
