//! Books: what the mock has seen. Tests check the server against them.

use std::time::Duration;

use protocol::RequestId;

/// What arrived and what ran, as the mock has seen it.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Every request that arrived, in order.
    pub arrived: Vec<Arrival>,
    /// Every `execute` and `submit_job` that ran, in order.
    pub executed: Vec<Execution>,
    /// The largest number of unanswered requests on one connection.
    pub unanswered_max: usize,
    /// Requests that arrived while an `execute` or `submit_job` on the same connection was unanswered.
    pub overlapping: Vec<RequestId>,
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

impl Books {
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
