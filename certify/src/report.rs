//! Report: what a person or a program reads. One line per check as it ends, then the frames of the failures.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};
use textwrap::{Options, fill};

use crate::check::{Needs, Stop, Topic, Verdict};
use crate::checks::{TOPICS, whole_run};
use crate::record::{Entry, Record};

/// Lines of a failure. The first ones are left out.
const FRAMES_MAX: usize = 40;
/// Columns in a pipe.
const COLUMNS: usize = 120;
const COLUMNS_MAX: usize = 140;
/// The column where the sentences begin.
const INDENT: usize = 13;

pub(crate) struct Report {
    style: Style,
    topic: &'static str,
    verdicts: Vec<Verdict>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Coloured,
    Json,
}

#[derive(Clone, Copy)]
enum Colour {
    Bold = 1,
    Faint = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

impl Style {
    fn paint(self, colour: Colour, text: &str) -> String {
        match self {
            Self::Coloured => format!("\u{1b}[{}m{text}\u{1b}[0m", colour as u8),
            Self::Plain | Self::Json => text.to_owned(),
        }
    }
}

/// How many checks ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) not_tried: usize,
}

impl Report {
    pub(crate) fn new(is_json: bool) -> Self {
        let wants_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // An older console of Windows shows escape sequences as they are until it is asked to understand them.
        let has_colour = || anstyle_query::windows::enable_ansi_colors() != Some(false);
        let wants_colour = wants_colour && std::io::stdout().is_terminal() && has_colour();
        let style = match (is_json, wants_colour) {
            (true, _) => Style::Json,
            (false, true) => Style::Coloured,
            (false, false) => Style::Plain,
        };
        Self { style, topic: "", verdicts: Vec::new() }
    }

    pub(crate) fn listening(&self, port: u16, wait: Duration) {
        if self.style == Style::Json {
            return say(&json!({ "port": port }).to_string());
        }
        say(&format!(
            "Listening on ws://127.0.0.1:{port}/unity. Waiting up to {} s for a plugin.",
            wait.as_secs()
        ));
    }

    /// Shows how a check ended.
    pub(crate) fn add(&mut self, verdict: Verdict, record: &Record) {
        if self.style == Style::Json {
            say(&as_json(&verdict, record).to_string());
        } else {
            if self.topic != verdict.topic {
                self.topic = verdict.topic;
                say(&format!("\n{}", self.style.paint(Colour::Bold, verdict.topic)));
            }
            say(&self.row(&verdict));
        }
        self.verdicts.push(verdict);
    }

    fn row(&self, verdict: &Verdict) -> String {
        let (word, colour, sentence) = match &verdict.outcome {
            Ok(sentence) => ("passed", Colour::Green, sentence),
            Err(Stop::Failed(sentence)) => ("failed", Colour::Red, sentence),
            Err(Stop::NotTried(sentence)) => ("not tried", Colour::Yellow, sentence),
        };
        let indent = " ".repeat(INDENT);
        let text = format!("{}: {sentence}", verdict.name);
        let text =
            fill(&text, Options::new(columns()).initial_indent(&indent).subsequent_indent(&indent));
        let word = format!("  {word:<11}");
        text.replacen(&indent, &self.style.paint(colour, &word), 1)
    }

    /// Shows the frames of the failures and the summary.
    pub(crate) fn finish(&self, record: &Record) -> Counts {
        let counts = self.counts();
        let Counts { passed, failed, not_tried } = counts;
        if self.style == Style::Json {
            let summary = json!({ "passed": passed, "failed": failed, "not_tried": not_tried });
            say(&summary.to_string());
            return counts;
        }
        for verdict in &self.verdicts {
            if let Err(Stop::Failed(sentence)) = &verdict.outcome {
                self.show_failure(verdict, sentence, record);
            }
        }
        let colour = if failed == 0 { Colour::Green } else { Colour::Red };
        let summary = format!("{passed} passed, {failed} failed, {not_tried} not tried");
        say(&format!("\n{}", self.style.paint(colour, &summary)));
        counts
    }

    fn show_failure(&self, verdict: &Verdict, sentence: &str, record: &Record) {
        say(&format!("\n{}", self.style.paint(Colour::Red, verdict.name)));
        say(&fill(sentence, Options::new(columns()).initial_indent("  ").subsequent_indent("  ")));
        let left_out = verdict.frames.len().saturating_sub(FRAMES_MAX);
        if left_out > 0 {
            say(&self.style.paint(Colour::Faint, &format!("  … {left_out} earlier lines")));
        }
        for entry in entries(verdict, record) {
            let Entry { at, socket, fact, text } = entry;
            let socket = if *socket == 0 { String::new() } else { format!("#{socket}") };
            let start = format!("  {:>8.3}  {:<7} {socket:<4}", at.as_secs_f64(), fact.direction());
            say(&format!("{} {text}", self.style.paint(Colour::Faint, &start)));
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for verdict in &self.verdicts {
            match &verdict.outcome {
                Ok(_) => counts.passed += 1,
                Err(Stop::Failed(_)) => counts.failed += 1,
                Err(Stop::NotTried(_)) => counts.not_tried += 1,
            }
        }
        counts
    }
}

fn entries<'a>(verdict: &Verdict, record: &'a Record) -> impl Iterator<Item = &'a Entry> {
    let left_out = verdict.frames.len().saturating_sub(FRAMES_MAX);
    let indices: Vec<usize> = verdict.frames.iter().skip(left_out).copied().collect();
    indices.into_iter().filter_map(|index| record.get(index))
}

fn as_json(verdict: &Verdict, record: &Record) -> Value {
    let (word, sentence) = match &verdict.outcome {
        Ok(sentence) => ("passed", sentence),
        Err(Stop::Failed(sentence)) => ("failed", sentence),
        Err(Stop::NotTried(sentence)) => ("not_tried", sentence),
    };
    let mut line = json!({
        "topic": verdict.topic, "check": verdict.name, "outcome": word, "sentence": sentence,
    });
    if let (Err(Stop::Failed(_)), Some(line)) = (&verdict.outcome, line.as_object_mut()) {
        let frames = entries(verdict, record).map(|entry| {
            let at_ms = u64::try_from(entry.at.as_millis()).unwrap_or(u64::MAX);
            json!({
                "at_ms": at_ms, "socket": entry.socket, "from": entry.fact.direction(),
                "text": entry.text,
            })
        });
        line.insert("frames".to_owned(), frames.collect());
    }
    line
}

/// Asks the person to do something in Unity. On stderr: stdout may be read by a program.
pub(crate) fn ask(sentence: &str, wait: Duration) {
    let line = format!("\n>>> {sentence} (waiting up to {} s)", wait.as_secs());
    // Nobody reads it if stderr is closed, and the check then says so.
    writeln!(std::io::stderr(), "{line}").unwrap_or_default();
}

/// All checks, for `--list`.
pub(crate) fn list(is_json: bool) {
    let row = |topic: &str, name: &str, needs: &str| {
        if is_json {
            say(&json!({ "topic": topic, "check": name, "needs": needs }).to_string());
        } else {
            let needs = if needs.is_empty() { String::new() } else { format!(" ({needs})") };
            say(&format!("  {name}{needs}"));
        }
    };
    let heading = |title: &str| {
        if !is_json {
            say(title);
        }
    };
    for Topic { title, checks } in TOPICS.iter().copied() {
        heading(title);
        for check in *checks {
            let needs = match check.needs {
                Needs::Nothing => "",
                Needs::Driver => "needs a driver",
                Needs::DriverOrPerson => "needs a driver or a person",
            };
            row(title, check.name, needs);
        }
    }
    heading(whole_run::TITLE);
    for (_, name) in whole_run::RULES {
        row(whole_run::TITLE, name, "");
    }
}

fn columns() -> usize {
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0).max(40));
    width.unwrap_or(COLUMNS).min(COLUMNS_MAX)
}

fn say(line: &str) {
    // If stdout is closed, the exit code remains.
    writeln!(std::io::stdout(), "{line}").unwrap_or_default();
}
