//! Time as the core knows it: an argument, never a clock.

use std::ops::Add;
use std::time::Duration;

use crate::ids::{CallId, ConnectionId, JobId};

/// A moment, counted from the start of the server, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    pub fn since_start(self) -> Duration {
        Duration::from_micros(self.0)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, wait: Duration) -> Self {
        let micros = wait.as_secs().saturating_mul(1_000_000) + u64::from(wait.subsec_micros());
        Self(self.0.saturating_add(micros))
    }
}

/// Moments in the life of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTimes {
    pub arrived: Timestamp,
    /// When it was sent to Unity, or answered from what is known.
    pub served: Option<Timestamp>,
}

/// Moments in the life of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobTimes {
    /// When the call that started it arrived.
    pub submitted: Timestamp,
    /// When it was first sent to Unity.
    pub sent: Option<Timestamp>,
    /// When it got its id.
    pub issued: Timestamp,
    /// When its state or its progress changed last.
    pub changed: Timestamp,
}

/// When the core wants to be called at the latest, and what it will do then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    pub at: Timestamp,
    pub why: Why,
}

/// Everything that happens because time passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A socket has not said hello.
    HelloMissing(ConnectionId),
    /// The session that was probed for a newcomer did not answer.
    ProbeUnanswered,
    PingDue,
    PongMissing,
    /// The call or job that has waited longest for the Editor gives up.
    WaitOver,
    /// A compile that was seen before the session was lost no longer counts.
    CompileForgotten,
    /// Unity has not answered the round trip in the lane.
    TripTimeout,
    /// A call has been queued behind others for too long.
    QueueWaitOver,
    /// A question about a job has stood in line for long enough.
    StatusWaitOver,
    /// Unity has not come back for what it was sent.
    WindowCloses,
    /// Unity has not come back for its jobs.
    JobsLost,
    /// An answered request has been in a living Unity for too long.
    LaneStuck,
    /// The session that kept the lane is gone, and its request has had its time.
    LaneOutlived,
    /// A job is to be asked about, or its time is over.
    JobDue(JobId),
    /// A call that waits for a job has waited as long as it asked to.
    ParkOver(CallId),
    ProgressDue(CallId),
    /// The time of the peers to close is over.
    StopOver,
}
