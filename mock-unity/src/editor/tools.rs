//! The tools of the mock: one row per tool that the server sends to Unity.
//!
//! To add a tool, add a row and its function. `tests/mock` compares the rows with the catalogue of the
//! server.

use std::time::Duration;

use protocol::{ExecutionMode, JobState, Json};
use serde_json::json;

use super::jobs::{Step, Work};
use super::{MockEditor, project};
use crate::{console, suite};

/// How long Unity looks for changed files.
const IMPORT_TIME: Duration = Duration::from_millis(100);

/// One tool that the mock can run.
#[derive(Debug)]
pub struct MockTool {
    /// The name of the tool, as in `tool_name`.
    pub name: &'static str,
    pub(super) run: Run,
}

/// What a tool does with its `params`.
#[derive(Debug)]
pub(super) enum Run {
    /// For `execute`: returns the result, or why it failed in Unity.
    Sync(fn(&mut MockEditor, &Json) -> Result<Json, String>),
    /// For `submit_job`: returns the work of the job.
    Job(fn(&mut MockEditor, &Json) -> Work),
}

/// Every tool that the mock can run. It rejects others with `ERR_UNKNOWN_COMMAND`.
pub const TOOLS: &[MockTool] = &[
    MockTool { name: "read_console", run: Run::Sync(read_console) },
    MockTool { name: "run_tests", run: Run::Job(run_tests) },
    MockTool { name: "script_recompile_trigger", run: Run::Job(recompile) },
    MockTool {
        name: "open_scene",
        run: Run::Sync(|editor, params| editor.project.open_scene(params)),
    },
    MockTool { name: "list_scenes", run: Run::Sync(|editor, _| Ok(editor.project.list_scenes())) },
    MockTool { name: "list_assets", run: Run::Sync(|_, params| Ok(project::list_assets(params))) },
    MockTool { name: "get_selection", run: Run::Sync(|editor, _| Ok(editor.project.selection())) },
    MockTool { name: "ping", run: Run::Sync(|_, _| Ok(json!({}))) },
];

impl MockTool {
    /// Whether the tool answers `execute` or `submit_job`.
    pub fn mode(&self) -> ExecutionMode {
        match self.run {
            Run::Sync(_) => ExecutionMode::Sync,
            Run::Job(_) => ExecutionMode::Job,
        }
    }
}

pub(super) fn find(name: &str) -> Option<&'static Run> {
    TOOLS.iter().find(|tool| tool.name == name).map(|tool| &tool.run)
}

fn read_console(editor: &mut MockEditor, params: &Json) -> Result<Json, String> {
    Ok(editor.console.read(params, editor.frame_max))
}

fn run_tests(editor: &mut MockEditor, params: &Json) -> Work {
    let tests = editor.settings.suite.select(params);
    let step = |test: &suite::Test| Step { name: test.name.clone(), takes: test.takes };
    Work {
        noun: "test run",
        unit: "tests",
        steps: tests.iter().map(step).collect(),
        ends: suite::end_state(&tests),
        summary: suite::summary(&tests),
        result: suite::report(&tests),
        awaits_compile: false,
    }
}

/// If scripts have changed, the job lasts until the compile and the domain reload are over.
fn recompile(editor: &mut MockEditor, _params: &Json) -> Work {
    let import = Step { name: "import".to_owned(), takes: IMPORT_TIME };
    Work {
        noun: "compile",
        unit: "compiles",
        steps: vec![import],
        ends: JobState::Succeeded,
        summary: "nothing had changed".to_owned(),
        result: compile_result("up_to_date", 0, false, IMPORT_TIME),
        awaits_compile: editor.project.edited.is_some(),
    }
}

pub(super) fn compile_result(outcome: &str, errors: usize, reloaded: bool, took: Duration) -> Json {
    let shown = console::compile_errors(errors).map(|error| {
        json!({
            "file": "Assets/Scripts/Enemy.cs", "line": error.line, "column": 9, "code": "CS0103",
            "message": error.text, "assembly": "Assembly-CSharp",
        })
    });
    json!({
        "outcome": outcome, "reloaded": reloaded, "errors": shown.collect::<Vec<_>>(),
        "errors_left_out": 0, "warnings": 1, "duration_ms": took.as_millis() as u64,
    })
}
