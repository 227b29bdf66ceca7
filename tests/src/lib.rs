//! What the tests with real processes share: a running server and the agents that call it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

pub mod agent;
pub mod server;
