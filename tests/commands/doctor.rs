//! `doctor`: every check that can be produced here.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;

use harness::editor::{Program, without_token};
use harness::server::{Scratch, Server};
use serde_json::{Value, json};

use crate::command::{Ended, free_port, run, run_with, unity_project};

/// The state and the fact of a check.
/// A program that does not exist.
const MISSING: &str =
    if cfg!(windows) { "C:\\nowhere\\unity-mcp.exe" } else { "/nowhere/unity-mcp" };

fn check<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == name);
    let check = check.unwrap_or_else(|| panic!("no {name} in {report:#}"));
    assert_eq!(check["state"] == "ok", check["action"].is_null(), "{check}");
    (check["state"].as_str().unwrap(), check["fact"].as_str().unwrap())
}

fn action<'a>(report: &'a Value, name: &str) -> &'a str {
    let mut checks = report["checks"].as_array().unwrap().iter();
    checks.find(|check| check["check"] == name).unwrap()["action"].as_str().unwrap()
}

fn has(report: &Value, name: &str) -> bool {
    report["checks"].as_array().unwrap().iter().any(|check| check["check"] == name)
}

/// In this folder, for this port.
fn doctor(folder: &Scratch, port: u16, prepare: impl FnOnce(&mut Command)) -> Ended {
    let port = port.to_string();
    run_with(&["doctor", "--json", "--port", &port], |command| {
        command.current_dir(&folder.0).env("HOME", &folder.0).env("USERPROFILE", &folder.0);
        prepare(command);
    })
}

#[test]
fn a_healthy_project_has_no_failure() {
    let project = unity_project("doctor-healthy");
    let path = project.0.to_str().unwrap();
    let instance = json!({ "process_id": std::process::id(), "version": "2022.3.10f1" });
    std::fs::write(project.0.join("Library/EditorInstance.json"), instance.to_string()).unwrap();
    let (_server, agent, mut editor) =
        Program::MockUnity.connected(&["--project", path], &["--project", path]);
    let report = doctor(&project, agent.port, |_| {}).assert_code(0).json();
    assert_eq!(report["exit_code"], 0);
    let ok = |name: &str, part: &str| {
        let (state, fact) = check(&report, name);
        assert!(state == "ok" && fact.contains(part), "{name}: {state} {fact}");
    };
    ok("project", "Unity 2022.3.10f1");
    ok("plugin", "com.unity-mcp.editor");
    // Wine does not list its processes, so there the connection alone shows it.
    let pid = format!("pid {}", std::process::id());
    ok("unity", if cfg!(windows) { "has the project open" } else { &pid });
    ok("port", "unity-mcp");
    ok("editor", "is connected, ready for ");
    ok("token", "not required");
    // What is connected is open, whatever the files say.
    std::fs::remove_file(project.0.join("Library/EditorInstance.json")).unwrap();
    let report = doctor(&project, agent.port, |_| {}).assert_code(0).json();
    let (state, fact) = check(&report, "unity");
    assert!(state == "ok" && fact.contains("has the project open"), "{state} {fact}");
    for absent in ["disconnect", "other", "refused", "blocked", "ipv6", "wsl"] {
        assert!(!has(&report, absent), "{report:#}");
    }

    editor.type_line("drop 100ms");
    editor.shows("disconnected");
    editor.gets("capability");
    let report = doctor(&project, agent.port, |_| {}).assert_code(0).json();
    let (state, fact) = check(&report, "disconnect");
    assert!(state == "ok" && fact.contains("the Editor closed it"), "{fact}");
}

#[test]
fn what_a_person_reads_is_one_line_per_check_with_the_next_action() {
    let folder = Scratch::new("doctor-human");
    let port = free_port().to_string();
    let ended = run_with(&["doctor", "--port", &port], |command| {
        command.current_dir(&folder.0).env("HOME", &folder.0);
    })
    .assert_code(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("warn  project    no Unity project"), "{ended:?}");
    assert!(lines[1].trim_start().starts_with("-> "), "{ended:?}");
    assert!(ended.stdout.contains(&format!("no server runs; port {port} is free")), "{ended:?}");
    assert!(ended.stdout.trim_end().ends_with("0 fail"), "{ended:?}");
}

#[test]
fn a_project_without_the_plugin_or_a_version_is_named() {
    let project = unity_project("doctor-plugin");
    std::fs::write(project.0.join("Packages/manifest.json"), "{\"dependencies\":{}}").unwrap();
    std::fs::remove_file(project.0.join("ProjectSettings/ProjectVersion.txt")).unwrap();
    let report = doctor(&project, free_port(), |_| {}).assert_code(1).json();
    assert_eq!(check(&report, "plugin").0, "fail");
    assert_eq!(check(&report, "project").0, "warn");
    assert_eq!(check(&report, "unity"), ("warn", "no Editor has the project open"));
    let is_complete = !setup::unity::DEFAULT_SOURCE.contains("/OWNER/");
    assert!(is_complete || action(&report, "plugin").contains("--source"), "{report:#}");
    std::fs::write(project.0.join("Packages/manifest.json"), "{").unwrap();
    let report = doctor(&project, free_port(), |_| {}).assert_code(0).json();
    assert!(check(&report, "plugin").1.contains("cannot be read as JSON"));
    std::fs::create_dir_all(project.0.join("Packages/com.unity-mcp.editor")).unwrap();
    std::fs::write(project.0.join("Packages/com.unity-mcp.editor/package.json"), "{}").unwrap();
    let report = doctor(&project, free_port(), |_| {}).assert_code(0).json();
    assert_eq!(check(&report, "plugin").0, "ok");
}

#[cfg(unix)]
#[test]
fn an_editor_that_crashed_has_left_its_file_behind() {
    let project = unity_project("doctor-crashed");
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let instance = json!({ "process_id": gone.id(), "version": "2022.3.10f1" });
    std::fs::write(project.0.join("Library/EditorInstance.json"), instance.to_string()).unwrap();
    let report = doctor(&project, free_port(), |_| {}).assert_code(0).json();
    assert_eq!(check(&report, "unity").0, "warn");
}

#[test]
fn a_stranger_on_the_port_is_named_with_its_pid() {
    let folder = Scratch::new("doctor-stranger");
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let report = doctor(&folder, port, |_| {}).assert_code(1).json();
    let (state, fact) = check(&report, "port");
    let pid = format!("pid {}", std::process::id());
    assert!(state == "fail" && fact.contains("another program"), "{fact}");
    assert!(!cfg!(target_os = "linux") || fact.contains(&pid), "{fact}");
}

/// Only root can start a program of another user. On other systems nobody can tell.
#[cfg(target_os = "linux")]
#[test]
fn a_server_of_another_user_is_named_and_not_asked() {
    use std::os::unix::process::CommandExt as _;
    let started = std::panic::catch_unwind(|| {
        Server::start_with(&["--port", "0"], |command| {
            command.uid(65_534);
        })
    });
    let Ok(mut server) = started else {
        eprintln!("skipped: this test needs root");
        return;
    };
    let folder = Scratch::new("doctor-other-user");
    let report = doctor(&folder, server.port(), |_| {}).assert_code(1).json();
    let (state, fact) = check(&report, "port");
    assert!(state == "fail" && fact.contains("a program of another user"), "{fact}");
    assert!(!has(&report, "editor"), "{report}");
}

/// A server of another version that knows nothing but its name.
fn old_server(listener: TcpListener) {
    std::thread::spawn(move || {
        let health = r#"{"name":"unity-mcp","version":"0.0.1","instance_id":"a","pid":1,"server_state":"ready","editor_state":"ready"}"#;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = String::new();
            // A peer that leaves early has seen enough.
            BufReader::new(&stream).read_line(&mut asked).unwrap_or_default();
            let (status, body) = if asked.starts_with("GET /healthz") {
                ("200 OK", health)
            } else {
                ("404 Not Found", "")
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + body).as_bytes()).unwrap_or_default();
        }
    });
}

#[test]
fn a_server_of_another_version_is_a_warning() {
    let folder = Scratch::new("doctor-version");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    old_server(listener);
    let report = doctor(&folder, port, |_| {}).json();
    let (state, fact) = check(&report, "port");
    assert!(
        state == "warn" && fact.contains("0.0.1") && fact.contains("this program is"),
        "{fact}"
    );
}

#[test]
fn a_program_on_the_same_port_of_ipv6_is_a_warning() {
    let folder = Scratch::new("doctor-ipv6");
    let Ok(namesake) = TcpListener::bind("[::1]:0") else { return }; // A machine without IPv6.
    let port = namesake.local_addr().unwrap().port();
    let report = doctor(&folder, port, |_| {}).assert_code(0).json();
    assert_eq!(check(&report, "ipv6").0, "warn");
}

#[test]
fn no_editor_is_a_failure_unless_the_project_is_closed() {
    let mut server = Server::start(&[]);
    let port = server.port();
    let folder = Scratch::new("doctor-no-editor");
    let report = doctor(&folder, port, |_| {}).assert_code(1).json();
    assert_eq!(check(&report, "editor").0, "fail");
    let project = unity_project("doctor-closed");
    let report = doctor(&project, port, |_| {}).assert_code(0).json();
    assert_eq!(check(&report, "editor").0, "warn");
}

#[test]
fn an_editor_of_another_project_is_seen_from_both_sides() {
    let project = unity_project("doctor-other");
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &["--project", "/work/a"]);
    let report = doctor(&project, agent.port, |_| {}).assert_code(1).json();
    let (state, fact) = check(&report, "other");
    assert!(state == "fail" && fact.contains("/work/a"), "{fact}");

    let mut server = Server::start(&["--project", project.0.to_str().unwrap()]);
    let port = server.port();
    let flags = ["--project", "/work/b", "--reconnect", "0", "--json", "--port", &port.to_string()];
    harness::editor::Editor::run(Program::MockUnity, &flags, without_token).gets("error");
    let report = doctor(&project, port, |_| {}).json();
    let (state, fact) = check(&report, "refused");
    assert!(state == "warn" && fact.contains("/work/b"), "{fact}");
}

#[test]
fn a_blocked_editor_is_a_failure_that_sends_the_person_there() {
    let (_server, agent, mut editor) = Program::MockUnity.connected(&[], &[]);
    editor.type_line("dialog");
    editor.obeys();
    agent.run("read_console", &json!({ "timeout_ms": 200 })).unwrap_err();
    let folder = Scratch::new("doctor-blocked");
    let report = doctor(&folder, agent.port, |_| {}).assert_code(1).json();
    let (state, fact) = check(&report, "blocked");
    assert!(state == "fail" && fact.contains("read_console"), "{fact}");
}

#[cfg(unix)]
#[test]
fn a_token_that_others_can_read_and_one_that_is_missing_are_noticed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Scratch::new("doctor-token");
    let file = folder.0.join("token");
    let with_token = |command: &mut Command| {
        command.env("UNITY_MCP_TOKEN_FILE", &file);
    };
    std::fs::write(folder.0.join("unity-mcp.server.json"), "{\"require_token\":true}").unwrap();
    let report = doctor(&folder, free_port(), with_token).assert_code(0).json();
    assert_eq!(check(&report, "token").0, "warn");
    std::fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let report = doctor(&folder, free_port(), with_token).assert_code(1).json();
    assert_eq!(check(&report, "token").0, "fail");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let report = doctor(&folder, free_port(), with_token).assert_code(0).json();
    assert_eq!(check(&report, "token").0, "ok");
    let mut server = Server::start_with(&["--port", "0", "--require-token"], with_token);
    let report = doctor(&folder, server.port(), |_| {}).assert_code(1).json();
    assert!(check(&report, "port").1.contains("requires a token"));
}

#[test]
fn the_entries_of_clients_are_checked() {
    let folder = Scratch::new("doctor-clients");
    let cursor = folder.0.join(".cursor");
    std::fs::create_dir_all(&cursor).unwrap();
    let port = free_port();
    let entry = |text: Value| {
        let text = json!({ "mcpServers": { "unity": text } }).to_string();
        std::fs::write(cursor.join("mcp.json"), text).unwrap();
        doctor(&folder, port, |_| {}).json()
    };
    let report = doctor(&folder, port, |_| {}).json();
    assert_eq!(check(&report, "client").0, "warn");
    let report = entry(json!({ "command": MISSING, "args": ["--stdio"] }));
    let (state, fact) = check(&report, "client");
    assert!(state == "fail" && fact.contains("does not exist"), "{fact}");
    let report = entry(json!({ "url": "http://127.0.0.1:1/mcp" }));
    let (state, fact) = check(&report, "client");
    assert!(state == "warn" && fact.contains("names port 1"), "{fact}");
    let report = entry(json!({ "url": format!("http://127.0.0.1:{port}/mcp") }));
    assert_eq!(check(&report, "client").0, "ok");
    std::fs::write(cursor.join("mcp.json"), "{").unwrap();
    let report = doctor(&folder, port, |_| {}).json();
    assert!(check(&report, "client").1.contains("cannot be read"));
}

#[test]
fn an_entry_of_a_project_and_one_with_another_name_are_found_and_the_action_names_both() {
    let project = unity_project("doctor project entry");
    let cursor = project.0.join(".cursor");
    std::fs::create_dir_all(&cursor).unwrap();
    let entry = json!({ "command": MISSING, "args": ["--stdio"] });
    let text = json!({ "mcpServers": { "game": entry } }).to_string();
    std::fs::write(cursor.join("mcp.json"), text).unwrap();
    // The home is another folder, so the file is the project's alone.
    let home = Scratch::new("doctor-home");
    let report = doctor(&project, free_port(), |command| {
        command.env("HOME", &home.0).env("USERPROFILE", &home.0);
    });
    let report = report.assert_code(1).json();
    let (state, fact) = check(&report, "client");
    assert!(state == "fail" && fact.contains("entry \"game\""), "{fact}");
    let action = action(&report, "client");
    assert!(action.contains("setup cursor --name game --project "), "{action}");
    assert!(action.ends_with(['\'', '"']), "a folder with a space is quoted: {action}");
}

#[test]
fn wsl_is_a_warning() {
    let folder = Scratch::new("doctor-wsl");
    let report = doctor(&folder, free_port(), |command| {
        command.env("WSL_DISTRO_NAME", "Ubuntu");
    });
    assert_eq!(check(&report.assert_code(0).json(), "wsl").0, "warn");
}

#[test]
fn a_bad_configuration_is_2() {
    let ended = run(&["doctor", "--config", "/nowhere.json"]).assert_code(2);
    assert!(ended.stderr.contains("ERR_CONFIG_PARSE"), "{ended:?}");
}

#[test]
fn the_real_plugin_is_seen_like_the_mock() {
    // `tests/plugin/run` builds the program and names it.
    if let Err(why) = harness::editor_host::find() {
        eprintln!("skipped: {why}");
        return;
    }
    let (_server, agent, _editor) = Program::EditorHost.connected(&[], &[]);
    let folder = Scratch::new("doctor-editor-host");
    let report = doctor(&folder, agent.port, |_| {}).json();
    let (_, fact) = check(&report, "editor");
    assert!(fact.contains("is connected, ready"), "{fact}");
    let shown = run(&["status", "--port", &agent.port.to_string()]).assert_code(0);
    assert!(shown.stdout.contains("editor   ready"), "{shown:?}");
}
