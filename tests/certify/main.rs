//! `unity-mcp certify` as a plugin author sees it: the real program, with mock-unity as the plugin.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod certify;

mod command_line;
mod healthy;
mod misbehaviours;
