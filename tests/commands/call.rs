//! `call`: arguments, what is printed, usage errors.

use harness::editor::Program;
use serde_json::{Value, json};

use crate::command::{call, run, run_with_input};

#[test]
fn arguments_are_flags_or_json_or_stdin_and_all_three_mean_the_same() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &[]);
    let port = agent.port.to_string();
    let flags = ["read_console", "--max-entries", "1", "--types", "error", "--types", "exception"];
    let by_flags = call(agent.port, &flags).assert_code(0).json();
    assert_eq!(by_flags["entries"][0]["type"], "exception");
    let joined = ["read_console", "--types=error,exception", "--max_entries=1"];
    assert_eq!(call(agent.port, &joined).assert_code(0).json(), by_flags);
    let object = r#"{"max_entries":1,"types":["error","exception"]}"#;
    assert_eq!(call(agent.port, &["read_console", object]).assert_code(0).json(), by_flags);
    let ended = run_with_input(&["call", "--port", &port, "read_console", "-"], object);
    assert_eq!(ended.assert_code(0).json(), by_flags);
}

#[test]
fn with_json_stdout_has_the_result_or_the_error_and_nothing_else() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &[]);
    let plain = call(agent.port, &["read_console", "--max-entries", "1"]).assert_code(0);
    let whole = call(agent.port, &["read_console", "--max-entries", "1", "--json"]).assert_code(0);
    assert_eq!(whole.json(), json!({ "result": plain.json() }));
    let refused =
        call(agent.port, &["read_console", "--max-entries", "0", "--json"]).assert_code(2);
    assert_eq!(refused.json()["error"]["code"], "ERR_INVALID_PARAMS");
    assert!(refused.stderr.contains("max_entries must be"), "{refused:?}");
    let refused = call(agent.port, &["read_console", "--max-entries", "0"]).assert_code(2);
    assert_eq!(refused.stdout, "");
}

#[test]
fn usage_errors_are_2_and_say_what_is_meant() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&[], &[]);
    for (words, part) in [
        (&["read_consle"][..], "did you mean read_console?"),
        (&["read_console", "--max-entry", "1"], "did you mean --max-entries?"),
        (&["read_console", "--contains"], "needs a value"),
        (&["read_console", "errors"], "is not an argument"),
        (&["read_console", "{"], "is not JSON"),
        (&["get_job_status"], "job_id"),
        (&["get_job_status", "--job-id", "job-nobody-1"], "no such job"),
        (&["read_console", "--types", "eror"], "types"),
        (&[], "name a tool"),
    ] {
        let ended = call(agent.port, words).assert_code(2);
        assert!(ended.stderr.to_lowercase().contains(&part.to_lowercase()), "{part} {ended:?}");
    }
    let ended = call(agent.port, &[]).assert_code(2);
    assert!(ended.stderr.contains("Usage: unity-mcp call"), "{ended:?}");
    for flags in [&["call", "x", "--port", "0"][..], &["call", "x", "--port", "y"]] {
        assert_eq!(run(flags).assert_code(2).stdout, "");
    }
    let ended = run(&["call", "read_console", "--config", "/nowhere.json"]).assert_code(2);
    assert!(ended.stderr.contains("ERR_CONFIG_PARSE"), "{ended:?}");
}

#[test]
fn the_tools_are_listed_with_their_arguments() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&["--catalog", "1.1"], &[]);
    let listed = call(agent.port, &["--list"]).assert_code(0).stdout;
    for part in ["read_console\n", "--max-entries N", "1 to 2000", "--path TEXT (required)"] {
        assert!(listed.contains(part), "{part} in {listed}");
    }
    let one = call(agent.port, &["--list", "ping"]).assert_code(0).stdout;
    assert!(one.starts_with("ping\n") && !one.contains("read_console"), "{one}");
    let tools = call(agent.port, &["--list", "--json"]).assert_code(0).json();
    let names = tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    assert_eq!(names.filter(|name| name.as_str().is_some()).count(), 11);
    call(agent.port, &["--list", "pong"]).assert_code(2);
}

#[test]
fn a_tool_that_needs_a_name_for_each_call_gets_one() {
    let (_server, agent, mut editor) = Program::MockUnity.connected(&["--catalog", "1.1"], &[]);
    let words = ["open_scene", "--path", "Assets/Scenes/Meadow.unity", "--additive"];
    let mut ids = Vec::new();
    for _ in 0..2 {
        call(agent.port, &words);
        let sent = editor.gets("execute")["from_server"].clone();
        assert_eq!(sent["params"]["additive"], true);
        ids.push(sent["client_request_id"].as_str().unwrap().to_owned());
    }
    assert!(ids[0].starts_with("call-") && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn a_tool_that_fails_in_unity_is_1_and_shows_what_unity_said() {
    let (_server, agent, _editor) = Program::MockUnity.connected(&["--catalog", "1.1"], &[]);
    let words = ["open_scene", "--path", "Assets/None.unity", "--json"];
    let ended = call(agent.port, &words).assert_code(1);
    let error = &ended.json()["error"];
    assert_eq!(error["details"]["execution_guarantee"], "completed_error");
    let said = error["details"]["unity"]["message"].as_str().unwrap();
    assert!(ended.stderr.contains(said), "{ended:?}");
}

#[test]
fn text_of_unity_reaches_no_terminal_raw() {
    let (_server, agent, mut editor) = Program::MockUnity.connected(&[], &[]);
    editor.type_line("log error \"a\u{202e}b\u{9b}31m\"");
    editor.obeys();
    let ended = call(agent.port, &["read_console", "--max-entries", "1"]).assert_code(0);
    assert!(ended.stdout.contains("a\\u202eb\\u009b31m"), "{ended:?}");
    let message: Value = ended.json()["entries"][0]["message"].clone();
    assert_eq!(message, "a\u{202e}b\u{9b}31m");
}

#[test]
fn help_has_examples_and_exit_codes() {
    for command in ["call", "verify", "doctor"] {
        let help = run(&[command, "--help"]).assert_code(0).stdout;
        assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
        let (_, all, _) = harness::server::run(&["--help"], &std::env::temp_dir());
        assert!(all.contains(&format!("unity-mcp {command}")), "{all}");
    }
}
