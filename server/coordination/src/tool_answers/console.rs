//! `read_console`: newest first, equal entries in a row as one, and how to get what was left out.

use std::time::Duration;

use protocol::Json;

use super::{Room, cut, full_text, is_true, number, object, take_list, text};

/// Lines of a short stack trace.
const SHORT_TRACE_LINES: usize = 3;

/// Entries in a row that say the same.
#[derive(Default)]
struct Row {
    kind: String,
    message: String,
    /// As much of it as was asked for.
    stack_trace: String,
    count: u64,
    /// Of the oldest of them.
    cursor: Option<String>,
}

/// Unity gives its entries oldest first.
pub(crate) fn tell(mut given: Json, asked: &Json, _took: Duration) -> Json {
    let max = number(asked, "max_entries").and_then(|max| usize::try_from(max).ok());
    let mut entries_given = take_list(&mut given, "entries");
    entries_given.retain(|entry| is_asked(entry, asked)); // Whatever the plugin makes of its arguments.
    let mut rows = fold(entries_given, asked).into_iter();
    let mut room = Room::new(max.unwrap_or(usize::MAX));
    let (mut entries, mut oldest) = (Vec::new(), None);
    let mut left_out = number(&given, "more").unwrap_or_default();
    for row in rows.by_ref() {
        let Some(shown) = room.take(|text_max| row.shown(text_max)) else {
            left_out = left_out.saturating_add(row.count);
            break;
        };
        entries.push(shown);
        oldest = row.cursor;
    }
    left_out = rows.fold(left_out, |sum, row| sum.saturating_add(row.count));

    let truncated = is_true(&given, "truncated") || left_out > 0;
    let cursor = text(&given, "cursor");
    let has = |name: &str| asked.get(name).is_some();
    // A plugin that gives no cursors cannot have looked for one.
    let looked_in_vain = (has("since") || has("before")) && cursor.is_none();
    let cursor_lost = is_true(&given, "cursor_lost") || looked_in_vain;
    object([
        ("count", Some(Json::from(entries.len()))),
        ("truncated", Some(Json::from(truncated))),
        ("more", (left_out > 0).then(|| Json::from(left_out))),
        ("next", oldest.filter(|_| truncated).map(|before| next_page(asked, before))),
        // The cursor of an older page would make the agent skip what is newer than the first page.
        ("cursor", cursor.filter(|_| !has("before")).map(Json::from)),
        ("cursor_lost", cursor_lost.then(|| Json::from(true))),
        ("entries", Some(Json::Array(entries))),
    ])
}

fn is_asked(entry: &Json, asked: &Json) -> bool {
    let types = asked.get("types").and_then(Json::as_array);
    let of_type = |types: &Vec<Json>| types.iter().any(|kind| entry.get("type") == Some(kind));
    let contains = |part: &str| {
        let message = text(entry, "message").unwrap_or_default();
        message.to_lowercase().contains(&part.to_lowercase())
    };
    types.is_none_or(of_type) && text(asked, "contains").is_none_or(contains)
}

/// The arguments that get what was left out.
fn next_page(asked: &Json, before: String) -> Json {
    let mut next = asked.clone();
    if let Json::Object(arguments) = &mut next {
        arguments.insert("before".to_owned(), Json::from(before));
    }
    next
}

/// Newest first.
fn fold(entries: Vec<Json>, asked: &Json) -> Vec<Row> {
    let traces = text(asked, "stack_traces");
    let trace = |full: String| match traces {
        Some("none") => String::new(),
        Some("short") => first_lines(&full),
        Some(_) | None => full,
    };
    let mut rows: Vec<Row> = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().rev() {
        let mut new = Row::of(entry);
        new.stack_trace = trace(new.stack_trace);
        match rows.last_mut() {
            Some(row) if row.says_the_same(&new) => {
                row.count = row.count.saturating_add(new.count);
                row.cursor = new.cursor;
            }
            Some(_) | None => rows.push(new),
        }
    }
    rows
}

/// Blank lines do not count.
fn first_lines(trace: &str) -> String {
    let lines = trace.lines().filter(|line| !line.trim().is_empty());
    lines.take(SHORT_TRACE_LINES).collect::<Vec<_>>().join("\n")
}

impl Row {
    fn of(entry: Json) -> Self {
        let mut row = Self { count: 1, ..Self::default() };
        let Json::Object(fields) = entry else { return row };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("type", Json::String(kind)) => row.kind = kind,
                ("message", Json::String(message)) => row.message = message,
                ("stack_trace", Json::String(trace)) => row.stack_trace = trace,
                ("cursor", Json::String(cursor)) => row.cursor = Some(cursor),
                ("count", count) => row.count = count.as_u64().unwrap_or(1),
                _ => {}
            }
        }
        row
    }

    fn says_the_same(&self, other: &Self) -> bool {
        (&self.kind, &self.message, &self.stack_trace)
            == (&other.kind, &other.message, &other.stack_trace)
    }

    fn shown(&self, text_max: usize) -> Json {
        object([
            ("type", Some(Json::from(self.kind.as_str()))),
            ("message", Some(Json::from(cut(&self.message, text_max)))),
            ("count", (self.count > 1).then(|| Json::from(self.count))),
            ("stack_trace", full_text(&self.stack_trace, text_max)),
        ])
    }
}
