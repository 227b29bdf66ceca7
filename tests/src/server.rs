//! Starting the real server and watching it from outside.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nothing here takes so long unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// What an agent and a process may take, by the contract.
pub const END_MAX: Duration = Duration::from_secs(2);

/// The server that `UNITY_MCP` names; without it the one of this workspace, built by cargo if it is not current.
pub fn program() -> &'static PathBuf {
    static GIVEN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let given = GIVEN.get_or_init(|| std::env::var_os("UNITY_MCP").map(PathBuf::from));
    given.as_ref().unwrap_or_else(|| binary("unity-mcp"))
}

/// A program of the workspace.
pub fn binary(name: &str) -> &'static PathBuf {
    static PROGRAMS: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        // The whole workspace, as the tests are built: else dependencies are built twice.
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

/// A running server. It is killed when the test ends, however it ends.
pub struct Server {
    pub process: Child,
    log: Receiver<String>,
    seen: Vec<String>,
    port: Option<u16>,
}

impl Server {
    /// On a free port, with these flags beside.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_with(&[&["--port", "0"], flags].concat(), |_| {})
    }

    pub fn start_with(flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program());
        command.args(flags).current_dir(std::env::temp_dir());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command);
        let mut process = command.spawn().unwrap();
        let log = lines(process.stderr.take());
        Self { process, log, seen: Vec::new(), port: None }
    }

    /// The port it says that it listens on.
    pub fn port(&mut self) -> u16 {
        if self.port.is_none() {
            let line = self.wait_for_line("listening on http://127.0.0.1:");
            let after = line.split("http://127.0.0.1:").nth(1).unwrap();
            self.port = after.split('/').next().unwrap().parse().ok();
        }
        self.port.unwrap()
    }

    /// The next line of the log with `part` in it; lines before it are kept in `log`.
    pub fn wait_for_line(&mut self, part: &str) -> String {
        let until = Instant::now() + PATIENCE;
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

    /// Waits for the end; how long it took and how it ended.
    pub fn wait_for_end(&mut self) -> (Duration, ExitStatus) {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return (began.elapsed(), status);
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(5)); // A process has no channel to wait on.
        }
    }

    /// The end that the contract promises.
    pub fn assert_ends_cleanly(&mut self) {
        let (took, status) = self.wait_for_end();
        assert_eq!(status.code(), Some(0), "{:#?}", self.whole_log());
        assert!(took < END_MAX, "took {took:?}: {:#?}", self.whole_log());
    }

    /// Everything it has written to stderr, once it has ended.
    pub fn whole_log(&mut self) -> Vec<String> {
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return self.seen.clone(),
                Err(RecvTimeoutError::Timeout) => panic!("stderr is still open: {:#?}", self.seen),
            }
        }
    }

    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        self.process.kill().unwrap_or_default();
        self.process.wait().unwrap();
    }
}

/// The lines of a stream as they come; none if there is no stream.
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

/// Runs the program to its end: code, stdout, stderr.
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

/// A directory of this test alone, gone with it.
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
