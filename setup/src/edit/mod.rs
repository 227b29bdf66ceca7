//! Decides the new text of a file: our entry changes, and nothing else.

mod json;
mod toml;
mod tree;

use std::fmt;

use serde_json::Value;

use crate::clients::Format;
use crate::entry::Found;
pub use tree::Tree;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where an entry is: the keys from the root of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub format: Format,
    pub path: Vec<String>,
}

/// What the file shall say there.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An object with these fields and without those. Its other fields belong to the user and stay.
    Fields {
        set: Vec<(String, Value)>,
        unset: Vec<&'static str>,
    },
    Value(Value),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change<'a> {
    Set(&'a Content),
    /// Objects that are empty afterwards go too, unless they are in this older text of the file.
    Remove {
        before: Option<&'a str>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    /// The file says it already.
    Same,
    New(String),
    /// The document was there for our entry alone.
    NothingLeft,
}

/// Why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// From 1, in characters.
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl Problem {
    fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, message: message.into() }
    }
}

/// What the document says, or why it is refused.
///
/// # Errors
/// The text does not parse, or has a key twice.
pub fn parse(text: &str, format: Format) -> Result<Tree, Problem> {
    let (_, text) = split_mark(text);
    match format {
        Format::Json | Format::Jsonc => json::parse(text, format),
        Format::Toml => toml::parse(text),
    }
}

/// The new text of a file, or why it is left alone.
///
/// # Errors
/// The text does not parse, has a key twice, or has something else where the entry belongs.
pub fn edit(text: &str, location: &Location, change: &Change<'_>) -> Result<Edited, Problem> {
    let old = parse(text, location.format)?;
    let path: Vec<&str> = location.path.iter().map(String::as_str).collect();
    let (mark, body) = split_mark(text);
    let has_fields = matches!(change, Change::Set(Content::Fields { .. }));
    check_way(body, location, &old, &path, has_fields)?;
    let is_done = match change {
        Change::Set(content) => old.get(&path).is_some_and(|entry| entry.says(content)),
        Change::Remove { .. } => old.get(&path).is_none(),
    };
    if is_done {
        return Ok(Edited::Same);
    }
    let keep = match change {
        Change::Set(_) => 0,
        Change::Remove { before } => objects_to_keep(&old, *before, location.format, &path),
    };
    let edited = match location.format {
        Format::Json | Format::Jsonc => json::edit(body, location.format, &path, change, keep)?,
        Format::Toml => toml::edit(body, &path, change)?,
    };
    let new = parse(&edited, location.format)
        .map_err(|_| unsafe_edit(body, "the changed file would not parse"))?;
    check_difference(body, &old, &new, &path, change)?;
    if keep == 0 && new.is_empty() && matches!(change, Change::Remove { .. }) && is_bare(&edited) {
        return Ok(Edited::NothingLeft);
    }
    Ok(Edited::New(format!("{mark}{edited}")))
}

/// Whether the copy `backup` is what the file said before setup changed it, while `text` has been changed by setup.
pub fn is_from_before(backup: &str, text: &str, location: &Location) -> bool {
    let path: Vec<&str> = location.path.iter().map(String::as_str).collect();
    let (Ok(backup), Ok(text)) = (parse(backup, location.format), parse(text, location.format))
    else {
        return false;
    };
    if backup.get(&path).is_some() {
        return false;
    }
    if text.get(&path).is_some() {
        return true;
    }
    // Setup wrote an entry with another name, and nothing else has changed.
    let (text, backup) = (without_ours(&text, &path), without_ours(&backup, &path));
    text.0 == backup.0 && text.1 > backup.1
}

/// Without each entry that starts this program, whatever its name, and how many there are.
fn without_ours(tree: &Tree, path: &[&str]) -> (Tree, usize) {
    let way = path.split_last().map(|(_, way)| way).unwrap_or_default();
    let names = tree.get(way).map(Tree::names).unwrap_or_default();
    let entries = names.into_iter().map(|name| [way, &[name]].concat());
    let is_ours = |path: &[&str]| tree.get(path).is_some_and(|entry| Found::read(entry).is_ours());
    let ours: Vec<Vec<&str>> = entries.filter(|path| is_ours(path)).collect();
    let rest = ours.iter().fold(tree.without(path), |rest, path| rest.without(path));
    (rest, ours.len())
}

/// How many objects on the way to the entry stay although they are empty.
fn objects_to_keep(old: &Tree, before: Option<&str>, format: Format, path: &[&str]) -> usize {
    let way = path.len().saturating_sub(1);
    let before = before.and_then(|text| parse(text, format).ok());
    // An older text with our entry says nothing about the time before.
    let before = before.filter(|before| before.get(path).is_none());
    let was_there = |depth: &usize| {
        let part = path.get(..*depth).unwrap_or_default();
        before.as_ref().is_some_and(|before| before.get(part).is_some_and(Tree::is_object))
    };
    let has_more = |depth: &usize| {
        let part = path.get(..*depth).unwrap_or_default();
        old.get(part).is_some_and(|object| object.len() > 1)
    };
    (0..=way).rev().find(|depth| was_there(depth) || has_more(depth)).map_or(0, |depth| depth + 1)
}

/// Every value on the way to the entry is an object, and the entry is one if it has fields.
fn check_way(
    text: &str,
    at: &Location,
    old: &Tree,
    path: &[&str],
    has_fields: bool,
) -> Result<(), Problem> {
    let depths = if has_fields { path.len() + 1 } else { path.len() };
    for depth in 0..depths {
        let part = path.get(..depth).unwrap_or_default();
        if old.get(part).is_some_and(|value| !value.is_object()) {
            let offset = match at.format {
                Format::Json | Format::Jsonc => json::offset(text, at.format, part),
                Format::Toml => toml::offset(text, part),
            };
            let what = match part.last() {
                Some(key) => format!("\"{key}\" is not an object"),
                None => "the document is not an object".to_owned(),
            };
            return Err(Problem::at(text, offset, what));
        }
    }
    Ok(())
}

fn check_difference(
    text: &str,
    old: &Tree,
    new: &Tree,
    path: &[&str],
    change: &Change<'_>,
) -> Result<(), Problem> {
    let is_right = match change {
        Change::Set(content) => {
            new.get(path).is_some_and(|entry| entry.says(content))
                && match (content, old.get(path), new.get(path)) {
                    (Content::Fields { set, unset }, Some(old), Some(new)) => {
                        let of_user = |entry: &Tree| entry.without_fields(set, unset);
                        of_user(old) == of_user(new)
                    }
                    _ => true,
                }
        }
        Change::Remove { .. } => new.get(path).is_none(),
    };
    if !is_right || old.without(path) != new.without(path) {
        return Err(unsafe_edit(text, "the change would reach other parts of the file"));
    }
    Ok(())
}

fn unsafe_edit(text: &str, why: &str) -> Problem {
    Problem::at(text, 0, format!("the file cannot be edited safely: {why}"))
}

/// Without comments.
fn is_bare(text: &str) -> bool {
    text.chars().all(|sign| sign.is_whitespace() || matches!(sign, '{' | '}'))
}

fn split_mark(text: &str) -> (&str, &str) {
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.split_at(text.len() - body.len())
}
