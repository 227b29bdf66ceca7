//! Reads source files: which paths a file names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Words, `::` and single signs; comments, texts and the unit tests at the end are left out.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut rest = code.chars().peekable();
    let mut tokens: Vec<String> = Vec::new();
    while let Some(sign) = rest.next() {
        match sign {
            '/' if rest.peek() == Some(&'/') => {
                while rest.next_if(|next| *next != '\n').is_some() {}
            }
            '"' => {
                while let Some(next) = rest.next_if(|next| *next != '"') {
                    if next == '\\' {
                        rest.next();
                    }
                }
                rest.next();
            }
            ':' if rest.next_if_eq(&':').is_some() => tokens.push("::".to_owned()),
            sign if sign.is_alphanumeric() || sign == '_' => {
                let mut word = sign.to_string();
                while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                tokens.push(word);
            }
            sign if sign.is_whitespace() => {}
            sign => tokens.push(sign.to_string()),
        }
    }
    tokens
}

/// Every path that is named, `use` trees spread out: `use a::{b, c::d}` is `a::b` and `a::c::d`.
pub(crate) fn paths(tokens: &[String]) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    let mut index = 0;
    while index < tokens.len() {
        let (after, spread) = path_at(tokens, index);
        found.extend(spread.into_iter().filter(|path| path.len() > 1));
        index = after.max(index + 1);
    }
    found
}

/// The paths that begin here, and where they end.
fn path_at(tokens: &[String], mut index: usize) -> (usize, Vec<Vec<String>>) {
    let is_word = |token: &String| token.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    let mut path: Vec<String> = Vec::new();
    while let Some(word) = tokens.get(index).filter(|token| is_word(token) || *token == "*") {
        path.push(word.clone());
        index += 1;
        if tokens.get(index).map(String::as_str) != Some("::") {
            return (index, vec![path]);
        }
        index += 1;
        if tokens.get(index).map(String::as_str) == Some("{") {
            let (end, branches) = branches_at(tokens, index + 1);
            let spread = branches.into_iter().map(|branch| [path.clone(), branch].concat());
            return (end, spread.collect());
        }
    }
    (index, vec![path])
}

fn branches_at(tokens: &[String], mut index: usize) -> (usize, Vec<Vec<String>>) {
    let mut branches = Vec::new();
    while let Some(token) = tokens.get(index) {
        match token.as_str() {
            "}" => return (index + 1, branches),
            "," => index += 1,
            "as" => index += 2,
            _ => {
                let (after, spread) = path_at(tokens, index);
                branches.extend(spread);
                index = after.max(index + 1);
            }
        }
    }
    (index, branches)
}

/// What a path that begins with `crate` or `super` means, seen from the root of the core.
pub(crate) fn resolve(module: &[String], path: &[String]) -> Vec<String> {
    if path.first().is_some_and(|first| first == "crate") {
        return path.iter().skip(1).cloned().collect();
    }
    let supers = path.iter().take_while(|name| *name == "super").count();
    let base = module.iter().take(module.len().saturating_sub(supers));
    base.chain(path.iter().skip(supers)).cloned().collect()
}
