//! What an agent reads of the console.

use harness::editor::{Editor, Program};
use serde_json::{Value, json};

/// The messages of the next console that the Editor sends, oldest first, and the whole console.
fn sent(editor: &mut Editor) -> (Vec<String>, Value) {
    let console = editor.sends("result")["to_server"]["result"].clone();
    let entries = console["entries"].as_array().unwrap().iter();
    (entries.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect(), console)
}

fn messages(answer: &Value) -> Vec<&str> {
    let entries = answer["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["message"].as_str().unwrap()).collect()
}

pub(crate) fn the_console_is_filtered_by_type_text_and_number(program: Program) {
    let (_server, agent, mut editor) = program.connected(&[], &[]);
    agent.run("read_console", &json!({})).unwrap();
    let (all, console) = sent(&mut editor);
    assert_eq!((all.len(), &console["truncated"]), (5, &json!(false)));
    assert_eq!((all[0].as_str(), all[4].as_str()), ("Game started in 0.42 s", "Autosave done"));

    agent.run("read_console", &json!({ "types": ["warning"] })).unwrap();
    assert!(sent(&mut editor).0[0].contains("warning CS0168"));
    agent.run("read_console", &json!({ "contains": "scene 'meadow'" })).unwrap();
    assert_eq!(sent(&mut editor).0, ["Loaded scene 'Meadow' with 128 objects"]);
    agent.run("read_console", &json!({ "contains": "nowhere" })).unwrap();
    assert_eq!(sent(&mut editor).0, Vec::<String>::new());

    let answer = agent.run("read_console", &json!({ "max_entries": 2 })).unwrap();
    let (newest, console) = sent(&mut editor);
    assert_eq!(newest, all[3..]);
    assert_eq!((&console["truncated"], &console["more"]), (&json!(true), &json!(3)));
    assert_eq!(messages(&answer), ["Autosave done", all[3].as_str()]);

    let of_exception =
        |stack_traces: &str| json!({ "types": ["exception"], "stack_traces": stack_traces });
    let full = agent.run("read_console", &of_exception("full")).unwrap();
    assert!(full["entries"][0]["stack_trace"].as_str().unwrap().contains("Enemy.cs:42"), "{full}");
    sent(&mut editor);
    agent.run("read_console", &of_exception("none")).unwrap();
    let stack_trace = sent(&mut editor).1["entries"][0]["stack_trace"].clone();
    assert!(stack_trace.is_null() || stack_trace == "", "{stack_trace}");
}

pub(crate) fn a_cursor_shows_what_is_new_over_a_reload_and_a_cleared_console(program: Program) {
    let (_server, agent, mut editor) = program.connected(&[], &[]);
    let first = agent.run("read_console", &json!({ "max_entries": 2 })).unwrap();
    let since = json!({ "since": first["cursor"] });
    editor.type_line("log error \"before the reload\"");
    editor.type_line("reload 50ms");
    editor.gets("capability");
    editor.type_line("log warning \"after the reload\"");
    editor.obeys();
    let news = agent.run("read_console", &since).unwrap();
    assert_eq!(messages(&news), ["after the reload", "before the reload"]);
    assert_ne!(news["cursor_lost"], true);
    // What the first answer has left out is still there.
    let mut next = first["next"].clone();
    next["max_entries"] = json!(10);
    let rest = agent.run("read_console", &next).unwrap();
    assert_eq!(messages(&rest).len(), 3, "{rest}");

    editor.type_line("clear");
    editor.type_line("log log \"after the clear\"");
    editor.type_line("reload 50ms");
    editor.gets("capability");
    let news = agent.run("read_console", &since).unwrap();
    assert_eq!(messages(&news), ["after the clear"]);
    assert_ne!(news["cursor_lost"], true);
}

pub(crate) fn a_cursor_of_an_earlier_editor_is_lost(program: Program) {
    let (_server, agent, mut editor) = program.connected(&[], &["--project", "/work/game"]);
    let first = agent.run("read_console", &json!({})).unwrap();
    editor.type_line("restart 50ms");
    editor.gets("capability");
    let news = agent.run("read_console", &json!({ "since": first["cursor"] })).unwrap();
    assert_eq!(news["cursor_lost"], true, "{news}");
    assert_eq!(messages(&news).len(), 5);
}

pub(crate) fn compile_errors_are_in_the_console_and_the_domain_stays(program: Program) {
    let (_server, agent, mut editor) = program.connected(&[], &["--compile-time", "100ms"]);
    editor.type_line("compile fails 2");
    editor.wait_for(|passing| passing["tell"] == "the compile failed with 2 errors");
    let errors = agent.run("read_console", &json!({ "types": ["error"] })).unwrap();
    let shown = messages(&errors);
    assert_eq!(shown.len(), 2, "{errors}");
    assert!(shown.iter().all(|error| error.contains("error CS0103")), "{errors}");
    let rest = editor.quit();
    assert!(rest.iter().all(|passing| passing["to_server"]["state"] != "reloading"), "{rest:#?}");
}

pub(crate) fn answers_are_cut_to_the_limit_of_the_server(program: Program) {
    const MAX: usize = 16_384;
    let (_server, agent, mut editor) =
        program.connected(&["--max-message-bytes", &MAX.to_string()], &[]);
    for number in 0..60 {
        editor.type_line(&format!("log error \"{number} {}\"", "é\\t".repeat(150)));
    }
    editor.type_line(&format!("log error \"long {}\"", "語".repeat(20_000)));
    editor.obeys();
    for _ in 0..2 {
        let answer = agent.run("read_console", &json!({ "max_entries": 200 })).unwrap();
        assert_eq!(answer["truncated"], true);
        let (sent, console) = sent(&mut editor);
        assert!(!sent.is_empty() && sent.len() < 60, "{} entries", sent.len());
        assert!(sent.last().unwrap().starts_with("long"));
        assert!(console.to_string().len() <= MAX);
        editor.type_line("log error \"long\"");
        editor.obeys();
    }
    editor.type_line("tests fail 20");
    editor.obeys();
    let job = agent.run("run_tests", &json!({ "wait_ms": 20_000 })).unwrap();
    assert_eq!(job["result"]["summary"]["failed"], 20, "{job}");
    let rest = editor.quit();
    assert!(rest.iter().all(|passing| passing.get("connected").is_none()), "it has reconnected");
}
