//! Console: the entries of the Editor's console, and how `read_console` reads them.

use protocol::Json;
use serde_json::json;

use crate::room::Room;

/// One entry of the console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its type.
    pub kind: LogType,
    /// Its text.
    pub message: String,
    /// Where it was logged; empty for logs and warnings.
    pub stack_trace: String,
}

/// The type of an entry, as Unity's `LogType` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogType {
    /// `Debug.Log`.
    Log,
    /// `Debug.LogWarning`.
    Warning,
    /// `Debug.LogError`.
    Error,
    /// A failed `Debug.Assert`.
    Assert,
    /// An exception that was not caught.
    Exception,
}

impl LogType {
    pub(crate) const ALL: [Self; 5] =
        [Self::Log, Self::Warning, Self::Error, Self::Assert, Self::Exception];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Assert => "assert",
            Self::Exception => "exception",
        }
    }

    pub(crate) fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.text() == text)
    }
}

/// Entries are numbered from 1. They keep their numbers when the console is cleared.
#[derive(Clone, Debug)]
pub(crate) struct Console {
    /// Unique among all consoles, so that a cursor fits only one of them.
    name: String,
    entries: Vec<(u64, Entry)>,
    made: u64,
}

/// Equal entries in a row.
struct Row<'a> {
    entry: &'a Entry,
    count: u64,
    /// The number of the oldest one.
    number: u64,
}

impl Console {
    pub(crate) fn new(name: String) -> Self {
        Self { name, entries: Vec::new(), made: 0 }
    }

    /// The console of a small project.
    pub(crate) fn sample(name: String) -> Self {
        let mut console = Self::new(name);
        console.add(LogType::Log, "Game started in 0.42 s");
        console.add(LogType::Log, "Loaded scene 'Meadow' with 128 objects");
        console.add(
            LogType::Warning,
            "Assets/Scripts/Player.cs(31,13): warning CS0168: The variable 'hit' is declared but never used",
        );
        console.add(
            LogType::Exception,
            "NullReferenceException: Object reference not set to an instance of an object",
        );
        console.add(LogType::Log, "Autosave done");
        console
    }

    pub(crate) fn add(&mut self, kind: LogType, message: &str) {
        let stack_trace = match kind {
            LogType::Log | LogType::Warning => "",
            LogType::Error | LogType::Assert | LogType::Exception => {
                "Enemy.Update () (at Assets/Scripts/Enemy.cs:42)"
            }
        };
        self.push(kind, message, stack_trace);
    }

    fn push(&mut self, kind: LogType, message: &str, stack_trace: &str) {
        let entry =
            Entry { kind, message: message.to_owned(), stack_trace: stack_trace.to_owned() };
        self.made += 1;
        self.entries.push((self.made, entry));
    }

    /// The messages of a compile that fails. They have no stack trace.
    pub(crate) fn add_compile_errors(&mut self, count: usize) {
        for CompileError { line, text } in compile_errors(count) {
            let message = format!("Assets/Scripts/Enemy.cs({line},9): error CS0103: {text}");
            self.push(LogType::Error, &message, "");
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn cursor(&self, number: u64) -> String {
        format!("{}-{number}", self.name)
    }

    fn number_of(&self, cursor: &str) -> Option<u64> {
        let number = cursor.strip_prefix(&self.name)?.strip_prefix('-')?.parse().ok()?;
        (number <= self.made).then_some(number)
    }

    /// The newest entries that match, oldest first, in less than `frame_max` bytes.
    pub(crate) fn read(&self, params: &Json, frame_max: usize) -> Json {
        let text = |name: &str| params.get(name).and_then(Json::as_str);
        let [since, before] = ["since", "before"].map(text);
        let [after, until] = [since, before].map(|cursor| self.number_of(cursor?));
        let is_lost = (since.is_some() && after.is_none()) || (before.is_some() && until.is_none());
        let types = params.get("types").and_then(Json::as_array);
        let contains = text("contains").map(str::to_lowercase);
        let wanted = |(number, entry): &&(u64, Entry)| {
            let type_fits = types.is_none_or(|types| {
                types.iter().any(|wanted| wanted.as_str() == Some(entry.kind.text()))
            });
            after.is_none_or(|after| *number > after)
                && until.is_none_or(|until| *number < until)
                && type_fits
                && contains.as_ref().is_none_or(|part| entry.message.to_lowercase().contains(part))
        };
        let with_traces = params.get("stack_traces").and_then(Json::as_bool).unwrap_or(true);
        let max = params.get("max_entries").and_then(Json::as_u64).unwrap_or(200);
        let rows = fold(self.entries.iter().filter(wanted));
        let mut room = Room::new(frame_max);
        let shown = rows.iter().rev().take(usize::try_from(max).unwrap_or(usize::MAX));
        let shown = shown.map(|row| self.show(row, with_traces, frame_max));
        let mut entries: Vec<Json> = shown.take_while(|entry| room.takes(entry)).collect();
        entries.reverse();
        let left_out = rows.len() - entries.len();
        let more: u64 = rows.iter().take(left_out).map(|row| row.count).sum();
        json!({
            "count": entries.len(), "entries": entries, "truncated": left_out > 0, "more": more,
            "cursor": self.cursor(self.made), "cursor_lost": is_lost,
        })
    }

    fn show(&self, row: &Row<'_>, with_traces: bool, frame_max: usize) -> Json {
        let stack_trace = if with_traces { row.entry.stack_trace.as_str() } else { "" };
        let text_max = frame_max / 32;
        json!({
            "type": row.entry.kind.text(),
            "message": row.entry.message.chars().take(text_max).collect::<String>(),
            "stack_trace": stack_trace.chars().take(text_max).collect::<String>(),
            "count": row.count,
            "cursor": self.cursor(row.number),
        })
    }
}

/// An error of the compiler in `Assets/Scripts/Enemy.cs`.
pub(crate) struct CompileError {
    pub(crate) line: usize,
    pub(crate) text: String,
}

pub(crate) fn compile_errors(count: usize) -> impl Iterator<Item = CompileError> {
    let names = ["targt", "speeed", "Heatlh"].into_iter().cycle().enumerate().take(count);
    names.map(|(index, name)| CompileError {
        line: 12 + 3 * index,
        text: format!("The name '{name}' does not exist in the current context"),
    })
}

/// Joins equal entries in a row. Oldest first.
fn fold<'a>(entries: impl Iterator<Item = &'a (u64, Entry)>) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for (number, entry) in entries {
        match rows.last_mut() {
            Some(row) if row.entry == entry => row.count += 1,
            Some(_) | None => rows.push(Row { entry, count: 1, number: *number }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Console, LogType};

    const FRAME_MAX: usize = 1_048_576;

    fn sample() -> Console {
        Console::sample("c".to_owned())
    }

    #[test]
    fn entries_are_filtered_and_cut_as_asked() {
        let read = |params| sample().read(&params, FRAME_MAX);
        let all = read(json!({}));
        assert_eq!((&all["count"], &all["truncated"]), (&json!(5), &json!(false)));
        let errors = read(json!({ "types": ["exception", "warning"], "stack_traces": false }));
        assert_eq!(errors["count"], 2);
        assert_eq!(errors["entries"][1]["stack_trace"], "");
        let newest = read(json!({ "max_entries": 2 }));
        assert_eq!((&newest["count"], &newest["truncated"]), (&json!(2), &json!(true)));
        assert_eq!(
            (&newest["entries"][1]["message"], &newest["more"]),
            (&json!("Autosave done"), &json!(3))
        );
        assert_eq!(read(json!({ "contains": "SCENE" }))["count"], 1);
    }

    #[test]
    fn a_cursor_shows_what_came_after_it_also_when_the_console_was_cleared() {
        let mut console = sample();
        let first = console.read(&json!({}), FRAME_MAX);
        console.clear();
        (0..3).for_each(|_| console.add(LogType::Log, "again"));
        let since = console.read(&json!({ "since": first["cursor"] }), FRAME_MAX);
        assert_eq!((&since["count"], &since["entries"][0]["count"]), (&json!(1), &json!(3)));
        assert_eq!(since["cursor_lost"], false);
        let none = console.read(&json!({ "since": since["cursor"] }), FRAME_MAX);
        assert_eq!(none["count"], 0);
        let lost =
            Console::sample("d".to_owned()).read(&json!({ "since": first["cursor"] }), FRAME_MAX);
        assert_eq!((&lost["count"], &lost["cursor_lost"]), (&json!(5), &json!(true)));
    }

    #[test]
    fn an_answer_never_outgrows_a_frame() {
        let mut console = sample();
        for number in 0..2_000 {
            console.add(LogType::Error, &format!("{number} {}", "\u{1}".repeat(20_000)));
        }
        for frame_max in [16 * 1024, FRAME_MAX] {
            let read = console.read(&json!({ "max_entries": 2_000 }), frame_max);
            assert!(read.to_string().len() < frame_max);
            assert!(read["count"].as_u64() > Some(0));
        }
    }
}
