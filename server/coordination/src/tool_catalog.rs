//! The tool catalogue: one row per tool. The validator, the capability message, the MCP schemas and
//! the documents are made from it.

use std::time::Duration;

use protocol::{ExecutionMode, Json, ToolMetadata};

use crate::shape::{Field, Shape};

#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    /// What it does and when to use it, for an agent.
    pub about: &'static str,
    pub kind: Kind,
    pub route: Route,
    pub supports_cancel: bool,
    pub default_timeout_ms: u64,
    pub max_timeout_ms: u64,
    pub requires_client_request_id: bool,
    /// Running it twice does no harm.
    pub retryable: bool,
    /// Beside `timeout_ms` and `client_request_id`, which every tool takes.
    pub parameters: &'static [Parameter],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    ReadHeavy,
    Control,
}

/// How the server answers a call of a tool.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// From what the server knows, at once.
    EditorState,
    /// One `execute` in Unity. `answer` is what Unity gives, `told` what is made of it for agents.
    Execute {
        answer: Shape,
        told: Shape,
    },
    /// One `submit_job` in Unity; then the job lives on. `result` and `told` as above.
    SubmitJob {
        result: Shape,
        told: Shape,
    },
    JobStatus,
    CancelJob,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub about: &'static str,
    pub shape: Shape,
    pub need: Need,
    /// Passed on to Unity, or for the server alone.
    pub for_unity: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
    /// Filled in when left out, so that Unity never has to guess.
    DefaultInteger(u64),
    DefaultFlag(bool),
    DefaultWord(&'static str),
}

impl Tool {
    pub fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    pub fn execution_mode(&self) -> ExecutionMode {
        match self.route {
            Route::SubmitJob { .. } => ExecutionMode::Job,
            Route::EditorState | Route::Execute { .. } | Route::JobStatus | Route::CancelJob => {
                ExecutionMode::Sync
            }
        }
    }

    /// What Unity must answer: for an `execute` its result, for a job the result of its end.
    pub(crate) fn check_answer(&self, answer: &Json) -> Result<(), String> {
        match &self.route {
            Route::Execute { answer: shape, .. } | Route::SubmitJob { result: shape, .. } => {
                shape.check(answer)
            }
            Route::EditorState | Route::JobStatus | Route::CancelJob => Ok(()),
        }
    }

    /// A caller of such a tool that stays, stays for the end of its job.
    pub(crate) fn starts_a_job(&self) -> bool {
        self.execution_mode() == ExecutionMode::Job
    }

    pub fn default_timeout(&self) -> Duration {
        Duration::from_millis(self.default_timeout_ms)
    }

    /// The row as the plugin gets it.
    pub fn metadata(&self) -> ToolMetadata {
        ToolMetadata {
            name: self.name.to_owned(),
            execution_mode: self.execution_mode(),
            supports_cancel: self.supports_cancel,
            default_timeout_ms: self.default_timeout_ms,
            max_timeout_ms: self.max_timeout_ms,
            requires_client_request_id: self.requires_client_request_id,
            execution_error_retryable: self.retryable,
        }
    }
}

const COUNT: Shape = Shape::Integer { min: 0, max: u64::MAX };
/// Long enough for whatever is looked for.
const LINE: Shape = Shape::Line { max: 4_000 };
const POSITIVE: Shape = Shape::Integer { min: 1, max: u64::MAX };
const LOG_TYPES: &[&str] = &["log", "warning", "error", "assert", "exception"];

const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

/// As Unity gives it, oldest first.
const CONSOLE: Shape = Shape::Object(&[
    required(
        "entries",
        Shape::List(&Shape::Object(&[
            required("type", Shape::OneOf(LOG_TYPES)),
            required("message", Shape::Text),
            optional("stack_trace", Shape::Text),
            // How often it came in a row.
            optional("count", POSITIVE),
            // Names it, for `before`.
            optional("cursor", LINE),
        ])),
    ),
    required("count", COUNT),
    required("truncated", Shape::Flag),
    // How many entries are left out.
    optional("more", COUNT),
    // Names the newest entry of the console, for `since`.
    optional("cursor", LINE),
    // `since` or `before` names nothing that is still known.
    optional("cursor_lost", Shape::Flag),
]);

const CONSOLE_TOLD: Shape = Shape::Object(&[
    required(
        "entries",
        Shape::List(&Shape::Object(&[
            required("type", Shape::OneOf(LOG_TYPES)),
            required("message", Shape::Text),
            required("stack_trace", Shape::Text),
            optional("count", POSITIVE),
        ])),
    ),
    required("count", COUNT),
    required("truncated", Shape::Flag),
    optional("more", COUNT),
    optional("next", Shape::Object(&[])),
    optional("cursor", Shape::Text),
    optional("cursor_lost", Shape::Flag),
]);

const SUMMARY: Field = required(
    "summary",
    Shape::Object(&[
        required("total", COUNT),
        required("passed", COUNT),
        required("failed", COUNT),
        required("skipped", COUNT),
        required("duration_ms", Shape::Number),
    ]),
);

const FAILED_TESTS: Field = required(
    "failed_tests",
    Shape::List(&Shape::Object(&[
        required("name", Shape::Text),
        required("message", Shape::Text),
        optional("stack_trace", Shape::Text),
    ])),
);

const TEST_RUN: Shape = Shape::Object(&[SUMMARY, FAILED_TESTS]);
const TEST_RUN_TOLD: Shape =
    Shape::Object(&[SUMMARY, FAILED_TESTS, optional("failed_tests_left_out", COUNT)]);

const JOB_ID: Parameter = Parameter {
    name: "job_id",
    about: "the job_id that run_tests gave",
    shape: Shape::Text,
    need: Need::Required,
    for_unity: false,
};

const WAIT_MS: Parameter = Parameter {
    name: "wait_ms",
    about: "wait up to this long for the job before answering: for its end when running tests, for a change of its state when asking",
    shape: Shape::Integer { min: 0, max: 60_000 },
    need: Need::DefaultInteger(0),
    for_unity: false,
};

pub static TOOLS: [Tool; 5] = [
    Tool {
        name: "get_editor_state",
        about: "What the Unity Editor is doing and whether a call would have to wait. Needs no Unity, answers at once; ask it after ERR_EDITOR_NOT_READY or ERR_COMPILE_TIMEOUT.",
        kind: Kind::Read,
        route: Route::EditorState,
        supports_cancel: false,
        default_timeout_ms: 5_000,
        max_timeout_ms: 10_000,
        requires_client_request_id: false,
        retryable: true,
        parameters: &[],
    },
    Tool {
        name: "read_console",
        about: "Entries of the Unity console, newest first, equal ones in a row as one with a count. To see only what is new, give the cursor of the last answer as since; if truncated, more says how many are left out, and a call with the arguments in next gets them. Waits while Unity compiles or reloads. Reading again is always safe.",
        kind: Kind::Read,
        route: Route::Execute { answer: CONSOLE, told: CONSOLE_TOLD },
        supports_cancel: false,
        default_timeout_ms: 10_000,
        max_timeout_ms: 30_000,
        requires_client_request_id: false,
        retryable: true,
        parameters: &[
            Parameter {
                name: "max_entries",
                about: "how many entries at the most",
                shape: Shape::Integer { min: 1, max: 2_000 },
                need: Need::DefaultInteger(200),
                for_unity: true,
            },
            Parameter {
                name: "types",
                about: "only entries of these types",
                shape: Shape::SomeOf(LOG_TYPES),
                need: Need::Optional,
                for_unity: true,
            },
            Parameter {
                name: "contains",
                about: "only entries with this text in the message",
                shape: LINE,
                need: Need::Optional,
                for_unity: true,
            },
            Parameter {
                name: "stack_traces",
                about: "whether entries carry their stack trace",
                shape: Shape::Flag,
                need: Need::DefaultFlag(true),
                for_unity: true,
            },
            Parameter {
                name: "since",
                about: "only entries that came after this cursor of an earlier answer",
                shape: LINE,
                need: Need::Optional,
                for_unity: true,
            },
            Parameter {
                name: "before",
                about: "only entries older than this, from next of an earlier answer",
                shape: LINE,
                need: Need::Optional,
                for_unity: true,
            },
        ],
    },
    Tool {
        name: "run_tests",
        about: "Start a test run in Unity. Answers {job_id, state} at once, or the finished job if it ends within wait_ms. Follow it with get_job_status, end it with cancel_job; a job_id lives until the server stops. If execution_guarantee is unknown, the run may have started: look before repeating.",
        kind: Kind::ReadHeavy,
        route: Route::SubmitJob { result: TEST_RUN, told: TEST_RUN_TOLD },
        supports_cancel: true,
        default_timeout_ms: 300_000,
        max_timeout_ms: 1_800_000,
        requires_client_request_id: false,
        retryable: false,
        parameters: &[
            Parameter {
                name: "mode",
                about: "which tests",
                shape: Shape::OneOf(&["all", "edit", "play"]),
                need: Need::DefaultWord("all"),
                for_unity: true,
            },
            Parameter {
                name: "filter",
                about: "only tests whose full name contains this",
                shape: LINE,
                need: Need::Optional,
                for_unity: true,
            },
            WAIT_MS,
        ],
    },
    Tool {
        name: "get_job_status",
        about: "State, progress and result of a test run. Use wait_ms instead of asking again and again. failed with a result: tests failed; failed with an error: the run broke off or never began.",
        kind: Kind::Control,
        route: Route::JobStatus,
        supports_cancel: false,
        default_timeout_ms: 5_000,
        max_timeout_ms: 10_000,
        requires_client_request_id: false,
        retryable: false,
        parameters: &[JOB_ID, WAIT_MS],
    },
    Tool {
        name: "cancel_job",
        about: "End a test run. cancelled: it never reached Unity; cancel_requested: Unity was told, get_job_status shows the end; rejected: it had ended already.",
        kind: Kind::Control,
        route: Route::CancelJob,
        supports_cancel: false,
        default_timeout_ms: 5_000,
        max_timeout_ms: 10_000,
        requires_client_request_id: false,
        retryable: false,
        parameters: &[JOB_ID],
    },
];
