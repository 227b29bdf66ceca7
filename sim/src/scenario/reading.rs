//! Reads the file of a scenario. The result is a [`Scenario`], or a message with the mistake, its position and a
//! correction.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use coordination::{Catalog, Limits, SETTINGS};
use mock_unity::{
    CancelPolicy, JsonStyle, PongPolicy, PongSeq, Settings, Suite, Test, TestMode, TestOutcome,
};
use serde_saphyr::Spanned;

use super::words::{NetworkWords, Time, UnityWords};
use super::yaml::{
    AgentYaml, CancelYaml, EditorYaml, ExpectYaml, GuaranteeYaml, PongSeqYaml, ScenarioYaml,
    ServerYaml, SpeaksYaml, StepYaml, TestsYaml, ViaYaml,
};
use super::{
    AGENT, Action, Agent, Call, Editor, Expected, Position, SERVER, Scenario, ServerAction, Speaks,
    Step, UNITY, UNITY2, Via, checking,
};

/// Advice of the YAML library that does not help the author of a scenario.
const LIBRARY_ADVICE: &str = ", set DuplicateKeyPolicy in Options if acceptable";
/// Tests of an Editor.
const TESTS_MAX: usize = 1_000;

/// `Err` says what is wrong, where, and how to correct it.
pub fn parse(text: &str) -> Result<Scenario, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let file: ScenarioYaml = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| with_suggestion(&error.to_string().replace(LIBRARY_ADVICE, "")))?;
    let scenario = file.into_scenario()?;
    checking::check(&scenario).map_err(|(position, problem)| match position {
        Some(position) => at(position, problem),
        None => problem,
    })?;
    Ok(scenario)
}

/// The library says "unknown field `x`, expected one of a, b". This adds the nearest of them.
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

fn at(Position { line, column }: Position, problem: impl Display) -> String {
    format!("line {line} column {column}: {problem}")
}

fn position<T>(spanned: &Spanned<T>) -> Position {
    Position { line: spanned.referenced.line(), column: spanned.referenced.column() }
}

impl ScenarioYaml {
    fn into_scenario(self) -> Result<Scenario, String> {
        let seed = self.seed.unwrap_or(1);
        let mut agents: BTreeMap<String, Agent> = BTreeMap::new();
        for (name, agent) in self.agents {
            let position = position(&agent);
            checking::check_agent(&name).map_err(|problem| at(position, problem))?;
            agents.insert(name, agent.value.into_agent());
        }
        if agents.is_empty() {
            let agent = Agent { joins: Duration::ZERO, via: Via::Http, speaks: Speaks::Modern };
            agents.insert(AGENT.to_owned(), agent);
        }
        let mut limits = limits(&self.server)?;
        if let Some(catalog) = &self.catalog {
            let known = Catalog::named(&catalog.value);
            let problem = || format!("catalog must be one of {}", Catalog::NAMES.join(", "));
            limits.catalog = known.ok_or_else(|| at(position(catalog), problem()))?;
        }
        let mut editors = vec![self.unity.into_editor(UNITY)?];
        editors.extend(self.unity2.map(|second| second.into_editor(UNITY2)).transpose()?);
        for editor in &mut editors {
            editor.settings.oversize = limits.message_max_bytes + 1;
        }
        let hosts: Vec<String> = agents
            .keys()
            .cloned()
            .chain(editors.iter().map(|editor| editor.name.to_owned()))
            .chain([SERVER.to_owned()])
            .collect();
        let mut steps = Vec::new();
        for step in self.steps {
            let action = step.value.action(&agents, &hosts);
            let action = action.map_err(|problem| at(position(&step), problem))?;
            steps.push(Step { at: step.value.at.0, position: position(&step), action });
        }
        steps.sort_by_key(|step| step.at);
        let mut scenario = Scenario {
            why: self.why,
            seed,
            lasts: self.lasts.map(|time| time.0),
            latency: self.latency.map_or(Duration::from_millis(1), |time| time.0),
            shows_heartbeats: self.heartbeats,
            shows_capabilities: self.capabilities,
            limits,
            editors,
            agents,
            steps,
            executed: None,
            executed_once: Vec::new(),
        };
        let ExpectYaml { executed, executed_once } = self.expect;
        if executed.is_none() && executed_once.is_none() {
            return Err(
                "`expect` is empty: write `executed: [r1]`, or `executed: []` if nothing runs"
                    .into(),
            );
        }
        scenario.executed = executed.map(|labels| known_labels(&scenario, labels)).transpose()?;
        scenario.executed_once = known_labels(&scenario, executed_once.unwrap_or_default())?;
        scenario.reseed(seed);
        Ok(scenario)
    }
}

/// With the names and ranges of the server's configuration file.
fn limits(settings: &BTreeMap<String, Spanned<u64>>) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for (name, value) in settings {
        let place = position(value);
        let known = SETTINGS.iter().find(|setting| setting.name == name);
        let setting = known.ok_or_else(|| {
            let names = SETTINGS.iter().map(|setting| setting.name);
            let nearest = names.min_by_key(|known| strsim::damerau_levenshtein(name, known));
            let nearest = nearest.unwrap_or_default();
            at(place, format!("{name} is not a setting; did you mean {nearest}?"))
        })?;
        let (min, max) = (setting.min, setting.max);
        if !(min..=max).contains(&value.value) {
            return Err(at(place, format!("{name} must be from {min} to {max}")));
        }
        setting.set(&mut limits, value.value);
    }
    Ok(limits)
}

fn known_labels(scenario: &Scenario, labels: Vec<Spanned<String>>) -> Result<Vec<String>, String> {
    let known = |label: &str| scenario.calls().any(|(_, call)| call.label == label);
    if let Some(unknown) = labels.iter().find(|label| !known(&label.value)) {
        return Err(at(position(unknown), format!("no call is called {}", unknown.value)));
    }
    Ok(labels.into_iter().map(|label| label.value).collect())
}

impl EditorYaml {
    fn into_editor(self, name: &'static str) -> Result<Editor, String> {
        if self.silent && self.protocol_version.is_some() {
            return Err(format!("{name} is silent: then its hello has no protocol_version"));
        }
        let usual = Settings::default();
        let time = |time: Option<Time>, usual: Duration| time.map_or(usual, |time| time.0);
        let settings = Settings {
            seed: usual.seed,
            plugin_version: self
                .plugin_version
                .unwrap_or_else(|| crate::levels::context::VERSION.to_owned()),
            protocol_version: (!self.silent).then_some(self.protocol_version.unwrap_or(1)),
            names_itself: !self.nameless,
            forgets_runs: false,
            project: self.project,
            tools: self.tools,
            tool_time: time(self.tool_time, usual.tool_time),
            reload_time: match self.reload_time {
                Some(Time(Duration::ZERO)) => None,
                Some(Time(time)) => Some(time),
                None => usual.reload_time,
            },
            pong: PongPolicy::After(time(self.pong, Duration::ZERO)),
            pong_seq: match self.pong_seq {
                Some(PongSeqYaml::New) | None => PongSeq::New,
                Some(PongSeqYaml::Last) => PongSeq::Last,
                Some(PongSeqYaml::None) => PongSeq::None,
            },
            writes: JsonStyle::from_names(self.writes.iter().map(String::as_str))?,
            cancel: match self.cancel {
                Some(CancelYaml::Honour) | None => CancelPolicy::Honour,
                Some(CancelYaml::Refuse) => CancelPolicy::Refuse,
                Some(CancelYaml::Ignore) => CancelPolicy::Ignore,
            },
            suite: self.tests.map_or(Ok(usual.suite), |tests| tests.suite())?,
            idle_timeout: self.idle_timeout.map(|time| time.0),
            compile_time: usual.compile_time,
            reconnect: usual.reconnect,
            oversize: usual.oversize,
            console: Some(name.to_owned()),
        };
        Ok(Editor { name, starts: time(self.starts, Duration::ZERO), settings })
    }
}

impl TestsYaml {
    fn suite(&self) -> Result<Suite, String> {
        if !(1..=TESTS_MAX).contains(&self.count) || self.failing > self.count {
            return Err(format!("there are 1 to {TESTS_MAX} tests, and not more of them fail"));
        }
        Ok(uniform_suite(self.count, self.takes.0, self.failing))
    }
}

/// Tests of equal length; the first `failing` of them fail.
pub(crate) fn uniform_suite(count: usize, takes: Duration, failing: usize) -> Suite {
    let test = |number: usize| {
        let outcome = if number <= failing { TestOutcome::Fail } else { TestOutcome::Pass };
        Test { name: format!("Test{number}"), mode: TestMode::Edit, takes, outcome }
    };
    Suite((1..=count).map(test).collect())
}

impl AgentYaml {
    fn into_agent(self) -> Agent {
        Agent {
            joins: self.joins.map_or(Duration::ZERO, |time| time.0),
            via: match self.via {
                ViaYaml::Http => Via::Http,
                ViaYaml::Stdio => Via::Stdio,
                ViaYaml::OwnServer => Via::OwnServer,
            },
            speaks: match self.speaks {
                Some(SpeaksYaml::Modern) | None => Speaks::Modern,
                Some(SpeaksYaml::Tasks) => Speaks::Tasks,
                Some(SpeaksYaml::Legacy) => Speaks::Legacy,
            },
        }
    }
}

impl StepYaml {
    fn action(&self, agents: &BTreeMap<String, Agent>, hosts: &[String]) -> Result<Action, String> {
        let actions = [
            self.call.is_some(),
            self.cancel.is_some(),
            self.r#break.is_some(),
            self.leave.is_some(),
            self.unity.is_some(),
            self.unity2.is_some(),
            self.network.is_some(),
            self.server.is_some(),
        ];
        if actions.iter().filter(|is_there| **is_there).count() != 1 {
            let names = "call, cancel, break, leave, unity, unity2, network, server";
            return Err(format!("a step is exactly one of {names}"));
        }
        let takes_time = self.network.is_some() || self.server.is_some();
        if self.r#for.is_some() && !takes_time {
            return Err("only network and server take a `for`".into());
        }
        if self.of.is_some() && self.server.is_none() {
            return Err("only server takes an `of`".into());
        }
        let lasts = self.r#for.map(|time| time.0);
        if let Some(tool) = &self.call {
            return self.call(tool, agents).map(Action::Call);
        }
        let of_calls = self.r#as.is_some() || self.ok.is_some() || self.error.is_some();
        let of_answers =
            self.unanswered || self.any || self.within.is_some() || self.guarantee.is_some();
        if of_calls || of_answers || self.by.is_some() || self.with.is_some() {
            return Err(
                "`as`, `by`, `with`, `ok`, `error`, `guarantee`, `unanswered` and `within` \
                        belong to a call"
                    .into(),
            );
        }
        if let Some(label) = &self.cancel {
            return Ok(Action::Cancel { label: label.clone() });
        }
        if let Some(label) = &self.r#break {
            return Ok(Action::Break { label: label.clone() });
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
            return self.server(does, agents);
        }
        let editor = if self.unity.is_some() { UNITY } else { UNITY2 };
        known(editor, hosts.iter())?;
        let Some(UnityWords { text, command }) = self.unity.as_ref().or(self.unity2.as_ref())
        else {
            return Err("nothing to do".into());
        };
        Ok(Action::Unity { editor, words: text.clone(), command: command.clone() })
    }

    fn server(&self, does: ServerYaml, agents: &BTreeMap<String, Agent>) -> Result<Action, String> {
        let does = match does {
            ServerYaml::Stop => ServerAction::Stop,
            ServerYaml::Crash => ServerAction::Crash,
            ServerYaml::Start => ServerAction::Start,
        };
        if let Some(agent) = &self.of {
            known(agent, agents.keys())?;
            if agents.get(agent).is_some_and(|agent| agent.via != Via::OwnServer) {
                return Err(format!("{agent} has no server of its own"));
            }
        }
        Ok(Action::Server { of: self.of.clone(), does, away: self.r#for.map(|time| time.0) })
    }

    fn call(&self, tool: &str, agents: &BTreeMap<String, Agent>) -> Result<Call, String> {
        let label = self.r#as.clone().ok_or("a call needs a name: `as: r1`")?;
        let agent = match (&self.by, agents.keys().next()) {
            (Some(agent), _) => known(agent, agents.keys()).map(|()| agent.clone())?,
            (None, Some(only)) if agents.len() == 1 => only.clone(),
            (None, _) => return Err("there are several agents: `by` says which".into()),
        };
        let guarantee = self.guarantee.map(|guarantee| match guarantee {
            GuaranteeYaml::NotExecuted => "not_executed".to_owned(),
            GuaranteeYaml::Unknown => "unknown".to_owned(),
            GuaranteeYaml::CompletedError => "completed_error".to_owned(),
        });
        let expected = match (&self.ok, &self.error, self.unanswered) {
            (None, None, false) if self.any && guarantee.is_none() => Expected::Anything,
            _ if self.any => return Err("`any` goes with no other expectation".into()),
            (Some(fields), None, false) if guarantee.is_none() => Expected::Ok(fields.clone()),
            (None, Some(code), false) if guarantee.is_some() != code.starts_with('-') => {
                Expected::Error { code: code.clone(), guarantee }
            }
            (None, Some(_), false) => return Err("an `error` needs its `guarantee`".into()),
            (None, None, true) if self.within.is_none() => Expected::Nothing,
            _ => return Err("a call expects one of `ok`, `error`, `unanswered`, `any`".into()),
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
