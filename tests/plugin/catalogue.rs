//! Catalogue 1.1: every tool, the loop of an agent, and a call that never runs twice.

use std::path::Path;
use std::process::Command;

use harness::agent::HttpAgent;
use harness::editor::{Editor, Program, without_token};
use harness::editor_host;
use harness::server::{Scratch, Server, program};
use serde_json::{Value, json};

const V1_1: [&str; 2] = ["--catalog", "1.1"];
const BEGIN: &str = "<!-- loop -->\n";
const END: &str = "<!-- end of loop -->\n";

pub(crate) fn each_tool_of_catalogue_1_1_answers(program: Program) {
    let (_server, agent, mut editor) = program.connected(&V1_1, &[]);
    assert!(agent.run("ping", &json!({})).unwrap()["round_trip_ms"].is_number());
    let scenes = agent.run("list_scenes", &json!({})).unwrap();
    assert_eq!(scenes["open"][0]["name"], "Meadow", "{scenes}");
    assert_eq!(scenes["build"].as_array().unwrap().len(), 3, "{scenes}");
    let assets = json!({ "query": "t:Scene", "max_entries": 2 });
    let assets = agent.run("list_assets", &assets).unwrap();
    assert_eq!((&assets["count"], &assets["truncated"]), (&json!(2), &json!(true)), "{assets}");
    let rest = agent.run("list_assets", &assets["next"]).unwrap();
    assert_eq!((&rest["count"], &rest["truncated"]), (&json!(1), &json!(false)), "{rest}");
    assert!(agent.run("get_selection", &json!({})).unwrap()["count"].is_u64());
    let menu = json!({ "path": "Assets/Scenes/Menu.unity", "client_request_id": "menu" });
    assert_eq!(agent.run("open_scene", &menu).unwrap()["path"], menu["path"]);
    editor.type_line("dirty");
    editor.obeys();
    let meadow = json!({ "path": "Assets/Scenes/Meadow.unity", "client_request_id": "meadow" });
    let refused = agent.run("open_scene", &meadow).unwrap_err();
    assert_eq!(refused["code"], "ERR_UNITY_EXECUTION", "{refused}");
    assert!(refused["details"]["unity"]["message"].to_string().contains("Menu"), "{refused}");
}

pub(crate) fn a_compile_over_a_reload_and_one_that_fails_are_told(program: Program) {
    let flags = ["--compile-time", "200ms", "--reload", "200ms"];
    let (_server, agent, mut editor) = program.connected(&V1_1, &flags);
    let compile = json!({ "wait_ms": 20_000 });
    let result = |job: &Value| job["result"]["outcome"].clone();
    let job = agent.run("script_recompile_trigger", &compile).unwrap();
    assert_eq!(result(&job), "up_to_date", "{job}");
    editor.type_line("edit fails 2");
    editor.obeys();
    let job = agent.run("script_recompile_trigger", &compile).unwrap();
    assert_eq!((&job["state"], result(&job)), (&json!("failed"), json!("failed")), "{job}");
    assert_eq!(job["result"]["errors"][0]["code"], "CS0103", "{job}");
    let refused = agent.run("run_tests", &json!({})).unwrap_err();
    assert_eq!(refused["code"], "ERR_EDITOR_NOT_READY", "{refused}");
    editor.type_line("edit");
    editor.obeys();
    let job = agent.run("script_recompile_trigger", &compile).unwrap();
    assert_eq!((result(&job), &job["result"]["reloaded"]), (json!("compiled"), &json!(true)));
    let tests = json!({ "filter": "Enemy", "wait_ms": 20_000 });
    assert_eq!(agent.run("run_tests", &tests).unwrap()["state"], "succeeded");
}

/// The server forgets everything when it is killed. The book of the plugin is kept over the reload.
pub(crate) fn a_repeated_id_runs_once_over_a_reload_and_a_killed_server(program: Program) {
    let (mut server, agent, mut editor) = program.connected(&V1_1, &["--reload", "200ms"]);
    let port = server.port();
    let tests = json!({ "filter": "Enemy", "wait_ms": 20_000, "client_request_id": "tests" });
    let scene = json!({ "path": "Assets/Scenes/Menu.unity", "client_request_id": "scene" });
    assert_eq!(agent.run("run_tests", &tests).unwrap()["state"], "succeeded");
    agent.run("open_scene", &scene).unwrap();
    assert_eq!(agent.run("open_scene", &scene).unwrap()["replayed"], true);
    editor.type_line("reload 200ms");
    editor.gets("capability");
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let flags = ["--port", &port.to_string(), "--catalog", "1.1"];
    let _next = Server::start_with(&flags, |_| {});
    editor.gets("capability");
    assert_eq!(agent.run("run_tests", &tests).unwrap()["state"], "succeeded");
    assert_eq!(agent.run("open_scene", &scene).unwrap()["path"], scene["path"]);
    assert_eq!(executed(&mut editor, program), 2);
}

/// How many tools have run, by the books of the Editor.
fn executed(editor: &mut Editor, program: Program) -> usize {
    editor.type_line("status");
    match program {
        Program::MockUnity => {
            let told = editor.wait_for(|passing| passing["tell"].to_string().contains("executed"));
            let told = told["tell"].as_str().unwrap().to_owned();
            told.split(", ").last().unwrap().split(' ').next().unwrap().parse().unwrap()
        }
        Program::EditorHost => {
            let books = editor.shows("books");
            books["books"]["executed"].as_array().unwrap().len()
        }
    }
}

/// The loop of an agent with files on disk, recorded in docs/USING.md. `BLESS=1` records it again.
pub(crate) fn an_agent_edits_compiles_reads_errors_fixes_and_tests() {
    let scratch = Scratch::new("loop");
    let script = scratch.0.join("Assets/Scripts/Enemy.cs");
    for folder in ["Assets/Scripts", "ProjectSettings"] {
        std::fs::create_dir_all(scratch.0.join(folder)).unwrap();
    }
    std::fs::write(&script, "class Enemy { int speed = 3; }\n").unwrap();
    let project = scratch.0.to_str().unwrap();
    let flags = ["--project", project, "--compile-time", "200ms", "--reload", "200ms"];
    let (_server, agent, _editor) = Program::EditorHost.connected(&V1_1, &flags);
    let compile = json!({ "wait_ms": 45_000 });
    agent.run("script_recompile_trigger", &compile).unwrap();

    let mut text = "# The agent edits Assets/Scripts/Enemy.cs and makes a mistake.\n".to_owned();
    std::fs::write(&script, "class Enemy {\n    int speed = speeed_undefined;\n}\n").unwrap();
    record(&mut text, &agent, "script_recompile_trigger", &compile);
    record(&mut text, &agent, "run_tests", &json!({ "filter": "Enemy", "wait_ms": 45_000 }));
    text += "# It fixes the mistake.\n";
    std::fs::write(&script, "class Enemy {\n    int speed = 4;\n}\n").unwrap();
    record(&mut text, &agent, "script_recompile_trigger", &compile);
    let tests = json!({ "filter": "Enemy", "wait_ms": 45_000 });
    let last = record(&mut text, &agent, "run_tests", &tests);
    assert_eq!(last["state"], "succeeded", "{text}");

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/USING.md");
    let document = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (recorded, after) = rest.split_once(END).unwrap();
    let shown = format!("```text\n{}```\n", text.trim_end().to_owned() + "\n");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, format!("{before}{BEGIN}{shown}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(without_times(recorded), without_times(&shown), "BLESS=1 records it again");
}

fn record(text: &mut String, agent: &HttpAgent, tool: &str, arguments: &Value) -> Value {
    let answer = match agent.run(tool, arguments) {
        Ok(answer) => answer,
        Err(error) => json!({ "error": error }),
    };
    *text += &format!("> {tool} {arguments}\n< {answer}\n\n");
    answer
}

/// Names and times differ from run to run.
fn without_times(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_inclusive([',', '{', '}']) {
        let differs =
            ["job_id", "submitted_at", "duration_ms"].iter().any(|name| word.contains(name));
        shown += if differs { "…" } else { word };
    }
    shown
}

/// `unity-mcp certify` finds nothing wrong with the plugin.
pub(crate) fn the_plugin_passes_the_conformance_command() {
    let host = editor_host::find().unwrap();
    let driver =
        format!("mono {} --port {{port}} --reload 300ms --project /work/game", host.display());
    let mut certify = Command::new(program());
    without_token(&mut certify);
    let ran = certify.args(["certify", "--port", "0", "--driver", &driver]).output().unwrap();
    let table = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{table}");
    assert!(table.contains(" 0 failed"), "{table}");
}
