//! Shows a session as it happens: in colour on a terminal, plain in a pipe, as JSON lines on request.

use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use mock_unity::session::Passing;
use protocol::{Json, printable, printable_json};
use serde_json::json;

/// Characters that are shown of one frame.
const FRAME_MAX: usize = 160;
/// Lines that may wait to be written. Further lines are dropped.
const WAITING_MAX: usize = 10_000;
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Coloured,
    Json,
}

impl Style {
    pub(crate) fn text() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && std::io::stdout().is_terminal() { Self::Coloured } else { Self::Plain }
    }
}

pub(crate) struct Display {
    style: Style,
    port: u16,
    /// The last problem of the connection.
    pub(crate) problem: String,
    /// Failed attempts to connect since the last success. Only the first is shown.
    failed: u64,
}

impl Display {
    pub(crate) fn new(style: Style, port: u16) -> Self {
        if style != Style::Json {
            write_line(&format!(
                "mock-unity connects to ws://127.0.0.1:{port}/unity; type \"help\" or \"quit\""
            ));
        }
        Self { style, port, problem: String::new(), failed: 0 }
    }

    pub(crate) fn show(&mut self, at: Duration, passing: Passing<'_>) {
        match passing {
            Passing::DialFailed(error) => {
                self.problem = printable(error, FRAME_MAX);
                self.failed += 1;
                if self.failed > 1 {
                    return;
                }
            }
            Passing::Connected => self.failed = 0,
            Passing::Tell(line) => self.problem = printable(line, FRAME_MAX),
            Passing::ToServer(_) | Passing::FromServer(_) | Passing::Binary(_) | Passing::Gone => {}
        }
        match self.style {
            Style::Json => write_line(&printable_json(&json_line(at, passing).to_string())),
            Style::Plain => write_line(&self.plain_line(at, passing)),
            Style::Coloured => {
                let colour = match passing {
                    Passing::ToServer(text) | Passing::FromServer(text) if is_heartbeat(text) => {
                        "2"
                    }
                    Passing::ToServer(_) | Passing::Binary(_) => "36",
                    Passing::FromServer(_) => "32",
                    Passing::Connected | Passing::Tell(_) => "33",
                    Passing::Gone | Passing::DialFailed(_) => "31",
                };
                write_line(&format!("\u{1b}[{colour}m{}\u{1b}[0m", self.plain_line(at, passing)));
            }
        }
    }

    fn plain_line(&self, at: Duration, passing: Passing<'_>) -> String {
        let (sign, text) = match passing {
            Passing::ToServer(frame) => ("->", brief(frame)),
            Passing::FromServer(frame) => ("<-", brief(frame)),
            Passing::Binary(bytes) => ("->", format!("binary frame of {bytes} bytes")),
            Passing::Connected => ("==", "connected".to_owned()),
            Passing::Gone => ("xx", "disconnected".to_owned()),
            Passing::DialFailed(error) => {
                let (error, port) = (printable(error, FRAME_MAX), self.port);
                let hint = format!("start a server with `unity-mcp --port {port}`");
                ("xx", format!("no connection ({error}); {hint}"))
            }
            Passing::Tell(line) => ("..", printable(line, FRAME_MAX)),
        };
        format!("{:>9.3}  {sign}  {text}", at.as_secs_f64())
    }
}

enum Item {
    Line(String),
    Flush(SyncSender<()>),
}

/// A separate thread writes, so that a closed or blocked stdout does not stop the mock.
fn items() -> &'static SyncSender<Item> {
    static ITEMS: OnceLock<SyncSender<Item>> = OnceLock::new();
    ITEMS.get_or_init(|| {
        let (items, waiting) = sync_channel(WAITING_MAX);
        std::thread::spawn(move || {
            for item in waiting {
                match item {
                    Item::Line(line) => writeln!(std::io::stdout(), "{line}").unwrap_or_default(),
                    Item::Flush(done) => done.send(()).unwrap_or_default(),
                }
            }
        });
        items
    })
}

pub(crate) fn write_line(line: &str) {
    items().try_send(Item::Line(line.to_owned())).unwrap_or_default();
}

/// Waits until the last lines are written, or until the timeout.
pub(crate) fn flush() {
    let (done, written) = sync_channel(1);
    if items().try_send(Item::Flush(done)).is_ok() {
        written.recv_timeout(FLUSH_TIMEOUT).unwrap_or_default();
    }
}

/// The message type, the request id, then the other fields.
fn brief(frame: &str) -> String {
    let parsed: Option<Json> = serde_json::from_str(frame).ok();
    let Some(Json::Object(mut fields)) = parsed else { return printable(frame, FRAME_MAX) };
    fields.remove("protocol_version");
    let kind = fields.remove("type");
    let kind = kind.as_ref().and_then(Json::as_str).unwrap_or("?").to_owned();
    let id = fields.remove("request_id");
    let id = id.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned();
    let rest = if fields.is_empty() { String::new() } else { Json::Object(fields).to_string() };
    let parts = [kind, id, rest];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    printable(&parts.join(" "), FRAME_MAX)
}

fn is_heartbeat(frame: &str) -> bool {
    frame.contains("\"type\":\"ping\"") || frame.contains("\"type\":\"pong\"")
}

fn json_line(at: Duration, passing: Passing<'_>) -> Json {
    let frame = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
    let (kind, what) = match passing {
        Passing::ToServer(text) => ("to_server", frame(text)),
        Passing::FromServer(text) => ("from_server", frame(text)),
        Passing::Binary(bytes) => ("binary", json!(bytes)),
        Passing::Connected => ("connected", Json::Null),
        Passing::Gone => ("disconnected", Json::Null),
        Passing::DialFailed(error) => ("no_connection", json!(error)),
        Passing::Tell(line) => ("tell", json!(line)),
    };
    json!({ "ms": u64::try_from(at.as_millis()).unwrap_or(u64::MAX), kind: what })
}
