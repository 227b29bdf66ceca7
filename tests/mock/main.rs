//! The mock as its users see it: the real program against the real server, flag by flag and word by word.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod mock;

mod demo;
mod flags;
mod transcript;
mod words;
