//! Catalogue 1.0: the five tools of ADR-0012.

use super::{ForUnity, Kind, Need, Parameter, Route, Tool, UnityAnswer};
use crate::shape::{Field, Shape};
use crate::tool_answers::{console, test_run};

pub(super) const COUNT: Shape = Shape::Integer { min: 0, max: u64::MAX };
/// Long enough for any text to search for.
pub(super) const LINE: Shape = Shape::Line { max: 4_000 };
const POSITIVE: Shape = Shape::Integer { min: 1, max: u64::MAX };
const LOG_TYPES: &[&str] = &["log", "warning", "error", "assert", "exception"];

pub(super) const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

pub(super) const fn optional(name: &'static str, shape: Shape) -> Field {
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
            optional("stack_trace", Shape::Text),
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
    about: "the job_id of the job",
    shape: Shape::Text,
    need: Need::Required,
    also: &[],
    for_unity: ForUnity::No,
};

pub(super) const WAIT_MS: Parameter = Parameter {
    name: "wait_ms",
    about: "how long to wait for the end of a job that you start, or for a change of one that you ask about. Use 45000: many clients give up after 60 s",
    shape: Shape::Integer { min: 0, max: 300_000 },
    need: Need::DefaultInteger(0),
    also: &[],
    for_unity: ForUnity::No,
};

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "get_editor_state",
        summary: "Shows what the Editor is doing and whether a call would have to wait. Answers at once, even without Unity.",
        about: "Show what the Unity Editor is doing and whether a call would have to wait. Answers at once, even without Unity. Use it to find out why a call failed, or to find a job; you don't need it before other calls.",
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
        summary: "Reads entries of the Unity console, newest first. With the cursor of the last answer it reads only what is new.",
        about: "Read the Unity console, newest entry first. Equal entries in a row are one with a count. To read only new entries, pass the cursor of the last answer as since. If truncated is true, a call with the arguments in next reads what was left out. Waits while Unity compiles or reloads. Safe to repeat.",
        kind: Kind::Read,
        route: Route::Execute(UnityAnswer {
            given: CONSOLE,
            tell: console::tell,
            problem: |_, _| None,
            told: CONSOLE_TOLD,
        }),
        supports_cancel: false,
        default_timeout_ms: 10_000,
        max_timeout_ms: 30_000,
        requires_client_request_id: false,
        retryable: true,
        parameters: &[
            Parameter {
                name: "max_entries",
                about: "at most so many entries",
                shape: Shape::Integer { min: 1, max: 2_000 },
                need: Need::DefaultInteger(50),
                also: &[],
                for_unity: ForUnity::AsItIs,
            },
            Parameter {
                name: "types",
                about: "only entries of these types",
                shape: Shape::SomeOf(LOG_TYPES),
                need: Need::Optional,
                also: &[],
                for_unity: ForUnity::AsItIs,
            },
            Parameter {
                name: "contains",
                about: "only entries that contain this text; case is ignored",
                shape: LINE,
                need: Need::Optional,
                also: &[],
                for_unity: ForUnity::AsItIs,
            },
            Parameter {
                name: "stack_traces",
                about: "short: the first three lines",
                shape: Shape::OneOf(&["none", "short", "full"]),
                need: Need::DefaultWord("short"),
                also: &[("true", "full"), ("false", "none")],
                for_unity: ForUnity::AsFlag { unless: "none" },
            },
            Parameter {
                name: "since",
                about: "only entries newer than this cursor",
                shape: LINE,
                need: Need::Optional,
                also: &[],
                for_unity: ForUnity::AsItIs,
            },
            Parameter {
                name: "before",
                about: "only entries older than this one, from next",
                shape: LINE,
                need: Need::Optional,
                also: &[],
                for_unity: ForUnity::AsItIs,
            },
        ],
    },
    Tool {
        name: "run_tests",
        summary: "Starts a test run and returns a job ID (or an MCP task if the client supports tasks). With `wait_ms` it waits for the result.",
        about: "Start a test run in Unity. Returns {job_id, state} at once, or the finished job if it ends within wait_ms. Follow the job with get_job_status, stop it with cancel_job. If execution_guarantee is unknown, the run may have started: check before you repeat it.",
        kind: Kind::ReadHeavy,
        route: Route::SubmitJob(UnityAnswer {
            given: TEST_RUN,
            tell: test_run::tell,
            problem: test_run::problem,
            told: TEST_RUN_TOLD,
        }),
        supports_cancel: true,
        default_timeout_ms: 300_000,
        max_timeout_ms: 1_800_000,
        requires_client_request_id: false,
        retryable: false,
        parameters: &[
            Parameter {
                name: "mode",
                about: "which tests to run",
                shape: Shape::OneOf(&["all", "edit", "play"]),
                need: Need::DefaultWord("all"),
                also: &[("editmode", "edit"), ("playmode", "play")],
                for_unity: ForUnity::AsItIs,
            },
            Parameter {
                name: "filter",
                about: "only tests whose full name contains this text",
                shape: LINE,
                need: Need::Optional,
                also: &[],
                for_unity: ForUnity::AsItIs,
            },
            WAIT_MS,
        ],
    },
    Tool {
        name: "get_job_status",
        summary: "Shows the state, progress and result of a job.",
        about: "Show the state, progress and result of a job. Use wait_ms instead of asking repeatedly. failed with a result: tests failed; failed with an error: the job broke off or never started.",
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
        summary: "Stops a job.",
        about: "Stop a job. cancelled: it never reached Unity; cancel_requested: Unity was asked to stop it, get_job_status shows the end; rejected: it had already ended.",
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
