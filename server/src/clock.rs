//! WallClock: the moments of the core as people read them.

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use coordination::Timestamp;

#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    started: SystemTime,
}

impl WallClock {
    /// The core counts its time from `started`.
    pub fn new(started: SystemTime) -> Self {
        Self { started }
    }

    /// RFC 3339, in UTC.
    pub fn text(&self, at: Timestamp) -> String {
        let time = DateTime::<Utc>::from(self.started + at.since_start());
        time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

/// For tests, in which no time passes.
#[cfg(test)]
pub(crate) const EPOCH: WallClock = WallClock { started: SystemTime::UNIX_EPOCH };
