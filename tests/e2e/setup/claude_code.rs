//! Claude Code: its file is the live state of the program, so only its own command may change it.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::{Home, json, program};

/// Writes down its calls, and does `mcp add`, `mcp add-json` and `mcp remove`. A file `fails` makes `add-json` of
/// the program under test fail.
const SCRIPT: &str = r#"#!/bin/sh
echo "$*" >>"$HOME/calls"
write() { echo "{\"mcpServers\":{\"unity\":$1}}" >"$HOME/.claude.json"; }
case "$2" in
  add) shift 6; write "{\"type\":\"stdio\",\"command\":\"$1\",\"args\":[\"$2\"],\"env\":{}}" ;;
  add-json)
    case "$6" in *--stdio*) if [ -e "$HOME/fails" ]; then echo 'no such thing' >&2; exit 3; fi ;; esac
    write "$6" ;;
  remove) echo '{}' >"$HOME/.claude.json" ;;
esac
"#;

fn home(name: &str) -> Home {
    let home = Home::new(name);
    home.write("bin/claude", SCRIPT);
    set_permissions(home.path("bin/claude"), Permissions::from_mode(0o755)).unwrap();
    home
}

#[test]
fn is_changed_by_its_own_command() {
    let home = home("claude");
    home.write(".claude.json", "{}");
    let said = home.run("claude-code");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let program = program().display();
    let calls = format!("mcp add --scope user unity -- {program} --stdio\n");
    assert_eq!(home.read("calls"), calls);
    assert!(home.run("claude-code").stdout.contains("nothing to do"));
    assert_eq!(home.run("claude-code --remove").code, 0);
    // A command that fails is reported with what it said.
    home.write("bin/claude", "#!/bin/sh\necho 'no such thing' >&2\nexit 3\n");
    let said = home.run("claude-code");
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("no such thing"), "{}", said.stderr);
}

#[test]
fn keeps_the_fields_of_the_user() {
    let home = home("claude-fields");
    let old = json!({
        "type": "stdio", "command": "/old", "args": [], "env": { "A": "secret" }, "timeout": 60_000,
        "note": "it's",
    });
    home.write(".claude.json", &json!({ "mcpServers": { "unity": old } }).to_string());
    let said = home.run("claude-code");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let wanted = json!({
        "type": "stdio", "command": program().to_str().unwrap(), "args": ["--stdio"],
        "env": { "A": "secret" }, "timeout": 60_000, "note": "it's",
    });
    assert_eq!(home.json(".claude.json")["mcpServers"]["unity"], wanted);
    assert!(said.stdout.contains(r#""it'\''s""#), "as a shell reads it: {}", said.stdout);
    assert!(!said.stdout.contains("secret"), "{}", said.stdout);
    // The other form takes no environment.
    assert_eq!(home.run("claude-code --http --port 8123").code, 0);
    let wanted = json!({
        "type": "http", "url": "http://127.0.0.1:8123/mcp", "timeout": 60_000, "note": "it's",
    });
    assert_eq!(home.json(".claude.json")["mcpServers"]["unity"], wanted);
}

#[test]
fn gets_its_old_entry_back_if_the_new_one_is_refused() {
    let home = home("claude-back");
    let old = json!({ "mcpServers": { "unity": { "command": "/old", "env": { "A": "1" } } } });
    home.write(".claude.json", &old.to_string());
    home.write("fails", "");
    let said = home.run("claude-code");
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("the old entry was put back"), "{}", said.stderr);
    assert_eq!(home.json(".claude.json"), old);
}
