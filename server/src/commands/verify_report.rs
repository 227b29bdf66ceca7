//! The report of `verify`: its steps, their verdict, and how both are shown.

use std::fmt::Write as _;
use std::time::Duration;

use protocol::{Json, printable};
use serde_json::json;

use super::output::{GREEN, RED, RESET, YELLOW, wrapped};
use super::{EXIT_FAILED, EXIT_NOT_EXECUTED, EXIT_OK, EXIT_UNKNOWN};
use crate::budget::COMMAND_TEXT_MAX as TEXT_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// It ran, and it is not as it should be.
    Failed,
    NotExecuted,
    Unknown,
}

pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    /// In a few words.
    pub(super) summary: String,
    /// What the tool gave, or its error object.
    pub(super) result: Result<Json, Json>,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) steps: Vec<Step>,
}

impl Outcome {
    pub(super) fn of_code(exit_code: i32) -> Self {
        match exit_code {
            EXIT_OK => Self::Passed,
            EXIT_FAILED => Self::Failed,
            EXIT_UNKNOWN => Self::Unknown,
            _ => Self::NotExecuted, // Verify makes no wrong call, but a plugin may refuse one.
        }
    }

    fn exit_code(self) -> i32 {
        match self {
            Self::Passed => EXIT_OK,
            Self::Failed => EXIT_FAILED,
            Self::NotExecuted => EXIT_NOT_EXECUTED,
            Self::Unknown => EXIT_UNKNOWN,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotExecuted => "not_executed",
            Self::Unknown => "unknown",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Passed => GREEN,
            Self::Failed => RED,
            Self::NotExecuted | Self::Unknown => YELLOW,
        }
    }
}

impl Report {
    /// That of the first step that did not pass.
    pub(super) fn outcome(&self) -> Outcome {
        let bad = self.steps.iter().find(|step| step.outcome != Outcome::Passed);
        bad.map_or(Outcome::Passed, |step| step.outcome)
    }

    pub(super) fn exit_code(&self) -> i32 {
        self.outcome().exit_code()
    }

    pub(super) fn as_json(&self) -> Json {
        let steps: Json = self.steps.iter().map(Step::as_json).collect();
        json!({ "verdict": self.outcome().text(), "exit_code": self.exit_code(), "steps": steps })
    }

    /// The last line.
    pub(super) fn verdict(&self) -> String {
        let outcome = self.outcome();
        let (colour, text) = (outcome.colour(), outcome.text());
        format!("verdict   {colour}{text}{RESET}\n")
    }
}

impl Step {
    fn as_json(&self) -> Json {
        let took = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        let (name, value) = match &self.result {
            Ok(result) => ("result", result),
            Err(error) => ("error", error),
        };
        json!({
            "step": self.name, "outcome": self.outcome.text(), "duration_ms": took,
            "summary": self.summary, name: value,
        })
    }

    /// One line, and what is wrong in the lines below.
    pub(super) fn shown(&self) -> String {
        let (colour, outcome) = (self.outcome.colour(), self.outcome.text());
        let (name, took) = (self.name, self.took.as_secs_f64());
        let summary = printable(&self.summary, TEXT_MAX);
        let mut shown = String::new();
        // Writing to a string does not fail.
        match &self.result {
            Ok(_) => {
                writeln!(shown, "{name:<9} {colour}{outcome}{RESET} in {took:.1} s: {summary}")
            }
            Err(_) => writeln!(
                shown,
                "{name:<9} {colour}{outcome}{RESET} in {took:.1} s\n{}",
                wrapped(&summary, "  ")
            ),
        }
        .unwrap_or_default();
        if let (Ok(result), true) = (&self.result, self.outcome != Outcome::Passed) {
            for line in problems(result) {
                shown += &line;
                shown.push('\n');
            }
        }
        shown
    }
}

/// What is wrong, in the form that editors and CI understand.
fn problems(result: &Json) -> Vec<String> {
    let list = |name: &str| result.get(name).and_then(Json::as_array).into_iter().flatten();
    let errors = list("errors").map(compile_error);
    let tests = list("failed_tests").map(failed_test);
    let entries = list("entries").map(entry);
    let left_out = ["errors_left_out", "failed_tests_left_out"].into_iter().filter_map(|name| {
        let count = result.get(name)?.as_u64().filter(|count| *count > 0)?;
        Some(format!("{count} more are not listed"))
    });
    errors.chain(tests).chain(entries).chain(left_out).collect()
}

fn text(of: &Json, name: &str) -> String {
    let text = of.get(name).and_then(Json::as_str).unwrap_or_default();
    printable(text.trim_end(), TEXT_MAX)
}

fn number(of: &Json, name: &str) -> u64 {
    of.get(name).and_then(Json::as_u64).unwrap_or_default()
}

fn compile_error(error: &Json) -> String {
    let (file, code, message) = (text(error, "file"), text(error, "code"), text(error, "message"));
    let (line, column) = (number(error, "line"), number(error, "column"));
    let code = if code.is_empty() { code } else { format!(" {code}") };
    format!("{file}({line},{column}): error{code}: {message}")
}

fn failed_test(test: &Json) -> String {
    let lines = |name: &str| -> Vec<String> {
        let text = test.get(name).and_then(Json::as_str).unwrap_or_default();
        let lines = text.lines().map(|line| printable(line.trim(), TEXT_MAX));
        lines.filter(|line| !line.is_empty()).map(|line| format!("    {line}")).collect()
    };
    let name = text(test, "name");
    let heading = format!("test {name}: failed");
    [vec![heading], lines("message"), lines("stack_trace")].concat().join("\n")
}

fn entry(entry: &Json) -> String {
    let (kind, message) = (text(entry, "type"), entry.get("message").and_then(Json::as_str));
    let mut lines = message.unwrap_or_default().lines();
    let first = printable(lines.next().unwrap_or_default(), TEXT_MAX);
    format!("console: {kind}: {first}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(outcome: Outcome, result: Result<Json, Json>) -> Step {
        let (took, summary) = (Duration::from_millis(1_250), "in short".to_owned());
        Step { name: "compile", outcome, took, summary, result }
    }

    #[test]
    fn a_step_is_one_line_and_its_problems() {
        let result = json!({ "errors": [
            { "file": "Assets/A.cs", "line": 2, "column": 17, "code": "CS0103", "message": "no \u{1b}[31mname" },
        ], "errors_left_out": 3 });
        let shown = step(Outcome::Failed, Ok(result)).shown();
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            plain,
            "compile   failed in 1.2 s: in short\nAssets/A.cs(2,17): error CS0103: no \\u{1b}[31mname\n3 more are not listed\n"
        );
    }

    #[test]
    fn the_first_step_that_did_not_pass_is_the_verdict() {
        for (outcomes, code) in [
            (&[Outcome::Passed, Outcome::Passed][..], 0),
            (&[Outcome::Passed, Outcome::Failed, Outcome::Unknown], 1),
            (&[Outcome::Passed, Outcome::Unknown, Outcome::Failed], 5),
            (&[Outcome::NotExecuted], 4),
        ] {
            let steps = outcomes.iter().map(|outcome| step(*outcome, Ok(json!({}))));
            let report = Report { steps: steps.collect() };
            assert_eq!(report.exit_code(), code, "{outcomes:?}");
            assert_eq!(report.as_json()["exit_code"], code);
        }
    }
}
