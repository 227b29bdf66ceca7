//! The modules of the core.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{paths, resolve, rust_files, tokens};

/// What each module of the core may name of the others.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("cancel_manager", &["event", "ids", "limits"]),
    ("deduplicator", &["event", "failure", "ids", "request_validator"]),
    ("editor_state_tracker", &["event", "time"]),
    ("event", &["failure", "ids", "request_validator", "time"]),
    (
        "execution_coordinator",
        &[
            "cancel_manager",
            "deduplicator",
            "editor_state_tracker",
            "event",
            "failure",
            "ids",
            "job_manager",
            "limits",
            "project",
            "reconnect_controller",
            "request_scheduler",
            "request_validator",
            "stores",
            "time",
            "tool_answers",
            "tool_catalog",
        ],
    ),
    ("failure", &["ids", "tool_answers", "tool_catalog"]),
    ("heartbeat", &["time"]),
    ("ids", &[]),
    ("job_manager", &["event", "failure", "ids", "limits", "stores", "time", "tool_answers"]),
    ("limits", &["tool_catalog"]),
    ("project", &[]),
    ("reconnect_controller", &["heartbeat", "ids", "limits", "project", "stores", "time"]),
    ("rendering", &["event", "failure", "time"]),
    ("request_scheduler", &["event", "ids", "limits", "request_validator", "stores", "time"]),
    ("request_validator", &["failure", "shape", "tool_answers", "tool_catalog"]),
    ("settings", &["limits"]),
    ("shape", &[]),
    ("stores", &["failure", "heartbeat", "ids", "request_validator", "time"]),
    ("time", &["ids"]),
    ("tool_answers", &[]),
    ("tool_catalog", &["shape", "tool_answers"]),
];

/// A store is written by one manager: no other module may even name its type.
const WRITERS: &[(&str, &str)] = &[
    ("CapabilityStore", "reconnect_controller"),
    ("ConnectionStore", "reconnect_controller"),
    ("VersionStore", "reconnect_controller"),
    ("RequestStore", "request_scheduler"),
    ("QueueStore", "request_scheduler"),
    ("JobStore", "job_manager"),
];

/// Of the standard library: ordered collections, formatting and plain values. No clock, no hash
/// map, no IO, no thread, no shared ownership.
const STD: &[&str] = &[
    "std::collections::BTreeMap",
    "std::collections::BTreeSet",
    "std::collections::VecDeque",
    "std::fmt",
    "std::mem",
    "std::ops::Add",
    "std::time::Duration",
];

const MACROS: &[&str] =
    &["debug_assert", "format", "format_args", "json", "matches", "unreachable", "vec", "write"];

const KEYWORDS: &[&str] = &["async", "await", "unsafe", "extern", "macro_rules"];

fn core_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("coordination/src")
}

/// The module path of a file below `coordination/src`: `stores/job.rs` is `stores::job`.
fn module_path(path: &Path) -> Vec<String> {
    let below = path.strip_prefix(core_root()).unwrap().with_extension("");
    let names = below.components().map(|name| name.as_os_str().to_str().unwrap().to_owned());
    names.filter(|name| !matches!(name.as_str(), "mod" | "lib")).collect()
}

/// Everything that is wrong with one file.
fn violations(module: &[&str], text: &str) -> Vec<String> {
    let module: Vec<String> = module.iter().map(|name| (*name).to_owned()).collect();
    let Some(name) = module.first().map(String::as_str) else { return Vec::new() };
    let Some((_, allowed)) = MAY_NAME.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} is not in the table of what may name what")];
    };
    let tokens = tokens(text);
    let mut found = Vec::new();
    let paths = paths(&tokens);
    // A module that is imported by its allowed path may be named alone.
    let imported: BTreeSet<String> = paths
        .iter()
        .filter(|path| path.first().is_some_and(|root| root == "crate" || root == "super"))
        .filter_map(|path| path.last().cloned())
        .collect();
    for path in paths {
        let shown = path.join("::");
        let root = path.first().map(String::as_str).unwrap_or_default();
        let right = match root {
            "crate" | "super" => {
                let target = resolve(&module, &path);
                let first = target.first().map(String::as_str).unwrap_or_default();
                first == name || allowed.contains(&first)
            }
            "std" => {
                STD.iter().any(|known| shown == *known || shown.starts_with(&format!("{known}::")))
            }
            "protocol" => shown == "protocol::codec" || !shown.starts_with("protocol::codec"),
            "codec" => shown == "codec::encoded_len",
            "core" | "alloc" => false,
            // A type of this file or of the prelude, a module below this one, or a lint.
            other => {
                other.starts_with(char::is_uppercase)
                    || imported.contains(other)
                    || is_own_submodule(&module, other)
                    || is_plain(other)
            }
        };
        if !right || path.last().is_some_and(|last| last == "*") {
            found.push(format!("{name} may not name {shown}"));
        }
    }
    found.extend(banned_words(name, &tokens));
    found
}

fn is_own_submodule(module: &[String], name: &str) -> bool {
    let file = core_root().join(module.join("/")).join(name).with_extension("rs");
    file.exists()
}

fn is_plain(name: &str) -> bool {
    matches!(name, "u64" | "usize" | "str" | "char" | "fmt" | "clippy" | "rustfmt")
}

fn banned_words(name: &str, tokens: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1).map(String::as_str);
        let after = tokens.get(index + 2).map(String::as_str);
        let opens = matches!(after, Some("(" | "[" | "{"));
        let is_macro = next == Some("!") && opens && !matches!(token.as_str(), "if" | "while");
        if is_macro && !MACROS.contains(&token.as_str()) && !KEYWORDS.contains(&token.as_str()) {
            found.push(format!("{name} calls {token}!"));
        }
        if KEYWORDS.contains(&token.as_str()) || (token == "static" && next == Some("mut")) {
            found.push(format!("{name} says {token}"));
        }
        let writer = WRITERS.iter().find(|(store, _)| store == token);
        if let Some((store, writer)) =
            writer.filter(|(_, writer)| name != "stores" && name != *writer)
        {
            found.push(format!("{name} names {store}; only {writer} may"));
        }
    }
    found
}

#[test]
fn the_core_keeps_its_dependency_rules() {
    let files = rust_files(&core_root());
    assert!(files.len() > 20, "the core was not found");
    let mut found = BTreeMap::new();
    for path in files {
        let module = module_path(&path);
        let module: Vec<&str> = module.iter().map(String::as_str).collect();
        let violations = violations(&module, &fs::read_to_string(&path).unwrap());
        if !violations.is_empty() {
            found.insert(path, violations);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn breaking_a_rule_is_noticed() {
    let cases: &[(&[&str], &str)] = &[
        (&["job_manager"], "use crate::reconnect_controller::Verdict;"),
        (&["job_manager"], "use crate::{reconnect_controller::Verdict};"),
        (&["job_manager"], "use super::reconnect_controller::Verdict;"),
        (&["job_manager"], "use crate::ExecutionCoordinator;"),
        (&["job_manager"], "use crate::*;"),
        (&["cancel_manager"], "use crate::stores::job::Job;"),
        (&["stores", "job"], "use super::super::reconnect_controller::Verdict;"),
        (&["execution_coordinator", "jobs"], "use crate::stores::job::JobStore;"),
        (&["time"], "use std::time::Instant;"),
        (&["time"], "fn f() { let now = std::time::SystemTime::now(); }"),
        (&["ids"], "use std::collections::{BTreeMap, HashMap};"),
        (&["ids"], "use std::hash::RandomState;"),
        (&["ids"], "use std::net::TcpStream;"),
        (&["ids"], "use std::sync::atomic::AtomicU64;"),
        (&["ids"], "async fn f() {}"),
        (&["ids"], "static mut COUNT: u64 = 0;"),
        (&["event"], "use serde::Serialize;"),
        (&["event"], "fn f() { tokio::spawn(g()); }"),
        (&["event"], "fn f() { log::info!(\"x\"); }"),
        (&["event"], "fn f() { println!(\"// x\"); }"),
        (&["event"], "use protocol::codec::decode;"),
        (&["event"], "#[cfg(test)]\nuse std::time::Instant;"),
        (&["newcomer"], ""),
    ];
    for (module, code) in cases {
        assert!(!violations(module, code).is_empty(), "{module:?}: {code}");
    }
    let innocent = "// an Instant\nfn f() -> &'static str { \"std::time::Instant\" }";
    assert_eq!(violations(&["ids"], innocent), Vec::<String>::new());
}

#[test]
fn the_bans_of_clippy_cannot_be_lifted_inside_the_core() {
    let lib = fs::read_to_string(core_root().join("lib.rs")).unwrap();
    let attribute = lib.lines().find(|line| line.starts_with("#![forbid(")).unwrap();
    for lint in ["disallowed_types", "disallowed_methods", "disallowed_macros"] {
        assert!(attribute.contains(&format!("clippy::{lint}")), "{lint} is not forbidden");
    }
}

#[test]
fn the_core_depends_on_the_wire_alone() {
    assert_eq!(dependencies("coordination"), ["protocol"]);
}

#[test]
fn the_wire_knows_nothing_of_its_users() {
    assert_eq!(dependencies("../protocol"), ["serde", "serde_json", "schemars"]);
}

#[test]
fn the_core_level_and_the_fuzzed_core_need_nothing_else_of_the_server() {
    let of_sim = manifest("../sim");
    assert!(of_sim.contains("unity-mcp = { workspace = true, optional = true }"));
    let of_fuzz = manifest("../tests/fuzz");
    assert!(of_fuzz.contains("unity-mcp = { workspace = true, optional = true }"));
    assert!(of_fuzz.contains("sim = { path = \"../../sim\", default-features = false }"));
}

fn manifest(package: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(package).join("Cargo.toml");
    fs::read_to_string(path).unwrap()
}

/// What a package names under `[dependencies]`.
fn dependencies(package: &str) -> Vec<String> {
    let manifest = manifest(package);
    let after = manifest.split("[dependencies]").nth(1).unwrap();
    let section = after.split("\n[").next().unwrap().lines();
    let names = section.filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
