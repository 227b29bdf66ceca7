//! What agents are told of what Unity gave: the newest first, nothing twice, nothing without end.

use protocol::{
    ErrorBody, ErrorMessage, ExecuteOutcome, ExecuteResult, FromUnity, JobStatus, Json, Progress,
};
use serde::{Deserialize, Serialize};
use serde_json::{Number, json};

use crate::mcp::rendering::with;

/// Characters of one text. What is longer is cut, and says so.
const TEXT_MAX: usize = 4_000;
/// Characters of what Unity says about an error.
const ERROR_TEXT_MAX: usize = 2_000;
/// Characters of a name.
const NAME_MAX: usize = 300;
/// Bytes of one list, as JSON. An answer has it twice, as data and as text: what an agent can read, and what a
/// hundred agents may leave unread.
const LIST_BYTES_MAX: usize = 32 * 1024;
/// Failed tests that are listed.
const FAILED_MAX: usize = 50;

/// What Unity gave for `read_console`, oldest first.
#[derive(Deserialize)]
struct Console {
    entries: Vec<Given>,
    truncated: bool,
    #[serde(default)]
    more: Option<u64>,
    cursor: Option<String>,
    #[serde(default)]
    cursor_lost: Option<bool>,
}

#[derive(Deserialize)]
struct Given {
    #[serde(flatten)]
    text: Text,
    count: Option<u64>,
    cursor: Option<String>,
}

/// What makes two entries equal.
#[derive(Deserialize, Serialize, PartialEq, Eq)]
struct Text {
    r#type: String,
    message: String,
    #[serde(default)]
    stack_trace: Option<String>,
}

/// Entries in a row that say the same.
struct Row {
    text: Text,
    count: u64,
    /// Of the oldest of them.
    cursor: Option<String>,
}

/// What an agent is told of it, newest first.
#[derive(Serialize)]
struct Told {
    count: usize,
    entries: Vec<Json>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The arguments that get what was left out.
    next: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor_lost: Option<bool>,
}

/// `asked`: the arguments of the call, as Unity got them.
pub(crate) fn console(given: Json, asked: &Json) -> Json {
    // Its shape was checked when it came; if that changes, an agent still gets what there is.
    let Ok(console) = Console::deserialize(&given) else { return bounded(given, LIST_BYTES_MAX) };
    let max = asked.get("max_entries").and_then(Json::as_u64).unwrap_or(u64::MAX);
    let with_traces = asked.get("stack_traces") != Some(&Json::Bool(false));
    let mut rows = fold(console.entries, with_traces).into_iter();
    let mut room = Room::new(usize::try_from(max).unwrap_or(usize::MAX));
    let (mut entries, mut oldest) = (Vec::new(), None);
    let mut left_out = console.more.unwrap_or_default();
    for row in rows.by_ref() {
        let shown = row.shown();
        if !room.takes(&shown) {
            left_out = left_out.saturating_add(row.count);
            break;
        }
        entries.push(shown);
        oldest = row.cursor;
    }
    left_out = rows.fold(left_out, |sum, row| sum.saturating_add(row.count));

    let truncated = console.truncated || left_out > 0;
    // A plugin that gives no cursors cannot have looked for one.
    let looked_for_one = asked.get("since").is_some() || asked.get("before").is_some();
    let is_lost = console.cursor_lost == Some(true) || (looked_for_one && console.cursor.is_none());
    json!(Told {
        count: entries.len(),
        entries,
        truncated,
        more: Some(left_out).filter(|left_out| *left_out > 0),
        next: oldest.filter(|_| truncated).map(|before| with(
            asked.clone(),
            "before",
            json!(before)
        )),
        // An older page must not make anybody skip what is newer than the first one.
        cursor: console.cursor.filter(|_| asked.get("before").is_none()),
        cursor_lost: is_lost.then_some(true),
    })
}

/// Newest first.
fn fold(entries: Vec<Given>, with_traces: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for Given { mut text, count, cursor } in entries.into_iter().rev() {
        if !with_traces {
            text.stack_trace = None;
        }
        let count = count.unwrap_or(1);
        match rows.last_mut() {
            Some(row) if row.text == text => {
                row.count = row.count.saturating_add(count);
                row.cursor = cursor;
            }
            Some(_) | None => rows.push(Row { text, count, cursor }),
        }
    }
    rows
}

impl Row {
    fn shown(&self) -> Json {
        #[derive(Serialize)]
        struct Shown<'a> {
            r#type: &'a str,
            message: String,
            stack_trace: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            count: Option<u64>,
        }
        let Text { r#type, message, stack_trace } = &self.text;
        json!(Shown {
            r#type,
            message: cut(message, TEXT_MAX),
            stack_trace: cut(stack_trace.as_deref().unwrap_or_default(), TEXT_MAX),
            count: Some(self.count).filter(|count| *count > 1),
        })
    }
}

/// How much of a list is told.
struct Room {
    items: usize,
    bytes: usize,
}

impl Room {
    fn new(items: usize) -> Self {
        Self { items, bytes: LIST_BYTES_MAX }
    }

    /// Whether it still fits. Every text in it has been cut, so that the first one always does.
    fn takes(&mut self, item: &Json) -> bool {
        let bytes = item.to_string().len();
        let fits = self.items > 0 && bytes <= self.bytes;
        self.items = self.items.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        fits
    }
}

/// What Unity gave for a test run, and what is told of it.
#[derive(Deserialize, Serialize)]
struct TestRun {
    summary: Summary,
    failed_tests: Vec<FailedTest>,
    /// Counted here, whatever Unity says.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    failed_tests_left_out: Option<u64>,
}

#[derive(Deserialize, Serialize)]
struct Summary {
    total: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    duration_ms: Number,
}

#[derive(Deserialize, Serialize)]
struct FailedTest {
    name: String,
    message: String,
    #[serde(default)]
    stack_trace: Option<String>,
}

/// Failures alone, and how many of them are not listed.
fn test_run(given: Json) -> Json {
    // The core says what is wrong with it.
    let Ok(mut run) = TestRun::deserialize(&given) else { return bounded(given, TEXT_MAX) };
    let known = run.summary.failed.max(run.failed_tests.len() as u64);
    let mut room = Room::new(FAILED_MAX);
    let shown = |test: FailedTest| FailedTest {
        name: name(&test.name),
        message: cut(&test.message, TEXT_MAX),
        stack_trace: Some(cut(&test.stack_trace.unwrap_or_default(), TEXT_MAX)),
    };
    let tests = run.failed_tests.into_iter().map(shown);
    run.failed_tests = tests.take_while(|test| room.takes(&json!(test))).collect();
    let left_out = known.saturating_sub(run.failed_tests.len() as u64);
    run.failed_tests_left_out = Some(left_out).filter(|left_out| *left_out > 0);
    json!(run)
}

fn progress(Progress { done, total, current }: &Progress) -> Progress {
    let current = current.as_deref().map(name);
    Progress { done: *done, total: *total, current }
}

/// What Unity said about an error, in its own words. Jobs keep it.
fn error(ErrorBody { code, message, retryable, details }: ErrorBody) -> ErrorBody {
    let details = details.map(|details| bounded(details, ERROR_TEXT_MAX));
    ErrorBody { code: name(&code), message: cut(&message, ERROR_TEXT_MAX), retryable, details }
}

/// A frame without what is told to nobody: what the core keeps of many jobs is bounded by it.
pub(crate) fn frame(frame: FromUnity) -> FromUnity {
    match frame {
        FromUnity::JobStatus(status) => FromUnity::JobStatus(JobStatus {
            progress: status.progress.as_ref().map(progress),
            result: status.result.map(test_run),
            error: status.error.map(error),
            ..status
        }),
        FromUnity::Error(message) => {
            FromUnity::Error(ErrorMessage { error: error(message.error), ..message })
        }
        FromUnity::Result(ExecuteResult { request_id, outcome: ExecuteOutcome::Error(body) }) => {
            let outcome = ExecuteOutcome::Error(error(body));
            FromUnity::Result(ExecuteResult { request_id, outcome })
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(ExecuteResult { outcome: ExecuteOutcome::Ok(_), .. })
        | FromUnity::SubmitJobResult(_)
        | FromUnity::CancelResult(_) => frame,
    }
}

/// What is too long, as the beginning of its text.
fn bounded(given: Json, max: usize) -> Json {
    match given.to_string() {
        text if text.len() > max => json!(cut(&text, max)),
        _ => given,
    }
}

/// A name that Unity gives.
pub(crate) fn name(name: &str) -> String {
    cut(name, NAME_MAX)
}

/// The beginning of a text that is too long, and how much of it is missing.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (beginning, rest) = text.split_at(end);
            format!("{beginning}… ({} more characters)", rest.chars().count())
        }
    }
}

#[cfg(test)]
mod tests;
