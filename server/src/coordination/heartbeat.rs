//! Heartbeat: no ping is due while one is unanswered, so that a silent Editor is not flooded.

use std::time::Duration;

use super::time::{Deadline, Timestamp, Why};

#[derive(Clone, Copy, Debug)]
pub(super) enum Heartbeat {
    /// Every ping is answered.
    Resting { ping_at: Timestamp },
    /// A ping is on its way; the next one is not sent before its answer.
    Awaiting { sent_at: Timestamp },
}

impl Heartbeat {
    pub(super) fn afresh(now: Timestamp, interval: Duration) -> Self {
        Self::Resting { ping_at: now + interval }
    }

    /// A ping counts from when it was sent; one that is still unanswered counts on.
    pub(super) fn on_ping_sent(&mut self, now: Timestamp) {
        if let Self::Resting { .. } = self {
            *self = Self::Awaiting { sent_at: now };
        }
    }

    pub(super) fn on_pong(&mut self, now: Timestamp, interval: Duration) {
        if let Self::Awaiting { sent_at } = *self {
            // The interval runs from ping to ping, but a late pong does not bring a burst.
            *self = Self::Resting { ping_at: (sent_at + interval).max(now) };
        }
    }

    /// Whether pongs are still coming, judged by the strict limit.
    pub(super) fn is_silent(self, at: Timestamp, timeout: Duration) -> bool {
        match self {
            Self::Resting { .. } => false,
            Self::Awaiting { sent_at } => at >= sent_at + timeout,
        }
    }

    pub(super) fn deadline(self, limit: Duration) -> Deadline {
        match self {
            Self::Resting { ping_at } => Deadline { at: ping_at, why: Why::PingDue },
            Self::Awaiting { sent_at } => Deadline { at: sent_at + limit, why: Why::PongMissing },
        }
    }
}
