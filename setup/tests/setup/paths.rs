//! Where each client keeps its files, on every system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use setup::clients::{CLIENTS, Client, State, survey};
use setup::entry::{Connection, Wanted};
use setup::environment::{Environment, System};

fn environment(system: System, home: &str, variables: &[(&'static str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| (*name, OsString::from(value)));
    Environment {
        system,
        home: Some(PathBuf::from(home)),
        directory: PathBuf::from("/"),
        variables: variables.collect(),
    }
}

fn paths(environment: &Environment) -> String {
    let project = Path::new("PROJECT");
    let lines = CLIENTS.iter().map(|client| {
        let shown = |file: Option<PathBuf>| match file {
            Some(file) => file.to_string_lossy().replace('\\', "/"),
            None => "-".to_owned(),
        };
        let (user, project) = (client.user_file(environment), client.project_file(project));
        format!("{}\n  user     {}\n  project  {}\n", client.id, shown(user), shown(project))
    });
    lines.collect()
}

#[test]
fn files_are_where_the_clients_of_each_system_look() {
    let linux = environment(System::Linux, "/home/u", &[]);
    insta::assert_snapshot!("paths-linux", paths(&linux));
    let mac = environment(System::Mac, "/Users/u", &[]);
    insta::assert_snapshot!("paths-mac", paths(&mac));
    let data =
        [("APPDATA", r"C:\Users\u\AppData\Roaming"), ("LOCALAPPDATA", r"C:\Users\u\AppData\Local")];
    let windows = environment(System::Windows, r"C:\Users\u", &data);
    insta::assert_snapshot!("paths-windows", paths(&windows));
}

#[test]
fn a_variable_of_a_client_moves_its_file() {
    let moved = environment(
        System::Linux,
        "/home/u",
        &[
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("CODEX_HOME", "/x"),
            ("COPILOT_HOME", "/p"),
            ("CLINE_MCP_SETTINGS_PATH", "/l/cline.json"),
            ("XDG_CONFIG_HOME", "/g"),
        ],
    );
    let file = |id: &str| Client::find(id).unwrap().user_file(&moved).unwrap();
    assert_eq!(file("claude-code"), Path::new("/c/.claude.json"));
    assert_eq!(file("codex"), Path::new("/x/config.toml"));
    assert_eq!(file("copilot-cli"), Path::new("/p/mcp-config.json"));
    assert_eq!(file("cline"), Path::new("/l/cline.json"));
    assert_eq!(file("zed"), Path::new("/g/zed/settings.json"));
}

#[test]
fn an_empty_or_relative_variable_does_not_count() {
    let environment =
        environment(System::Linux, "/home/u", &[("XDG_CONFIG_HOME", "here"), ("CODEX_HOME", "")]);
    let file = |id: &str| Client::find(id).unwrap().user_file(&environment).unwrap();
    assert_eq!(file("zed"), Path::new("/home/u/.config/zed/settings.json"));
    assert_eq!(file("codex"), Path::new("/home/u/.codex/config.toml"));
}

#[test]
fn a_client_without_a_home_has_no_file() {
    let mut environment = environment(System::Linux, "", &[]);
    environment.home = None;
    assert!(CLIENTS.iter().all(|client| client.user_file(&environment).is_none()));
}

#[test]
fn the_file_of_opencode_that_exists_is_taken() {
    let home = tempfile::tempdir().unwrap();
    let environment = environment(System::Linux, home.path().to_str().unwrap(), &[]);
    let folder = home.path().join(".config/opencode");
    std::fs::create_dir_all(&folder).unwrap();
    let client = Client::find("opencode").unwrap();
    assert_eq!(client.user_file(&environment), Some(folder.join("opencode.json")));
    std::fs::write(folder.join("opencode.jsonc"), "{}").unwrap();
    assert_eq!(client.user_file(&environment), Some(folder.join("opencode.jsonc")));
}

#[test]
fn the_survey_says_what_each_file_says() {
    let home = tempfile::tempdir().unwrap();
    let environment = environment(System::Linux, home.path().to_str().unwrap(), &[]);
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".cursor/mcp.json", r#"{"mcpServers":{"unity":{"command":"/u","args":["--stdio"]}}}"#);
    write(
        ".gemini/settings.json",
        r#"{"mcpServers":{"unity":{"command":"/v","args":["--port=8100"]}}}"#,
    );
    write(".codex/config.toml", "[mcp_servers.unity]\nurl = 'http://127.0.0.1:8124/mcp'\n");
    write(".config/zed/settings.json", "{\n oops");
    write(
        ".claude.json",
        r#"{"mcpServers":{"unity":{"type":"stdio","command":"/u","args":["--stdio"],"env":{}}}}"#,
    );
    write(
        ".config/opencode/opencode.json",
        r#"{"mcp":{"unity":{"type":"local","command":["/w","--port","8125"]}}}"#,
    );
    let connection =
        Connection::Stdio { program: "/u".to_owned(), args: vec!["--stdio".to_owned()] };
    let wanted = Wanted { name: "unity".to_owned(), connection };
    let findings = survey(&environment, None, &wanted);
    let of = |id: &str| findings.iter().find(|finding| finding.client.id == id).unwrap();
    assert_eq!(of("cursor").state, State::Current);
    assert_eq!(of("claude-code").state, State::Current);
    assert_eq!((&of("gemini").state, of("gemini").port), (&State::Differs, Some(8100)));
    assert_eq!((&of("codex").state, of("codex").port), (&State::Differs, Some(8124)));
    assert_eq!(of("opencode").command_path.as_deref(), Some(Path::new("/w")));
    assert_eq!(of("opencode").port, Some(8125));
    assert_eq!(of("zed").state.word(), "unreadable");
    assert_eq!((&of("windsurf").state, of("windsurf").is_installed), (&State::Absent, false));
    assert!(of("zed").is_installed && of("cursor").is_installed);
}

#[cfg(unix)]
#[test]
fn a_program_in_a_relative_folder_of_the_path_is_not_taken() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir_in(".").unwrap();
    let program = folder.path().join("claude");
    std::fs::write(&program, "").unwrap();
    let found = |path: &Path| {
        environment(System::Linux, "/home/u", &[("PATH", path.to_str().unwrap())]).program("claude")
    };
    let relative = PathBuf::from(folder.path().file_name().unwrap());
    assert!(relative.join("claude").exists());
    let whole = folder.path().canonicalize().unwrap();
    assert_eq!(found(&whole), None, "nobody may run it");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found(&whole), Some(whole.join("claude")));
    assert_eq!(found(&relative), None);
}
