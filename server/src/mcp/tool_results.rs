//! Answers and failures as results and errors of MCP.

use protocol::Json;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::json;

use coordination::{Failure, Outcome, rendering};

pub(crate) fn of(outcome: Outcome) -> CallToolResult {
    match outcome {
        Ok(answer) => success(rendering::answer(answer)),
        Err(failure) => error(&failure),
    }
}

/// As structured content and as text.
pub(crate) fn success(answer: Json) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.to_string())]);
    result.structured_content = Some(answer);
    result
}

/// As text only: clients check structured content against the output schema and would hide an error.
pub(crate) fn error(failure: &Failure) -> CallToolResult {
    let envelope: Json = json!({ "error": rendering::failure(failure) });
    CallToolResult::error(vec![ContentBlock::text(envelope.to_string())])
}

pub(crate) fn protocol_error(code: ErrorCode, failure: &Failure) -> ErrorData {
    ErrorData::new(code, failure.message(), Some(rendering::failure(failure)))
}
