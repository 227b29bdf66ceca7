//! An MCP client over pipes or HTTP that costs little. It sends prepared texts and checks each answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};

const REVISION: &str = "2025-06-18";

pub struct Agent {
    wire: Wire,
    id: u64,
    line: Vec<u8>,
}

enum Wire {
    Pipes { to: Option<ChildStdin>, from: BufReader<ChildStdout> },
    Http { stream: BufReader<TcpStream>, port: u16 },
}

impl Agent {
    pub fn over_pipes(to: ChildStdin, from: ChildStdout) -> Self {
        Self::new(Wire::Pipes { to: Some(to), from: BufReader::with_capacity(1 << 20, from) })
    }

    pub fn over_http(stream: TcpStream, port: u16) -> Self {
        stream.set_nodelay(true).unwrap();
        Self::new(Wire::Http { stream: BufReader::with_capacity(1 << 20, stream), port })
    }

    fn new(wire: Wire) -> Self {
        Self { wire, id: 0, line: Vec::new() }
    }

    /// From the first message to the list of tools.
    pub fn begin(&mut self) {
        let client = r#""capabilities":{},"clientInfo":{"name":"bench","version":"0"}"#;
        self.request("initialize", &format!(r#"{{"protocolVersion":"{REVISION}",{client}}}"#));
        self.receive();
        if let Wire::Pipes { .. } = self.wire {
            self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        self.request("tools/list", "{}");
        assert!(has(self.receive(), b"read_console"));
    }

    /// Sends a call without waiting for its answer. Over HTTP only one may be open.
    pub fn send_call(&mut self, max_entries: usize) {
        let arguments = format!(r#"{{"max_entries":{max_entries}}}"#);
        self.request(
            "tools/call",
            &format!(r#"{{"name":"read_console","arguments":{arguments}}}"#),
        );
    }

    /// The bytes of the next answer.
    pub fn receive_answer(&mut self) -> usize {
        let answer = self.receive();
        let is_good = contains(answer, b"entries") && !contains(answer, b"\"isError\":true");
        assert!(is_good, "{}", String::from_utf8_lossy(answer));
        answer.len()
    }

    pub fn call(&mut self, max_entries: usize) -> usize {
        self.send_call(max_entries);
        self.receive_answer()
    }

    pub fn leave(&mut self) {
        if let Wire::Pipes { to, .. } = &mut self.wire {
            *to = None;
        }
    }

    fn request(&mut self, method: &str, params: &str) {
        self.id += 1;
        let id = self.id;
        self.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
    }

    fn write(&mut self, message: &str) {
        match &mut self.wire {
            Wire::Pipes { to, .. } => {
                to.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap()
            }
            Wire::Http { stream, port } => {
                let length = message.len();
                let request = format!(
                    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\n\
                     Content-Length: {length}\r\n\r\n{message}"
                );
                stream.get_mut().write_all(request.as_bytes()).unwrap();
            }
        }
    }

    fn receive(&mut self) -> &[u8] {
        self.line.clear();
        match &mut self.wire {
            Wire::Pipes { from, .. } => {
                from.read_until(b'\n', &mut self.line).unwrap();
            }
            Wire::Http { stream, .. } => read_body(stream, &mut self.line),
        }
        assert!(!self.line.is_empty(), "the server has ended");
        &self.line
    }
}

fn read_body(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    assert!(length > 0, "an answer without a length");
    body.resize(length, 0);
    stream.read_exact(body).unwrap();
}

/// Looks at the beginning and the end alone: an answer may be long.
fn contains(text: &[u8], word: &[u8]) -> bool {
    let (head, tail) = (&text[..text.len().min(400)], &text[text.len().saturating_sub(200)..]);
    has(head, word) || has(tail, word)
}

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
