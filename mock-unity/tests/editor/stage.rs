//! A mock for tests: commands and frames go in, frames come out as JSON.

use std::time::Duration;

use mock_unity::{Command, Input, MockEditor, Output, Settings};
use serde_json::{Value, json};

/// A mock and its time.
pub(crate) struct Stage {
    pub(crate) editor: MockEditor,
    pub(crate) now: Duration,
}

/// Frames as JSON, other outputs as their name.
pub(crate) fn shown(outputs: Vec<Output>) -> Vec<Value> {
    let one = |output| match output {
        Output::Send(text) => Some(
            serde_json::from_str(&text)
                .unwrap_or_else(|_| json!(format!("raw {} bytes", text.len()))),
        ),
        Output::SendBinary(bytes) => Some(json!(format!("binary {} bytes", bytes.len()))),
        Output::Dial => Some(json!("dial")),
        Output::Cut => Some(json!("cut")),
        Output::Close { code } => Some(json!(format!("close {code}"))),
        Output::GiveUp => Some(json!("give up")),
        Output::Tell(_) => None,
    };
    outputs.into_iter().filter_map(one).collect()
}

impl Stage {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { editor: MockEditor::new(settings), now: Duration::ZERO }
    }

    /// Connected, and accepted by the server.
    pub(crate) fn connected() -> Self {
        let mut stage = Self::new(Settings::default());
        assert_eq!(stage.wait(0), [json!("dial")]);
        stage.connect();
        stage
    }

    /// Connects, and returns the hello of the mock.
    pub(crate) fn connect(&mut self) -> Value {
        let hello = shown(self.editor.handle(self.now, Input::Connected)).remove(0);
        assert_eq!(hello["type"], "hello");
        self.server(json!({ "type": "hello", "server_version": "1" }));
        hello
    }

    pub(crate) fn server(&mut self, mut frame: Value) -> Vec<Value> {
        frame["protocol_version"] = json!(1);
        shown(self.editor.handle(self.now, Input::Frame(frame.to_string())))
    }

    pub(crate) fn command(&mut self, words: &str) -> Vec<Value> {
        let command = Command::parse(words).unwrap();
        shown(self.editor.handle(self.now, Input::Do(command)))
    }

    /// Lets this many milliseconds pass, deadline by deadline.
    pub(crate) fn wait(&mut self, millis: u64) -> Vec<Value> {
        let end = self.now + Duration::from_millis(millis);
        let mut all = Vec::new();
        while let Some(at) = self.editor.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            all.extend(shown(self.editor.handle(self.now, Input::Tick)));
        }
        self.now = end;
        all
    }

    pub(crate) fn execute(&mut self, id: &str) -> Vec<Value> {
        self.server(json!({
            "type": "execute", "request_id": id, "tool_name": "read_console", "params": {},
            "timeout_ms": 1000,
        }))
    }

    pub(crate) fn submit(&mut self, id: &str) -> Value {
        let frames = self.server(json!({
            "type": "submit_job", "request_id": id, "tool_name": "run_tests",
            "params": { "mode": "all" }, "timeout_ms": 300_000,
        }));
        assert_eq!(frames[0]["type"], "submit_job_result", "{frames:?}");
        frames[0]["job_id"].clone()
    }

    pub(crate) fn status(&mut self, id: &str, job: &Value) -> Value {
        let frames =
            self.server(json!({ "type": "get_job_status", "request_id": id, "job_id": job }));
        frames[0].clone()
    }

    pub(crate) fn cancel(&mut self, id: &str, job: &Value) -> Value {
        let frames =
            self.server(json!({ "type": "cancel", "request_id": id, "target_job_id": job }));
        frames[0].clone()
    }
}

pub(crate) fn types(frames: &[Value]) -> Vec<String> {
    let one = |frame: &Value| match frame["type"].as_str() {
        Some("editor_status") => format!("editor_status {}", frame["state"].as_str().unwrap()),
        Some(kind) => kind.to_owned(),
        None => frame.as_str().unwrap().to_owned(),
    };
    frames.iter().map(one).collect()
}
