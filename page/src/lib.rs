//! What the page draws: lanes, and a list of events on them. The simulator embeds a finished list in a file; the server
//! sends events while they happen. Both use the types here, and so does `unity-mcp status`.
//!
//! Times are milliseconds since the start of the run or of the server.

mod diff;
mod html;
mod index;
mod sketch;
mod svg;

use serde::{Deserialize, Serialize};

pub use diff::diff;
pub use html::{Expectation, Finished, LivePage, finished, live};
pub use index::{Entry, index};
pub use sketch::sketch;
pub use svg::{Theme, svg};

/// A column of the picture, from left to right: agents, servers, Editors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// The name that events use.
    pub id: String,
    pub kind: LaneKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    Agent,
    Server,
    Editor,
}

/// Events come in the order in which they are drawn: a cause is above its effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// An arrow between two lanes.
    Message {
        at: u64,
        /// When it arrived, if that is another moment. A lost message has `lost`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        got: Option<u64>,
        #[serde(default, skip_serializing_if = "is_false")]
        lost: bool,
        from: String,
        to: String,
        /// The type of the message: `execute`, `tools/call`, `hello`.
        what: String,
        /// Its most important fields, in a line.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// The call it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        error: bool,
        /// The whole message as text, if it may be shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<String>,
    },
    /// Something that happened on one lane.
    Note {
        at: u64,
        lane: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    /// An agent made a call. It waits until `CallServed`.
    CallBegan { at: u64, lane: String, call: String, tool: String },
    /// The call stopped waiting: it was sent to Unity, or the server answers it without Unity.
    CallServed { at: u64, call: String },
    CallEnded {
        at: u64,
        call: String,
        outcome: CallOutcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guarantee: Option<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        replayed: bool,
    },
    /// What the server knows from here on.
    State { at: u64, state: State },
    /// A lane is in this state from here on: `compiling`, `calls wait: disconnected`. Without a text, in none worth a
    /// mark. A list without any such event is drawn with what its `State` events say.
    LaneState {
        at: u64,
        lane: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A link or a program fails from `at` on, until `until` if that is known.
    Fault {
        at: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<u64>,
        lane: String,
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    Ok,
    Failed,
    /// By its agent. It gets no answer.
    Cancelled,
    /// The agent will never get an answer.
    Lost,
}

/// The boxes above the lanes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// `server_state` as agents see it.
    pub server: String,
    /// `editor_state` as agents see it.
    pub editor: String,
    /// Why calls would wait, if they would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The tool that Unity is working on, with its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// Calls that wait.
    #[serde(default)]
    pub queue: u64,
    /// The project of the last Editor that was turned away, until one is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub job_id: String,
    /// `queued`, `running`, `succeeded`, …
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

/// The first message of the live page: everything there is, before single events follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub about: About,
    pub lanes: Vec<Lane>,
    /// Those that are still kept, oldest first.
    pub events: Vec<Event>,
    pub state: State,
    /// How long the server has run, in milliseconds: `at` of an event that happens now.
    pub now: u64,
}

/// Which server this is, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub version: String,
    pub pid: u32,
    pub port: u16,
    pub catalog: String,
    /// When it was started, as RFC 3339.
    pub started: String,
    /// The project it serves, if it is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The Editor that is connected or was last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor: Option<Editor>,
    /// Settings that differ from their defaults, as `name=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
}

/// What the plugin said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Editor {
    pub plugin_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unity_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_path: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
