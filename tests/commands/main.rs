//! The commands of a person as their users see them: real processes, exit codes, stdout and stderr.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod command;

mod call;
mod call_jobs;
mod call_server;
mod completions;
mod doctor;
mod verify;
