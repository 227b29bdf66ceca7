//! What happened in a run: read from the bytes on the wires, and shown as lines and as a picture.

pub mod html;
pub(crate) mod log;
pub(crate) mod sniffer;
pub(crate) mod trace;
pub(crate) mod wiretap;
