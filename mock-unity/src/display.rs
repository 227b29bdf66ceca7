//! Shows a session as it happens: in colour on a terminal, plain in a pipe, as JSON lines on request.

use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use mock_unity::session::{Closed, Passing};
use protocol::{Json, printable, printable_json};
use serde_json::json;

use crate::terminal::{self, columns, fit};

/// Characters of one frame that may be shown on a wide terminal.
const FRAME_MAX: usize = 2_000;
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
        if wanted && std::io::stdout().is_terminal() && terminal::shows_colours() {
            Self::Coloured
        } else {
            Self::Plain
        }
    }
}

/// Colours of a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Colour {
    Bold,
    Faint,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    /// The text in this colour, if the output has colours.
    pub(crate) fn paint(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Bold => 1,
            Colour::Faint => 2,
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Cyan => 36,
        };
        match self {
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain | Self::Json => text.to_owned(),
        }
    }
}

pub(crate) struct Display {
    style: Style,
    port: u16,
    /// Whether pings and pongs are shown. JSON lines always have them.
    heartbeats: bool,
    /// The last problem of the connection.
    pub(crate) problem: String,
    /// Failed attempts to connect since the last success. Only the first is shown.
    failed: u64,
}

impl Display {
    pub(crate) fn new(style: Style, port: u16, heartbeats: bool) -> Self {
        if style != Style::Json {
            write_line(&format!(
                "mock-unity connects to ws://127.0.0.1:{port}/unity; type \"help\" or \"quit\""
            ));
        }
        Self { style, port, heartbeats, problem: String::new(), failed: 0 }
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
            Passing::ToServer(frame) | Passing::FromServer(frame)
                if is_heartbeat(frame) && !self.heartbeats && self.style != Style::Json =>
            {
                return;
            }
            Passing::Gone(Some(closed)) => self.problem = closed_by(closed),
            Passing::ToServer(_)
            | Passing::FromServer(_)
            | Passing::Binary(_)
            | Passing::Gone(None) => {}
        }
        match self.style {
            Style::Json => write_line(&printable_json(&json_line(at, passing).to_string())),
            Style::Plain | Style::Coloured => {
                let colour = match passing {
                    Passing::ToServer(text) | Passing::FromServer(text) if is_heartbeat(text) => {
                        Colour::Faint
                    }
                    Passing::ToServer(_) | Passing::Binary(_) => Colour::Cyan,
                    Passing::FromServer(_) => Colour::Green,
                    Passing::Connected | Passing::Tell(_) => Colour::Yellow,
                    Passing::Gone(_) | Passing::DialFailed(_) => Colour::Red,
                };
                let line = fit(&self.plain_line(at, passing), columns());
                write_line(&self.style.paint(colour, &line));
            }
        }
    }

    fn plain_line(&self, at: Duration, passing: Passing<'_>) -> String {
        let (sign, text) = match passing {
            Passing::ToServer(frame) => ("->", brief(frame)),
            Passing::FromServer(frame) => ("<-", brief(frame)),
            Passing::Binary(bytes) => ("->", format!("binary frame of {bytes} bytes")),
            Passing::Connected => ("==", "connected".to_owned()),
            Passing::Gone(None) => ("xx", "disconnected".to_owned()),
            Passing::Gone(Some(closed)) => ("xx", closed_by(closed)),
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

/// What the close frame of the server says.
fn closed_by(Closed { code, reason }: Closed<'_>) -> String {
    let reason = if reason.is_empty() { "no reason given" } else { reason };
    format!("the server closed the connection: {code} {}", printable(reason, 200))
}

enum Item {
    Line(String),
    Flush(SyncSender<()>),
    PrintWith(Print),
}

/// Writes a line with its line end; false if it could not.
type Print = Box<dyn FnMut(String) -> bool + Send>;

/// A separate thread writes, so that a closed or blocked stdout does not stop the mock.
fn items() -> &'static SyncSender<Item> {
    static ITEMS: OnceLock<SyncSender<Item>> = OnceLock::new();
    ITEMS.get_or_init(|| {
        let (items, waiting) = sync_channel(WAITING_MAX);
        std::thread::spawn(move || {
            let mut print: Print =
                Box::new(|line| std::io::stdout().write_all(line.as_bytes()).is_ok());
            for item in waiting {
                match item {
                    // A closed stdout is no reason to end.
                    Item::Line(line) => drop(print(line + "\n")),
                    Item::PrintWith(other) => print = other,
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

/// If stderr is closed, the line is lost.
pub(crate) fn write_error_line(line: &str) {
    writeln!(std::io::stderr(), "{line}").unwrap_or_default();
}

/// From here on, lines are written by this function.
pub(crate) fn print_with(print: impl FnMut(String) -> bool + Send + 'static) {
    items().try_send(Item::PrintWith(Box::new(print))).unwrap_or_default();
}

/// Waits until the last lines are written, or until the timeout.
pub(crate) fn flush() {
    let (done, written) = sync_channel(1);
    if items().try_send(Item::Flush(done)).is_ok() {
        written.recv_timeout(FLUSH_TIMEOUT).unwrap_or_default();
    }
}

/// The message type, the request id, the tool, then the other fields.
fn brief(frame: &str) -> String {
    let parsed: Option<Json> = serde_json::from_str(frame).ok();
    let Some(Json::Object(mut fields)) = parsed else { return printable(frame, FRAME_MAX) };
    fields.remove("protocol_version");
    let mut take = |name: &str| match fields.remove(name) {
        Some(Json::String(text)) => text,
        Some(_) | None => String::new(),
    };
    let [kind, id, tool] = ["type", "request_id", "tool_name"].map(&mut take);
    let rest = if fields.is_empty() { String::new() } else { Json::Object(fields).to_string() };
    let parts = [kind, id, tool, rest];
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
        Passing::Gone(closed) => (
            "disconnected",
            closed.map_or(
                Json::Null,
                |Closed { code, reason }| json!({ "code": code, "reason": reason }),
            ),
        ),
        Passing::DialFailed(error) => ("no_connection", json!(error)),
        Passing::Tell(line) => ("tell", json!(line)),
    };
    json!({ "ms": u64::try_from(at.as_millis()).unwrap_or(u64::MAX), kind: what })
}
