//! What the real plugin carries over a domain reload.

use harness::agent::StdioAgent;
use harness::editor::Program;
use serde_json::json;

use crate::books::Books;

/// The main thread is stuck, so the request waits in the plugin. The reload is what it does first afterwards.
pub(crate) fn a_request_that_has_not_started_is_answered_after_the_reload() {
    let (mut server, _, mut editor) = Program::EditorHost.connected(&["--stdio"], &[]);
    let mut agent = StdioAgent::new(&mut server);
    // The second session is compared with the first.
    editor.type_line("drop 10ms");
    let session = editor.sends("hello")["to_server"]["plugin_session_id"].clone();
    editor.gets("capability");
    editor.type_line("dialog");
    editor.obeys();
    let call = agent.call("read_console", json!({ "client_request_id": "kept" }));
    let request = editor.gets("execute")["from_server"]["request_id"].clone();
    editor.type_line("reload 300ms");
    editor.type_line("dismiss");
    editor.wait_for(|passing| passing["to_server"]["state"] == "reloading");
    let hello = editor.sends("hello")["to_server"].clone();
    assert_eq!(hello["plugin_session_id"], session);
    assert_eq!(editor.sends("result")["to_server"]["request_id"], request);
    assert_eq!(agent.outcome(call).unwrap()["count"], 5);
    let books = Books::of(&mut editor);
    assert_eq!((books.of_agent("kept"), books.reloads), (vec!["kept"], 1));
}

/// Nobody gives Unity the focus, so the plugin must wake it until it is ready.
pub(crate) fn an_editor_without_focus_gets_through_compiles_and_reloads() {
    let slow = ["--unfocused", "--compile-time", "200ms", "--reload", "200ms"];
    let asleep = [&slow[..], &["--only-woken"]].concat();
    for flags in [&slow[..], &asleep] {
        let server = ["--catalog", "1.1", "--job-poll-interval-ms", "50"];
        let (_server, agent, mut editor) = Program::EditorHost.connected(&server, flags);
        for _ in 0..2 {
            editor.type_line("compile 200ms");
            editor.wait_for(|passing| passing["to_server"]["state"] == "reloading");
            assert_eq!(agent.run("read_console", &json!({})).unwrap()["count"], 5);
        }
        editor.type_line("edit");
        editor.obeys();
        let compile = json!({ "wait_ms": 20_000 });
        let job = agent.run("script_recompile_trigger", &compile).unwrap();
        assert_eq!(job["result"]["reloaded"], true, "{job}");
        let tests = json!({ "filter": "Enemy", "wait_ms": 20_000 });
        assert_eq!(agent.run("run_tests", &tests).unwrap()["state"], "succeeded");
        assert_eq!(Books::of(&mut editor).reloads, 3);
    }
}

pub(crate) fn a_play_mode_run_survives_its_own_domain_reload() {
    let flags = ["--play-reload", "200ms"];
    let (_server, agent, mut editor) =
        Program::EditorHost.connected(&["--job-poll-interval-ms", "50"], &flags);
    let job = agent.run("run_tests", &json!({ "mode": "play", "wait_ms": 20_000 })).unwrap();
    assert_eq!(job["state"], "succeeded", "{job}");
    assert_eq!(job["result"]["summary"]["total"], 5);
    let books = Books::of(&mut editor);
    assert_eq!((books.reloads, books.test_runs), (1, 1));
}
