//! The programs of a scenario: the real server, the mock Unity and real MCP clients. They know hosts and records,
//! but not at which level they run.

pub(crate) mod agent;
mod http_client;
pub(crate) mod start;
