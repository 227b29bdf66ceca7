//! A server with a plugin that answers, and the checks after an attack.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use harness::agent::{HttpAgent, StdioAgent};
use harness::server::{Server, TIMEOUT};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Characters that hide text or change how the text around them is shown. Attacks use them.
pub(crate) const ODD: [char; 19] = [
    '\u{ad}',
    '\u{34f}',
    '\u{61c}',
    '\u{180e}',
    '\u{200b}',
    '\u{200e}',
    '\u{200f}',
    '\u{2028}',
    '\u{2029}',
    '\u{202a}',
    '\u{202e}',
    '\u{2066}',
    '\u{2069}',
    '\u{3164}',
    '\u{fe0f}',
    '\u{feff}',
    '\u{1d173}',
    '\u{e0041}',
    '\u{e0100}',
];

/// The memory in KiB that an attack may take, above the start.
const MEMORY_MAX_KIB: u64 = 64 * 1024;
/// The memory in KiB that the server may keep after an attack, above the start.
const KEPT_MAX_KIB: u64 = 32 * 1024;
/// How long a call may take after the attack.
const CALL_MAX: Duration = Duration::from_secs(1);
/// How long the server may take to close descriptors. It drops a connection that does not read after 30 seconds.
const BACK_MAX: Duration = Duration::from_secs(40);

pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) port: u16,
    pub(crate) agent: Option<StdioAgent>,
    editor: Option<Editor>,
    /// The most log lines that an attack may cause.
    pub(crate) log_lines_max: usize,
    memory: Option<u64>,
    descriptors: Option<usize>,
}

impl Bench {
    /// A server for HTTP and stdio with an Editor that is ready.
    pub(crate) fn new() -> Self {
        Self::with(&["--stdio", "--port", "0"])
    }

    pub(crate) fn with(flags: &[&str]) -> Self {
        let mut server = Server::start_with(flags, |_| {});
        let agent = StdioAgent::new(&mut server);
        let port = server.port();
        let mut bench = Self {
            server,
            port,
            agent: Some(agent),
            editor: None,
            log_lines_max: 50_000,
            memory: None,
            descriptors: None,
        };
        bench.start_editor();
        bench.call();
        (bench.memory, bench.descriptors) = (bench.figure("VmRSS:"), bench.count_descriptors());
        bench
    }

    pub(crate) fn start_editor(&mut self) {
        self.editor = Some(Editor::start(self.port));
    }

    /// Disconnects the Editor, so that another one can connect.
    pub(crate) fn end_editor(&mut self) {
        drop(self.editor.take());
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// A socket with the smallest kernel buffers: what the peer does not read stays in the server.
    pub(crate) fn connect_narrowly(&self) -> TcpStream {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(2_048).unwrap();
        #[cfg(target_os = "linux")]
        socket.set_tcp_mss(200).unwrap();
        socket.connect(&std::net::SocketAddr::from(([127, 0, 0, 1], self.port)).into()).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        socket.set_write_timeout(Some(TIMEOUT)).unwrap();
        socket.into()
    }

    /// Sends bytes as they are. Returns the status of the answer; 0 if the server closed without one.
    pub(crate) fn status_of(&self, request: &[u8]) -> u16 {
        let mut stream = self.connect();
        // The server may reject it before everything is sent.
        stream.write_all(request).unwrap_or_default();
        status(&mut stream)
    }

    /// Makes one call that Unity answers. Returns how long it took.
    pub(crate) fn call(&mut self) -> Duration {
        let began = Instant::now();
        let http = HttpAgent { port: self.port };
        loop {
            let outcome = http.run("read_console", &json!({ "max_entries": 1 }));
            match outcome {
                Ok(console) => {
                    assert_eq!(console["entries"][0]["message"], "all is well");
                    return began.elapsed();
                }
                // The Editor is reconnecting.
                Err(error) if began.elapsed() < TIMEOUT => {
                    assert_eq!(error["details"]["execution_guarantee"], "not_executed", "{error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Checks the server after the attack. Returns the peak of its memory and what it keeps, in KiB above the start.
    pub(crate) fn finish(mut self) -> Option<(u64, u64)> {
        if self.editor.as_ref().is_none_or(|editor| editor.has_ended()) {
            self.start_editor();
            self.call();
        }
        assert!(self.server.process.try_wait().unwrap().is_none(), "the process has ended");
        let took = self.call();
        assert!(took < CALL_MAX, "a call took {took:?}");
        let peak =
            self.figure("VmHWM:").zip(self.memory).map(|(peak, start)| peak.saturating_sub(start));
        assert!(
            peak.is_none_or(|peak| peak < MEMORY_MAX_KIB),
            "{peak:?} KiB more than at the start"
        );
        if let Some(descriptors) = self.descriptors {
            let began = Instant::now();
            while self.count_descriptors().is_some_and(|now| now > descriptors + 1) {
                assert!(
                    began.elapsed() < BACK_MAX,
                    "{:?} descriptors of {descriptors}",
                    self.count_descriptors()
                );
                std::thread::sleep(Duration::from_millis(20)); // The kernel does not notify.
            }
        }
        let kept =
            self.figure("VmRSS:").zip(self.memory).map(|(now, start)| now.saturating_sub(start));
        assert!(kept.is_none_or(|kept| kept < KEPT_MAX_KIB), "{kept:?} KiB are still taken");
        self.end_editor();
        let mut agent = self.agent.take().unwrap();
        agent.close_stdin(); // This ends the server.
        self.server.wait_for_end();
        assert_eq!(agent.rest(), Vec::<Value>::new(), "unexpected answers");
        let log = self.server.whole_log();
        assert!(log.len() <= self.log_lines_max, "{} lines", log.len());
        for line in log {
            let is_odd = |sign: char| sign.is_control() || ODD.contains(&sign);
            assert!(!line.contains(is_odd), "{line:?}");
            let begins = line.split('T').next().unwrap_or_default();
            assert!(
                begins.len() == 10 && begins.starts_with("20"),
                "one event, one line: {line:?}"
            );
        }
        peak.zip(kept)
    }

    fn figure(&self, name: &str) -> Option<u64> {
        figure_of(&self.server, name)
    }

    pub(crate) fn count_descriptors(&self) -> Option<usize> {
        Some(std::fs::read_dir(format!("/proc/{}/fd", self.server.process.id())).ok()?.count())
    }
}

/// A value of /proc/PID/status in KiB. `None` on other systems.
pub(crate) fn figure_of(server: &Server, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).ok()?;
    status.split(name).nth(1)?.split_whitespace().next()?.parse().ok()
}

/// The status of an answer; 0 if there is none.
pub(crate) fn status(stream: &mut TcpStream) -> u16 {
    let mut head = String::new();
    let mut byte = [0];
    while !head.ends_with("\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.write_char(char::from(byte[0])).unwrap(),
            Ok(_) | Err(_) => return 0,
        }
    }
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// A plugin in a separate thread that answers every request.
pub(crate) struct Editor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Editor {
    fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let mut socket = dial(port);
        say(
            &mut socket,
            &json!({
                "type": "hello", "plugin_version": "0.1.0", "state": "ready", "editor_instance_id": "bench",
            }),
        );
        socket.get_mut().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match socket.read() {
                    Ok(Message::Text(text)) => {
                        if let Some(answer) = answer(&serde_json::from_str(&text).unwrap()) {
                            say(&mut socket, &answer);
                        }
                    }
                    Ok(_) => {}
                    Err(tungstenite::Error::Io(error))
                        if matches!(
                            error.kind(),
                            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                        ) => {}
                    Err(_) => return,
                }
            }
            socket.close(None).unwrap_or_default();
            while socket.read().is_ok() {}
        });
        Self { stop, thread: Some(thread) }
    }

    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn answer(frame: &Value) -> Option<Value> {
    let id = &frame["request_id"];
    match frame["type"].as_str()? {
        "ping" => Some(json!({ "type": "pong" })),
        "execute" => {
            let entries = json!([{ "type": "log", "message": "all is well", "stack_trace": "" }]);
            let result = json!({ "entries": entries, "count": 1, "truncated": false });
            Some(json!({ "type": "result", "request_id": id, "status": "ok", "result": result }))
        }
        _ => None,
    }
}

pub(crate) type Socket = WebSocket<TcpStream>;

pub(crate) fn dial(port: u16) -> Socket {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    stream.set_nodelay(true).unwrap();
    tungstenite::client(format!("ws://127.0.0.1:{port}/unity"), stream).unwrap().0
}

pub(crate) fn say(socket: &mut Socket, message: &Value) {
    let mut message = message.clone();
    message["protocol_version"] = json!(1);
    // The server may have closed the socket.
    socket.send(Message::text(message.to_string())).unwrap_or_default();
}
