//! A plugin that keeps the rules.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use harness::server::{binary, program};

use crate::certify::certify;

#[test]
fn a_healthy_plugin_passes_every_check() {
    let certified = certify("--reload 300ms --project /work/game", &[]);
    let failures: Vec<_> =
        certified.checks.iter().filter(|check| check["outcome"] != "passed").collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!((certified.code, &certified.summary["failed"]), (0, &0.into()));
    assert!(certified.checks.len() >= 49, "{}", certified.checks.len());
}

#[test]
fn json_that_is_written_in_another_way_is_as_good() {
    let flags = "--writes reversed,spaced,escaped,extra --pong-seq none";
    let only = ["--only", "read_console", "--only", "ping", "--only", "unknown"];
    let certified = certify(flags, &only);
    assert_eq!(certified.names("failed"), Vec::<&str>::new());
    assert_eq!(certified.code, 0);
}

#[test]
fn a_hello_without_names_is_no_failure_but_gets_advice() {
    let certified = certify("--no-names", &["--only", "The hello names"]);
    assert_eq!(certified.code, 0);
    let not_tried = ["The hello names the Editor and the session", "The hello names the project"];
    assert_eq!(certified.names("not_tried")[..2], not_tried);
    let advice = certified.checks[0]["sentence"].as_str().unwrap();
    assert!(advice.contains("a new socket can replace a dead one"), "{advice}");
}

#[test]
fn a_plugin_without_a_tool_is_not_asked_for_it() {
    let only = ["--only", "read_console", "--only", "run_tests", "--only", "cursor"];
    let certified = certify("--tools other", &only);
    let asked = certified.names("passed").into_iter().filter(|name| name.contains("read_console"));
    assert_eq!(asked.count(), 0);
    assert_eq!(certified.names("failed"), Vec::<&str>::new());
    assert!(certified.names("not_tried").len() >= 12);
}

#[test]
fn without_a_driver_and_a_person_some_checks_are_not_tried() {
    let only = ["--only", "compile", "--only", "blocked", "--only", "max_entries"];
    let mut certify = Command::new(program());
    certify.args(["certify", "--port", "0"]).args(only);
    certify.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut certify = certify.spawn().unwrap();
    let mut lines = BufReader::new(certify.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let port = first.split(['/', ':']).find_map(|part| part.parse::<u16>().ok()).unwrap();
    let mut mock = Command::new(binary("mock-unity"));
    mock.args(["--port", &port.to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut mock = mock.spawn().unwrap();
    let lines: Vec<String> = lines.collect();
    mock.kill().unwrap();
    mock.wait().unwrap();
    // Long rows are wrapped.
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    let story = words.join(" ");
    assert_eq!(certify.wait().unwrap().code(), Some(0), "{story}");
    assert!(story.contains("not tried A compile is announced"), "{story}");
    assert!(story.contains("It needs --driver, or a person at a terminal."), "{story}");
    assert!(story.contains("passed read_console gives at most max_entries"), "{story}");
    assert!(!story.contains('\u{1b}'), "{story}");
}
