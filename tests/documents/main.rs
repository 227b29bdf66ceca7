//! What the documents promise: the entries of clients, the same in both languages, links that lead somewhere.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

use std::path::{Path, PathBuf};

mod readme;
mod snippets;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fails if the file has another text. With the variable BLESS, writes it.
fn current(path: &str, expected: &str) {
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(root().join(path), expected).unwrap();
    }
    let run = "run: BLESS=1 cargo test -p e2e --test documents";
    assert!(read(path) == expected, "{path} is not current; {run}");
}
