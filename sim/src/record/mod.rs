//! The records of a run: read from the bytes on the wires, shown as a trace and as a picture. Uses only `scenario` and the
//! clock of `levels`.

pub(crate) mod calls;
pub(crate) mod log;
pub(crate) mod message_parser;
pub mod picture;
#[cfg(feature = "programs")]
pub(crate) mod recorded_stream;
pub(crate) mod trace;
