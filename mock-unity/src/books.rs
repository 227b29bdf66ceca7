//! Books: what the mock knows to have happened. Tests read these, never the server's.

use std::time::Duration;

use protocol::RequestId;

#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Every request that arrived, in order.
    pub arrived: Vec<Arrival>,
    /// Every `execute` and `submit_job` that ran, in order.
    pub executed: Vec<Execution>,
    /// Most requests that had arrived on one connection and were not answered.
    pub unanswered_max: usize,
    /// Requests that arrived while an `execute` or `submit_job` of the same connection had no answer.
    pub overlapping: Vec<RequestId>,
    /// Frames that are no message of the server.
    pub not_understood: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub at: Duration,
    pub request_id: RequestId,
    pub client_request_id: Option<String>,
    /// The tool, or the type of the message if it names none.
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    pub at: Duration,
    pub request_id: RequestId,
    pub client_request_id: Option<String>,
    pub tool_name: String,
}

impl Books {
    pub fn times_executed(&self, request_id: &RequestId) -> usize {
        self.executed.iter().filter(|execution| execution.request_id == *request_id).count()
    }

    /// Requests that arrived more than once: the server must never do that.
    pub fn sent_twice(&self) -> Vec<&RequestId> {
        let ids: Vec<&RequestId> = self.arrived.iter().map(|arrival| &arrival.request_id).collect();
        let again =
            |(index, id): (usize, &&RequestId)| ids.iter().take(index).any(|known| known == id);
        ids.iter().enumerate().filter(|entry| again(*entry)).map(|(_, id)| *id).collect()
    }
}
