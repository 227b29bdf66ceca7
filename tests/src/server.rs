//! A real server process, seen from outside.

use std::collections::BTreeMap;
use std::env::consts::EXE_EXTENSION;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::stop_signal::{StopSignal, with_own_console};

/// Longer than any step takes, unless it hangs.
pub const TIMEOUT: Duration = Duration::from_secs(15);

/// How long the server may take to end.
pub const END_MAX: Duration = Duration::from_secs(2);

/// The server that the variable `UNITY_MCP` names. Without it, cargo builds the one of this workspace.
pub fn program() -> &'static PathBuf {
    static GIVEN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let given = GIVEN.get_or_init(|| std::env::var_os("UNITY_MCP").map(PathBuf::from));
    given.as_ref().unwrap_or_else(|| binary("unity-mcp"))
}

/// The path of a program of this workspace. Cargo builds it, unless the variable `TEST_PROGRAMS` names the directory
/// with the programs: under Wine there is no cargo.
pub fn binary(name: &str) -> &'static PathBuf {
    static PROGRAMS: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| {
        if let Some(directory) = std::env::var_os("TEST_PROGRAMS").map(PathBuf::from) {
            let path = |name: &str| directory.join(name).with_extension(EXE_EXTENSION);
            return ["unity-mcp", "mock-unity"].map(|name| (name.to_owned(), path(name))).into();
        }
        let mut build = Command::new(env!("CARGO"));
        // With fewer packages, cargo would unite other features and build the dependencies again.
        build.args(["build", "--workspace", "--bins", "--message-format", "json"]);
        let built = build.stderr(Stdio::inherit()).output().unwrap();
        assert!(built.status.success(), "the programs do not build");
        let messages = String::from_utf8(built.stdout).unwrap();
        let executables = messages.lines().filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            let path = message["executable"].as_str().map(PathBuf::from)?;
            Some((message["target"]["name"].as_str()?.to_owned(), path))
        });
        executables.collect()
    });
    programs.get(name).unwrap()
}

/// A running server. It is killed when the test ends, even if the test fails.
pub struct Server {
    pub process: Child,
    log: Receiver<String>,
    seen: Vec<String>,
    port: Option<u16>,
}

impl Server {
    /// Starts it on a free port, with these flags.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_with(&[&["--port", "0"], flags].concat(), |_| {})
    }

    pub fn start_with(flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program());
        command.args(flags);
        Self::spawn(command, prepare)
    }

    /// Starts it with at most so many open files.
    #[cfg(unix)]
    pub fn start_with_descriptors(max: u32, flags: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {max} && exec \"$0\" \"$@\"")]);
        command.arg(program()).args(flags);
        Self::spawn(command, |_| {})
    }

    fn spawn(mut command: Command, prepare: impl FnOnce(&mut Command)) -> Self {
        command.current_dir(std::env::temp_dir());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        with_own_console(&mut command);
        prepare(&mut command);
        let mut process = command.spawn().unwrap();
        let log = lines(process.stderr.take());
        Self { process, log, seen: Vec::new(), port: None }
    }

    /// The port, as its log says.
    pub fn port(&mut self) -> u16 {
        if self.port.is_none() {
            let line = self.wait_for_line("listening on http://127.0.0.1:");
            let after = line.split("http://127.0.0.1:").nth(1).unwrap();
            self.port = after.split('/').next().unwrap().parse().ok();
        }
        self.port.unwrap()
    }

    /// Waits for the next line of the log that contains `part`.
    pub fn wait_for_line(&mut self, part: &str) -> String {
        let until = Instant::now() + TIMEOUT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.log.recv_timeout(left) else {
                panic!("no line with {part:?} in {:#?}", self.seen);
            };
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits for the end. Returns how long it took and the exit status.
    pub fn wait_for_end(&mut self) -> (Duration, ExitStatus) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return (began.elapsed(), status);
            }
            assert!(began.elapsed() < TIMEOUT, "the server does not end");
            std::thread::sleep(Duration::from_millis(5)); // The standard library cannot wait for a process with a timeout.
        }
    }

    /// Checks that it ends in time and with exit code 0.
    pub fn assert_ends_cleanly(&mut self) {
        let (took, status) = self.wait_for_end();
        assert_eq!(status.code(), Some(0), "{:#?}", self.whole_log());
        assert!(took < END_MAX, "took {took:?}: {:#?}", self.whole_log());
    }

    /// Everything that it has written to stderr. Call it after the end.
    pub fn whole_log(&mut self) -> Vec<String> {
        loop {
            match self.log.recv_timeout(TIMEOUT) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.seen.clone(),
                Err(RecvTimeoutError::Timeout) => panic!("stderr is still open: {:#?}", self.seen),
            }
        }
    }

    pub fn stop(&self, signal: StopSignal) {
        signal.send(&self.process);
    }

    /// Sends any signal by its name.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Killing fails if it has ended.
        self.process.kill().unwrap_or_default();
        self.process.wait().unwrap();
    }
}

/// The lines of a stream, as they arrive.
pub fn lines(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let Some(stream) = stream else { return };
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            if sender.send(String::from_utf8(line).unwrap()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs the server to its end. Returns exit code, stdout and stderr.
pub fn run(flags: &[&str], directory: &std::path::Path) -> (i32, String, String) {
    let output = Command::new(program())
        .args(flags)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A directory for one test, removed when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("unity-mcp-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
