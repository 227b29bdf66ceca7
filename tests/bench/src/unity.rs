//! A fake Unity that answers `read_console` at once, in a thread of its own.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use serde_json::json;
use tungstenite::{Message, WebSocket};

use crate::subject::Subject;

/// The consoles it can answer with: their bytes, and how many entries of how many characters they have.
pub const CONSOLES: [Console; 4] = [
    Console { name: "300 B", entries: 3, text: 60 },
    Console { name: "1 kB", entries: 10, text: 60 },
    Console { name: "32 kB", entries: 50, text: 600 },
    Console { name: "500 kB", entries: 2_000, text: 215 },
];

pub struct Console {
    pub name: &'static str,
    pub entries: usize,
    text: usize,
}

impl Console {
    fn json(&self) -> String {
        let entry = |index: usize| {
            let mut message = format!("Enemy {index} was spawned at a place ");
            message.extend(std::iter::repeat_n('x', self.text.saturating_sub(message.len())));
            json!({ "type": "log", "message": message })
        };
        let entries: Vec<_> = (0..self.entries).map(entry).collect();
        json!({ "entries": entries, "count": self.entries, "truncated": false, "cursor": "c-1" })
            .to_string()
    }
}

/// Which console is the answer; shared by all connections.
#[derive(Clone)]
pub struct Consoles {
    texts: Arc<Vec<String>>,
    chosen: Arc<AtomicUsize>,
}

impl Consoles {
    pub fn new() -> Self {
        let texts = CONSOLES.iter().map(Console::json).collect();
        Self { texts: Arc::new(texts), chosen: Arc::default() }
    }

    pub fn choose(&self, console: usize) {
        self.chosen.store(console, Ordering::Relaxed);
    }
}

pub struct Unity {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

impl Unity {
    /// Returns when the server has accepted it.
    pub fn connect(subject: Subject, port: u16, consoles: Consoles) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        let kept = stream.try_clone().unwrap();
        let address = format!("ws://127.0.0.1:{port}/unity");
        let (mut socket, _) = tungstenite::client(address, stream).unwrap();
        if subject.is_ours() {
            let hello = json!({
                "type": "hello", "protocol_version": 1, "plugin_version": "0", "state": "ready",
                "editor_instance_id": "bench", "plugin_session_id": "bench",
            });
            socket.send(Message::text(hello.to_string())).unwrap();
            while !socket.read().unwrap().to_text().unwrap().contains("capability") {}
        }
        let thread = std::thread::spawn(move || answer(socket, subject, &consoles));
        Self { stream: kept, thread }
    }

    pub fn disconnect(self) {
        self.stream.shutdown(Shutdown::Both).unwrap();
        self.thread.join().unwrap();
    }
}

fn answer(mut socket: WebSocket<TcpStream>, subject: Subject, consoles: &Consoles) {
    while let Ok(message) = socket.read() {
        let Ok(request) = message.to_text() else { return };
        let console = &consoles.texts[consoles.chosen.load(Ordering::Relaxed)];
        let answer = if !subject.is_ours() {
            format!(r#"{{"id":{},"result":{console}}}"#, between(request, r#""id":"#, ","))
        } else if request.contains(r#""type":"execute""#) {
            let id = between(request, r#""request_id":""#, "\"");
            format!(
                r#"{{"type":"result","protocol_version":1,"request_id":"{id}","status":"ok","result":{console}}}"#
            )
        } else {
            r#"{"type":"pong","protocol_version":1}"#.to_owned()
        };
        if socket.send(Message::text(answer)).is_err() {
            return;
        }
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}
