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
