//! Catalogue 1.1: what ADR-0013 adds.

use super::v1_0::{COUNT, LINE, WAIT_MS, optional, required};
use super::{ForUnity, Kind, Need, Parameter, Route, Tool, UnityAnswer};
use crate::shape::Shape;
use crate::tool_answers::{assets, compile, editor};

const SCENES: Shape = Shape::Object(&[
    required(
        "open",
        Shape::List(&Shape::Object(&[
            required("path", Shape::Text),
            required("name", Shape::Text),
            required("is_active", Shape::Flag),
            required("is_dirty", Shape::Flag),
        ])),
    ),
    required(
        "build",
        Shape::List(&Shape::Object(&[
            required("path", Shape::Text),
            required("enabled", Shape::Flag),
        ])),
    ),
]);

const ASSETS: Shape = Shape::Object(&[
    required("count", COUNT),
    required("truncated", Shape::Flag),
    optional("next", Shape::Object(&[])),
    required(
        "assets",
        Shape::List(&Shape::Object(&[
            required("path", Shape::Text),
            required("type", Shape::Text),
            required("guid", Shape::Text),
        ])),
    ),
]);

const SELECTION: Shape = Shape::Object(&[
    required("count", COUNT),
    required(
        "objects",
        Shape::List(&Shape::Object(&[
            required("name", Shape::Text),
            required("path", Shape::Text),
            required("type", Shape::Text),
        ])),
    ),
]);

const OPENED: Shape = Shape::Object(&[required("path", Shape::Text)]);

const COMPILE: Shape = Shape::Object(&[
    required("outcome", Shape::OneOf(&["up_to_date", "compiled", "failed"])),
    required("reloaded", Shape::Flag),
    required(
        "errors",
        Shape::List(&Shape::Object(&[
            required("message", Shape::Text),
            optional("file", Shape::Text),
            optional("line", COUNT),
            optional("column", COUNT),
            optional("code", Shape::Text),
            optional("assembly", Shape::Text),
        ])),
    ),
    optional("errors_left_out", COUNT),
    required("warnings", COUNT),
    required("duration_ms", Shape::Number),
]);

const fn argument(name: &'static str, about: &'static str, shape: Shape, need: Need) -> Parameter {
    Parameter { name, about, shape, need, also: &[], for_unity: ForUnity::AsItIs }
}

const READ: Tool = Tool {
    name: "",
    summary: "",
    about: "",
    kind: Kind::Read,
    route: Route::EditorState,
    supports_cancel: false,
    default_timeout_ms: 10_000,
    max_timeout_ms: 30_000,
    requires_client_request_id: false,
    retryable: true,
    parameters: &[],
};

pub(super) static TOOLS: &[Tool] = &[
    Tool {
        name: "script_recompile_trigger",
        summary: "Imports what changed on disk, compiles the scripts and returns the compile errors, as a job.",
        about: "Make Unity import changed files and compile the scripts, then reload if needed. Use it after you edited scripts, with wait_ms 45000, before run_tests. Returns the finished job with outcome (up_to_date, compiled or failed) and the errors, or {job_id, state} if it takes longer: then call get_job_status. state failed means that the scripts do not compile. It cannot be cancelled. Safe to repeat.",
        kind: Kind::WriteHeavy,
        route: Route::SubmitJob(UnityAnswer {
            given: COMPILE,
            tell: compile::tell,
            problem: compile::problem,
            told: COMPILE,
        }),
        default_timeout_ms: 300_000,
        max_timeout_ms: 1_800_000,
        parameters: &[WAIT_MS],
        ..READ
    },
    Tool {
        name: "open_scene",
        summary: "Opens a scene. It never saves or discards unsaved changes.",
        about: "Open a scene in the Editor. Fails if an open scene has unsaved changes: ask the user to save or discard them. To find out how a call with an unknown outcome ended, repeat it with the same client_request_id: it never runs twice.",
        kind: Kind::Write,
        route: Route::Execute(UnityAnswer {
            given: OPENED,
            tell: editor::opened,
            problem: |_, _| None,
            told: OPENED,
        }),
        default_timeout_ms: 30_000,
        max_timeout_ms: 60_000,
        requires_client_request_id: true,
        retryable: false,
        parameters: &[
            argument(
                "path",
                "path of the scene, from list_scenes or list_assets",
                LINE,
                Need::Required,
            ),
            argument(
                "additive",
                "keep the open scenes open",
                Shape::Flag,
                Need::DefaultFlag(false),
            ),
        ],
        ..READ
    },
    Tool {
        name: "list_scenes",
        summary: "Lists the open scenes and the scenes of the build.",
        about: "List the open scenes (is_dirty: unsaved changes) and the scenes of the build.",
        route: Route::Execute(UnityAnswer {
            given: SCENES,
            tell: editor::scenes,
            problem: |_, _| None,
            told: SCENES,
        }),
        ..READ
    },
    Tool {
        name: "list_assets",
        summary: "Finds assets of the project by name, type or folder.",
        about: "Find assets of the project, sorted by path. If truncated is true, a call with the arguments in next lists what was left out.",
        route: Route::Execute(UnityAnswer {
            given: ASSETS,
            tell: assets::tell,
            problem: |_, _| None,
            told: ASSETS,
        }),
        parameters: &[
            argument(
                "query",
                "what to find, as in the Project window of Unity: part of a name, t:Scene, l:Label",
                LINE,
                Need::Optional,
            ),
            argument(
                "folder",
                "only assets below this folder, such as Assets/Scenes",
                LINE,
                Need::Optional,
            ),
            argument(
                "max_entries",
                "at most so many assets",
                Shape::Integer { min: 1, max: 500 },
                Need::DefaultInteger(50),
            ),
            argument("after", "only assets after this path, from next", LINE, Need::Optional),
        ],
        ..READ
    },
    Tool {
        name: "get_selection",
        summary: "Shows what is selected in the Editor.",
        about: "Show what the user has selected in the Editor: objects of a scene and assets.",
        route: Route::Execute(UnityAnswer {
            given: SELECTION,
            tell: editor::selection,
            problem: |_, _| None,
            told: SELECTION,
        }),
        default_timeout_ms: 5_000,
        max_timeout_ms: 10_000,
        ..READ
    },
    Tool {
        name: "ping",
        summary: "Measures how long Unity's main thread takes to answer.",
        about: "Measure a round trip through Unity's main thread. Use it to find out whether the Editor is blocked.",
        route: Route::Execute(UnityAnswer {
            given: Shape::Object(&[]),
            tell: editor::pong,
            problem: |_, _| None,
            told: Shape::Object(&[required("round_trip_ms", Shape::Number)]),
        }),
        default_timeout_ms: 5_000,
        max_timeout_ms: 10_000,
        ..READ
    },
];
