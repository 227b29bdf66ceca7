//! One command as a process.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use harness::server::{Scratch, TIMEOUT, lines, program};
use harness::stop_signal::{StopSignal, with_own_console};
use serde_json::Value;

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// What it printed, which must be one JSON text in one line.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn assert_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(!self.stdout.contains('\u{1b}') && !self.stderr.contains('\u{1b}'), "{self:?}");
        self
    }
}

/// A command that runs.
pub(crate) struct Running {
    process: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    seen: String,
}

impl Running {
    pub(crate) fn start(flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program());
        command.args(flags).current_dir(std::env::temp_dir());
        // The tests must not use the token, the home or the colours of the person who runs them.
        command.env("UNITY_MCP_TOKEN_FILE", "/nowhere/token").env("HOME", "/nowhere");
        command.env_remove("WSL_DISTRO_NAME").env_remove("XDG_CONFIG_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        with_own_console(&mut command);
        prepare(&mut command);
        let mut process = command.spawn().unwrap();
        let (stdout, stderr) = (lines(process.stdout.take()), lines(process.stderr.take()));
        Self { process, stdout, stderr, seen: String::new() }
    }

    /// Waits for a line on stderr that contains `part`.
    pub(crate) fn wait_for(&mut self, part: &str) {
        loop {
            let line = self.stderr.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|_| panic!("no {part:?} in {:?}", self.seen));
            self.seen += &format!("{line}\n");
            if line.contains(part) {
                return;
            }
        }
    }

    /// What Ctrl-C does.
    pub(crate) fn interrupt(&self, signal: StopSignal) {
        signal.send(&self.process);
    }

    pub(crate) fn end(mut self) -> Ended {
        drop(self.process.stdin.take());
        let rest = |stream: &Receiver<String>| {
            let began = Instant::now();
            let mut text = String::new();
            while let Ok(line) = stream.recv_timeout(TIMEOUT * 2) {
                text += &format!("{line}\n");
                assert!(began.elapsed() < TIMEOUT * 4, "it does not end: {text}");
            }
            text
        };
        let (stdout, stderr) = (rest(&self.stdout), rest(&self.stderr));
        let code = self.process.wait().unwrap().code().unwrap();
        Ended { code, stdout, stderr: self.seen.clone() + &stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Killing fails if it has ended.
        self.process.kill().unwrap_or_default();
        self.process.wait().unwrap();
    }
}

pub(crate) fn run(flags: &[&str]) -> Ended {
    run_with(flags, |_| {})
}

pub(crate) fn run_with(flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Ended {
    Running::start(flags, prepare).end()
}

pub(crate) fn run_with_input(flags: &[&str], input: &str) -> Ended {
    let mut running = Running::start(flags, |_| {});
    // It may refuse its flags without reading.
    running.process.stdin.as_mut().unwrap().write_all(input.as_bytes()).unwrap_or_default();
    running.end()
}

/// `unity-mcp call` with these words, at this port.
pub(crate) fn call(port: u16, words: &[&str]) -> Ended {
    let port = port.to_string();
    run(&[&["call"], words, &["--port", &port]].concat())
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A folder that looks like a Unity project.
pub(crate) fn unity_project(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    for folder in ["Assets", "ProjectSettings", "Packages", "Library"] {
        std::fs::create_dir_all(scratch.0.join(folder)).unwrap();
    }
    let version = "m_EditorVersion: 2022.3.10f1\nm_EditorVersionWithRevision: 2022.3.10f1 (1)\n";
    std::fs::write(scratch.0.join("ProjectSettings/ProjectVersion.txt"), version).unwrap();
    let manifest = r#"{"dependencies":{"com.unity-mcp.editor":"file:../plugin"}}"#;
    std::fs::write(scratch.0.join("Packages/manifest.json"), manifest).unwrap();
    scratch
}
