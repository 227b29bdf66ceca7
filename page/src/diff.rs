//! Two traces side by side.

use std::fmt::Write as _;

use crate::html::escape;
use crate::index::document;

/// A line of a trace: its time and the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TraceLine<'a> {
    time: &'a str,
    rest: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Row<'a> {
    /// In both, in the same order.
    Same(TraceLine<'a>, TraceLine<'a>),
    /// In the first alone.
    Missing(TraceLine<'a>),
    /// In the second alone.
    Added(TraceLine<'a>),
    /// In both, but not in the same order. Each place has a row.
    MovedFrom(TraceLine<'a>),
    MovedTo(TraceLine<'a>),
}

/// Two traces, or files of snapshots with traces in them, as one page. Each has the name of its file.
pub fn diff(one: (&str, &str), other: (&str, &str)) -> String {
    let rows = compare(&lines(one.1), &lines(other.1));
    let count = |is_it: fn(&Row<'_>) -> bool| rows.iter().filter(|row| is_it(row)).count();
    let missing = count(|row| matches!(row, Row::Missing(_)));
    let added = count(|row| matches!(row, Row::Added(_)));
    let moved = count(|row| matches!(row, Row::MovedTo(_)));
    let shifted = count(|row| matches!(row, Row::Same(one, other) if one.time != other.time));
    let table: String = rows.iter().map(|row| html_row(*row)).collect();
    let body = format!(
        "<h1>Two traces</h1>\n<p>{missing} missing, {added} added, {moved} moved; {shifted} more only at another time.</p>\n\
         <div class=\"search\"><label><input type=\"checkbox\" id=\"only\"> Only what is missing, added or moved</label></div>\n\
         <div class=\"scroll\"><table class=\"differences\"><thead><tr><th class=\"mark\" scope=\"col\">change</th>\
         <th scope=\"col\">{}</th><th scope=\"col\">{}</th></tr></thead>\n<tbody>\n{table}</tbody></table></div>\n",
        escape(one.0),
        escape(other.0),
    );
    document("Two traces", &body, None)
}

/// Without the head of a snapshot file.
fn lines(text: &str) -> Vec<TraceLine<'_>> {
    let trace = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((_, trace)) => trace,
        None => text,
    };
    let line = |line: &'_ str| -> (usize, usize) {
        let trimmed = line.len() - line.trim_start().len();
        let time = line.trim_start().find(' ').map_or(line.len(), |end| trimmed + end);
        (trimmed, time)
    };
    let split = |whole| {
        let (begin, end) = line(whole);
        let time = whole.get(begin..end).unwrap_or_default();
        TraceLine { time, rest: whole.get(end..).unwrap_or_default().trim() }
    };
    trace.lines().filter(|line| !line.trim().is_empty()).map(split).collect()
}

fn compare<'a>(one: &[TraceLine<'a>], other: &[TraceLine<'a>]) -> Vec<Row<'a>> {
    let mut rows = common_order(one, other);
    // What is missing in one place and added in another is moved.
    for place in 0..rows.len() {
        let Some(Row::Missing(line)) = rows.get(place).copied() else { continue };
        let is_it = |row: &Row<'_>| matches!(row, Row::Added(added) if added.rest == line.rest);
        if let Some(to) = rows.iter().position(is_it) {
            if let Some(Row::Added(added)) = rows.get(to).copied()
                && let Some(row) = rows.get_mut(to)
            {
                *row = Row::MovedTo(added);
            }
            if let Some(row) = rows.get_mut(place) {
                *row = Row::MovedFrom(line);
            }
        }
    }
    rows
}

/// The longest common subsequence of both, with what is left of each between.
fn common_order<'a>(one: &[TraceLine<'a>], other: &[TraceLine<'a>]) -> Vec<Row<'a>> {
    let width = other.len() + 1;
    let mut lengths = vec![0_u32; (one.len() + 1) * width];
    let at = |lengths: &[u32], x: usize, y: usize| lengths.get(x * width + y).copied().unwrap_or(0);
    for (x, line) in one.iter().enumerate().rev() {
        for (y, candidate) in other.iter().enumerate().rev() {
            let length = if line.rest == candidate.rest {
                at(&lengths, x + 1, y + 1) + 1
            } else {
                at(&lengths, x + 1, y).max(at(&lengths, x, y + 1))
            };
            if let Some(cell) = lengths.get_mut(x * width + y) {
                *cell = length;
            }
        }
    }
    let (mut x, mut y, mut rows) = (0, 0, Vec::new());
    loop {
        match (one.get(x), other.get(y)) {
            (Some(line), Some(candidate)) if line.rest == candidate.rest => {
                rows.push(Row::Same(*line, *candidate));
                (x, y) = (x + 1, y + 1);
            }
            (Some(line), candidate)
                if candidate.is_none() || at(&lengths, x + 1, y) >= at(&lengths, x, y + 1) =>
            {
                rows.push(Row::Missing(*line));
                x += 1;
            }
            (_, Some(candidate)) => {
                rows.push(Row::Added(*candidate));
                y += 1;
            }
            (_, None) => return rows,
        }
    }
}

fn html_row(row: Row<'_>) -> String {
    let shown = |line: TraceLine<'_>| escape(&format!("{:>9} {}", line.time, line.rest));
    let (class, mark, one, other) = match row {
        Row::Same(one, other) if one.time == other.time => ("same", "", shown(one), shown(other)),
        Row::Same(one, other) => ("later", "other time", shown(one), shown(other)),
        Row::Missing(line) => ("missing", "− missing", shown(line), String::new()),
        Row::Added(line) => ("added", "+ added", String::new(), shown(line)),
        Row::MovedFrom(line) => ("moved", "↕ moved from", shown(line), String::new()),
        Row::MovedTo(line) => ("moved", "↕ moved to", String::new(), shown(line)),
    };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "<tr class=\"{class}\"><td class=\"mark\">{mark}</td><td>{one}</td><td>{other}</td></tr>"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::{Row, compare, lines};

    #[test]
    fn lines_are_same_missing_added_or_moved() {
        let one = "---\nsource: x\n---\n 0.1s a\n 0.2s b\n 0.3s c\n 0.4s d\n";
        let other = " 0.1s a\n 0.3s c\n 0.9s d\n 1.0s b\n 1.1s <new>\n";
        let (one, other) = (lines(one), lines(other));
        let marks: Vec<String> = compare(&one, &other)
            .iter()
            .map(|row| match row {
                Row::Same(one, other) => {
                    format!("{}{}", one.rest, if one.time == other.time { "" } else { "~" })
                }
                Row::Missing(line) => format!("-{}", line.rest),
                Row::Added(line) => format!("+{}", line.rest),
                Row::MovedFrom(line) => format!("from {}", line.rest),
                Row::MovedTo(line) => format!("to {}", line.rest),
            })
            .collect();
        assert_eq!(marks, ["a", "from b", "c", "d~", "to b", "+<new>"]);
    }

    #[test]
    fn text_of_a_trace_stays_text() {
        let page = super::diff(("a", "0.1s <script>"), ("b", ""));
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
        assert!(page.contains("1 missing, 0 added, 0 moved"));
    }
}
