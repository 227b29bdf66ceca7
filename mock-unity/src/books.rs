//! Books: what the mock has seen. Tests check the server against them.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{JobStatus, Json, RequestId, UnityJobId};

/// What arrived, what ran and what the mock gave for it, as the mock has seen it.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Every request that arrived, in order.
    pub arrived: Vec<Arrival>,
    /// Every `execute` and `submit_job` that ran, in order.
    pub executed: Vec<Execution>,
    /// The true answer to each request that asks for something. A spoilt answer was sent in another form or not
    /// at all.
    pub given: BTreeMap<RequestId, Given>,
    /// Every job, in order of its start.
    pub jobs: Vec<JobRecord>,
    /// The largest number of unanswered requests on one connection.
    pub unanswered_max: usize,
    /// Requests that arrived while an `execute` or `submit_job` on the same connection was unanswered.
    pub overlapping: Vec<RequestId>,
    /// Requests that arrived while the mock still had an `execute` or `submit_job` of an earlier connection: the
    /// earlier one, then the new one.
    pub overlapping_sessions: Vec<(RequestId, RequestId)>,
    /// Frames that could not be decoded.
    pub not_understood: u64,
}

/// A request that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When, counted from the start of the mock.
    pub at: Duration,
    /// The id that the server gave it.
    pub request_id: RequestId,
    /// The id that the agent gave it.
    pub client_request_id: Option<String>,
    /// The name of the tool, or the message type of a request without a tool.
    pub what: String,
}

/// A tool that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// When it was done, counted from the start of the mock.
    pub at: Duration,
    /// The id of its request.
    pub request_id: RequestId,
    /// The id that the agent gave the request.
    pub client_request_id: Option<String>,
    /// Which tool.
    pub tool_name: String,
}

/// What the mock gave for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// The result of an `execute`.
    Result(Json),
    /// The answer to a `get_job_status`, with the result of a job that has ended.
    Job(Box<JobStatus>),
}

/// A job that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// When it started, counted from the start of the mock.
    pub at: Duration,
    /// The id of its `submit_job`.
    pub request_id: RequestId,
    /// The mock's own name for it.
    pub job_id: UnityJobId,
    /// When it ended or was forgotten.
    pub ended_at: Option<Duration>,
}

impl Books {
    /// Notes the end of a job, or of all jobs that run.
    pub(crate) fn end_jobs(&mut self, at: Duration, only: Option<&UnityJobId>) {
        let runs = |job: &&mut JobRecord| job.ended_at.is_none();
        let meant = |job: &&mut JobRecord| only.is_none_or(|only| job.job_id == *only);
        self.jobs.iter_mut().filter(runs).filter(meant).for_each(|job| job.ended_at = Some(at));
    }

    /// How often a request ran. More than once is a bug of the server.
    pub fn times_executed(&self, request_id: &RequestId) -> usize {
        self.executed.iter().filter(|execution| execution.request_id == *request_id).count()
    }

    /// Requests that arrived more than once. There must be none.
    pub fn sent_twice(&self) -> Vec<&RequestId> {
        let ids: Vec<&RequestId> = self.arrived.iter().map(|arrival| &arrival.request_id).collect();
        let again =
            |(index, id): (usize, &&RequestId)| ids.iter().take(index).any(|known| known == id);
        ids.iter().enumerate().filter(|entry| again(*entry)).map(|(_, id)| *id).collect()
    }
}
