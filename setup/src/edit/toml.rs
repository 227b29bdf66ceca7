//! TOML, changed in its text: comments, line ends and order stay because nothing else is written again.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, InlineTable, Item, Table, Value as TomlValue};

use super::{Change, Content, Problem, Tree};

fn document(text: &str) -> Result<Document<&str>, Problem> {
    Document::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Problem::at(text, offset, error.message())
    })
}

pub(super) fn parse(text: &str) -> Result<Tree, Problem> {
    Ok(tree(document(text)?.as_item()))
}

fn tree(item: &Item) -> Tree {
    if let Some(table) = item.as_table_like() {
        let fields = table.iter().map(|(key, item)| (key.to_owned(), tree(item)));
        return Tree::Object(fields.collect());
    }
    if let Some(tables) = item.as_array_of_tables() {
        let tables = tables.iter().map(|table| tree(&Item::Table(table.clone())));
        return Tree::List(tables.collect());
    }
    item.as_value().map_or_else(|| Tree::Word(String::new()), tree_of_value)
}

fn tree_of_value(value: &TomlValue) -> Tree {
    match value {
        TomlValue::String(text) => Tree::Text(text.value().clone()),
        TomlValue::Integer(number) => Tree::Word(number.value().to_string()),
        TomlValue::Float(number) => Tree::Word(number.value().to_string()),
        TomlValue::Boolean(word) => Tree::Word(word.value().to_string()),
        TomlValue::Datetime(date) => Tree::Word(date.value().to_string()),
        TomlValue::Array(items) => Tree::List(items.iter().map(tree_of_value).collect()),
        TomlValue::InlineTable(table) => {
            let fields = table.iter().map(|(key, value)| (key.to_owned(), tree_of_value(value)));
            Tree::Object(fields.collect())
        }
    }
}

fn item<'a>(document: &'a Document<&str>, path: &[&str]) -> Option<&'a Item> {
    let mut here = document.as_item();
    for key in path {
        here = here.as_table_like()?.get(key)?;
    }
    Some(here)
}

/// Where the value at this place begins.
pub(super) fn offset(text: &str, path: &[&str]) -> usize {
    let Ok(document) = document(text) else { return 0 };
    item(&document, path).and_then(Item::span).map_or(0, |span| span.start)
}

pub(super) fn edit(text: &str, path: &[&str], change: &Change<'_>) -> Result<String, Problem> {
    let document = document(text)?;
    let mut splices = match (change, item(&document, path)) {
        (Change::Set(content), None) => add(text, &document, path, content)?,
        (Change::Set(content), Some(entry)) => replace(text, entry, content)?,
        (Change::Remove { .. }, Some(entry)) => remove(text, &document, entry, path)?,
        (Change::Remove { .. }, None) => Vec::new(),
    };
    // What is inserted before a line that goes is inserted after the line is gone.
    splices.sort_by_key(|(range, _)| (range.start, range.end));
    let mut edited = text.to_owned();
    for (range, new) in splices.into_iter().rev() {
        edited.replace_range(range, &new);
    }
    Ok(edited)
}

type Splices = Vec<(Range<usize>, String)>;

/// Appended: the end of the file is the one place where a table disturbs no other.
fn add(
    text: &str,
    document: &Document<&str>,
    path: &[&str],
    content: &Content,
) -> Result<Splices, Problem> {
    let way = path.split_last().map(|(_, way)| way).unwrap_or_default();
    if let Some(at) = item(document, way).filter(|item| item.is_inline_table()) {
        return Err(not_a_table(text, at));
    }
    let Content::Fields { set, .. } = content else {
        return Err(super::unsafe_edit(text, "the entry is not a table"));
    };
    let end = line_end(text);
    let gap = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => format!("{end}{end}"),
    };
    let keys: Vec<String> = path.iter().map(|key| key_text(key)).collect();
    let fields: String = set
        .iter()
        .map(|(key, value)| format!("{} = {}{end}", key_text(key), value_text(value)))
        .collect();
    Ok(vec![(text.len()..text.len(), format!("{gap}[{}]{end}{fields}", keys.join(".")))])
}

fn replace(text: &str, entry: &Item, content: &Content) -> Result<Splices, Problem> {
    let Content::Fields { set, unset } = content else {
        return Err(super::unsafe_edit(text, "the entry is not a table"));
    };
    if let Some(inline) = entry.as_inline_table() {
        let span = span(text, entry)?;
        return Ok(vec![(span, changed_inline(inline, set, unset))]);
    }
    let table = header_table(text, entry)?;
    let header = span(text, entry)?;
    let mut splices = Splices::new();
    for key in unset {
        if let Some((key, item)) = table.get_key_value(key) {
            let mut lines = Vec::new();
            lines_of_field(text, key, item, &mut lines)?;
            splices.extend(lines.into_iter().map(|range| (range, String::new())));
        }
    }
    // New fields come first: what follows may belong to a table inside.
    let after_header = after_line(text, header.end);
    for (key, value) in set {
        match table.get(key) {
            Some(item) if tree(item) == Tree::from(value) => {}
            Some(item) if item.is_value() => splices.push((span(text, item)?, value_text(value))),
            Some(item) => return Err(not_a_table(text, item)),
            None => {
                let end = line_end(text);
                let has_end = text.get(..after_header).is_some_and(|text| text.ends_with('\n'));
                let (before, after) = if has_end { ("", end) } else { (end, "") };
                let line = format!("{before}{} = {}{after}", key_text(key), value_text(value));
                splices.push((after_header..after_header, line));
            }
        }
    }
    Ok(splices)
}

fn changed_inline(inline: &InlineTable, set: &[(String, Value)], unset: &[&str]) -> String {
    let mut inline = inline.clone();
    for key in unset {
        inline.remove(key);
    }
    for (key, value) in set {
        let Some(old) = inline.get_mut(key) else {
            inline.insert(key, toml_value(value));
            continue;
        };
        if tree_of_value(old) != Tree::from(value) {
            let decor = old.decor().clone();
            *old = toml_value(value);
            *old.decor_mut() = decor;
        }
    }
    inline.decor_mut().clear();
    inline.to_string()
}

/// The lines of the entry's tables, and the empty line before each.
fn remove(
    text: &str,
    document: &Document<&str>,
    entry: &Item,
    path: &[&str],
) -> Result<Splices, Problem> {
    if entry.is_inline_table() {
        let (name, way) = path.split_last().unwrap_or((&"", &[]));
        let parent = item(document, way);
        if parent.is_some_and(Item::is_inline_table) {
            return Err(not_a_table(text, entry));
        }
        let key = parent.and_then(Item::as_table_like).and_then(|table| table.key(name));
        let start = key.and_then(toml_edit::Key::span).map_or(0, |span| span.start);
        return Ok(vec![(whole_lines(text, &(start..span(text, entry)?.end)), String::new())]);
    }
    header_table(text, entry)?;
    Ok(lines_of_tables(text, entry).map(|lines| (lines, String::new())).collect())
}

/// The lines of one field of a table: a value, dotted keys, or tables of its own.
fn lines_of_field(
    text: &str,
    key: &toml_edit::Key,
    item: &Item,
    found: &mut Vec<Range<usize>>,
) -> Result<(), Problem> {
    if let Some(dotted) = item.as_table().filter(|table| table.is_dotted()) {
        for (name, item) in dotted {
            if let Some(key) = dotted.key(name) {
                lines_of_field(text, key, item, found)?;
            }
        }
    } else if item.is_value() {
        let start = key.span().ok_or_else(|| super::unsafe_edit(text, "a key has no place"))?;
        found.push(whole_lines(text, &(start.start..span(text, item)?.end)));
    } else {
        found.extend(lines_of_tables(text, item));
    }
    Ok(())
}

/// Each table with a header of its own, and the empty line before it.
fn lines_of_tables<'a>(text: &'a str, item: &Item) -> impl Iterator<Item = Range<usize>> + use<'a> {
    let mut tables = Vec::new();
    collect_tables(item, &mut tables);
    tables.into_iter().map(|range| {
        let lines = whole_lines(text, &range);
        let before = text.get(..lines.start).unwrap_or_default();
        let blank = ["\r\n", "\n"]
            .into_iter()
            .find(|end| before.strip_suffix(end).is_some_and(|line| line.ends_with('\n')));
        lines.start - blank.map_or(0, str::len)..lines.end
    })
}

/// From its header to its last value, for the table and the tables inside.
fn collect_tables(item: &Item, found: &mut Vec<Range<usize>>) {
    if let Some(tables) = item.as_array_of_tables() {
        for table in tables {
            collect_table(table, found);
        }
    } else if let Some(table) = item.as_table() {
        collect_table(table, found);
    }
}

fn collect_table(table: &Table, found: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|_| !table.is_implicit() && !table.is_dotted()) {
        found.push(header.start..header.end.max(end_of_values(table)));
    }
    for (_, item) in table {
        collect_tables(item, found);
    }
}

fn end_of_values(table: &Table) -> usize {
    let ends = table.iter().filter_map(|(_, item)| match item.as_table() {
        Some(table) => table.is_dotted().then(|| end_of_values(table)),
        None => item.as_value()?.span().map(|span| span.end),
    });
    ends.max().unwrap_or(0)
}

/// The entry, if it has a header of its own.
fn header_table<'a>(text: &str, entry: &'a Item) -> Result<&'a Table, Problem> {
    let table = entry.as_table().filter(|table| !table.is_dotted() && !table.is_implicit());
    table.ok_or_else(|| not_a_table(text, entry))
}

fn not_a_table(text: &str, at: &Item) -> Problem {
    let offset = at.span().map_or(0, |span| span.start);
    Problem::at(text, offset, "setup only changes tables with a header of their own")
}

fn span(text: &str, item: &Item) -> Result<Range<usize>, Problem> {
    item.span().ok_or_else(|| super::unsafe_edit(text, "a value has no place"))
}

fn after_line(text: &str, offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |end| offset + end + 1)
}

fn whole_lines(text: &str, range: &Range<usize>) -> Range<usize> {
    let before = text.get(..range.start).unwrap_or_default();
    before.rfind('\n').map_or(0, |end| end + 1)..after_line(text, range.end)
}

fn line_end(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

fn key_text(key: &str) -> String {
    toml_edit::Key::new(key).to_string()
}

fn value_text(value: &Value) -> String {
    let mut value = toml_value(value);
    value.decor_mut().clear();
    value.to_string()
}

fn toml_value(value: &Value) -> TomlValue {
    match value {
        Value::Bool(word) => TomlValue::from(*word),
        Value::Number(number) => match number.as_i64() {
            Some(number) => TomlValue::from(number),
            None => TomlValue::from(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => TomlValue::from(text.as_str()),
        Value::Array(items) => TomlValue::from_iter(items.iter().map(toml_value)),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.as_str(), toml_value(value)));
            TomlValue::from(fields.collect::<InlineTable>())
        }
        // TOML has no null; no entry has one.
        Value::Null => TomlValue::from(""),
    }
}
