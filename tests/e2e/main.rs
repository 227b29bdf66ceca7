//! The server as its users meet it: real processes, real sockets, a plugin that keeps its own books.
//! What is about timing is shown by the scripts of the core; here it is shown that the wires are there.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod plugin;

mod configuration;
mod disconnects;
mod logs;
mod relay;
mod shutdown;
mod tasks;
mod tools;
