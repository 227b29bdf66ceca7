//! SPEC 12: a server that is for one Unity project.

use std::path::Path;

use harness::agent::StdioAgent;
use harness::server::Server;
use serde_json::json;

use crate::plugin::Plugin;

/// The path of a folder as the server shows it: with links resolved and forward slashes.
fn shown(folder: &Path) -> String {
    let resolved = std::fs::canonicalize(folder).unwrap();
    let shown = resolved.to_str().unwrap().replace('\\', "/");
    shown.trim_start_matches("//?/").to_owned()
}

#[test]
fn an_editor_of_another_project_is_refused_with_both_paths_and_agents_see_it() {
    let folder = std::env::temp_dir().join(format!("unity-mcp-project-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let own = shown(&folder);
    let mut server = Server::start(&["--stdio", "--project", &own]);
    let mut agent = StdioAgent::new(&mut server);
    let port = server.port();

    let mut other = Plugin::pending(port);
    other.say(json!({
        "type": "hello", "plugin_version": "1", "state": "ready", "project_path": "/work/other",
    }));
    let refusal = other.expect("error");
    assert_eq!(refusal["error"]["code"], "ERR_INVALID_REQUEST");
    let message = refusal["error"]["message"].as_str().unwrap();
    assert!(message.contains(&own) && message.contains("/work/other"), "{message}");
    assert_eq!(other.expect_close(), 1008);
    server.wait_for_line("refused a socket of unity");

    let fields = json!({ "state": "ready", "project_path": own, "project_name": "game" });
    let _plugin = Plugin::hello(port, fields);
    let state = agent.run("get_editor_state", json!({})).unwrap();
    assert_eq!(state["project"], json!({ "path": own, "name": "game", "unity_version": null }));
    assert_eq!(state["refused"]["reason"], "other_project");
    assert_eq!(state["refused"]["project_path"], "/work/other");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn upper_and_lower_case_are_the_same_on_systems_that_do_not_tell_them_apart() {
    // A folder that does not exist any more, so that the disk cannot say how it is written.
    let name = format!("unity-mcp-Übung 日本語-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let own = shown(&folder);
    let mut server = Server::start(&["--project", &own]);
    let port = server.port();
    std::fs::remove_dir_all(&folder).unwrap();

    let same = own.replace("unity-mcp", "Unity-MCP");
    if cfg!(any(windows, target_os = "macos")) {
        let _plugin = Plugin::hello(port, json!({ "state": "ready", "project_path": same }));
    } else {
        let mut other = Plugin::pending(port);
        other.say(json!({
            "type": "hello", "plugin_version": "1", "state": "ready", "project_path": same,
        }));
        assert_eq!(other.expect("error")["error"]["code"], "ERR_INVALID_REQUEST");
    }
}
