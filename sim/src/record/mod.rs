//! What happened in a run: read from the bytes on the wires, and shown as lines and as a picture.

pub mod html;
pub(crate) mod log;
pub(crate) mod message_parser;
pub(crate) mod recorded_stream;
pub(crate) mod trace;
