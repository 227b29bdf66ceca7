//! The tools of the mock: one row per tool that the server sends to Unity.
//!
//! To add a tool, add a row and its function. `tests/mock` compares the rows with the catalogue of the
//! server.

use protocol::{ExecutionMode, Json};

use super::MockEditor;
use super::jobs::{Step, Work};
use crate::suite;

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
    /// For `execute`: returns the result.
    Sync(fn(&mut MockEditor, &Json) -> Json),
    /// For `submit_job`: returns the work of the job.
    Job(fn(&mut MockEditor, &Json) -> Work),
}

/// Every tool that the mock can run. It rejects others with `ERR_UNKNOWN_COMMAND`.
pub const TOOLS: &[MockTool] = &[
    MockTool { name: "read_console", run: Run::Sync(read_console) },
    MockTool { name: "run_tests", run: Run::Job(run_tests) },
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

fn read_console(editor: &mut MockEditor, params: &Json) -> Json {
    editor.console.read(params, editor.frame_max)
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
    }
}
