//! What a command prints: results on stdout, progress and errors on stderr. Text of Unity is made safe for a terminal.

use std::io::{IsTerminal as _, Write as _};

use protocol::{Json, printable, printable_json};

use crate::budget::COMMAND_WIDTH_MAX;

/// Colours, for text that goes to [`print`]: it drops them where they are not wanted.
pub(super) const GREEN: &str = "\u{1b}[32m";
pub(super) const YELLOW: &str = "\u{1b}[33m";
pub(super) const RED: &str = "\u{1b}[31m";
pub(super) const RESET: &str = "\u{1b}[0m";

/// If stdout is closed, the exit code says how the command ended.
pub(super) fn print(text: &str) {
    let mut stdout = anstream::stdout();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).unwrap_or_default();
}

pub(super) fn complain(command: &str, message: &str) {
    let mut line = printable(&format!("unity-mcp {command}: {message}"), usize::MAX);
    if std::io::stderr().is_terminal() {
        line = wrapped(&line, "");
    }
    writeln!(anstream::stderr(), "{line}").unwrap_or_default();
}

/// Indented at a terminal, one line in a pipe.
pub(super) fn print_json(value: &Json) {
    let text = if std::io::stdout().is_terminal() {
        let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
        // No string of a JSON text has a line end of its own.
        pretty.lines().map(printable_json).collect::<Vec<_>>().join("\n")
    } else {
        printable_json(&value.to_string())
    };
    print(&format!("{text}\n"));
}

/// Columns that a text may have.
pub(super) fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.unwrap_or(COMMAND_WIDTH_MAX).min(COMMAND_WIDTH_MAX)
}

/// A text in several lines, each with this indent.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(width()).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(text, options)
}

/// Progress of a call: one line that is written again and again at a terminal, lines in a pipe.
pub(super) struct ProgressLine {
    shown: Shown,
    /// Before each report.
    label: String,
    is_dirty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nothing,
    Lines,
    OneLine,
}

impl ProgressLine {
    pub(super) fn new(is_quiet: bool) -> Self {
        let shown = match is_quiet {
            true => Shown::Nothing,
            false if std::io::stderr().is_terminal() => Shown::OneLine,
            false => Shown::Lines,
        };
        Self { shown, label: String::new(), is_dirty: false }
    }

    pub(super) fn silent() -> Self {
        Self::new(true)
    }

    pub(super) fn set_label(&mut self, label: &str) {
        self.label = format!("{label}: ");
    }

    pub(super) fn show(&mut self, report: &str) {
        // The last column stays free: some terminals wrap there.
        let room = width().saturating_sub(2);
        let label = &self.label;
        let written = match self.shown {
            Shown::Nothing => return,
            Shown::Lines => {
                let line = printable(&format!("{label}{report}"), usize::MAX);
                writeln!(anstream::stderr(), "{line}")
            }
            Shown::OneLine => {
                let line = printable(&format!("{label}{report}"), room);
                self.is_dirty = true;
                let mut stderr = anstream::stderr();
                write!(stderr, "\r{}\r{line}", " ".repeat(room)).and_then(|()| stderr.flush())
            }
        };
        written.unwrap_or_default();
    }

    /// The line is empty again.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_dirty) {
            let mut stderr = anstream::stderr();
            let blank = " ".repeat(width().saturating_sub(2));
            write!(stderr, "\r{blank}\r").and_then(|()| stderr.flush()).unwrap_or_default();
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}
