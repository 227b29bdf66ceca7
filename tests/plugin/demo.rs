//! The demo with the real plugin.

use harness::editor::{Editor, Program};
use harness::editor_host;
use harness::server::program;

const CHAPTERS: [&str; 7] = [
    "Unity  connected",
    "waiting: Unity is compiling",
    "Unity  disconnected",
    "20 tests, 18 passed, 2 failed",
    "get_job_status -> cancelled",
    "(not_executed)",
    "0 arrived twice, 2 domain reloads.",
];

pub(crate) fn the_demo_runs_with_the_plugin_and_shows_its_books() {
    let flags = ["demo", "--plugin", "--server", program().to_str().unwrap()];
    let mut demo = Editor::run(Program::MockUnity, &flags, |command| {
        // Other tests use the program: it must not be built again.
        command.env("EDITOR_HOST", editor_host::find().unwrap());
    });
    let mut story = String::new();
    while let Some(line) = demo.line() {
        story += &format!("{line}\n");
    }
    assert!(demo.end().success(), "{story} {}", demo.complaint());
    let mut rest = story.as_str();
    for chapter in CHAPTERS {
        let at = rest.find(chapter).unwrap_or_else(|| panic!("{chapter} in {story}"));
        rest = &rest[at..];
    }
}
