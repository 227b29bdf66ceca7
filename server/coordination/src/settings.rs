//! Setting: a limit that a person may change, by its name in the configuration file.

use std::time::Duration;

use crate::limits::Limits;

/// One limit that can be set: its name, its range, and where it goes.
pub struct Setting {
    pub name: &'static str,
    pub about: &'static str,
    pub min: u64,
    pub max: u64,
    pub get: fn(&Limits) -> u64,
    /// Only with a value in the range.
    pub set: fn(&mut Limits, u64),
}

const TIME_MIN: u64 = 10;
const TIME_MAX: u64 = 3_600_000;

macro_rules! time {
    ($name:literal, $field:ident, $about:literal) => {
        Setting {
            name: $name,
            about: $about,
            min: TIME_MIN,
            max: TIME_MAX,
            get: |limits| limits.$field.as_millis() as u64,
            set: |limits, value| limits.$field = Duration::from_millis(value),
        }
    };
}

macro_rules! size {
    ($name:literal, $field:ident, $min:literal, $max:literal, $about:literal) => {
        Setting {
            name: $name,
            about: $about,
            min: $min,
            max: $max,
            get: |limits| limits.$field as u64,
            set: |limits, value| limits.$field = value as usize,
        }
    };
}

pub const SETTINGS: [Setting; 10] = [
    size!("queue_max_size", queue_max, 1, 1_024, "Maximum number of calls that wait or are queued"),
    time!("heartbeat_interval_ms", heartbeat_interval, "Interval between pings"),
    time!("heartbeat_timeout_ms", heartbeat_timeout, "How long to wait for a pong"),
    time!("hello_timeout_ms", hello_timeout, "How long to wait for the hello of a socket"),
    time!(
        "job_poll_interval_ms",
        job_poll_interval,
        "Interval between questions about a running job"
    ),
    time!(
        "request_reconnect_wait_ms",
        reconnect_wait,
        "How long calls wait for a disconnected Editor"
    ),
    time!("compile_grace_timeout_ms", compile_grace, "How long a compile or reload may take"),
    size!(
        "max_message_bytes",
        message_max_bytes,
        16_384,
        16_777_216,
        "Maximum bytes of one frame to or from Unity"
    ),
    time!(
        "takeover_probe_ms",
        takeover_probe,
        "How long an Editor has to answer when a second one connects"
    ),
    size!("job_retention_max", jobs_kept_max, 1, 10_000, "Number of finished jobs to keep"),
];
