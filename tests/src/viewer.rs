//! A viewer of the page: one reader of `/events`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::TIMEOUT;

pub struct Viewer {
    stream: TcpStream,
    pub head: String,
    /// Bytes of the stream, with the marks of its chunks.
    raw: Vec<u8>,
    /// The events as they were sent.
    pub text: String,
    /// How much of the text is taken.
    taken: usize,
}

impl Viewer {
    /// Opens the stream with these header lines besides `Host`. Reads the head of the answer.
    pub fn open(port: u16, lines: &str) -> Self {
        Self::over(TcpStream::connect(("127.0.0.1", port)).unwrap(), port, lines)
    }

    pub fn over(mut stream: TcpStream, port: u16, lines: &str) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        write!(stream, "GET /events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{lines}\r\n").unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        Self { stream, head, raw: Vec::new(), text: String::new(), taken: 0 }
    }

    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The first event.
    pub fn snapshot(&mut self) -> Value {
        let (name, data) = self.next();
        assert_eq!(name, "snapshot");
        data
    }

    /// Waits for an event of the picture that fits.
    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_any("event", wanted)
    }

    pub fn wait_for_any(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + TIMEOUT;
        while Instant::now() < until {
            let (name, data) = self.next();
            if name == kind && wanted(&data) {
                return data;
            }
        }
        panic!("no such event: {}", self.text);
    }

    /// The name and the data of the next event.
    fn next(&mut self) -> (String, Value) {
        loop {
            if let Some(length) = self.text[self.taken..].find("\n\n") {
                let event = self.text[self.taken..self.taken + length].to_owned();
                self.taken += length + 2;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                match (field("event: "), field("data: ")) {
                    (Some(name), Some(data)) => {
                        assert_eq!(event.lines().count(), 2, "{event}");
                        return (name.to_owned(), serde_json::from_str(data).unwrap());
                    }
                    _ => assert!(event.starts_with(':'), "{event}"),
                }
            } else {
                assert!(self.read_more(), "the stream has ended: {}", self.text);
            }
        }
    }

    /// False at the end of the stream.
    fn read_more(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        let read = self.stream.read(&mut bytes).unwrap_or_default();
        self.raw.extend_from_slice(&bytes[..read]);
        while let Some(line) = self.raw.windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&self.raw[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            if self.raw.len() < line + 2 + size + 2 {
                break;
            }
            if size == 0 {
                return false;
            }
            self.text += std::str::from_utf8(&self.raw[line + 2..line + 2 + size]).unwrap();
            self.raw.drain(..line + 2 + size + 2);
        }
        read > 0
    }

    /// Reads until the end of the stream.
    pub fn ends(&mut self) {
        while self.read_more() {}
    }

    /// Waits until the events of this time have come.
    pub fn read_for(&mut self, time: Duration) {
        self.stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.read_more();
        }
        self.stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    }
}
