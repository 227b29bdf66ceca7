//! unity-mcp: an MCP server for the Unity Editor.
//!
//! `coordination` is the core: every decision of the server, as one state machine without IO.

#[deny(clippy::disallowed_types, clippy::disallowed_methods)]
pub mod coordination;
