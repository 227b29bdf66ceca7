//! The demo: the first thing that a new user sees.

use std::net::TcpListener;
use std::path::Path;

use coordination::TOOLS;
use harness::agent::HttpAgent;
use harness::server::{Scratch, binary, program};
use harness::stop_signal::StopSignal;
use serde_json::json;

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
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/demo.txt");
    let recorded = std::fs::read_to_string(file).unwrap();
    assert_eq!(outline(&story), outline(&recorded), "run `just pictures`");
}

/// The chapters, and what the agent does in each, without times and names of jobs.
fn outline(story: &str) -> String {
    let is_said = |line: &&str| {
        line.starts_with(|sign: char| sign.is_ascii_digit()) || line.contains(" agent  ")
    };
    let plain = |line: &str| line.replace(|sign: char| sign.is_ascii_digit(), "");
    story.lines().filter(is_said).map(|line| plain(line) + "\n").collect()
}

#[test]
fn a_demo_that_stays_says_how_to_connect_shows_calls_and_takes_commands() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let program = program().to_str().unwrap();
    let flags = ["demo", "--stay", "--port", &port.to_string(), "--server", program];
    let mut demo = Mock::run(&flags);
    let wait_for = |demo: &mut Mock, part: &str| loop {
        let line = demo.line().unwrap_or_else(|| panic!("{}", demo.complaint()));
        if line.contains(part) {
            break line;
        }
    };
    wait_for(&mut demo, &format!("claude mcp add --transport http unity http://127.0.0.1:{port}"));
    let agent = HttpAgent { port };
    assert_eq!(agent.run("get_editor_state", &json!({})).unwrap()["connected"], true);
    wait_for(&mut demo, "agent  get_editor_state -> ok after");
    demo.type_line("compile fails 2");
    wait_for(&mut demo, "Unity  compiling for 3s");
    agent.run("read_console", &json!({ "max_entries": 0 })).unwrap_err();
    wait_for(&mut demo, "agent  read_console -> ERR_INVALID_PARAMS, rejected");
    let errors = agent.run("read_console", &json!({ "types": "error" })).unwrap();
    assert_eq!(errors["count"], 2);
    let line = wait_for(&mut demo, "agent  read_console -> ok after");
    assert!(!line.contains(" 0 ms of them waiting"), "{line}");
    let Some(stop) = StopSignal::interrupt() else { return };
    stop.send(&demo.process);
    assert!(demo.end().success());
}

/// What a person has who downloaded two programs: no cargo, and no copy of the repository is needed.
#[test]
fn the_demo_takes_the_server_beside_it_and_builds_nothing() {
    let folder = Scratch::new("demo beside");
    for program in [program(), binary("mock-unity")] {
        std::fs::copy(program, folder.0.join(program.file_name().unwrap())).unwrap();
    }
    // Under Wine the programs need a library beside them.
    for library in std::fs::read_dir(program().parent().unwrap()).unwrap().flatten() {
        if library.path().extension().is_some_and(|extension| extension == "dll") {
            std::fs::copy(library.path(), folder.0.join(library.file_name())).unwrap();
        }
    }
    let mock = folder.0.join(binary("mock-unity").file_name().unwrap());
    let mut command = std::process::Command::new(&mock);
    command.arg("demo").current_dir(&folder.0).env("PATH", &folder.0).env_remove("CARGO");
    let output = command.env("UNITY_MCP_TOKEN_FILE", "/nowhere").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (story, complaint) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && complaint.is_empty(), "{story}{complaint}");
    assert!(story.starts_with("unity-mcp connects AI agents"), "{story}");
    let own = format!("\"{}\" demo --stay", mock.display());
    assert!(story.trim_end().ends_with(&own), "{story}");
}

#[test]
fn a_demo_without_a_server_says_what_is_missing() {
    let mut demo = Mock::run(&["demo", "--server", "/nowhere/unity-mcp"]);
    assert_eq!(demo.end().code(), Some(1));
    assert!(demo.complaint().contains("/nowhere/unity-mcp does not start"));
}

#[test]
fn a_demo_whose_port_is_taken_says_how_to_choose_another() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let flags = ["demo", "--stay", "--port", &port, "--server", program().to_str().unwrap()];
    let mut demo = Mock::run(&flags);
    assert_eq!(demo.end().code(), Some(1));
    let complaint = demo.complaint();
    assert!(complaint.contains(&port) && complaint.contains("--port"), "{complaint}");
}

#[test]
fn a_demo_shows_the_log_of_the_server_on_request() {
    let mut demo = Mock::run(&["demo", "--server-log", "--server", program().to_str().unwrap()]);
    let mut story = String::new();
    while let Some(line) = demo.line() {
        story += &format!("{line}\n");
    }
    assert!(demo.end().success(), "{story}");
    assert!(story.contains("server  INFO unity connected session=1"), "{story}");
}

#[test]
fn a_demo_with_the_plugin_but_without_mono_says_what_is_missing() {
    let flags = ["demo", "--plugin", "--server", program().to_str().unwrap()];
    let mut demo = Mock::run_with(&flags, |command| {
        command.env("EDITOR_HOST", "/nowhere/EditorHost.exe").env("PATH", "/nowhere");
    });
    assert_eq!(demo.end().code(), Some(1));
    let complaint = demo.complaint();
    assert!(complaint.contains("Mono is not installed"), "{complaint}");
}
