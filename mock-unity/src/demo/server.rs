//! The server of the demo: its program, its process and its log.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::{Json, printable};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, Lines};
use tokio::process::{Child, Command};

use super::{at, say};
use crate::display::{Colour, write_error_line};

/// The server beside this program. `cargo run` builds it first, so that it is never an old one; without either, the
/// installed one.
pub(super) async fn find() -> Result<PathBuf, String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let is_workspace = workspace.exists();
    let builds = is_workspace && runs_under_cargo();
    if let Some(program) = beside().filter(|_| !builds) {
        return Ok(program);
    }
    if !is_workspace {
        return Ok(PathBuf::from("unity-mcp"));
    }
    // Not part of the tour, which is on stdout.
    write_error_line("Building the server. The first time this takes a few minutes.");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--package", "unity-mcp", "--message-format", "json-render-diagnostics"]);
    build.arg("--manifest-path").arg(&workspace);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    // `output()` would hide what cargo writes to stderr.
    let build = build.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
    let build = build.map_err(|error| format!("cargo does not start: {error}"))?;
    let built = build.wait_with_output().await.map_err(|error| error.to_string())?;
    if !built.status.success() {
        return Err("the server does not build; cargo says why above".to_owned());
    }
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let executable = messages.lines().find_map(|line| {
        let message: Json = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    });
    executable.ok_or_else(|| "cargo did not report where the server is".to_owned())
}

/// Whether `cargo run` started this program.
pub(super) fn runs_under_cargo() -> bool {
    std::env::var_os("CARGO").is_some()
}

fn beside() -> Option<PathBuf> {
    let name = format!("unity-mcp{}", std::env::consts::EXE_SUFFIX);
    let program = std::env::current_exe().ok()?.with_file_name(name);
    program.is_file().then_some(program)
}

pub(super) fn start(program: &Path, port: u16) -> Result<Child, String> {
    Command::new(program)
        .args(["--stdio", "--log-format", "json", "--port", &port.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{} does not start: {error}", program.display()))
}

/// What is shown of the server's log. It can change while the server runs.
pub(super) struct Shown {
    pub(super) whole_log: bool,
    /// The calls of agents.
    pub(super) calls: AtomicBool,
}

/// The port from the log of the server. The rest of the log is shown as `shown` says.
pub(super) async fn read_log(
    log: impl AsyncRead + Unpin + Send + 'static,
    shown: Arc<Shown>,
) -> Result<u16, String> {
    let mut lines = BufReader::new(log).lines();
    let mut seen = Vec::new();
    while let Ok(Some(line)) = lines.next_line().await {
        show(&line, &shown);
        let after = line.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
        if let Some(port) = after.and_then(|port| port.parse().ok()) {
            tokio::spawn(show_rest(lines, shown));
            return Ok(port);
        }
        seen.push(line);
    }
    Err(format!("the server ended at once: {}", printable(&seen.join(" | "), 400)))
}

async fn show_rest<R: AsyncRead + Unpin>(mut lines: Lines<BufReader<R>>, shown: Arc<Shown>) {
    while let Ok(Some(line)) = lines.next_line().await {
        show(&line, &shown);
    }
}

fn show(line: &str, shown: &Shown) {
    let Ok(line) = serde_json::from_str::<Json>(line) else { return };
    let message = at(&line, "/message");
    if shown.whole_log {
        let known = ["time", "level", "message"];
        let fields = line.as_object().into_iter().flatten();
        let fields = fields.filter(|(name, _)| !known.contains(&name.as_str()));
        let fields: String = fields.map(|(name, value)| format!(" {name}={value}")).collect();
        say("server", Colour::Faint, &format!("{} {message}{fields}", at(&line, "/level")));
    }
    if !shown.calls.load(Ordering::Relaxed) {
        return;
    }
    let (tool, took) = (at(&line, "/tool"), at(&line, "/elapsed_ms"));
    match message.as_str() {
        "agent connected" => {
            let (client, version) = (at(&line, "/client"), at(&line, "/version"));
            say("agent", Colour::Cyan, &format!("{client} {version} connected"));
        }
        "call succeeded" => {
            let waited = at(&line, "/waited_ms");
            let line = format!("{tool} -> ok after {took} ms, {waited} ms of them waiting");
            say("agent", Colour::Cyan, &line);
        }
        "call failed" => {
            let (code, guarantee) = (at(&line, "/code"), at(&line, "/guarantee"));
            let line = format!("{tool} -> {code} ({guarantee}) after {took} ms");
            say("agent", Colour::Red, &line);
        }
        "call rejected" => {
            say("agent", Colour::Red, &format!("{tool} -> {}, rejected", at(&line, "/code")));
        }
        _ => {}
    }
}
