//! The one compatibility rule: both sides say 1. Versions of the programs are never compared here.

/// `protocol_version` of every message.
pub const PROTOCOL_VERSION: u64 = 1;
