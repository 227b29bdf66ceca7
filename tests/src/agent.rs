//! Agents: one over stdio, one over HTTP. They check every answer: stdout has nothing but JSON-RPC, HTTP
//! answers have no CORS header.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::ChildStdin;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::server::{Server, TIMEOUT, lines};

/// The answer of a tool: its content, or its error object.
pub type Outcome = Result<Value, Value>;

/// The outcome in a JSON-RPC answer to `tools/call`.
pub fn outcome(answer: &Value) -> Outcome {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let content: Value = serde_json::from_str(text).unwrap();
    if result["isError"] == true {
        assert!(result.get("structuredContent").is_none(), "{answer}");
        return Err(content["error"].clone());
    }
    assert_eq!(result["structuredContent"], content);
    Ok(content)
}

/// `code guarantee` of an error object.
pub fn brief(error: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert!(error["message"].as_str().unwrap().ends_with('.'), "{error}");
    assert!(error["retryable"].is_boolean() && error["details"]["recovery_action"].is_string());
    format!("{} {}", text(&error["code"]), text(&error["details"]["execution_guarantee"]))
}

/// The text of a progress report.
pub fn message_of(report: &Value) -> &str {
    report["params"]["message"].as_str().unwrap_or_else(|| panic!("{report}"))
}

pub fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "e2e", "version": "1" },
    })
}

/// The parameters of a request in the revision 2026-07-28.
pub fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// An agent on the stdin and stdout of a server.
pub struct StdioAgent {
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    next_id: u64,
    /// Answers that arrived while the agent waited for another one.
    early: BTreeMap<u64, Value>,
    pub notifications: Vec<Value>,
}

impl StdioAgent {
    /// Takes the streams and sends nothing.
    pub fn silent(server: &mut Server) -> Self {
        Self {
            stdin: server.process.stdin.take(),
            stdout: lines(server.process.stdout.take()),
            next_id: 0,
            early: BTreeMap::new(),
            notifications: Vec::new(),
        }
    }

    pub fn new(server: &mut Server) -> Self {
        let mut agent = Self::silent(server);
        let answer = agent.request("initialize", initialize("2025-11-25"));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        agent.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    pub fn write(&mut self, message: &Value) {
        self.write_raw(&format!("{message}\n"));
    }

    pub fn write_raw(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Sends a request without waiting for the answer.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn call_with_progress(&mut self, tool: &str, arguments: Value) -> u64 {
        let meta = json!({ "progressToken": "p" });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.send("tools/call", params)
    }

    /// Waits for the answer to a request, and keeps what arrives before it.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let message = self.next_message().unwrap_or_else(|| panic!("no answer to {id}"));
            match message["id"].as_u64() {
                Some(id) => assert!(self.early.insert(id, message).is_none(), "answered twice"),
                None => self.notifications.push(message),
            }
        }
    }

    /// The next message on stdout; `None` if stdout is closed.
    pub fn next_message(&mut self) -> Option<Value> {
        let line = match self.stdout.recv_timeout(TIMEOUT) {
            Ok(line) => line,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("nothing came on stdout"),
        };
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    pub fn outcome(&mut self, id: u64) -> Outcome {
        outcome(&self.answer(id))
    }

    pub fn run(&mut self, tool: &str, arguments: Value) -> Outcome {
        let id = self.call(tool, arguments);
        self.outcome(id)
    }

    /// Calls `get_editor_state` until it shows this.
    pub fn wait_for(&mut self, field: &str, value: impl Into<Value>) {
        let value = value.into();
        while self.run("get_editor_state", json!({})).unwrap()[field] != value {}
    }

    pub fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id, "reason": "test" });
        self.write(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
        );
    }

    /// Every further message until stdout is closed.
    pub fn rest(&mut self) -> Vec<Value> {
        let mut rest: Vec<Value> = std::mem::take(&mut self.early).into_values().collect();
        while let Some(message) = self.next_message() {
            rest.push(message);
        }
        rest
    }

    /// No more requests.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }
}

/// An agent over HTTP/1.1, with one connection per request.
pub struct HttpAgent {
    pub port: u16,
}

pub struct HttpAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// A request without an answer yet. Dropping it closes the connection.
pub struct OpenRequest(TcpStream);

impl HttpAgent {
    /// Sends a request as it is. `head` is everything after the request line, without the final empty line.
    pub fn raw(&self, request_line: &str, head: &str, body: &str) -> HttpAnswer {
        let mut stream = self.connect().unwrap();
        let length = body.len();
        write!(stream, "{request_line}\r\n{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
        OpenRequest(stream).read()
    }

    pub fn host(&self) -> String {
        format!("host: 127.0.0.1:{}", self.port)
    }

    pub fn get(&self, path: &str) -> HttpAnswer {
        self.raw(&format!("GET {path} HTTP/1.1"), &self.host(), "")
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(stream)
    }

    /// Sends one JSON-RPC request without waiting for the answer.
    pub fn send(&self, version: &str, method: &str, params: &Value) -> OpenRequest {
        self.try_send(version, method, params).unwrap()
    }

    /// The same to a server that may end at any moment, or has no room for the request.
    ///
    /// # Errors
    /// The connection was closed before all of it was written.
    pub fn try_send(&self, version: &str, method: &str, params: &Value) -> io::Result<OpenRequest> {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut head = format!(
            "{}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close",
            self.host()
        );
        if method != "initialize" {
            head += &format!("\r\nmcp-protocol-version: {version}\r\nmcp-method: {method}");
            if let Some(name) = params["name"].as_str().or(params["taskId"].as_str()) {
                head += &format!("\r\nmcp-name: {name}");
            }
        }
        let mut stream = self.connect()?;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        Ok(OpenRequest(stream))
    }

    pub fn call(&self, tool: &str, arguments: &Value) -> OpenRequest {
        self.send("2025-11-25", "tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    pub fn request(&self, version: &str, method: &str, params: &Value) -> Value {
        self.send(version, method, params).read().answer()
    }

    pub fn run(&self, tool: &str, arguments: &Value) -> Outcome {
        outcome(&self.call(tool, arguments).read().answer())
    }

    /// The same for a server that may end at any moment.
    ///
    /// # Errors
    /// There is no server, or it ended before the whole answer was there.
    pub fn try_run(&self, tool: &str, arguments: &Value) -> io::Result<Outcome> {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.try_send("2025-11-25", "tools/call", &params)?.try_read()?;
        Ok(outcome(&answer.answer()))
    }
}

impl OpenRequest {
    /// Waits until the server starts to answer.
    pub fn wait_for_bytes(&mut self) {
        assert_eq!(self.0.peek(&mut [0]).unwrap(), 1);
    }

    pub fn read(self) -> HttpAnswer {
        self.try_read().unwrap()
    }

    fn try_read(mut self) -> io::Result<HttpAnswer> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).unwrap();
        let cut_off = || io::Error::new(io::ErrorKind::UnexpectedEof, text.clone());
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut_off)?;
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        if length.is_some_and(|length| length.parse() != Ok(body.len())) {
            return Err(cut_off());
        }
        assert!(!head.contains("access-control"), "{head}");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.contains("transfer-encoding: chunked");
        let body = if chunked { join_chunks(body) } else { body.to_owned() };
        Ok(HttpAnswer { status, head, body })
    }
}

impl HttpAnswer {
    pub fn messages(&self) -> Vec<Value> {
        if self.head.contains("content-type: text/event-stream") {
            let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
            return data.map(|data| serde_json::from_str(data).unwrap()).collect();
        }
        vec![serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))]
    }

    /// The last message. Those before it are progress reports.
    pub fn answer(&self) -> Value {
        self.messages().pop().unwrap()
    }
}

fn join_chunks(mut body: &str) -> String {
    let mut joined = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        joined.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    joined
}
