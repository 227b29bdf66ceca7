//! A running mock, seen through its JSON lines.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use harness::agent::HttpAgent;
use harness::server::{Server, TIMEOUT, binary, lines};
use serde_json::Value;

pub(crate) struct Mock {
    pub(crate) process: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Mock {
    pub(crate) fn start(port: u16, flags: &[&str]) -> Self {
        let port = port.to_string();
        let seed: &[&str] = if flags.contains(&"--seed") { &[] } else { &["--seed", "1"] };
        Self::run(&[&["--json", "--port", &port], seed, flags].concat())
    }

    pub(crate) fn run(flags: &[&str]) -> Self {
        // The tests must not use the token of the person who runs them.
        Self::run_with(flags, |command| {
            command.env("UNITY_MCP_TOKEN_FILE", "/nowhere");
        })
    }

    pub(crate) fn run_with(flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(binary("mock-unity"));
        prepare(&mut command);
        command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take();
        let (stdout, stderr) = (lines(process.stdout.take()), lines(process.stderr.take()));
        Self { process, stdin, stdout, stderr }
    }

    pub(crate) fn type_line(&mut self, words: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{words}").unwrap();
    }

    pub(crate) fn type_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line of stdout; `None` if stdout is closed.
    pub(crate) fn line(&mut self) -> Option<String> {
        match self.stdout.recv_timeout(TIMEOUT) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("nothing was shown"),
        }
    }

    /// Waits for a line that fits.
    pub(crate) fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line =
                self.line().unwrap_or_else(|| panic!("the mock has ended: {:?}", self.complaint()));
            let passing: Value = serde_json::from_str(&line).unwrap();
            if wanted(&passing) {
                return passing;
            }
        }
    }

    /// Waits until it sends a frame of this type.
    pub(crate) fn sends(&mut self, kind: &str) -> Value {
        self.wait_for(|passing| passing["to_server"]["type"] == kind)
    }

    pub(crate) fn shows(&mut self, kind: &str) -> Value {
        self.wait_for(|passing| passing.get(kind).is_some())
    }

    pub(crate) fn complaint(&mut self) -> String {
        self.stderr.recv_timeout(TIMEOUT).unwrap_or_default()
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < TIMEOUT, "the mock does not end");
            std::thread::sleep(Duration::from_millis(5)); // The standard library cannot wait for a process with a timeout.
        }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // Killing fails if it has ended.
        self.process.kill().unwrap_or_default();
        self.process.wait().unwrap();
    }
}

/// A server and a mock that is connected to it.
pub(crate) fn connected(server_flags: &[&str], mock_flags: &[&str]) -> (Server, HttpAgent, Mock) {
    let mut server = Server::start(server_flags);
    let port = server.port();
    let mut mock = Mock::start(port, mock_flags);
    mock.wait_for(|passing| passing["from_server"]["type"] == "capability");
    (server, HttpAgent { port }, mock)
}
