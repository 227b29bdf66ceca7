//! The file of a scenario: what may be written, and how mistakes in it are told.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use mock_unity::{CancelPolicy, PongPolicy, Settings, Suite, Test, TestMode, TestOutcome};
use protocol::{Json, Map};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;
use unity_mcp::config_loader::{self, Config, RawFlags};

use super::words::{NetworkWords, Time, UnityWords};
use super::{
    AGENT, Action, Agent, Call, Editor, Expected, SERVER, Scenario, ServerDoes, Speaks, Step,
    UNITY, UNITY2, Via,
};

/// A scenario of unity-mcp: what happens when, and what must come of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScenarioFile {
    /// Why this must hold, in one sentence.
    why: String,
    /// Where all chance comes from. 1 if left out.
    #[serde(default)]
    #[schemars(with = "u64")]
    seed: Option<u64>,
    /// When the run ends. If left out: a moment after the last step and the last answer.
    #[serde(default)]
    #[schemars(with = "Time")]
    lasts: Option<Time>,
    /// How long every message takes. 1ms if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    latency: Option<Time>,
    /// Whether pings and pongs are in the trace.
    #[serde(default)]
    heartbeats: bool,
    /// Settings of the server by the names of its configuration file.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, u64>")]
    server: BTreeMap<String, Spanned<u64>>,
    /// The Editor.
    #[serde(default)]
    unity: EditorFile,
    /// A second Editor, if there is one.
    #[serde(default)]
    #[schemars(with = "EditorFile")]
    unity2: Option<EditorFile>,
    /// Agents by their names. If left out: one, called agent, over HTTP.
    #[serde(default)]
    agents: BTreeMap<String, AgentFile>,
    #[schemars(with = "Vec<StepFile>")]
    steps: Vec<Spanned<StepFile>>,
    expect: ExpectFile,
}

/// What an Editor is from the start.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditorFile {
    /// When it starts. At once if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    starts: Option<Time>,
    /// The version of its plugin.
    #[serde(default)]
    #[schemars(with = "String")]
    plugin_version: Option<String>,
    /// What its hello says of the protocol. 1 if left out.
    #[serde(default)]
    #[schemars(with = "u32")]
    protocol_version: Option<u32>,
    /// Says no hello at all.
    #[serde(default)]
    silent: bool,
    /// Leaves the optional names out of its hello.
    #[serde(default)]
    nameless: bool,
    /// The tools it says that it has.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    tools: Option<Vec<String>>,
    /// How long a tool takes. 20ms if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    tool_time: Option<Time>,
    /// How long the domain reload after a compile takes; 0s has none. 2s if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    reload_time: Option<Time>,
    /// How long a pong takes.
    #[serde(default)]
    #[schemars(with = "Time")]
    pong: Option<Time>,
    /// What a cancel does to a test run: honour, refuse or ignore.
    #[serde(default)]
    #[schemars(with = "CancelFile")]
    cancel: Option<CancelFile>,
    /// Its tests.
    #[serde(default)]
    #[schemars(with = "TestsFile")]
    tests: Option<TestsFile>,
    /// Gives up a server that says nothing for so long. Never if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    idle_timeout: Option<Time>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CancelFile {
    Honour,
    Refuse,
    Ignore,
}

/// So many tests of the same length, of which the first `failing` fail.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestsFile {
    count: usize,
    takes: Time,
    #[serde(default)]
    failing: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentFile {
    /// How it reaches the server: http, stdio (it has started the server and holds its pipes) or
    /// own_server (it has started one of its own, which finds the port taken).
    via: ViaFile,
    /// When it begins. At once if left out.
    #[serde(default)]
    #[schemars(with = "Time")]
    joins: Option<Time>,
    /// How it begins: modern (server/discover) or legacy (initialize). Modern if left out.
    #[serde(default)]
    #[schemars(with = "SpeaksFile")]
    speaks: Option<SpeaksFile>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ViaFile {
    Http,
    Stdio,
    OwnServer,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SpeaksFile {
    Modern,
    Legacy,
}

/// One thing that is done: exactly one of call, cancel, leave, unity, unity2, network, server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepFile {
    /// When.
    at: Time,
    /// An agent calls this tool. Needs `as`, and one of `ok`, `error`, `unanswered`.
    #[serde(default)]
    #[schemars(with = "String")]
    call: Option<String>,
    /// What the call is called: in this file, in the trace, and as its client_request_id.
    #[serde(default)]
    #[schemars(with = "String")]
    r#as: Option<String>,
    /// The agent that calls, if there is more than one.
    #[serde(default)]
    #[schemars(with = "String")]
    by: Option<String>,
    /// The arguments of the call.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Json>")]
    with: Option<Map<String, Json>>,
    /// The call succeeds, and its answer has at least these fields.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Json>")]
    ok: Option<Json>,
    /// The call fails with this code. Needs `guarantee`, unless it is a JSON-RPC error (a number).
    #[serde(default)]
    #[schemars(with = "String")]
    error: Option<String>,
    /// What the failure says about execution.
    #[serde(default)]
    #[schemars(with = "GuaranteeFile")]
    guarantee: Option<GuaranteeFile>,
    /// The call is never answered.
    #[serde(default)]
    unanswered: bool,
    /// The answer comes in this time.
    #[serde(default)]
    #[schemars(with = "Time")]
    within: Option<Time>,
    /// The agent takes this call back.
    #[serde(default)]
    #[schemars(with = "String")]
    cancel: Option<String>,
    /// This agent leaves.
    #[serde(default)]
    #[schemars(with = "String")]
    leave: Option<String>,
    /// The Editor does this.
    #[serde(default)]
    #[schemars(with = "UnityWords")]
    unity: Option<UnityWords>,
    /// The second Editor does this.
    #[serde(default)]
    #[schemars(with = "UnityWords")]
    unity2: Option<UnityWords>,
    /// The network suffers this, for ever or as long as `for` says.
    #[serde(default)]
    #[schemars(with = "NetworkWords")]
    network: Option<NetworkWords>,
    /// The server is asked to stop, is killed, or starts again.
    #[serde(default)]
    #[schemars(with = "ServerFile")]
    server: Option<ServerFile>,
    /// How long the network suffers, or how long the server is away.
    #[serde(default)]
    #[schemars(with = "Time")]
    r#for: Option<Time>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GuaranteeFile {
    NotExecuted,
    Unknown,
    CompletedError,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ServerFile {
    Stop,
    Crash,
    Start,
}

/// What must stand in Unity's books in the end.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExpectFile {
    /// All calls that Unity ran, in this order.
    executed: Vec<String>,
    /// Calls that Unity ran exactly once.
    #[serde(default)]
    executed_once: Vec<String>,
}

/// The JSON Schema of a file, for editors.
pub fn schema() -> Json {
    schemars::schema_for!(ScenarioFile).to_value()
}

/// `Err` says what is wrong, where, and what would be right.
pub fn parse(text: &str) -> Result<Scenario, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let file: ScenarioFile = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| with_suggestion(&error.to_string()))?;
    let scenario = file.into_scenario()?;
    scenario.check()?;
    Ok(scenario)
}

/// It says "unknown field `x`, expected one of a, b": the nearest of them is probably meant.
fn with_suggestion(problem: &str) -> String {
    let first = problem.lines().next().unwrap_or_default();
    let unknown = first.split('`').nth(1).filter(|_| first.contains("unknown "));
    let known = first.split("expected one of ").nth(1).unwrap_or_default();
    let distance = |name: &&str| strsim::damerau_levenshtein(unknown.unwrap_or_default(), name);
    let nearest = known.split(", ").min_by_key(distance).filter(|name| distance(name) <= 3);
    match nearest.filter(|_| unknown.is_some()) {
        Some(near) => format!("{problem}\ndid you mean `{near}`?"),
        None => problem.to_owned(),
    }
}

fn at(place: &serde_saphyr::Location, problem: impl Display) -> String {
    format!("line {} column {}: {problem}", place.line(), place.column())
}

impl ScenarioFile {
    fn into_scenario(self) -> Result<Scenario, String> {
        let seed = self.seed.unwrap_or(1);
        let mut agents: BTreeMap<String, Agent> =
            self.agents.into_iter().map(|(name, agent)| (name, agent.into_agent())).collect();
        if agents.is_empty() {
            let agent = Agent { joins: Duration::ZERO, via: Via::Http, speaks: Speaks::Modern };
            agents.insert(AGENT.to_owned(), agent);
        }
        let mut editors = vec![self.unity.into_editor(UNITY)];
        editors.extend(self.unity2.map(|second| second.into_editor(UNITY2)));
        let hosts: Vec<String> = agents
            .keys()
            .cloned()
            .chain(editors.iter().map(|editor| editor.name.to_owned()))
            .chain([SERVER.to_owned()])
            .collect();
        let mut steps = Vec::new();
        for step in self.steps {
            let action = step.value.action(&agents, &hosts);
            let action = action.map_err(|problem| at(&step.referenced, problem))?;
            steps.push(Step { at: step.value.at.0, action });
        }
        steps.sort_by_key(|step| step.at);
        let mut scenario = Scenario {
            why: self.why,
            seed,
            lasts: self.lasts.map(|time| time.0),
            latency: self.latency.map_or(Duration::from_millis(1), |time| time.0),
            shows_heartbeats: self.heartbeats,
            config: config(&self.server)?,
            editors,
            agents,
            steps,
            executed: self.expect.executed,
            executed_once: self.expect.executed_once,
        };
        scenario.reseed(seed);
        Ok(scenario)
    }
}

/// Through the loader of the server: its names, its ranges, its messages.
fn config(settings: &BTreeMap<String, Spanned<u64>>) -> Result<Config, String> {
    let mut flags = RawFlags { config: None, settings: Vec::new() };
    let nowhere = std::path::Path::new("/nowhere");
    for (name, value) in settings {
        flags.settings.push((name.clone(), value.value.to_string()));
        config_loader::load(&flags, nowhere).map_err(|error| at(&value.referenced, error))?;
    }
    config_loader::load(&flags, nowhere).map_err(|error| error.to_string())
}

impl EditorFile {
    fn into_editor(self, name: &'static str) -> Editor {
        let usual = Settings::default();
        let time = |time: Option<Time>, usual: Duration| time.map_or(usual, |time| time.0);
        let settings = Settings {
            seed: usual.seed,
            plugin_version: self.plugin_version.unwrap_or_else(|| crate::cast::VERSION.to_owned()),
            protocol_version: (!self.silent).then_some(self.protocol_version.unwrap_or(1)),
            names_itself: !self.nameless,
            tools: self.tools,
            tool_time: time(self.tool_time, usual.tool_time),
            reload_time: match self.reload_time {
                Some(Time(Duration::ZERO)) => None,
                Some(Time(time)) => Some(time),
                None => usual.reload_time,
            },
            pong: PongPolicy::After(time(self.pong, Duration::ZERO)),
            cancel: match self.cancel {
                Some(CancelFile::Honour) | None => CancelPolicy::Honour,
                Some(CancelFile::Refuse) => CancelPolicy::Refuse,
                Some(CancelFile::Ignore) => CancelPolicy::Ignore,
            },
            suite: self.tests.map_or(usual.suite, |tests| tests.suite()),
            idle_timeout: self.idle_timeout.map(|time| time.0),
            compile_time: usual.compile_time,
            reconnect: usual.reconnect,
        };
        Editor { name, starts: time(self.starts, Duration::ZERO), settings }
    }
}

impl TestsFile {
    fn suite(&self) -> Suite {
        let test = |number: usize| {
            let fails = number <= self.failing;
            Test {
                name: format!("Test{number}"),
                mode: TestMode::Edit,
                takes: self.takes.0,
                outcome: if fails { TestOutcome::Fail } else { TestOutcome::Pass },
            }
        };
        Suite((1..=self.count).map(test).collect())
    }
}

impl AgentFile {
    fn into_agent(self) -> Agent {
        Agent {
            joins: self.joins.map_or(Duration::ZERO, |time| time.0),
            via: match self.via {
                ViaFile::Http => Via::Http,
                ViaFile::Stdio => Via::Stdio,
                ViaFile::OwnServer => Via::OwnServer,
            },
            speaks: match self.speaks {
                Some(SpeaksFile::Modern) | None => Speaks::Modern,
                Some(SpeaksFile::Legacy) => Speaks::Legacy,
            },
        }
    }
}

impl StepFile {
    fn action(&self, agents: &BTreeMap<String, Agent>, hosts: &[String]) -> Result<Action, String> {
        let actions = [
            self.call.is_some(),
            self.cancel.is_some(),
            self.leave.is_some(),
            self.unity.is_some(),
            self.unity2.is_some(),
            self.network.is_some(),
            self.server.is_some(),
        ];
        if actions.iter().filter(|is_there| **is_there).count() != 1 {
            let names = "call, cancel, leave, unity, unity2, network, server";
            return Err(format!("a step is exactly one of {names}"));
        }
        let takes_time = self.network.is_some() || self.server.is_some();
        if self.r#for.is_some() && !takes_time {
            return Err("only network and server take a `for`".into());
        }
        let lasts = self.r#for.map(|time| time.0);
        if let Some(tool) = &self.call {
            return self.call(tool, agents).map(Action::Call);
        }
        let of_calls = self.r#as.is_some() || self.ok.is_some() || self.error.is_some();
        if of_calls || self.by.is_some() || self.with.is_some() || self.unanswered {
            return Err("`as`, `by`, `with`, `ok`, `error`, `unanswered` belong to a call".into());
        }
        if let Some(label) = &self.cancel {
            return Ok(Action::Cancel { label: label.clone() });
        }
        if let Some(agent) = &self.leave {
            known(agent, agents.keys())?;
            return Ok(Action::Leave { agent: agent.clone() });
        }
        if let Some(NetworkWords { text, fault, from, to }) = &self.network {
            known(from, hosts.iter())?;
            known(to, hosts.iter())?;
            let (words, from, to) = (text.clone(), from.clone(), to.clone());
            return Ok(Action::Network { words, fault: *fault, from, to, lasts });
        }
        if let Some(does) = self.server {
            let does = match does {
                ServerFile::Stop => ServerDoes::Stop,
                ServerFile::Crash => ServerDoes::Crash,
                ServerFile::Start => ServerDoes::Start,
            };
            return Ok(Action::Server { does, away: lasts });
        }
        let editor = if self.unity.is_some() { UNITY } else { UNITY2 };
        known(editor, hosts.iter())?;
        let Some(UnityWords { text, command }) = self.unity.as_ref().or(self.unity2.as_ref())
        else {
            return Err("nothing to do".into());
        };
        Ok(Action::Unity { editor, words: text.clone(), command: command.clone() })
    }

    fn call(&self, tool: &str, agents: &BTreeMap<String, Agent>) -> Result<Call, String> {
        let label = self.r#as.clone().ok_or("a call needs a name: `as: r1`")?;
        let agent = match (&self.by, agents.keys().next()) {
            (Some(agent), _) => known(agent, agents.keys()).map(|()| agent.clone())?,
            (None, Some(only)) if agents.len() == 1 => only.clone(),
            (None, _) => return Err("there are several agents: `by` says which".into()),
        };
        let guarantee = self.guarantee.map(|guarantee| match guarantee {
            GuaranteeFile::NotExecuted => "not_executed".to_owned(),
            GuaranteeFile::Unknown => "unknown".to_owned(),
            GuaranteeFile::CompletedError => "completed_error".to_owned(),
        });
        let expected = match (&self.ok, &self.error, self.unanswered) {
            (Some(fields), None, false) if guarantee.is_none() => Expected::Ok(fields.clone()),
            (None, Some(code), false) if guarantee.is_some() != code.starts_with('-') => {
                Expected::Error { code: code.clone(), guarantee }
            }
            (None, Some(_), false) => return Err("an `error` needs its `guarantee`".into()),
            (None, None, true) if self.within.is_none() => Expected::Nothing,
            _ => return Err("a call expects one of `ok`, `error`, `unanswered`".into()),
        };
        let mut arguments = self.with.clone().unwrap_or_default();
        arguments.entry("client_request_id").or_insert_with(|| label.clone().into());
        let within = self.within.map(|time| time.0);
        Ok(Call { label, agent, tool: tool.to_owned(), arguments, expected, within })
    }
}

fn known<'a>(
    name: &str,
    mut names: impl Iterator<Item = &'a String> + Clone,
) -> Result<(), String> {
    let all: Vec<&str> = names.clone().map(String::as_str).collect();
    let problem = || format!("there is no \"{name}\" here; there are {}", all.join(", "));
    names.any(|known| known == name).then_some(()).ok_or_else(problem)
}
