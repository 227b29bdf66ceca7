//! The folders of the shell.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{paths, resolve, rust_files, tokens};

/// What each module or folder of the shell may name of the others, and of the core.
const SHELL: &[(&str, &[&str])] = &[
    ("budget", &["system"]),
    ("cli", &["commands", "config_loader", "logger"]),
    (
        "commands",
        &["budget", "config_loader", "coordination", "network", "port", "project", "system"],
    ),
    ("config_loader", &["coordination", "project"]),
    ("clock", &["coordination"]),
    ("event_loop", &["budget", "clock", "coordination", "live", "transition_log"]),
    (
        "http",
        &[
            "budget",
            "coordination",
            "event_loop",
            "live",
            "mcp",
            "network",
            "request_room",
            "unity",
        ],
    ),
    (
        "lib",
        &[
            "budget",
            "clock",
            "config_loader",
            "coordination",
            "event_loop",
            "http",
            "live",
            "mcp",
            "network",
            "port",
        ],
    ),
    ("live", &["budget", "clock", "coordination"]),
    ("logger", &["budget", "system"]),
    (
        "main",
        &[
            "budget",
            "cli",
            "commands",
            "config_loader",
            "coordination",
            "logger",
            "network",
            "port",
            "system",
        ],
    ),
    ("mcp", &["budget", "clock", "coordination", "event_loop", "port", "request_room"]),
    ("network", &[]),
    ("port", &["budget", "clock", "coordination", "event_loop", "network"]),
    ("project", &[]),
    ("request_room", &["budget"]),
    ("system", &["budget", "coordination", "network"]),
    ("transition_log", &["clock", "coordination", "event_loop"]),
    ("unity", &["budget", "coordination", "event_loop", "project"]),
];

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
        (&["unity", "web_socket"], "use crate::mcp::tool_results;"),
        (&["unity", "web_socket"], "use super::super::http::access::AccessRules;"),
        (&["port", "relay"], "use crate::http::HttpHost;"),
        (&["mcp", "adapter"], "use crate::unity::web_socket::WebSocket;"),
        (&["mcp", "adapter"], "fn f() { crate::http::x(); }"),
        (&["live", "tap"], "use crate::event_loop::CoordinatorHandle;"),
        (&["live", "viewer"], "use crate::http::HttpHost;"),
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
        // The ranges of the settings are part of their table, and the kernel says what its messages look like.
        if matches!(name.as_str(), "budget.rs" | "config_loader.rs" | "sock_diag.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let found: Vec<&str> = code.lines().filter(|line| is_number(line)).collect();
        assert!(found.is_empty(), "{name} has numbers of its own: {found:#?}");
    }
}

#[test]
fn only_the_module_system_asks_which_system_it_is() {
    let asks = |line: &str| {
        let conditions = ["cfg(unix", "cfg(windows", "cfg(target_", "cfg(not(", "cfg!("];
        conditions.iter().any(|condition| line.contains(condition))
    };
    for path in rust_files(&shell_root()) {
        let inside = path.strip_prefix(shell_root()).unwrap();
        if inside.starts_with("system") || inside == Path::new("system.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let found: Vec<&str> = code.lines().filter(|line| asks(line)).collect();
        assert!(found.is_empty(), "{} depends on the system: {found:#?}", inside.display());
    }
}
