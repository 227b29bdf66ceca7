//! Answers and failures as results and errors of MCP.

use protocol::Json;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::json;

use crate::clock::WallClock;
use coordination::{Failure, Outcome, rendering};

pub(crate) fn of(outcome: Outcome, clock: WallClock) -> CallToolResult {
    match outcome {
        Ok(answer) => success(rendering::answer(answer, &|at| clock.text(at))),
        Err(failure) => error(&failure),
    }
}

/// As structured content and as text.
fn success(answer: Json) -> CallToolResult {
    // A JSON value can be written.
    let text = serde_json::to_string(&answer).unwrap_or_default();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::EPOCH;

    #[test]
    fn an_error_tells_the_agent_what_ran_and_what_to_do_next() {
        for (failure, guarantee, action) in [
            (Failure::stopping(), "not_executed", "wait_for_editor"),
            (Failure::too_much_unanswered(), "not_executed", "retry"),
            (Failure::broken_after_sending(), "unknown", "inspect_then_retry"),
            (Failure::malformed_request(), "not_executed", "fix_the_call"),
        ] {
            let told = of(Err(failure.clone()), EPOCH);
            assert_eq!((told.is_error, told.structured_content), (Some(true), None));
            let shown = serde_json::to_value(told.content).unwrap();
            let envelope: Json = serde_json::from_str(shown[0]["text"].as_str().unwrap()).unwrap();
            let refused = protocol_error(ErrorCode::INTERNAL_ERROR, &failure);
            assert_eq!(refused.data.as_ref(), Some(&envelope["error"]));
            let details = &envelope["error"]["details"];
            assert_eq!(details["execution_guarantee"], guarantee);
            assert_eq!(details["recovery_action"], action);
        }
    }
}
