//! Heartbeat: no ping is due while one is unanswered, so that a silent Editor is not flooded.

use std::time::Duration;

use crate::time::{Deadline, Timestamp, Why};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Heartbeat {
    /// No ping is on its way. `heard`: the last one was answered, and not just given up.
    Resting { ping_at: Timestamp, heard: bool },
    /// A ping is on its way; the next one is not sent before its answer.
    Awaiting { sent_at: Timestamp },
}

impl Heartbeat {
    pub(crate) fn new(now: Timestamp, interval: Duration) -> Self {
        Self::Resting { ping_at: now + interval, heard: true }
    }

    /// An unanswered ping is given up, but it does not count as answered.
    pub(crate) fn start_afresh(&mut self, now: Timestamp, interval: Duration) {
        let heard = match *self {
            Self::Resting { heard, .. } => heard,
            Self::Awaiting { .. } => false,
        };
        *self = Self::Resting { ping_at: now + interval, heard };
    }

    /// A ping counts from when it was sent; one that is still unanswered counts on.
    pub(crate) fn on_ping_sent(&mut self, now: Timestamp) {
        if let Self::Resting { .. } = self {
            *self = Self::Awaiting { sent_at: now };
        }
    }

    /// A valid frame of the session answers the ping before it, whatever its type is.
    pub(crate) fn on_heard(&mut self, now: Timestamp, interval: Duration) {
        if let Self::Awaiting { sent_at } = *self {
            // The interval runs from ping to ping, but a late answer does not bring a burst.
            let ping_at = (sent_at + interval).max(now);
            *self = Self::Resting { ping_at, heard: true };
        }
    }

    /// Pongs are still coming: the last ping was answered, or may still be in time.
    pub(crate) fn is_heard(self, at: Timestamp, timeout: Duration) -> bool {
        match self {
            Self::Resting { heard, .. } => heard,
            Self::Awaiting { sent_at } => at < sent_at + timeout,
        }
    }

    /// How long a ping has been unanswered.
    pub(crate) fn silent_for(self, now: Timestamp) -> Duration {
        match self {
            Self::Resting { .. } => Duration::ZERO,
            Self::Awaiting { sent_at } => now.since(sent_at),
        }
    }

    pub(crate) fn deadline(self, patience: Duration) -> Deadline {
        match self {
            Self::Resting { ping_at, .. } => Deadline { at: ping_at, why: Why::PingDue },
            Self::Awaiting { sent_at } => {
                Deadline { at: sent_at + patience, why: Why::PongMissing }
            }
        }
    }
}
