//! The dependency rules of the core and of the folders of the shell, as a test. The tables are those in
//! docs/ARCHITECTURE.md. They list what is allowed: a new module needs a line here.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere, in its helpers too")]

mod core;
mod shell;
mod source;
