//! The commands of a person. `call`, `verify` and `doctor` speak to the running server as an agent over HTTP does. What
//! an error means is what the server says of it. `setup` performs what the crate `setup` decides.

mod arguments;
pub mod call;
mod call_error;
mod child_server;
mod client;
pub mod doctor;
mod jobs;
mod output;
mod session;
pub mod setup;
pub mod status;
mod tool_list;
pub mod verify;
mod verify_report;

pub use session::ServerOptions;

/// Everything went well.
pub const EXIT_OK: i32 = 0;
/// It ran, and it failed.
pub const EXIT_FAILED: i32 = 1;
/// The command or the call is wrong; nothing ran.
pub const EXIT_USAGE: i32 = 2;
/// It did not run.
pub const EXIT_NOT_EXECUTED: i32 = 4;
/// Nobody knows whether it ran.
pub const EXIT_UNKNOWN: i32 = 5;
/// Ctrl-C or another signal ended the command, as shells count it.
pub const EXIT_SIGNAL: i32 = 130;
