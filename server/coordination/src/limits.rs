//! Limits: every limit and every wait of the core. `budget` has those of the shell.

use std::time::Duration;

use crate::tool_catalog::Catalog;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls that wait or are queued. Control calls have the same room of their own.
    pub queue_max: usize,
    /// Interval between pings.
    pub heartbeat_interval: Duration,
    /// How old an unanswered ping may be while the Editor is ready.
    pub heartbeat_timeout: Duration,
    /// How long a socket may take to say hello.
    pub hello_timeout: Duration,
    /// Interval between questions about a running job.
    pub job_poll_interval: Duration,
    /// How long calls wait for an Editor that is disconnected or does not respond.
    pub reconnect_wait: Duration,
    /// How long a compile or a reload may take, and how long running jobs are kept while Unity is away.
    pub compile_grace: Duration,
    /// How long a call may be queued behind others while the Editor is ready.
    pub queue_wait_max: Duration,
    /// Of one frame, either way.
    pub message_max_bytes: usize,
    /// How long a session has to answer its probe when another Editor connects.
    pub takeover_probe: Duration,
    /// Finished jobs that are kept.
    pub jobs_kept_max: usize,

    /// Jobs that are queued or running.
    pub jobs_active_max: usize,
    /// How long Unity has to accept a job.
    pub submit_timeout: Duration,
    /// How long Unity has to answer a question about a job or a cancel.
    pub status_timeout: Duration,
    /// How long a question of an agent about a job stands in line before it is answered from what is known.
    pub status_wait: Duration,
    /// Sockets without a hello. One more, and the oldest is closed.
    pub pending_max: usize,
    /// Bad frames in a row after which the session is closed.
    pub bad_frames_max: u32,
    /// Submissions that were given up, and whose late acceptance is still answered with a cancel.
    pub abandoned_max: usize,
    /// Soon enough that the first report is there within a second.
    pub progress_first: Duration,
    /// Often enough that a client with a timeout of its own keeps waiting.
    pub progress_interval: Duration,
    /// How long agents see that an Editor of another project was turned away.
    pub refusal_shown: Duration,
    /// Ended jobs that `get_editor_state` lists.
    pub ended_jobs_shown: usize,
    /// Runs whose `client_request_id` is remembered.
    pub repeats_max: usize,
    /// Which tools there are.
    pub catalog: Catalog,
    /// How long peers have to close, so that the process ends within two seconds.
    pub stop_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue_max: 32,
            heartbeat_interval: Duration::from_millis(3_000),
            heartbeat_timeout: Duration::from_millis(4_500),
            hello_timeout: Duration::from_millis(5_000),
            job_poll_interval: Duration::from_millis(1_000),
            reconnect_wait: Duration::from_millis(2_500),
            compile_grace: Duration::from_millis(60_000),
            queue_wait_max: Duration::from_millis(120_000),
            message_max_bytes: 1_048_576,
            takeover_probe: Duration::from_millis(500),
            jobs_kept_max: 256,
            jobs_active_max: 1_024,
            submit_timeout: Duration::from_millis(30_000),
            status_timeout: Duration::from_millis(5_000),
            status_wait: Duration::from_millis(1_000),
            pending_max: 32,
            bad_frames_max: 10,
            abandoned_max: 64,
            progress_first: Duration::from_millis(500),
            progress_interval: Duration::from_millis(1_000),
            refusal_shown: Duration::from_secs(600),
            ended_jobs_shown: 10,
            repeats_max: 1_024,
            catalog: Catalog::V1_0,
            stop_max: Duration::from_millis(1_200),
        }
    }
}
