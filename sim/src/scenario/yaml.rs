//! The fields of a scenario file. Their comments are the schema for editors.

use std::collections::BTreeMap;

use protocol::{Json, Map};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::words::{NetworkWords, Time, UnityWords};

/// A scenario of unity-mcp: what happens when, and what is expected.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioYaml {
    /// Why this must hold, in one sentence.
    pub(super) why: String,
    /// The seed of all randomness. Default: 1.
    #[serde(default)]
    #[schemars(with = "u64")]
    pub(super) seed: Option<u64>,
    /// When the run ends. Default: shortly after the last step and the last answer.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) lasts: Option<Time>,
    /// How long every message takes. Default: 1ms.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) latency: Option<Time>,
    /// Whether the trace shows pings and pongs.
    #[serde(default)]
    pub(super) heartbeats: bool,
    /// Whether the trace shows the lists of tools that server and Unity exchange.
    #[serde(default)]
    pub(super) capabilities: bool,
    /// The catalogue of the server: "1.0" or "1.1". Default: "1.0".
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) catalog: Option<Spanned<String>>,
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
    /// Agents by name. Default: one with the name agent, over HTTP.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, AgentYaml>")]
    pub(super) agents: BTreeMap<String, Spanned<AgentYaml>>,
    #[schemars(with = "Vec<StepYaml>")]
    pub(super) steps: Vec<Spanned<StepYaml>>,
    pub(super) expect: ExpectYaml,
}

/// The settings of an Editor.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditorYaml {
    /// When it starts. Default: at once.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) starts: Option<Time>,
    /// The version of its plugin.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) plugin_version: Option<String>,
    /// The protocol version of its hello. Default: 1.
    #[serde(default)]
    #[schemars(with = "u32")]
    pub(super) protocol_version: Option<u32>,
    /// Sends no hello.
    #[serde(default)]
    pub(super) silent: bool,
    /// Leaves the optional names out of its hello.
    #[serde(default)]
    pub(super) nameless: bool,
    /// The path of the project that its hello names. Default: none.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) project: Option<String>,
    /// The tools that it offers.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) tools: Option<Vec<String>>,
    /// How long a tool takes. Default: 20ms.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) tool_time: Option<Time>,
    /// How long the domain reload after a compile takes; 0s means none. Default: 2s.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) reload_time: Option<Time>,
    /// How long a pong takes.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) pong: Option<Time>,
    /// The seq of a pong: new, last (then the server drops the state in it) or none. Default: new.
    #[serde(default)]
    #[schemars(with = "PongSeqYaml")]
    pub(super) pong_seq: Option<PongSeqYaml>,
    /// Other ways to write the same JSON: reversed, spaced, escaped, extra (unknown fields).
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) writes: Vec<String>,
    /// What a cancel does to a test run: honour, refuse or ignore.
    #[serde(default)]
    #[schemars(with = "CancelYaml")]
    pub(super) cancel: Option<CancelYaml>,
    /// Its tests.
    #[serde(default)]
    #[schemars(with = "TestsYaml")]
    pub(super) tests: Option<TestsYaml>,
    /// Disconnects from a server that is silent for this long. Default: never.
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

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PongSeqYaml {
    New,
    Last,
    None,
}

/// Tests of equal length; the first `failing` of them fail.
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
    /// How it reaches the server: http, stdio (it starts the server and holds its pipes) or own_server (it starts its
    /// own server, which finds the port taken).
    pub(super) via: ViaYaml,
    /// When it connects. Default: at once.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) joins: Option<Time>,
    /// How it starts: modern (server/discover), tasks (the same, with support for tasks) or legacy (initialize).
    /// Default: modern.
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

/// One step: exactly one of call, cancel, break, leave, unity, unity2, network, server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepYaml {
    /// When.
    pub(super) at: Time,
    /// An agent calls this tool, or one of the methods tasks/get and tasks/cancel. Needs `as`, and one of `ok`, `error`, `unanswered`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) call: Option<String>,
    /// The name of the call: in this file, in the trace, and as its client_request_id.
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
    /// What the failure reports about execution.
    #[serde(default)]
    #[schemars(with = "GuaranteeYaml")]
    pub(super) guarantee: Option<GuaranteeYaml>,
    /// The call is never answered.
    #[serde(default)]
    pub(super) unanswered: bool,
    /// Any answer is right that keeps every promise.
    #[serde(default)]
    pub(super) any: bool,
    /// The answer comes within this time.
    #[serde(default)]
    #[schemars(with = "Time")]
    pub(super) within: Option<Time>,
    /// The agent cancels this call.
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
    /// The link has this fault, until the end or as long as `for` says.
    #[serde(default)]
    #[schemars(with = "NetworkWords")]
    pub(super) network: Option<NetworkWords>,
    /// The server gets a stop signal, is killed, or starts again.
    #[serde(default)]
    #[schemars(with = "ServerYaml")]
    pub(super) server: Option<ServerYaml>,
    /// Which server: that of this agent, which is via own_server. Default: the one that is there from the beginning.
    #[serde(default)]
    #[schemars(with = "String")]
    pub(super) of: Option<String>,
    /// How long the link has the fault, or how long the server is away.
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

/// What must be in the books of Unity at the end.
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
