//! The one rule of compatibility: both sides send the same `protocol_version`.

/// `protocol_version` of every message. Nothing on this wire compares the versions of the programs.
pub const PROTOCOL_VERSION: u64 = 1;
