//! The dependency rules of the core, as a test. The table below is the one in docs/ARCHITECTURE.md.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module of the core may name of the others.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("cancel_manager", &["ids", "limits"]),
    ("editor_state_tracker", &["time"]),
    ("event", &["failure", "ids", "request_validator"]),
    (
        "execution_coordinator",
        &[
            "cancel_manager",
            "editor_state_tracker",
            "event",
            "failure",
            "ids",
            "job_manager",
            "limits",
            "reconnect_controller",
            "request_scheduler",
            "request_validator",
            "stores",
            "time",
            "tool_catalog",
        ],
    ),
    ("failure", &["ids", "tool_catalog"]),
    ("heartbeat", &["time"]),
    ("ids", &[]),
    ("job_manager", &["event", "ids", "limits", "stores", "time"]),
    ("limits", &[]),
    ("reconnect_controller", &["heartbeat", "ids", "limits", "stores", "time"]),
    ("request_scheduler", &["event", "ids", "limits", "stores", "time", "tool_catalog"]),
    ("request_validator", &["failure", "tool_catalog"]),
    ("shape", &[]),
    ("stores", &["event", "failure", "heartbeat", "ids", "time", "tool_catalog"]),
    ("time", &["ids"]),
    ("tool_catalog", &["shape"]),
];

/// A store is written by one manager: nobody else may even name its type.
const WRITERS: &[(&str, &str)] = &[
    ("CapabilityStore", "reconnect_controller"),
    ("ConnectionStore", "reconnect_controller"),
    ("VersionStore", "reconnect_controller"),
    ("RequestStore", "request_scheduler"),
    ("QueueStore", "request_scheduler"),
    ("JobStore", "job_manager"),
];

/// Words that have no place in the core, each with its reason.
const BANNED: &[(&str, &str)] = &[
    ("async", "the core never waits"),
    ("await", "the core never waits"),
    ("tokio", "the core knows no runtime"),
    ("serde", "JSON is the protocol crate's business"),
    ("serde_json", "JSON is the protocol crate's business"),
    ("tracing", "the core does not log: it returns notes"),
    ("println", "the core does no IO"),
    ("eprintln", "the core does no IO"),
    ("HashMap", "iteration order is random"),
    ("HashSet", "iteration order is random"),
    ("Instant", "time is an argument"),
    ("SystemTime", "time is an argument"),
    ("rand", "randomness comes from outside"),
    ("uuid", "randomness comes from outside"),
    ("thread", "the core has one owner"),
    ("Arc", "the core has one owner"),
    ("Mutex", "the core has one owner"),
    ("RefCell", "every change goes through `handle`"),
    ("unsafe", "there is no need for it"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/coordination")
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
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

/// The module of the core that a file belongs to: its first name below `coordination`.
fn module_of(path: &Path) -> String {
    let below = path.strip_prefix(root()).unwrap();
    let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The code of a file: without comments and without its unit tests.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn words(code: &str) -> BTreeSet<&str> {
    code.split(|character: char| !character.is_alphanumeric() && character != '_').collect()
}

/// The modules of the core that some code names after `super::`.
fn named_modules(code: &str) -> BTreeSet<&str> {
    let after_super = code.split("super::").skip(1);
    after_super
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .filter(|name| MAY_NAME.iter().any(|(module, _)| module == name))
        .collect()
}

/// Everything that is wrong with one file.
fn violations(module: &str, text: &str) -> Vec<String> {
    let code = code_of(text);
    let mut found = Vec::new();
    let allowed = MAY_NAME.iter().find(|(name, _)| *name == module).map(|(_, may)| *may);
    match allowed {
        None if module == "mod" => {}
        None => found.push(format!("{module} is not in the table of what may name what")),
        Some(allowed) => {
            let named = named_modules(&code).into_iter();
            found.extend(
                named
                    .filter(|name| *name != module && !allowed.contains(name))
                    .map(|name| format!("{module} may not name {name}")),
            );
        }
    }
    let words = words(&code);
    found.extend(
        WRITERS
            .iter()
            .filter(|(store, writer)| {
                words.contains(store) && module != "stores" && module != *writer
            })
            .map(|(store, writer)| format!("{module} names {store}; only {writer} may")),
    );
    let banned = BANNED.iter().filter(|(word, _)| words.contains(word));
    found.extend(banned.map(|(word, why)| format!("{module} names {word}: {why}")));
    found
}

#[test]
fn the_core_keeps_its_dependency_rules() {
    let files = rust_files(&root());
    assert!(files.len() > 20, "the core was not found");
    let mut found = BTreeMap::new();
    for path in files {
        let violations = violations(&module_of(&path), &fs::read_to_string(&path).unwrap());
        if !violations.is_empty() {
            found.insert(path, violations);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn breaking_a_rule_is_noticed() {
    let cases = [
        ("job_manager", "use super::reconnect_controller::Verdict;", "may not name reconnect"),
        ("cancel_manager", "use super::stores::job::Job;", "may not name stores"),
        ("execution_coordinator", "use super::super::stores::job::JobStore;", "names JobStore"),
        ("time", "use std::time::Instant;", "names Instant"),
        ("ids", "async fn f() {}", "names async"),
        ("event", "use serde::Serialize;", "names serde"),
        ("newcomer", "", "is not in the table"),
    ];
    for (module, code, expected) in cases {
        let found = violations(module, code).join("\n");
        assert!(found.contains(expected), "{module}: {code}: {found}");
    }
    assert_eq!(violations("ids", "// an Instant in a comment\nfn f() {}"), Vec::<String>::new());
}

#[test]
fn the_wire_knows_nothing_of_its_users() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    for banned in ["tokio", "unity-mcp", "sim", "rmcp", "tungstenite"] {
        assert!(!words(&manifest).contains(banned), "protocol depends on {banned}");
    }
}
