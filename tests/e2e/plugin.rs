//! A plugin that a test drives frame by frame over a real WebSocket. It notes what it was asked to run.

use std::net::TcpStream;
use std::time::Instant;

use coordination::Catalog;
use harness::server::TIMEOUT;
use serde_json::{Value, json};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, Message, WebSocket};

pub(crate) struct Plugin {
    pub(crate) socket: WebSocket<TcpStream>,
    /// Every `execute` and `submit_job`, by request id.
    pub(crate) executed: Vec<String>,
}

impl Plugin {
    /// A socket without a hello.
    pub(crate) fn pending(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let url = format!("ws://127.0.0.1:{port}/unity");
        let (socket, _) = tungstenite::client(url, stream).unwrap();
        Self { socket, executed: Vec::new() }
    }

    pub(crate) fn ready(port: u16) -> Self {
        Self::hello(port, json!({ "state": "ready" }))
    }

    /// Sends a hello with these fields and waits until the server accepts it.
    pub(crate) fn hello(port: u16, fields: Value) -> Self {
        Self::hello_of(port, fields, Catalog::V1_0)
    }

    /// The same with a server that has this catalogue.
    pub(crate) fn hello_of(port: u16, fields: Value, catalog: Catalog) -> Self {
        let mut plugin = Self::pending(port);
        let mut hello = json!({ "type": "hello", "plugin_version": env!("CARGO_PKG_VERSION") });
        hello.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        plugin.say(hello);
        plugin.expect("hello");
        let capability = plugin.expect("capability");
        assert_eq!(capability["tools"].as_array().unwrap().len(), catalog.tools().count());
        plugin
    }

    pub(crate) fn say(&mut self, mut message: Value) {
        message["protocol_version"] = json!(1);
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    pub(crate) fn status(&mut self, state: &str, seq: u64) {
        self.say(json!({ "type": "editor_status", "state": state, "seq": seq }));
    }

    /// The next frame that is not a ping. Answers pings.
    pub(crate) fn next(&mut self) -> Value {
        let until = Instant::now() + TIMEOUT;
        while Instant::now() < until {
            let message = self.socket.read().unwrap();
            let Message::Text(text) = message else { panic!("{message:?}") };
            let frame: Value = serde_json::from_str(text.as_str()).unwrap();
            assert_eq!(frame["protocol_version"], 1);
            match frame["type"].as_str().unwrap() {
                "ping" => self.say(json!({ "type": "pong" })),
                "execute" | "submit_job" => {
                    self.executed.push(frame["request_id"].as_str().unwrap().to_owned());
                    return frame;
                }
                _ => return frame,
            }
        }
        panic!("nothing but pings");
    }

    pub(crate) fn expect(&mut self, kind: &str) -> Value {
        let frame = self.next();
        assert_eq!(frame["type"], kind, "{frame}");
        frame
    }

    /// Answers an `execute` with a console of one entry.
    pub(crate) fn answer_console(&mut self, request: &Value, message: &str) {
        self.say(json!({
            "type": "result", "request_id": request["request_id"], "status": "ok",
            "result": console(message),
        }));
    }

    pub(crate) fn accept_job(&mut self, request: &Value, job: &str) {
        self.say(json!({
            "type": "submit_job_result", "request_id": request["request_id"],
            "status": "accepted", "job_id": job,
        }));
    }

    pub(crate) fn job_status(&mut self, request: &Value, fields: Value) {
        let mut status = json!({
            "type": "job_status", "request_id": request["request_id"], "job_id": request["job_id"],
            "progress": null, "result": null, "error": null,
        });
        status.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.say(status);
    }

    /// Waits for the close of the server and returns its code. Ignores the frames before it.
    pub(crate) fn expect_close(&mut self) -> u16 {
        loop {
            match self.socket.read() {
                Ok(Message::Close(Some(frame))) => {
                    let code = u16::from(frame.code);
                    while self.socket.read().is_ok() {}
                    return code;
                }
                Ok(Message::Text(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Closes the socket and waits for the answer of the server.
    pub(crate) fn close(mut self) {
        self.socket.close(None).unwrap();
        let frame = loop {
            match self.socket.read() {
                Ok(Message::Close(frame)) => break frame,
                Ok(_) => {}
                Err(Error::ConnectionClosed) => break None,
                Err(error) => panic!("{error}"),
            }
        };
        assert!(
            frame.is_none_or(
                |frame| frame.code == CloseCode::Normal || frame.code == CloseCode::Status
            )
        );
    }
}

pub(crate) fn console(message: &str) -> Value {
    json!({
        "entries": [{ "type": "error", "message": message, "stack_trace": "at Foo.cs:1" }],
        "count": 1,
        "truncated": false,
    })
}
