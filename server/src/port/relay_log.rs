//! RelayLog: one line of log per call that was passed on, with the fields of a call that ended here.

use coordination::{Failure, Tool};
use protocol::Json;
use rmcp::model::ErrorData;
use tokio::time::Instant;
use tracing::info;

pub(super) struct RelayLog<'a> {
    pub(super) tool: &'a Tool,
    client_request_id: Option<&'a str>,
    began: Instant,
}

impl<'a> RelayLog<'a> {
    pub(super) fn new(tool: &'a Tool, client_request_id: Option<&'a str>) -> Self {
        Self { tool, client_request_id, began: Instant::now() }
    }

    /// With the result of a method, which may be that of a tool that failed.
    pub(super) fn answered(&self, result: &Json) {
        if let Some(error) = error_of_tool(result) {
            return self.failed_with(&error);
        }
        let (tool, client_request_id) = (self.tool.name, self.client_request_id);
        let job_id = result.pointer("/structuredContent/job_id").and_then(Json::as_str);
        let elapsed_ms = self.elapsed_ms();
        info!(client_request_id, job_id, tool, elapsed_ms, "relayed call succeeded");
    }

    pub(super) fn refused(&self, error: &ErrorData) {
        self.failed_with(error.data.as_ref().unwrap_or(&Json::Null));
    }

    pub(super) fn failed(&self, failure: &Failure) {
        self.log_failure(Some(failure.code.text()), Some(failure.guarantee.text()));
    }

    pub(super) fn cancelled(&self) {
        let (tool, client_request_id) = (self.tool.name, self.client_request_id);
        info!(client_request_id, tool, elapsed_ms = self.elapsed_ms(), "relayed call cancelled");
    }

    /// With an error object of the holder.
    fn failed_with(&self, error: &Json) {
        let text = |path| error.pointer(path).and_then(Json::as_str);
        self.log_failure(text("/code"), text("/details/execution_guarantee"));
    }

    fn log_failure(&self, code: Option<&str>, guarantee: Option<&str>) {
        let (tool, client_request_id) = (self.tool.name, self.client_request_id);
        let elapsed_ms = self.elapsed_ms();
        info!(client_request_id, tool, code, guarantee, elapsed_ms, "relayed call failed");
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The error object in the result of a tool that failed.
fn error_of_tool(result: &Json) -> Option<Json> {
    result.get("isError").filter(|is_error| **is_error == Json::Bool(true))?;
    let text = result.pointer("/content/0/text").and_then(Json::as_str)?;
    let mut content: Json = serde_json::from_str(text).ok()?;
    content.get_mut("error").map(Json::take)
}
