//! Plays the plugin for two frames: decodes each of them and prints the frame that answers it.
//!
//! ```sh
//! cargo run -p protocol --example answer_a_frame
//! ```

use std::io::{self, Write as _};

use protocol::{
    ErrorBody, ErrorMessage, ExecuteOutcome, ExecuteResult, FromUnity, Json, ToUnity, codec,
};

const FRAMES: [&str; 2] = [
    r#"{"type":"execute","protocol_version":1,"request_id":"req-1","tool_name":"read_console","params":{"max_entries":1},"timeout_ms":10000}"#,
    r#"{"type":"execute","protocol_version":1,"request_id":"req-2"}"#,
];

fn main() -> io::Result<()> {
    let mut stdout = io::stdout();
    for frame in FRAMES {
        writeln!(stdout, "<- {frame}")?;
        if let Some(answer) = answer(frame) {
            writeln!(stdout, "-> {}", codec::encode(&answer))?;
        }
    }
    Ok(())
}

/// What a plugin sends back, if anything.
fn answer(frame: &str) -> Option<FromUnity> {
    match codec::decode(frame.as_bytes()) {
        Ok(ToUnity::Execute(execute)) => {
            let entry = r#"{"type":"log","message":"Autosave done","stack_trace":""}"#;
            let result = format!(r#"{{"entries":[{entry}],"count":1,"truncated":false}}"#);
            let result: Json = protocol::parse_json(result.as_bytes()).ok()?;
            let outcome = ExecuteOutcome::Ok(result);
            Some(FromUnity::Result(ExecuteResult { request_id: execute.request_id, outcome }))
        }
        Ok(_) => None,
        // Nothing ran, and the server is still waiting for an answer: reject the request.
        Err(problem) => {
            let request_id = problem.about.first().cloned();
            let error = ErrorBody {
                code: "ERR_INVALID_PARAMS".to_owned(),
                message: problem.to_string(),
                retryable: None,
                details: None,
            };
            Some(FromUnity::Error(ErrorMessage { request_id, error }))
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::codec;

    use super::{FRAMES, answer};

    #[test]
    fn a_good_frame_gets_a_result_and_a_bad_one_an_error() {
        let answers = FRAMES.map(|frame| codec::encode(&answer(frame).unwrap()));
        assert!(answers[0].starts_with(r#"{"type":"result","request_id":"req-1","status":"ok""#));
        assert!(answers[1].contains("execute: missing field `tool_name`"), "{}", answers[1]);
    }
}
