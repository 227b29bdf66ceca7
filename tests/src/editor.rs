//! A program that plays a Unity Editor, seen through its JSON lines: mock-unity, or EditorHost, which runs the real plugin
//! on Mono. Both take the same words on stdin.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::agent::HttpAgent;
use crate::server::{Server, TIMEOUT, binary, lines};
use crate::stop_signal::with_own_console;
use crate::{editor_host, wire_check};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    MockUnity,
    EditorHost,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::MockUnity => "mock-unity",
            Self::EditorHost => "EditorHost",
        }
    }

    fn command(self) -> Command {
        match self {
            Self::MockUnity => Command::new(binary("mock-unity")),
            Self::EditorHost => {
                let mut command = Command::new("mono");
                command.arg(editor_host::find().unwrap());
                command
            }
        }
    }

    /// Starts it for the server on this port. Every frame that it sends must be right.
    pub fn start(self, port: u16, flags: &[&str]) -> Editor {
        self.start_with(port, flags, without_token)
    }

    pub fn start_with(
        self,
        port: u16,
        flags: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Editor {
        let port = port.to_string();
        let flags = [&["--json", "--port", &port], flags].concat();
        let mut editor = Editor::run(self, &flags, prepare);
        editor.is_checked = true;
        editor
    }

    /// A server, and an Editor that is connected to it.
    pub fn connected(self, server: &[&str], flags: &[&str]) -> (Server, HttpAgent, Editor) {
        let mut server = Server::start(server);
        let port = server.port();
        let mut editor = self.start(port, flags);
        editor.gets("capability");
        (server, HttpAgent { port }, editor)
    }
}

/// The tests must not use the token of the person who runs them.
pub fn without_token(command: &mut Command) {
    command.env("UNITY_MCP_TOKEN_FILE", "/nowhere");
}

/// A running Editor. It ends with the test, even if the test fails.
pub struct Editor {
    pub process: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    /// Whether the frames that it sends are checked.
    is_checked: bool,
}

impl Editor {
    /// Runs the program with these flags. Its frames are not checked.
    pub fn run(program: Program, flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = program.command();
        with_own_console(&mut command);
        prepare(&mut command);
        command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take();
        let (stdout, stderr) = (lines(process.stdout.take()), lines(process.stderr.take()));
        Self { process, stdin, stdout, stderr, is_checked: false }
    }

    pub fn type_line(&mut self, words: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{words}").unwrap();
    }

    pub fn type_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line of stdout; `None` if stdout is closed.
    pub fn line(&mut self) -> Option<String> {
        match self.stdout.recv_timeout(TIMEOUT) {
            Ok(line) => {
                if self.is_checked {
                    wire_check::check_line(&line).unwrap_or_else(|problem| panic!("{problem}"));
                }
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing was shown"),
        }
    }

    /// The next line of stdout as JSON.
    pub fn passing(&mut self) -> Option<Value> {
        self.line().map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Waits for a line that fits.
    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let passing = self.passing();
            let passing =
                passing.unwrap_or_else(|| panic!("the Editor has ended: {:?}", self.complaint()));
            if wanted(&passing) {
                return passing;
            }
        }
    }

    /// Waits until it sends a frame of this type.
    pub fn sends(&mut self, kind: &str) -> Value {
        self.wait_for(|passing| passing["to_server"]["type"] == kind)
    }

    /// Waits until it gets a frame of this type.
    pub fn gets(&mut self, kind: &str) -> Value {
        self.wait_for(|passing| passing["from_server"]["type"] == kind)
    }

    pub fn shows(&mut self, kind: &str) -> Value {
        self.wait_for(|passing| passing.get(kind).is_some())
    }

    /// Waits until it has obeyed every word before. It obeys them in order.
    pub fn obeys(&mut self) {
        self.type_line("status");
        self.wait_for(|passing| passing["tell"].to_string().contains("console entries"));
    }

    pub fn complaint(&mut self) -> String {
        self.stderr.recv_timeout(TIMEOUT).unwrap_or_default()
    }

    pub fn end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < TIMEOUT, "the Editor does not end");
            std::thread::sleep(Duration::from_millis(5)); // The standard library cannot wait for a process with a timeout.
        }
    }

    /// Lets it quit, and returns the lines that it has still shown.
    pub fn quit(&mut self) -> Vec<Value> {
        // Writing fails if it has ended.
        writeln!(self.stdin.as_mut().unwrap(), "quit").unwrap_or_default();
        std::iter::from_fn(|| self.passing()).collect()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if self.is_checked && !std::thread::panicking() {
            self.quit(); // The last frames are checked too.
        }
        // Killing fails if it has ended.
        self.process.kill().unwrap_or_default();
        self.process.wait().unwrap();
    }
}
