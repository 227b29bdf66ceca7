//! The dependency rules of the core and of the folders of the shell, as a test. The tables are those in
//! docs/ARCHITECTURE.md. They list what is allowed: a new module needs a line here.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module of the core may name of the others.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("cancel_manager", &["event", "ids", "limits"]),
    ("editor_state_tracker", &["time"]),
    ("event", &["failure", "ids", "request_validator", "time"]),
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
            "tool_answers",
            "tool_catalog",
        ],
    ),
    ("failure", &["ids", "tool_answers", "tool_catalog"]),
    ("heartbeat", &["time"]),
    ("ids", &[]),
    ("job_manager", &["event", "failure", "ids", "limits", "stores", "time", "tool_answers"]),
    ("limits", &[]),
    ("reconnect_controller", &["heartbeat", "ids", "limits", "stores", "time"]),
    ("request_scheduler", &["event", "ids", "limits", "request_validator", "stores", "time"]),
    ("request_validator", &["failure", "tool_catalog"]),
    ("shape", &[]),
    ("stores", &["failure", "heartbeat", "ids", "request_validator", "time"]),
    ("time", &["ids"]),
    ("tool_answers", &[]),
    ("tool_catalog", &["shape", "tool_answers"]),
];

/// What each module or folder of the shell may name of the others, and of the core.
const SHELL: &[(&str, &[&str])] = &[
    ("budget", &[]),
    ("cli", &["config_loader", "logger"]),
    ("config_loader", &["coordination"]),
    ("event_loop", &["budget", "coordination", "transition_log"]),
    ("http", &["budget", "coordination", "event_loop", "mcp", "network", "request_room", "unity"]),
    (
        "lib",
        &[
            "budget",
            "config_loader",
            "coordination",
            "event_loop",
            "http",
            "mcp",
            "network",
            "port",
        ],
    ),
    ("logger", &["budget"]),
    (
        "main",
        &["budget", "cli", "config_loader", "coordination", "logger", "network", "port", "system"],
    ),
    ("mcp", &["budget", "coordination", "event_loop", "port", "request_room"]),
    ("network", &[]),
    ("port", &["budget", "coordination", "event_loop", "network"]),
    ("request_room", &["budget"]),
    ("system", &["budget", "coordination", "network"]),
    ("transition_log", &["coordination", "event_loop"]),
    ("unity", &["budget", "coordination", "event_loop"]),
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
    &["debug_assert", "format", "format_args", "matches", "unreachable", "vec", "write"];

const KEYWORDS: &[&str] = &["async", "await", "unsafe", "extern", "macro_rules"];

fn core_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("coordination/src")
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

/// The module path of a file below `coordination/src`: `stores/job.rs` is `stores::job`.
fn module_path(path: &Path) -> Vec<String> {
    let below = path.strip_prefix(core_root()).unwrap().with_extension("");
    let names = below.components().map(|name| name.as_os_str().to_str().unwrap().to_owned());
    names.filter(|name| !matches!(name.as_str(), "mod" | "lib")).collect()
}

/// Words, `::` and single signs; comments, texts and the unit tests at the end are left out.
fn tokens(text: &str) -> Vec<String> {
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
fn paths(tokens: &[String]) -> BTreeSet<Vec<String>> {
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
fn resolve(module: &[String], path: &[String]) -> Vec<String> {
    if path.first().is_some_and(|first| first == "crate") {
        return path.iter().skip(1).cloned().collect();
    }
    let supers = path.iter().take_while(|name| *name == "super").count();
    let base = module.iter().take(module.len().saturating_sub(supers));
    base.chain(path.iter().skip(supers)).cloned().collect()
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

fn shell_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules of the shell that a file names, the core as one of them.
fn named_by(module: &[String], text: &str) -> BTreeSet<String> {
    let is_module = |name: &&str| SHELL.iter().any(|(known, _)| known == name);
    let paths = paths(&tokens(text));
    let named = paths.iter().filter_map(|path| match path.first().map(String::as_str)? {
        "coordination" => Some("coordination".to_owned()),
        "unity_mcp" => path.get(1).cloned(),
        "crate" | "super" => resolve(module, path).first().cloned(),
        // The crate's root declares the modules, so it names them alone.
        root if module.len() <= 1 => Some(root.to_owned()),
        _ => None,
    });
    named.filter(|name| is_module(&name.as_str()) || name == "coordination").collect()
}

fn shell_violations(module: &[&str], text: &str) -> Vec<String> {
    let module: Vec<String> = module.iter().map(|name| (*name).to_owned()).collect();
    let name = module.first().cloned().unwrap_or_else(|| "lib".to_owned());
    let Some((_, allowed)) = SHELL.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} is not in the table of the shell")];
    };
    let named = named_by(&module, text);
    let wrong = named.iter().filter(|other| **other != name && !allowed.contains(&other.as_str()));
    wrong.map(|other| format!("{name} may not name {other}")).collect()
}

#[test]
fn the_folders_of_the_shell_keep_their_dependency_rules() {
    let files = rust_files(&shell_root());
    assert!(files.len() > 25, "the shell was not found");
    let mut found = Vec::new();
    for path in files {
        let below = path.strip_prefix(shell_root()).unwrap().with_extension("");
        let names = below.components().map(|name| name.as_os_str().to_str().unwrap());
        let module: Vec<&str> = names.filter(|name| !matches!(*name, "mod" | "lib")).collect();
        found.extend(shell_violations(&module, &fs::read_to_string(&path).unwrap()));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn breaking_a_rule_of_the_shell_is_noticed() {
    let cases: &[(&[&str], &str)] = &[
        (&["unity", "web_socket"], "use crate::mcp::rendering;"),
        (&["unity", "web_socket"], "use super::super::http::access::AccessRules;"),
        (&["port", "relay"], "use crate::http::HttpHost;"),
        (&["mcp", "adapter"], "use crate::unity::web_socket::WebSocket;"),
        (&["mcp", "adapter"], "fn f() { crate::http::x(); }"),
        (&["network"], "use coordination::Event;"),
        (&["newcomer"], ""),
    ];
    for (module, code) in cases {
        assert!(!shell_violations(module, code).is_empty(), "{module:?}: {code}");
    }
    assert!(
        shell_violations(&["mcp", "adapter"], "use crate::port::upstream::Upstream;").is_empty()
    );
}

#[test]
fn the_numbers_of_the_shell_are_in_the_budget() {
    let is_number = |line: &str| {
        let declares = line.trim_start().trim_start_matches("pub ").starts_with("const ");
        declares
            && [": usize", ": u32", ": u64", ": f64", ": Duration"]
                .iter()
                .any(|kind| line.contains(kind))
    };
    for path in rust_files(&shell_root()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        // The ranges of the settings are part of their table.
        if matches!(name.as_str(), "budget.rs" | "config_loader.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let found: Vec<&str> = code.lines().filter(|line| is_number(line)).collect();
        assert!(found.is_empty(), "{name} has numbers of its own: {found:#?}");
    }
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

/// What a package names under `[dependencies]`.
fn dependencies(package: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(package).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let after = manifest.split("[dependencies]").nth(1).unwrap();
    let section = after.split("\n[").next().unwrap().lines();
    let names = section.filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
