//! A person at a terminal: a line editor with history, and lines that fit.

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};
use unicode_width::UnicodeWidthChar as _;

use crate::display;

/// A line of text with more columns is cut if the width of the terminal is unknown, for example in a pipe.
const COLUMNS: usize = 160;

/// What a person has typed.
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
}

pub(crate) struct LineEditor(DefaultEditor);

impl LineEditor {
    /// `None` if stdin or stdout is not a terminal. From here on the output does not disturb the line being typed.
    pub(crate) fn open() -> Option<Self> {
        let mut editor = DefaultEditor::new().ok()?;
        let mut printer = editor.create_external_printer().ok()?;
        display::print_with(move |line| printer.print(line).is_ok());
        Some(Self(editor))
    }

    pub(crate) fn read(&mut self) -> Typed {
        match self.0.readline("> ") {
            Ok(line) => {
                // The history is a convenience.
                self.0.add_history_entry(line.as_str()).unwrap_or_default();
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupt,
            Err(_) => Typed::End,
        }
    }
}

/// An older console of Windows shows escape sequences as they are until it is asked to understand them.
pub(crate) fn shows_colours() -> bool {
    anstyle_query::windows::enable_ansi_colors() != Some(false)
}

/// How many columns a line may have now: a window can be resized.
pub(crate) fn columns() -> usize {
    terminal_size::terminal_size().map_or(COLUMNS, |(width, _)| usize::from(width.0).max(20))
}

/// Cuts a text to so many columns. Some characters have two.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let width = |character: char| character.width().unwrap_or(0);
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |character: &char| match left.checked_sub(width(*character)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Gives the terminal back as it was when the program ends in the middle of a line.
#[cfg(unix)]
pub(crate) struct SavedMode(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl SavedMode {
    pub(crate) fn save() -> Self {
        Self(rustix::termios::tcgetattr(std::io::stdin()).ok())
    }
}

#[cfg(unix)]
impl Drop for SavedMode {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(mode) = &self.0 {
            // A terminal that is gone needs no mode.
            tcsetattr(std::io::stdin(), OptionalActions::Now, mode).unwrap_or_default();
        }
    }
}

/// On other systems the shell resets the mode.
#[cfg(not(unix))]
pub(crate) struct SavedMode;

#[cfg(not(unix))]
impl SavedMode {
    pub(crate) fn save() -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_line_is_cut_by_columns() {
        assert_eq!(fit("hello", 5), "hello");
        assert_eq!(fit("hello", 4), "hel…");
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
    }
}
