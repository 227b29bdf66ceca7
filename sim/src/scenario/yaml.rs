//! The file of a scenario: everything that may be written in it.

use std::collections::BTreeMap;

use protocol::{Json, Map};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::words::{NetworkWords, Time, UnityWords};

/// A scenario of unity-mcp: what happens when, and what must come of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioYaml {
    /// Why this must hold, in one sentence.
    pub(super) why: String,
    /// Where all chance comes from. 1 if left out.
    #[serde(default)]
    #[schemars(with = "u64")]
    pub(super) seed: Option<u64>,
    /// When the run ends. If left out: a moment after the last step and the last answer.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) lasts: Option<Time>,
    /// How long every message takes. 1ms if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) latency: Option<Time>,
    /// Whether pings and pongs are in the trace.
    #[serde(default)]
    pub(super) heartbeats: bool,
    /// Whether the tools that server and Unity tell each other are in the trace.
    #[serde(default)]
    pub(super) capabilities: bool,
    /// Settings of the server by the names of its configuration file.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub(super) server: BTreeMap<String, Spanned<u64>>,
    /// The Editor.
    #[serde(default)]
    pub(super) unity: EditorYaml,
    /// A second Editor, if there is one.
    #[serde(default)]
    #[schemars(with = "EditorYaml")]
    pub(super) unity2: Option<EditorYaml>,
    /// Agents by their names. If left out: one, called agent, over HTTP.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, AgentYaml>")]
    pub(super) agents: BTreeMap<String, Spanned<AgentYaml>>,
    #[schemars(with = "Vec<StepYaml>")]
    pub(super) steps: Vec<Spanned<StepYaml>>,
    pub(super) expect: ExpectYaml,
}

/// What an Editor is from the start.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditorYaml {
    /// When it starts. At once if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) starts: Option<Time>,
    /// The version of its plugin.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) plugin_version: Option<String>,
    /// What its hello says of the protocol. 1 if left out.
    #[serde(default)]
    #[schemars(with = "u32")]
    pub(super) protocol_version: Option<u32>,
    /// Says no hello at all.
    #[serde(default)]
    pub(super) silent: bool,
    /// Leaves the optional names out of its hello.
    #[serde(default)]
    pub(super) nameless: bool,
    /// The tools it says that it has.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) tools: Option<Vec<String>>,
    /// How long a tool takes. 20ms if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) tool_time: Option<Time>,
    /// How long the domain reload after a compile takes; 0s has none. 2s if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) reload_time: Option<Time>,
    /// How long a pong takes.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) pong: Option<Time>,
    /// What a cancel does to a test run: honour, refuse or ignore.
    #[serde(default)]
    #[schemars(with = "CancelYaml")]
    pub(super) cancel: Option<CancelYaml>,
    /// Its tests.
    #[serde(default)]
    #[schemars(with = "TestsYaml")]
    pub(super) tests: Option<TestsYaml>,
    /// Gives up a server that says nothing for so long. Never if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) idle_timeout: Option<Time>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CancelYaml {
    Honour,
    Refuse,
    Ignore,
}

/// So many tests of the same length, of which the first `failing` fail.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TestsYaml {
    pub(super) count: usize,
    pub(super) takes: Time,
    #[serde(default)]
    pub(super) failing: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentYaml {
    /// How it reaches the server: http, stdio (it has started the server and holds its pipes) or
    /// own_server (it has started one of its own, which finds the port taken).
    pub(super) via: ViaYaml,
    /// When it begins. At once if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) joins: Option<Time>,
    /// How it begins: modern (server/discover), tasks (the same, and it knows what a task is) or legacy
    /// (initialize). Modern if left out.
    #[serde(default)]
    #[schemars(with = "SpeaksYaml")]
    pub(super) speaks: Option<SpeaksYaml>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ViaYaml {
    Http,
    Stdio,
    OwnServer,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SpeaksYaml {
    Modern,
    Tasks,
    Legacy,
}

/// One thing that is done: exactly one of call, cancel, break, leave, unity, unity2, network, server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepYaml {
    /// When.
    pub(super) at: Time,
    /// An agent calls this tool, or one of the methods tasks/get and tasks/cancel. Needs `as`, and one of `ok`, `error`, `unanswered`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) call: Option<String>,
    /// What the call is called: in this file, in the trace, and as its client_request_id.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) r#as: Option<String>,
    /// The agent that calls, if there is more than one.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) by: Option<String>,
    /// The arguments of the call.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Json>")]
    pub(super) with: Option<Map<String, Json>>,
    /// The call succeeds, and its answer has at least these fields.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Json>")]
    pub(super) ok: Option<Json>,
    /// The call fails with this code. Needs `guarantee`, unless it is a JSON-RPC error (a number).
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) error: Option<String>,
    /// What the failure says about execution.
    #[serde(default)]
    #[schemars(with = "GuaranteeYaml")]
    pub(super) guarantee: Option<GuaranteeYaml>,
    /// The call is never answered.
    #[serde(default)]
    pub(super) unanswered: bool,
    /// Nothing is expected of the answer but what is promised always.
    #[serde(default)]
    pub(super) any: bool,
    /// The answer comes in this time.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) within: Option<Time>,
    /// The agent takes this call back.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) cancel: Option<String>,
    /// The server's code that waits for the answer of this call panics; the core must answer it.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) r#break: Option<String>,
    /// This agent leaves.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) leave: Option<String>,
    /// The Editor does this.
    #[serde(default)]
    #[schemars(with = "UnityWords")]
    pub(super) unity: Option<UnityWords>,
    /// The second Editor does this.
    #[serde(default)]
    #[schemars(with = "UnityWords")]
    pub(super) unity2: Option<UnityWords>,
    /// The network suffers this, for ever or as long as `for` says.
    #[serde(default)]
    #[schemars(with = "NetworkWords")]
    pub(super) network: Option<NetworkWords>,
    /// The server is asked to stop, is killed, or starts again.
    #[serde(default)]
    #[schemars(with = "ServerYaml")]
    pub(super) server: Option<ServerYaml>,
    /// How long the network suffers, or how long the server is away.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) r#for: Option<Time>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum GuaranteeYaml {
    NotExecuted,
    Unknown,
    CompletedError,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ServerYaml {
    Stop,
    Crash,
    Start,
}

/// What must stand in Unity's books in the end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectYaml {
    /// All calls that Unity ran, in this order.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) executed: Option<Vec<Spanned<String>>>,
    /// Calls that Unity ran exactly once, among others.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) executed_once: Option<Vec<Spanned<String>>>,
}

/// The JSON Schema of a file, for editors.
pub fn schema() -> Json {
    schemars::schema_for!(ScenarioYaml).to_value()
}
