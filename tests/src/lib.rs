//! What the tests with real processes share: a running server, the agents that call it and the Editors that it calls.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

pub mod agent;
pub mod editor;
pub mod editor_host;
pub mod json_schema;
pub mod server;
pub mod stop_signal;
pub mod viewer;
pub mod wire_check;
