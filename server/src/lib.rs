//! unity-mcp: an MCP server for the Unity Editor.
//!
//! `coordination` is the core: every decision of the server, as one state machine without IO.
//! `config_loader` turns flags and a file into the limits it works by.

pub mod config_loader;

#[forbid(clippy::disallowed_types, clippy::disallowed_methods, clippy::disallowed_macros)]
pub mod coordination;
