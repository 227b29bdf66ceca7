//! The demo: the first thing that a new user sees.

use coordination::TOOLS;
use harness::server::program;

use crate::mock::Mock;

const CHAPTERS: [&str; 7] = [
    "Unity  connected",
    "waiting: Unity is compiling",
    "Unity  disconnected",
    "20 tests, 18 passed, 2 failed",
    "get_job_status -> cancelled",
    "(not_executed)",
    "0 arrived twice, at most 1 at a time",
];

#[test]
fn the_demo_shows_every_step_and_ends() {
    let mut demo = Mock::run(&["demo", "--server", program().to_str().unwrap()]);
    let mut story = String::new();
    while let Some(line) = demo.line() {
        story += &format!("{line}\n");
    }
    assert!(demo.end().success(), "{story} {}", demo.complaint());
    let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let list = format!("sees {}\n", names.join(", "));
    let (_, mut rest) = story.split_once(&list).unwrap_or_else(|| panic!("{list} in {story}"));
    for chapter in CHAPTERS {
        let at = rest.find(chapter).unwrap_or_else(|| panic!("{chapter} in {story}"));
        rest = &rest[at..];
    }
}

#[test]
#[cfg(unix)]
fn a_demo_that_stays_says_how_to_connect_and_ends_when_asked() {
    let mut demo = Mock::run(&["demo", "--stay", "--server", program().to_str().unwrap()]);
    let line = loop {
        let line = demo.line().unwrap_or_else(|| panic!("{}", demo.complaint()));
        if line.contains("claude mcp add") {
            break line;
        }
    };
    let url = line.split(' ').next_back().unwrap();
    let port = url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    let agent = harness::agent::HttpAgent { port };
    assert_eq!(agent.run("get_editor_state", &serde_json::json!({})).unwrap()["connected"], true);
    let pid = demo.process.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(demo.end().success());
}

#[test]
fn a_demo_without_a_server_says_what_is_missing() {
    let mut demo = Mock::run(&["demo", "--server", "/nowhere/unity-mcp"]);
    assert_eq!(demo.end().code(), Some(1));
    assert!(demo.complaint().contains("/nowhere/unity-mcp does not start"));
}
