//! Writes a scenario as a file.

use std::fmt::Write as _;
use std::time::Duration;

use coordination::{Catalog, Limits, SETTINGS};
use mock_unity::{CancelPolicy, PongPolicy, PongSeq, Settings, Suite, TestOutcome, show_duration};
use protocol::Json;

use super::{
    AGENT, Action, Agent, Call, Editor, Expected, Scenario, ServerAction, Speaks, Step, UNITY, Via,
};

impl Scenario {
    /// Only what differs from the defaults.
    pub fn text(&self) -> String {
        let mut text = "# yaml-language-server: $schema=../scenario.schema.json\n".to_owned();
        let mut line = |name: &str, value: String| {
            let _written = writeln!(text, "{name}: {value}"); // Writing to a string cannot fail.
        };
        line("why", quoted(&self.why));
        if self.seed != 1 {
            line("seed", self.seed.to_string());
        }
        if let Some(lasts) = self.lasts {
            line("lasts", show_duration(lasts));
        }
        if self.latency != Duration::from_millis(1) {
            line("latency", show_duration(self.latency));
        }
        if self.shows_heartbeats {
            line("heartbeats", "true".to_owned());
        }
        if self.shows_capabilities {
            line("capabilities", "true".to_owned());
        }
        if self.limits.catalog != Catalog::default() {
            line("catalog", quoted(self.limits.catalog.name()));
        }
        let settings = server(&self.limits);
        if !settings.is_empty() {
            line("server", braces(&settings));
        }
        for editor in &self.editors {
            let fields = fields_of(editor);
            if editor.name != UNITY || !fields.is_empty() {
                line(editor.name, braces(&fields));
            }
        }
        let is_usual = |(name, agent): (&String, &Agent)| {
            name == AGENT && agent_fields(agent) == ["via: http"]
        };
        if self.agents.len() != 1 || !self.agents.iter().all(is_usual) {
            let agents = self.agents.iter();
            let agents =
                agents.map(|(name, agent)| format!("{name}: {}", braces(&agent_fields(agent))));
            line("agents", braces(&agents.collect::<Vec<_>>()));
        }
        let steps: String =
            self.steps.iter().map(|step| format!("\n  - {}", step.text())).collect();
        line("steps", if steps.is_empty() { "[]".to_owned() } else { steps.clone() });
        let mut expected = Vec::new();
        if let Some(executed) = &self.executed {
            expected.push(format!("executed: [{}]", executed.join(", ")));
        }
        if !self.executed_once.is_empty() || expected.is_empty() {
            expected.push(format!("executed_once: [{}]", self.executed_once.join(", ")));
        }
        line("expect", braces(&expected));
        text.replace("steps: \n", "steps:\n")
    }
}

fn braces(fields: &[String]) -> String {
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

/// JSON is YAML.
fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

fn server(limits: &Limits) -> Vec<String> {
    let usual = Limits::default();
    let differs = SETTINGS.iter().filter(|setting| setting.get(limits) != setting.get(&usual));
    differs.map(|setting| format!("{}: {}", setting.name, setting.get(limits))).collect()
}

fn fields_of(Editor { starts, settings, .. }: &Editor) -> Vec<String> {
    let usual = Settings {
        plugin_version: crate::levels::context::VERSION.to_owned(),
        ..Settings::default()
    };
    let mut fields = Vec::new();
    let mut add = |differs: bool, name: &str, value: String| {
        if differs {
            fields.push(format!("{name}: {value}"));
        }
    };
    let time = |time: Duration| show_duration(time);
    add(!starts.is_zero(), "starts", time(*starts));
    let version = quoted(&settings.plugin_version);
    add(settings.plugin_version != usual.plugin_version, "plugin_version", version);
    match settings.protocol_version {
        Some(version) => add(version != 1, "protocol_version", version.to_string()),
        None => add(true, "silent", "true".to_owned()),
    }
    add(!settings.names_itself, "nameless", "true".to_owned());
    let project = settings.project.as_deref().map(quoted);
    add(project.is_some(), "project", project.unwrap_or_default());
    let tools = settings.tools.clone().unwrap_or_default().join(", ");
    add(settings.tools.is_some(), "tools", format!("[{tools}]"));
    add(settings.tool_time != usual.tool_time, "tool_time", time(settings.tool_time));
    let reload = settings.reload_time.unwrap_or_default();
    add(settings.reload_time != usual.reload_time, "reload_time", time(reload));
    if let PongPolicy::After(delay) = settings.pong {
        add(!delay.is_zero(), "pong", time(delay));
    }
    match settings.pong_seq {
        PongSeq::New => {}
        PongSeq::Last => add(true, "pong_seq", "last".to_owned()),
        PongSeq::None => add(true, "pong_seq", "none".to_owned()),
    }
    let writes = settings.writes.names();
    add(!writes.is_empty(), "writes", format!("[{}]", writes.join(", ")));
    let cancel = match settings.cancel {
        CancelPolicy::Honour => "honour",
        CancelPolicy::Refuse => "refuse",
        CancelPolicy::Ignore => "ignore",
    };
    add(settings.cancel != usual.cancel, "cancel", cancel.to_owned());
    add(settings.suite != usual.suite, "tests", tests(&settings.suite));
    let idle = settings.idle_timeout.unwrap_or_default();
    add(settings.idle_timeout.is_some(), "idle_timeout", time(idle));
    fields
}

/// A suite that was read from a file, or drawn in a plan.
fn tests(suite: &Suite) -> String {
    let failing = suite.0.iter().filter(|test| test.outcome == TestOutcome::Fail).count();
    let takes = suite.0.first().map(|test| test.takes).unwrap_or_default();
    let (count, takes) = (suite.0.len(), show_duration(takes));
    format!("{{ count: {count}, takes: {takes}, failing: {failing} }}")
}

fn agent_fields(agent: &Agent) -> Vec<String> {
    let via = match agent.via {
        Via::Http => "http",
        Via::Stdio => "stdio",
        Via::OwnServer => "own_server",
    };
    let mut fields = vec![format!("via: {via}")];
    match agent.speaks {
        Speaks::Modern => {}
        Speaks::Tasks => fields.push("speaks: tasks".to_owned()),
        Speaks::Legacy => fields.push("speaks: legacy".to_owned()),
    }
    if !agent.joins.is_zero() {
        fields.push(format!("joins: {}", show_duration(agent.joins)));
    }
    fields
}

impl Step {
    fn text(&self) -> String {
        let mut fields = vec![format!("at: {}", show_duration(self.at))];
        let mut add = |name: &str, value: String| fields.push(format!("{name}: {value}"));
        match &self.action {
            Action::Call(call) => call.fields(add),
            Action::Cancel { label } => add("cancel", label.clone()),
            Action::Break { label } => add("break", label.clone()),
            Action::Leave { agent } => add("leave", agent.clone()),
            Action::Unity { editor, words, .. } => add(editor, quoted(words)),
            Action::Network { words, lasts, .. } => {
                add("network", words.clone());
                lasts.iter().for_each(|lasts| add("for", show_duration(*lasts)));
            }
            Action::Server { of, does, away } => {
                let does = match does {
                    ServerAction::Stop => "stop",
                    ServerAction::Crash => "crash",
                    ServerAction::Start => "start",
                };
                add("server", does.to_owned());
                of.iter().for_each(|agent| add("of", agent.clone()));
                away.iter().for_each(|away| add("for", show_duration(*away)));
            }
        }
        braces(&fields)
    }
}

impl Call {
    fn fields(&self, mut add: impl FnMut(&str, String)) {
        add("call", self.tool.clone());
        add("as", self.label.clone());
        add("by", self.agent.clone());
        let mut with = self.arguments.clone();
        if with.get("client_request_id") == Some(&Json::from(self.label.as_str())) {
            with.remove("client_request_id");
        }
        if !with.is_empty() {
            add("with", Json::Object(with).to_string());
        }
        match &self.expected {
            Expected::Ok(fields) => add("ok", fields.to_string()),
            Expected::Error { code, guarantee } => {
                add("error", quoted(code));
                guarantee.iter().for_each(|guarantee| add("guarantee", guarantee.clone()));
            }
            Expected::Nothing => add("unanswered", "true".to_owned()),
            Expected::Anything => add("any", "true".to_owned()),
        }
        self.within.into_iter().for_each(|within| add("within", show_duration(within)));
    }
}
