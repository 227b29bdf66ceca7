//! Logger: the only place that writes logs, to stderr alone. It never waits: a thread writes the lines, so an unread
//! stderr stops neither the server nor its end.
//!
//! Every text is escaped, whatever field a peer's words stand in, and lines are rationed: a peer can
//! neither forge a line nor fill a disk.

mod line_queue;

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use protocol::{Json, Map, printable};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber, error};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::budget::{LOG_BURST_MAX, LOG_FLUSH_TIMEOUT, LOG_PER_SECOND, LOG_TEXT_MAX};
use crate::system;
use line_queue::LineQueue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text { has_colour: bool },
    Json,
}

/// Waits for the last lines when it is dropped.
pub struct Logger(Arc<LineQueue>);

/// From here on `tracing` writes here; once per process. `level` and `format` are words of the configuration.
pub fn start(level: &str, format: &str) -> Logger {
    let level: Level = level.parse().unwrap_or(Level::INFO);
    let format = match format {
        "json" => Format::Json,
        _ => Format::Text { has_colour: shows_colour() },
    };
    let lines = Arc::new(LineQueue::default());
    let waiting = lines.clone();
    std::thread::spawn(move || waiting.write_to(io::stderr()));
    let ration = Mutex::new(Ration::new(Instant::now()));
    let layer = Lines { format, lines: lines.clone(), ration };
    // rmcp warns of every error it answers with, and shows payloads below that.
    let targets = Targets::new().with_default(LevelFilter::ERROR).with_target("unity_mcp", level);
    Registry::default().with(layer.with_filter(targets)).init();
    // The default hook writes raw text, and waits for a stderr that is not read.
    std::panic::set_hook(Box::new(|panic| error!("a defect: {panic}")));
    Logger(lines)
}

/// On a terminal, unless the user does not want it (no-color.org).
fn shows_colour() -> bool {
    io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && system::shows_colours()
}

impl Drop for Logger {
    fn drop(&mut self) {
        // A stderr that is not read is not waited for.
        self.0.end(LOG_FLUSH_TIMEOUT);
    }
}

struct Lines {
    format: Format,
    lines: Arc<LineQueue>,
    ration: Mutex<Ration>,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut ration = self.ration.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left_out) = ration.take(Instant::now()) else { return };
        let level = *event.metadata().level();
        if left_out > 0 {
            let message = format!("{left_out} lines were left out: too many at once");
            self.write(level, &Fields { message, rest: Vec::new() });
        }
        let mut fields = Fields { message: String::new(), rest: Vec::new() };
        event.record(&mut fields);
        ration.pay_for(self.write(level, &fields));
    }
}

impl Lines {
    /// How many bytes it has.
    fn write(&self, level: Level, fields: &Fields) -> usize {
        let mut time = String::new();
        // Writing to a String does not fail.
        SystemTime.format_time(&mut Writer::new(&mut time)).unwrap_or_default();
        let line = match self.format {
            Format::Text { has_colour } => text_line(&time, level, fields, has_colour),
            Format::Json => json_line(&time, level, fields),
        };
        self.lines.push(&line);
        line.len()
    }
}

fn text_line(time: &str, level: Level, fields: &Fields, has_colour: bool) -> String {
    let (begin, end) = if has_colour { (colour(level), "\x1b[0m") } else { ("", "") };
    let mut line = format!("{time} {begin}{level:>5}{end} {}", fields.message);
    for (name, value) in &fields.rest {
        line.extend([" ", name, "="]);
        match value {
            Json::String(text) if text.is_empty() || !text.bytes().all(is_plain) => {
                // A text ends where it seems to end.
                let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
                line.extend(["\"", &quoted, "\""]);
            }
            Json::String(text) => line.push_str(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                line.push_str(&value.to_string());
            }
        }
    }
    line.push('\n');
    line
}

fn is_plain(sign: u8) -> bool {
    sign.is_ascii_alphanumeric() || b"._:-/".contains(&sign)
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[32m",
        Level::DEBUG => "\x1b[34m",
        Level::TRACE => "\x1b[35m",
    }
}

fn json_line(time: &str, level: Level, fields: &Fields) -> String {
    let head = [("time", time), ("level", level.as_str()), ("message", &fields.message)];
    let head = head.map(|(name, text)| (name.to_owned(), Json::from(text)));
    let mut line = Map::from_iter(head);
    line.extend(fields.rest.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    format!("{}\n", Json::Object(line))
}

/// What an event says, every text made printable.
struct Fields {
    message: String,
    rest: Vec<(&'static str, Json)>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: Json) {
        self.rest.push((field.name(), value));
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, printable(value, LOG_TEXT_MAX).into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = printable(&format!("{value:?}"), LOG_TEXT_MAX);
        if field.name() == "message" {
            self.message = text;
        } else {
            self.add(field, text.into());
        }
    }
}

/// A bucket of lines that fills slowly.
struct Ration {
    lines: f64,
    filled: Instant,
    left_out: u64,
}

impl Ration {
    fn new(now: Instant) -> Self {
        Self { lines: LOG_BURST_MAX, filled: now, left_out: 0 }
    }

    /// Whether one more line may be written, and how many were left out before it.
    fn take(&mut self, now: Instant) -> Option<u64> {
        let grown = now.saturating_duration_since(self.filled).as_secs_f64() * LOG_PER_SECOND;
        self.lines = (self.lines + grown).min(LOG_BURST_MAX);
        self.filled = now;
        if self.lines < 1.0 {
            self.left_out += 1;
            return None;
        }
        self.lines -= 1.0;
        Some(std::mem::take(&mut self.left_out))
    }

    /// A long line counts as several.
    fn pay_for(&mut self, bytes: usize) {
        let kilobytes = u32::try_from(bytes / 1_000).unwrap_or(u32::MAX);
        self.lines -= f64::from(kilobytes);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use protocol::Json;
    use tracing::Level;

    use super::{Fields, Ration, json_line, text_line};

    #[test]
    fn a_flood_is_cut_to_the_ration_and_counted() {
        let start = Instant::now();
        let mut ration = Ration::new(start);
        let taken = (0..5_000).filter(|_| ration.take(start).is_some()).count();
        assert_eq!(taken, 1_000);
        assert_eq!(ration.take(start + Duration::from_millis(500)), Some(4_000));
        let taken = (0..5_000).filter(|_| ration.take(start + Duration::from_secs(1)).is_some());
        assert_eq!(taken.count(), 99);
        let mut ration = Ration::new(start);
        let long = std::iter::from_fn(|| ration.take(start).map(|_| ration.pay_for(9_999)));
        assert_eq!(long.count(), 100);
    }

    #[test]
    fn a_line_has_one_form_for_people_and_one_for_programs() {
        let rest = vec![
            ("call", Json::from(7)),
            ("holder", Json::from("a \"b\"")),
            ("request_id", Json::from("req-a-1")),
        ];
        let fields = Fields { message: "call failed".to_owned(), rest };
        assert_eq!(
            text_line("T", Level::INFO, &fields, false),
            "T  INFO call failed call=7 holder=\"a \\\"b\\\"\" request_id=req-a-1\n"
        );
        assert_eq!(
            json_line("T", Level::WARN, &fields),
            "{\"time\":\"T\",\"level\":\"WARN\",\"message\":\"call failed\",\"call\":7,\"holder\":\"a \\\"b\\\"\",\"request_id\":\"req-a-1\"}\n"
        );
    }

    #[test]
    fn a_line_on_a_terminal_has_a_coloured_level() {
        let fields = Fields { message: "hello".to_owned(), rest: Vec::new() };
        let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        let lines = levels.map(|level| text_line("T", level, &fields, true));
        assert_eq!(lines[0], "T \u{1b}[31mERROR\u{1b}[0m hello\n");
        assert!(lines.iter().all(|line| lines.iter().filter(|other| *other == line).count() == 1));
    }

    #[test]
    fn no_text_ends_before_its_end() {
        let rest = vec![("name", Json::from("x\\\" code=FORGED"))];
        let line =
            text_line("T", Level::INFO, &Fields { message: "hello".to_owned(), rest }, false);
        assert_eq!(line.trim_end(), r#"T  INFO hello name="x\\\" code=FORGED""#);
    }
}
