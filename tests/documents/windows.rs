//! Every test that is not built for Windows is in tests/windows/not_built.txt, with the reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{read, root};

const LIST: &str = "tests/windows/not_built.txt";
/// Where tests run on Windows too.
const FOLDERS: [&str; 8] =
    ["certify", "mock-unity", "page", "protocol", "server", "setup", "sim", "tests"];
const NOT_WINDOWS: [&str; 4] =
    ["#[cfg(unix)]", "#[cfg(target_os = \"linux\")]", "#[cfg(not(windows))]", "#![cfg(unix)]"];

#[test]
fn every_test_that_is_not_built_for_windows_is_listed_with_the_reason() {
    let mut found = BTreeSet::new();
    for folder in FOLDERS {
        look_into(Path::new(folder), false, &mut found);
    }
    let text = read(LIST);
    let entries = text.lines().filter(|line| !line.starts_with('#'));
    let listed: BTreeSet<String> = entries
        .map(|line| match line.split_once(": ") {
            Some((test, reason)) if !reason.is_empty() => test.to_owned(),
            Some(_) | None => panic!("{LIST}: no reason in {line:?}"),
        })
        .collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(missing.is_empty(), "{LIST} does not name {missing:#?}");
    assert!(gone.is_empty(), "{LIST} names what is built for Windows, or is no test: {gone:#?}");
}

#[test]
fn tests_modules_and_rows_behind_a_condition_are_found() {
    let source = "\
| #[cfg(unix)]
| #[test]
| fn one() {}
|
| #[tokio::test]
| #[cfg(target_os = \"linux\")]
| async fn two() {
|     #[cfg(unix)]
|     let inside = 1;
| }
|
| #[test]
| fn everywhere() {}
|
| #[cfg(unix)]
| mod unix {
|     #[test]
|     fn three() {}
|
|     fn helper() {}
| }
|
| #[cfg(unix)]
| fn helper() {}
|
|         #[cfg(target_os = \"linux\")]
|         (\"four\", |bench| {
|         }),
|         (\"everywhere_too\", |bench| {
|         }),
";
    // With a sign before each line, this file does not look like one with such tests.
    let lines = source.lines().map(|line| line.strip_prefix("| ").unwrap_or_default());
    let source: String = lines.map(|line| format!("{line}\n")).collect();
    let found: Vec<String> = tests_of(&source, false);
    assert_eq!(found, ["one", "two", "three", "four"]);
    assert_eq!(tests_of("#[test]\nfn all() {}\n#[cfg(unix)]\nmod other;\n", true), ["all"]);
    assert_eq!(modules_of("#[cfg(unix)]\nmod other;\nmod windows;\n"), ["other"]);
}

fn look_into(path: &Path, is_hidden: bool, found: &mut BTreeSet<String>) {
    let there = root().join(path);
    if there.is_dir() {
        let names = fs::read_dir(&there).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.filter(|name| !["target", "artifacts"].iter().any(|other| name == other));
        names.for_each(|name| look_into(&path.join(name), is_hidden, found));
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        let source = fs::read_to_string(&there).unwrap();
        let shown = path.to_str().unwrap().replace('\\', "/");
        found.extend(tests_of(&source, is_hidden).iter().map(|test| format!("{shown} {test}")));
        for module in modules_of(&source) {
            let folder = match path.file_stem().and_then(|name| name.to_str()) {
                Some("main" | "lib" | "mod") | None => path.parent().unwrap().to_owned(),
                Some(name) => path.with_file_name(name),
            };
            for inside in [folder.join(format!("{module}.rs")), folder.join(&module)] {
                if root().join(&inside).exists() {
                    look_into(&inside, true, found);
                }
            }
        }
    }
}

/// The tests that are behind a condition; all of them if the whole file is.
fn tests_of(source: &str, is_hidden: bool) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_test, mut is_conditional) = (false, false);
    // The end of a module that is behind a condition.
    let mut end: Option<String> = None;
    for line in source.lines() {
        let (text, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        if end.as_deref() == Some(line) {
            end = None;
        }
        if NOT_WINDOWS.contains(&text) {
            is_conditional = true;
            continue;
        }
        if text.starts_with("#[") {
            is_test |= text == "#[test]" || text.starts_with("#[tokio::test");
            continue;
        }
        let is_found = is_hidden || is_conditional || end.is_some();
        if is_found && is_test {
            found.extend(text.split_once("fn ").map(|(_, rest)| name(rest)));
        }
        if is_conditional {
            // A row of a list of tests.
            found.extend(text.strip_prefix("(\"").map(name));
            if text.starts_with("mod ") && text.ends_with('{') {
                end = Some(format!("{}}}", " ".repeat(indent)));
            }
        }
        (is_test, is_conditional) = (false, false);
    }
    found
}

/// The modules in files of their own that are behind a condition.
fn modules_of(source: &str) -> Vec<String> {
    let lines = source.lines().zip(source.lines().skip(1));
    let hidden = lines.filter(|(condition, _)| NOT_WINDOWS.contains(condition));
    let declared = hidden.filter_map(|(_, line)| line.strip_prefix("mod ")?.strip_suffix(';'));
    declared.map(str::to_owned).collect()
}

fn name(text: &str) -> String {
    text.chars().take_while(|sign| sign.is_alphanumeric() || *sign == '_').collect()
}
