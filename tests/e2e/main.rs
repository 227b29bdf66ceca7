//! The server as its users see it: real processes, real sockets, a plugin that notes what it runs. The
//! scripts of the core test the timing; these tests show that all parts are connected.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod plugin;

mod configuration;
mod disconnects;
mod errors;
mod logs;
mod page;
mod projects;
mod relay;
mod requests;
mod setup;
mod shutdown;
mod status;
mod tasks;
mod tools;
