//! `unity-mcp setup` as a person runs it: a home of its own, real files.

#[cfg(unix)]
mod claude_code;

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use harness::server::{Scratch, Server, program};
use serde_json::{Value, json};

/// A home with Cursor, Gemini and Zed, and a folder with a Unity project. Nothing else is on the PATH.
struct Home(Scratch);

struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Home {
    fn new(name: &str) -> Self {
        let home = Self(Scratch::new(&format!("setup-{name}")));
        for folder in
            [".cursor", ".gemini", ".config/zed", "bin", "game/Assets", "game/ProjectSettings"]
        {
            fs::create_dir_all(home.path(folder)).unwrap();
        }
        home.write(
            "game/Packages/manifest.json",
            "{\n  \"dependencies\": {\n    \"com.unity.ugui\": \"2.0.0\"\n  }\n}\n",
        );
        home
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.0.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    fn run(&self, words: &str) -> Said {
        self.run_in("game", words)
    }

    fn run_in(&self, folder: &str, words: &str) -> Said {
        let mut command = Command::new(program());
        command.arg("setup").args(words.split_whitespace()).current_dir(self.path(folder));
        command.env_clear().env("HOME", &self.0.0).env("USERPROFILE", &self.0.0);
        command.env("XDG_CONFIG_HOME", self.path(".config")).env("PATH", self.path("bin"));
        command.env("APPDATA", self.path(".config")).env("LOCALAPPDATA", self.path("local"));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Said { code: output.status.code().unwrap(), stdout, stderr }
    }
}

/// The entry of Cursor and Gemini.
fn entry(args: &[&str]) -> Value {
    json!({ "command": program().to_str().unwrap(), "args": args })
}

#[test]
fn without_a_client_it_lists_those_of_the_machine() {
    let home = Home::new("list");
    home.write(
        ".gemini/settings.json",
        "{ \"mcpServers\": { \"unity\": { \"command\": \"/old\" } } }",
    );
    let said = home.run("");
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    let line = |id: &str| said.stdout.lines().find(|line| line.starts_with(id)).unwrap();
    assert!(line("cursor").contains("absent"), "{}", said.stdout);
    assert!(line("gemini").contains("differs") && line("gemini").contains("settings.json"));
    assert!(said.stdout.contains("Not found: claude-code"), "{}", said.stdout);
    assert!(!said.stdout.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn one_client_gets_the_entry_and_a_second_run_changes_nothing() {
    let home = Home::new("one");
    home.write(
        ".cursor/mcp.json",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}, // mine\r\n\t}\r\n}",
    );
    let said = home.run("cursor --port 8123 --catalog 1.1");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("Restart Cursor."), "{}", said.stdout);
    let written = home.read(".cursor/mcp.json");
    assert!(written.contains("\"a\": {}, // mine\r\n"), "{written}");
    assert!(
        written.contains("[\"--stdio\", \"--port\", \"8123\", \"--catalog\", \"1.1\"]"),
        "{written}"
    );
    let again = home.run("cursor --port 8123 --catalog 1.1");
    assert!(again.stdout.contains("nothing to do"), "{}", again.stdout);
    assert_eq!(home.read(".cursor/mcp.json"), written);
    assert_eq!(home.run("cursor --remove").code, 0);
    assert_eq!(
        home.read(".cursor/mcp.json"),
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}, // mine\r\n\t}\r\n}"
    );
}

#[test]
fn all_clients_get_the_entry_and_one_that_is_refused_stops_no_other() {
    let home = Home::new("all");
    home.write(".config/zed/settings.json", "{\n  \"a\": 1,\n  \"a\": 2\n}\n");
    let said = home.run("--all");
    assert_eq!(said.code, 2);
    assert!(
        said.stderr
            .contains("line 3, column 3: the key \"a\" is there twice; nothing was changed."),
        "{}",
        said.stderr
    );
    assert_eq!(home.read(".config/zed/settings.json"), "{\n  \"a\": 1,\n  \"a\": 2\n}\n");
    let wanted = json!({ "mcpServers": { "unity": entry(&["--stdio"]) } });
    assert_eq!(home.json(".cursor/mcp.json"), wanted);
    assert_eq!(home.json(".gemini/settings.json"), wanted);
    assert_eq!(home.run("--all --remove").code, 2);
    assert!(!home.path(".cursor/mcp.json").exists(), "it had our entry alone");
}

#[test]
fn a_dry_run_shows_a_diff_and_writes_nothing() {
    let home = Home::new("dry");
    home.write(".gemini/settings.json", "{\n  \"theme\": \"dark\"\n}\n");
    let said = home.run("--all --dry-run");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("+  \"mcpServers\": {"), "{}", said.stdout);
    assert_eq!(home.read(".gemini/settings.json"), "{\n  \"theme\": \"dark\"\n}\n");
    assert!(fs::read_dir(home.path(".cursor")).unwrap().next().is_none());
}

#[test]
fn print_shows_what_a_person_can_paste() {
    let home = Home::new("print");
    let said = home.run("zed --print --name game");
    assert_eq!(said.code, 0);
    let shown: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(shown["context_servers"]["game"]["source"], "custom");
    assert!(said.stderr.contains("settings.json"), "{}", said.stderr);
    assert!(!home.path(".config/zed/settings.json").exists());
    // Nobody may edit the user's file of Claude Code, and Continue has none.
    for (client, file) in [
        ("claude-code", home.path("game").join(".mcp.json")),
        ("continue", home.path("game").join(".continue").join("mcpServers").join("unity.json")),
    ] {
        let said = home.run(&format!("{client} --print"));
        assert!(said.stderr.trim_end().ends_with(file.to_str().unwrap()), "{}", said.stderr);
    }
}

#[test]
fn what_to_do_next_is_said_of_what_has_changed() {
    let home = Home::new("next");
    assert!(home.run("zed").stdout.contains("Zed starts the server"));
    let again: Value = serde_json::from_str(&home.run("zed --json").stdout).unwrap();
    assert!(again["results"][0]["next"].is_null(), "{again}");
    let said = home.run("zed --remove");
    assert!(said.stdout.contains("Restart Zed"), "{}", said.stdout);
    assert!(!said.stdout.contains("starts the server"), "{}", said.stdout);
}

#[test]
fn the_list_has_clients_of_projects_and_the_plugin_that_is_missing() {
    let home = Home::new("here");
    assert!(!home.run("").stdout.contains("continue "));
    fs::create_dir_all(home.path(".continue")).unwrap();
    let said = home.run("").stdout;
    assert!(said.lines().any(|line| line.starts_with("continue ") && line.contains("absent")));
    assert!(said.contains("does not have the plugin"), "{said}");
    let said = home.run_in("bin", "").stdout;
    assert!(!said.contains("plugin"), "not in a project: {said}");
    home.write("game/Packages/com.unity-mcp.editor/package.json", "{}");
    let list: Value = serde_json::from_str(&home.run("--json").stdout).unwrap();
    assert_eq!(list["plugin"]["installed"], true);
}

#[test]
fn a_project_gets_files_of_its_own_with_the_port_of_its_settings() {
    let home = Home::new("project");
    home.write("game/unity-mcp.server.json", "{ \"unity_ws_port\": 8150 }");
    let said = home.run("claude-code vscode continue --project --http");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let url = "http://127.0.0.1:8150/mcp";
    assert_eq!(
        home.json("game/.mcp.json")["mcpServers"]["unity"],
        json!({ "type": "http", "url": url })
    );
    assert_eq!(home.json("game/.vscode/mcp.json")["servers"]["unity"]["url"], url);
    assert_eq!(
        home.json("game/.continue/mcpServers/unity.json")["mcpServers"]["unity"]["url"],
        url
    );
}

#[test]
fn json_says_the_same_to_a_program() {
    let home = Home::new("json");
    home.write(".config/zed/settings.json", "{\n  oops\n}\n");
    let said = home.run("cursor zed --json");
    assert_eq!(said.stdout.lines().count(), 1, "{}", said.stdout);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, said.stderr.as_str()), (2, ""));
    assert_eq!(report["results"][0]["outcome"], "created");
    assert_eq!(report["results"][1]["outcome"], "refused");
    assert_eq!(report["results"][1]["line"], 2);
    assert_eq!(report["results"][1]["column"], 3);
    let list: Value = serde_json::from_str(&home.run("--json").stdout).unwrap();
    let cursor = list["clients"].as_array().unwrap().iter().find(|one| one["client"] == "cursor");
    assert_eq!(cursor.unwrap()["state"], "current");
    assert_eq!(cursor.unwrap()["command"], program().to_str().unwrap());
}

#[test]
fn what_is_asked_wrongly_changes_nothing() {
    let home = Home::new("wrong");
    let cases = [
        ("nix", "possible values"),
        ("--remove", "--remove needs a client, or --all"),
        ("cursor --all", "cannot be used with"),
        ("claude-desktop --http", "cannot take an HTTP server"),
        ("cursor --name a/b", "1 to 40 letters"),
        ("cursor --project nowhere", "is not a folder"),
        ("claude-code", "is not on the PATH"),
        ("windsurf --project", "has no project file"),
        ("unity --source nowhere", "there is no file"),
        ("unity --source file:../nowhere", "there is no file"),
        ("unity", "give the plugin with --source"),
    ];
    for (words, part) in cases {
        let said = home.run(words);
        assert!(
            said.code == 2 && said.stderr.contains(part),
            "{words}: {} {}",
            said.code,
            said.stderr
        );
    }
    assert!(fs::read_dir(home.path(".cursor")).unwrap().next().is_none());
    let said = home.run("cursor --project nowhere --json");
    let error: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, said.stdout.lines().count()), (2, 1));
    assert!(error["error"]["message"].as_str().unwrap().contains("is not a folder"), "{error}");
}

#[test]
fn the_plugin_is_added_to_a_unity_project_and_removed() {
    let home = Home::new("unity");
    let plugin = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../unity-plugin");
    let plugin = plugin.canonicalize().unwrap();
    let before = home.read("game/Packages/manifest.json");
    // From a folder inside of the project.
    let said =
        home.run_in("game/Assets", &format!("unity --port 8150 --source {}", plugin.display()));
    assert_eq!(said.code, 0, "{}", said.stderr);
    let packages = &home.json("game/Packages/manifest.json")["dependencies"];
    assert!(packages["com.unity-mcp.editor"].as_str().unwrap().starts_with("file:"), "{packages}");
    assert_eq!(packages["com.unity.ugui"], "2.0.0");
    assert_eq!(home.json("game/unity-mcp.server.json"), json!({ "unity_ws_port": 8150 }));
    assert_eq!(home.run("unity --remove").code, 0);
    assert_eq!(home.read("game/Packages/manifest.json"), before);
    let said = home.run("unity .. --source https://example.com/unity-mcp.git?path=unity-plugin");
    assert!(
        said.code == 2 && said.stderr.contains("not the folder of a Unity project"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_project_gets_a_port_of_its_own_if_a_stranger_has_the_usual_one() {
    let home = Home::new("port");
    // If it cannot be bound, another program has it already.
    let held = TcpListener::bind(("127.0.0.1", 8091));
    let said = home.run("unity --source https://example.com/unity-mcp.git?path=unity-plugin");
    assert_eq!(said.code, 0, "{}", said.stderr);
    if held.is_ok() {
        let port = home.json("game/unity-mcp.server.json")["unity_ws_port"].as_u64().unwrap();
        assert!((8092..=8191).contains(&port), "{port}");
        assert!(said.stdout.contains("because port 8091 is held by"), "{}", said.stdout);
    }
    assert_eq!(home.run("unity --dry-run --remove").code, 0);
}

#[test]
fn a_port_that_is_in_use_is_written_with_a_warning() {
    let home = Home::new("port-used");
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let words = format!("unity ./game/. --source https://example.com/a.git --json --port {port}");
    let said = home.run_in(".", &words);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let results: Value = serde_json::from_str(&said.stdout).unwrap();
    let [package, settings] = &results["results"].as_array().unwrap()[..] else { panic!() };
    let manifest = home.path("game").join("Packages").join("manifest.json");
    assert_eq!(package["file"], manifest.to_str().unwrap());
    assert_eq!(settings["port"], port);
    assert!(settings["warning"].as_str().unwrap().contains("is held by another program"));
    assert!(said.stderr.contains("choose another port"), "{}", said.stderr);
    // The server of another project, without an Editor; and the one of this.
    for (project, is_held) in [("other", true), ("game", false)] {
        fs::create_dir_all(home.path(project)).unwrap();
        let mut server = Server::start(&["--project", home.path(project).to_str().unwrap()]);
        let port = server.port();
        let said = home.run(&format!("unity --source https://example.com/a.git --port {port}"));
        assert_eq!(said.stderr.contains("is held by the server of"), is_held, "{}", said.stderr);
    }
}
