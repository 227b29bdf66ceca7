//! The message of an agent in a text, checked before it is parsed: parsed, some texts take fifty times their size.

use std::fmt;

use coordination::{Failure, Route, Tool, rendering};
use protocol::JsonSize;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta,
    JsonRpcMessage, RequestId,
};

use crate::budget::{REQUEST_DEPTH_MAX, REQUEST_LABEL_BYTES_MAX, REQUEST_TOKENS_MAX};

/// An error is what the sender gets.
pub(crate) fn parse(text: &[u8]) -> Result<ClientJsonRpcMessage, ErrorData> {
    let refuse = |refused: Refused| malformed(ErrorCode::INVALID_REQUEST, refused.to_string());
    check_size(text).map_err(refuse)?;
    let message = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() {
            malformed(ErrorCode::INVALID_REQUEST, "not a JSON-RPC message of MCP".to_owned())
        } else {
            malformed(ErrorCode::PARSE_ERROR, "not JSON; send one message at a time".to_owned())
        }
    })?;
    check_labels(&message).map_err(refuse)?;
    Ok(message)
}

pub(crate) fn malformed(code: ErrorCode, problem: String) -> ErrorData {
    ErrorData::new(code, problem, Some(rendering::failure(&Failure::malformed_request())))
}

/// Whether the answer may have to wait for Unity or for a job. Everything else is answered soon.
pub(crate) fn may_wait(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return false };
    let ClientRequest::CallToolRequest(call) = &request.request else { return false };
    let arguments = call.params.arguments.as_ref();
    Tool::named(&call.params.name).is_some_and(|tool| match tool.route {
        Route::Execute(_) | Route::SubmitJob(_) => true,
        Route::JobStatus => arguments.is_some_and(|given| given.contains_key("wait_ms")),
        Route::EditorState | Route::CancelJob => false,
    })
}

/// The request that a message cancels.
pub(crate) fn cancelled(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let JsonRpcMessage::Notification(notification) = message else { return None };
    let ClientNotification::CancelledNotification(cancel) = &notification.notification else {
        return None;
    };
    cancel.params.request_id.as_ref()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    Batch,
    TooManyValues,
    TooDeep,
    LongLabel,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("batches are not supported; send one message at a time"),
            Self::TooManyValues => f.write_str("the message has too many values"),
            Self::TooDeep => write!(f, "the message has more than {REQUEST_DEPTH_MAX} levels"),
            Self::LongLabel => write!(
                f,
                "the id or the progress token has more than {REQUEST_LABEL_BYTES_MAX} bytes"
            ),
        }
    }
}

/// Invalid JSON passes: the parser reports what is wrong with it.
fn check_size(text: &[u8]) -> Result<(), Refused> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refused::Batch);
    }
    let JsonSize { tokens, depth } = JsonSize::of(text);
    if depth > REQUEST_DEPTH_MAX {
        return Err(Refused::TooDeep);
    }
    if tokens > REQUEST_TOKENS_MAX {
        return Err(Refused::TooManyValues);
    }
    Ok(())
}

/// What every answer repeats is short.
fn check_labels(message: &ClientJsonRpcMessage) -> Result<(), Refused> {
    let (id, token) = match message {
        JsonRpcMessage::Request(request) => {
            (Some(&request.id), request.request.get_meta().get_progress_token())
        }
        JsonRpcMessage::Response(response) => (Some(&response.id), None),
        JsonRpcMessage::Error(error) => (error.id.as_ref(), None),
        JsonRpcMessage::Notification(_) => (None, None),
    };
    let labels = [id, token.as_ref().map(|token| &token.0)].into_iter().flatten();
    if labels.into_iter().all(is_short) { Ok(()) } else { Err(Refused::LongLabel) }
}

fn is_short(label: &RequestId) -> bool {
    match label {
        RequestId::Number(_) => true,
        RequestId::String(text) => {
            let written = serde_json::to_string(text);
            written.is_ok_and(|written| written.len() <= REQUEST_LABEL_BYTES_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Refused, check_size, may_wait, parse};

    #[test]
    fn calls_that_need_unity_or_ask_to_wait_are_those_that_may_wait() {
        let may_wait = |tool: &str, arguments: &str| {
            let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
            let call = r#""jsonrpc":"2.0","id":1,"method":"tools/call""#;
            may_wait(&parse(format!(r#"{{{call},"params":{params}}}"#).as_bytes()).unwrap())
        };
        assert!(may_wait("read_console", "{}") && may_wait("run_tests", "{}"));
        assert!(may_wait("get_job_status", r#"{"job_id":"job-x-1","wait_ms":1}"#));
        assert!(!may_wait("get_job_status", r#"{"job_id":"job-x-1"}"#));
        assert!(!may_wait("cancel_job", r#"{"job_id":"job-x-1"}"#));
        assert!(!may_wait("get_editor_state", "{}") && !may_wait("unknown", "{}"));
    }

    #[test]
    fn what_would_take_too_much_to_parse_is_refused_before() {
        let nested = |depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check_size(nested(63).as_bytes()), Ok(()));
        assert_eq!(check_size(nested(64).as_bytes()), Err(Refused::TooDeep));
        let wide = |values| format!("{{\"a\":[{}0]}}", "0,".repeat(values));
        assert_eq!(check_size(wide(997).as_bytes()), Ok(()));
        assert_eq!(check_size(wide(998).as_bytes()), Err(Refused::TooManyValues));
        assert_eq!(check_size(b" \t\n[{}]"), Err(Refused::Batch));
    }

    #[test]
    fn a_message_that_is_refused_says_why() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64));
        let wide = format!("{{\"a\":[{}0]}}", "0,".repeat(1_000));
        let id = "x".repeat(300);
        let label = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"ping\"}}");
        for (text, problem) in [
            ("[]", "batches are not supported; send one message at a time"),
            (&deep, "the message has more than 64 levels"),
            (&wide, "the message has too many values"),
            (&label, "the id or the progress token has more than 256 bytes"),
            ("{}", "not a JSON-RPC message of MCP"),
            ("{", "not JSON; send one message at a time"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err().message, problem);
        }
    }

    #[test]
    fn what_every_answer_repeats_is_short() {
        let refused = |message: String| parse(message.as_bytes()).err().map(|error| error.message);
        let too_long = Some("the id or the progress token has more than 256 bytes".into());
        let of_id = |label: &str| format!(r#"{{"jsonrpc":"2.0","id":"{label}","method":"ping"}}"#);
        let of_token = |label: &str| {
            let meta = format!(r#"{{"progressToken":"{label}"}}"#);
            let params = format!(r#"{{"name":"read_console","_meta":{meta}}}"#);
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
        };
        let of_answer =
            |label: &str| format!(r#"{{"jsonrpc":"2.0","id":"{label}","result":{{}}}}"#);
        for message in [of_id, of_token, of_answer] as [fn(&str) -> String; 3] {
            assert_eq!(refused(message(&"x".repeat(254))), None);
            assert_eq!(refused(message(&"x".repeat(255))), too_long);
            // As it is written in the answer.
            assert_eq!(refused(message(&"\\u0001".repeat(43))), too_long);
        }
        let text = "x".repeat(300);
        let method = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{text}"}}"#);
        assert_eq!(refused(method), None);
    }
}
