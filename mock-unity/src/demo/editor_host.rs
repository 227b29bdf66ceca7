//! EditorHost, which runs the real plugin on Mono: its program, its process, and its JSON lines.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use protocol::Json;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::unity::RELOAD_TIME;
use super::unity_says;
use crate::display::write_line;

/// The exit code of `Host~/build` if there is no Mono and no way to install it.
const SKIPPED: i32 = 77;

/// Builds the program, unless the variable `EDITOR_HOST` names one.
pub(super) async fn find() -> Result<PathBuf, String> {
    let program = match std::env::var_os("EDITOR_HOST") {
        Some(given) => PathBuf::from(given),
        None => build().await?,
    };
    let mut version = Command::new("mono");
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
    match version.status().await {
        Ok(status) if status.success() => Ok(program),
        Ok(_) | Err(_) => Err(without_mono()),
    }
}

async fn build() -> Result<PathBuf, String> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unity-plugin/Host~");
    if !host.join("build").exists() {
        return Err(format!("{} is missing: --plugin needs the repository", host.display()));
    }
    write_line("Building the plugin for Mono. The first time this may install Mono.");
    let mut build = Command::new("bash");
    // What it says belongs to stderr, as with cargo.
    build.arg(host.join("build")).stdin(Stdio::null()).stdout(Stdio::null());
    let built = build.status().await.map_err(|error| format!("bash does not start: {error}"))?;
    match built.code() {
        Some(0) => Ok(host.join("out/EditorHost.exe")),
        Some(SKIPPED) => Err(without_mono()),
        Some(_) | None => Err("the plugin does not build; the compiler says why above".to_owned()),
    }
}

fn without_mono() -> String {
    "Mono is not installed, and --plugin needs it. Install it (on Debian and Ubuntu: apt-get install mono-mcs mono-runtime), \
     or run the demo without --plugin"
        .to_owned()
}

pub(super) struct EditorHost {
    process: Child,
    words: mpsc::Sender<String>,
    /// What EditorHost has noted, when it has ended.
    books: JoinHandle<Json>,
}

impl EditorHost {
    pub(super) fn start(program: &Path, port: u16) -> Result<Self, String> {
        let mut command = Command::new("mono");
        command.arg(program).args(["--json", "--port", &port.to_string()]);
        command.args(["--reload", &format!("{}ms", RELOAD_TIME.as_millis())]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C ends the demo, which then lets EditorHost quit.
        #[cfg(unix)]
        command.process_group(0);
        let mut process =
            command.spawn().map_err(|error| format!("mono does not start: {error}"))?;
        let streams = process.stdin.take().zip(process.stdout.take());
        let (stdin, stdout) = streams.ok_or("EditorHost has no stdio")?;
        let (words, received) = mpsc::channel(16);
        tokio::spawn(write_words(stdin, received));
        Ok(Self { process, words, books: tokio::spawn(read_lines(stdout)) })
    }

    pub(super) async fn order(&self, words: &str) {
        self.words.send(words.to_owned()).await.unwrap_or_default();
    }

    /// EditorHost checks what is typed, and explains its own words.
    pub(super) fn read_commands(&self) {
        let words = self.words.clone();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if words.blocking_send(line).is_err() {
                    return;
                }
            }
        });
    }

    pub(super) async fn closed(&self) {
        self.words.closed().await;
    }

    pub(super) async fn end(mut self) -> Result<String, String> {
        self.order("quit").await;
        let ended = self.process.wait().await.map_err(|error| error.to_string())?;
        if !ended.success() {
            return Err(format!("EditorHost ended with {ended}"));
        }
        let books = self.books.await.map_err(|error| error.to_string())?;
        let count = |name: &str| books.get(name).and_then(Json::as_u64).unwrap_or_default();
        let length = |name: &str| books.get(name).and_then(Json::as_array).map_or(0, Vec::len);
        Ok(format!(
            "{} requests arrived, {} of them ran a tool, {} arrived twice, {} domain reloads.",
            count("arrived"),
            length("executed"),
            length("arrived_twice"),
            count("reloads")
        ))
    }
}

/// Ends when EditorHost has ended, which closes the channel.
async fn write_words(mut stdin: ChildStdin, mut words: mpsc::Receiver<String>) {
    while let Some(line) = words.recv().await {
        let is_last = matches!(line.trim(), "quit" | "exit");
        if stdin.write_all(format!("{line}\n").as_bytes()).await.is_err() || is_last {
            return;
        }
    }
}

/// Shows what happens, and returns the last books.
async fn read_lines(stdout: impl AsyncRead + Unpin) -> Json {
    let mut lines = BufReader::new(stdout).lines();
    let mut books = Json::Null;
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(passing) = serde_json::from_str::<Json>(&line) else { continue };
        if let Some(told) = passing.get("tell").and_then(Json::as_str) {
            unity_says(told);
        } else if passing.get("connected").is_some() {
            unity_says("connected");
        } else if passing.get("disconnected").is_some() {
            unity_says("disconnected");
        } else if let Some(noted) = passing.get("books") {
            books = noted.clone();
        }
    }
    books
}
