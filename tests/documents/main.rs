//! What the documents promise: entries of clients, tools and commands that exist, the same in both languages, links that
//! lead somewhere. And what is not tested on Windows is listed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

mod commands;
mod readme;
mod snippets;
mod tools;
mod windows;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// One test at a time reads a file and writes it.
static WRITING: Mutex<()> = Mutex::new(());

/// Fails if the part between two lines has another text. With the variable BLESS, writes it.
fn current(path: &str, begin: &str, end: &str, expected: &str) {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let committed = read(path);
    let (before, rest) = committed.split_once(begin).unwrap();
    let (part, after) = rest.split_once(end).unwrap();
    if std::env::var_os("BLESS").is_some() {
        let text = format!("{before}{begin}{expected}{end}{after}");
        std::fs::write(root().join(path), text).unwrap();
        return;
    }
    let run = "run: BLESS=1 cargo test -p e2e --test documents";
    assert!(part == expected, "{path} is not current; {run}");
}
