//! Setting: a limit that a person may change, by its name in the configuration file.

use std::time::Duration;

use crate::limits::Limits;

/// One limit that can be set: its name, its range, and where it goes.
pub struct Setting {
    pub name: &'static str,
    pub about: &'static str,
    pub min: u64,
    pub max: u64,
    field: Field,
}

enum Field {
    /// In milliseconds.
    Time(fn(&mut Limits) -> &mut Duration),
    Size(fn(&mut Limits) -> &mut usize),
}

impl Setting {
    pub fn get(&self, limits: &Limits) -> u64 {
        let mut limits = limits.clone();
        match self.field {
            Field::Time(field) => field(&mut limits).as_millis() as u64,
            Field::Size(field) => *field(&mut limits) as u64,
        }
    }

    /// Only with a value in the range.
    pub fn set(&self, limits: &mut Limits, value: u64) {
        match self.field {
            Field::Time(field) => *field(limits) = Duration::from_millis(value),
            Field::Size(field) => *field(limits) = value as usize,
        }
    }
}

const fn time(
    name: &'static str,
    field: fn(&mut Limits) -> &mut Duration,
    about: &'static str,
) -> Setting {
    Setting { name, about, min: 10, max: 3_600_000, field: Field::Time(field) }
}

const fn size(
    name: &'static str,
    field: fn(&mut Limits) -> &mut usize,
    (min, max): (u64, u64),
    about: &'static str,
) -> Setting {
    Setting { name, about, min, max, field: Field::Size(field) }
}

pub const SETTINGS: [Setting; 11] = [
    size(
        "queue_max_size",
        |limits| &mut limits.queue_max,
        (1, 1_024),
        "Maximum number of calls that wait or are queued",
    ),
    time(
        "heartbeat_interval_ms",
        |limits| &mut limits.heartbeat_interval,
        "Interval between pings",
    ),
    time(
        "heartbeat_timeout_ms",
        |limits| &mut limits.heartbeat_timeout,
        "How long to wait for a pong",
    ),
    time(
        "hello_timeout_ms",
        |limits| &mut limits.hello_timeout,
        "How long to wait for the hello of a socket",
    ),
    time(
        "job_poll_interval_ms",
        |limits| &mut limits.job_poll_interval,
        "Interval between questions about a running job",
    ),
    time(
        "request_reconnect_wait_ms",
        |limits| &mut limits.reconnect_wait,
        "How long calls wait for a disconnected Editor",
    ),
    time(
        "compile_grace_timeout_ms",
        |limits| &mut limits.compile_grace,
        "How long a compile or reload may take",
    ),
    time(
        "queue_wait_max_ms",
        |limits| &mut limits.queue_wait_max,
        "How long a call may be queued behind others while the Editor is ready",
    ),
    size(
        "max_message_bytes",
        |limits| &mut limits.message_max_bytes,
        (16_384, 16_777_216),
        "Maximum bytes of one frame to or from Unity",
    ),
    time(
        "takeover_probe_ms",
        |limits| &mut limits.takeover_probe,
        "How long an Editor has to answer when a second one connects",
    ),
    size(
        "job_retention_max",
        |limits| &mut limits.jobs_kept_max,
        (1, 10_000),
        "Number of finished jobs to keep",
    ),
];
