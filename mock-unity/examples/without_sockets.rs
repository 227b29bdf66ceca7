//! Drives a mock Editor by hand, without sockets and without waiting: connects it, sends it a request, gives
//! it a command, and prints what it does and what it has seen.
//!
//! ```sh
//! cargo run -p mock-unity --example without_sockets
//! ```

use std::io::{self, Write as _};
use std::time::Duration;

use mock_unity::{Command, Input, MockEditor, Output, Settings};
use protocol::{Execute, Json, Map, ServerHello, ToUnity, codec};

fn main() -> io::Result<()> {
    let mut stdout = io::stdout();
    let (lines, editor) = play();
    for line in lines {
        writeln!(stdout, "{line}")?;
    }
    for execution in &editor.books().executed {
        writeln!(stdout, "books: {} ran {}", execution.request_id, execution.tool_name)?;
    }
    Ok(())
}

/// Every output of the Editor, and the Editor with its books.
fn play() -> (Vec<String>, MockEditor) {
    let mut editor = MockEditor::new(Settings::default());
    let mut lines = Vec::new();
    let mut now = Duration::ZERO;
    let hello = ServerHello { server_version: "0.1.0".to_owned(), max_message_bytes: None };
    let execute = Execute {
        request_id: "req-1".into(),
        client_request_id: None,
        tool_name: "read_console".to_owned(),
        params: Json::Object(Map::new()),
        timeout_ms: 10_000,
    };
    for input in [
        Input::Tick,
        Input::Connected,
        Input::Frame(codec::encode(&ToUnity::Hello(hello))),
        Input::Frame(codec::encode(&ToUnity::Execute(execute))),
        Input::Tick,
        Input::Do(Command::Compile(Some(Duration::from_secs(3)))),
        Input::Tick,
    ] {
        // A tick goes straight to the next deadline: a test of an hour takes no time.
        if input == Input::Tick {
            now = editor.next_deadline().unwrap_or(now);
        }
        lines.extend(editor.handle(now, input).iter().map(|output| show(now, output)));
    }
    (lines, editor)
}

fn show(now: Duration, output: &Output) -> String {
    let text = match output {
        Output::Send(frame) => format!("-> {}", protocol::printable(frame, 100)),
        Output::SendBinary(bytes) => format!("-> {} bytes", bytes.len()),
        Output::Dial => "connect".to_owned(),
        Output::Cut => "drop the socket".to_owned(),
        Output::Close { code } => format!("close the socket with {code}"),
        Output::Tell(line) => format!(".. {line}"),
        Output::GiveUp => "give up".to_owned(),
    };
    format!("{:>6.3}  {text}", now.as_secs_f64())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_request_runs_once_and_the_compile_ends_in_a_domain_reload() {
        let (lines, editor) = super::play();
        assert_eq!(editor.books().times_executed(&"req-1".into()), 1);
        assert!(lines.iter().any(|line| line.contains(r#"-> {"type":"result""#)), "{lines:#?}");
        assert_eq!(lines.last().map(String::as_str), Some(" 3.020  drop the socket"));
    }
}
