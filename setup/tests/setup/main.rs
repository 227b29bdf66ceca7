//! The command `setup` without its process: texts of files, paths of systems, replacing files.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod golden;
mod paths;
mod properties;
mod replacing;
