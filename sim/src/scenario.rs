//! Scenario: what agents, Unity, the network and the server do at which time, and what must come of it.
//! A YAML file: `file` says what may be written,
//! `reading` reads it, and what goes together is checked here.

mod file;
mod reading;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mock_unity::{Command, Settings};
use protocol::{Json, Map};
use unity_mcp::config_loader::Config;

use crate::net::Fault;

pub use file::schema;
pub use reading::parse;

/// The names that are taken by what every scenario has.
pub const SERVER: &str = "server";
pub const UNITY: &str = "unity";
pub const UNITY2: &str = "unity2";
/// What happens to the links is told of it.
pub const NETWORK: &str = "network";
/// The one agent of a scenario that names none.
pub const AGENT: &str = "agent";

#[derive(Debug)]
pub struct Scenario {
    pub why: String,
    pub seed: u64,
    /// Without it the run ends a moment after the last step and the last answer.
    pub lasts: Option<Duration>,
    pub latency: Duration,
    pub shows_heartbeats: bool,
    pub config: Config,
    pub editors: Vec<Editor>,
    pub agents: BTreeMap<String, Agent>,
    /// In order of time.
    pub steps: Vec<Step>,
    pub executed: Vec<String>,
    pub executed_once: Vec<String>,
}

#[derive(Debug)]
pub struct Editor {
    pub name: &'static str,
    pub starts: Duration,
    pub settings: Settings,
}

#[derive(Debug)]
pub struct Agent {
    pub joins: Duration,
    pub via: Via,
    pub speaks: Speaks,
}

/// How an agent reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    Http,
    /// It has started the server and holds its pipes.
    Stdio,
    /// It has started a server of its own, which finds the port taken.
    OwnServer,
}

/// How an agent begins the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// `server/discover`, each request complete in itself (2026-07-28).
    Modern,
    /// `initialize` (2025-11-25 and before).
    Legacy,
}

#[derive(Debug)]
pub struct Step {
    pub at: Duration,
    pub action: Action,
}

#[derive(Debug)]
pub enum Action {
    Call(Call),
    /// An agent takes a call back.
    Cancel {
        label: String,
    },
    Leave {
        agent: String,
    },
    Unity {
        editor: &'static str,
        words: String,
        command: Command,
    },
    Network {
        words: String,
        fault: Fault,
        from: String,
        to: String,
        lasts: Option<Duration>,
    },
    Server {
        does: ServerDoes,
        away: Option<Duration>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerDoes {
    /// It is asked to stop.
    Stop,
    /// It is killed.
    Crash,
    Start,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub label: String,
    pub agent: String,
    pub tool: String,
    pub arguments: Map<String, Json>,
    pub expected: Expected,
    pub within: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Its answer has at least these fields.
    Ok(Json),
    Error {
        code: String,
        guarantee: Option<String>,
    },
    /// Never: it was taken back, or its server died.
    Nothing,
}

impl Scenario {
    /// All chance from another seed.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for (number, editor) in (0..).zip(&mut self.editors) {
            editor.settings.seed = seed + number; // Another seed is another Editor.
        }
    }

    pub fn calls(&self) -> impl Iterator<Item = (Duration, &Call)> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Call(call) => Some((step.at, call)),
            Action::Cancel { .. }
            | Action::Leave { .. }
            | Action::Unity { .. }
            | Action::Network { .. }
            | Action::Server { .. } => None,
        })
    }

    /// The host of the server that an agent speaks with.
    pub fn server_of(&self, agent: &str) -> String {
        match self.agents.get(agent).map(|agent| agent.via) {
            Some(Via::OwnServer) => format!("{SERVER}-of-{agent}"),
            Some(Via::Http | Via::Stdio) | None => SERVER.to_owned(),
        }
    }

    /// Whether anybody holds the pipes of the server.
    pub fn has_stdio(&self) -> bool {
        self.agents.values().any(|agent| agent.via == Via::Stdio)
    }

    /// What goes together, seen over the whole file.
    fn check(&self) -> Result<(), String> {
        let mut labels = BTreeSet::new();
        for (_, call) in self.calls() {
            if !labels.insert(&call.label) {
                return Err(format!("two calls are called {}", call.label));
            }
        }
        let named = self.executed.iter().chain(&self.executed_once);
        let cancelled = self.steps.iter().filter_map(|step| match &step.action {
            Action::Cancel { label } => Some(label),
            Action::Call(_)
            | Action::Leave { .. }
            | Action::Unity { .. }
            | Action::Network { .. }
            | Action::Server { .. } => None,
        });
        for label in named.chain(cancelled) {
            if !labels.contains(label) {
                return Err(format!("no call is called {label}"));
            }
        }
        for agent in self.agents.keys() {
            let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
            let taken = agent.starts_with(SERVER) || agent.starts_with(UNITY) || agent == NETWORK;
            if taken || agent.is_empty() || !agent.chars().all(plain) {
                return Err(format!(
                    "an agent cannot be called \"{agent}\"; take another name of a-z and 0-9"
                ));
            }
        }
        let last = self.steps.last().map(|step| step.at).unwrap_or_default();
        if self.lasts.is_some_and(|end| end <= last) {
            return Err("it ends before its last step: make `lasts` longer".into());
        }
        if self.agents.values().filter(|agent| agent.via == Via::Stdio).count() > 1 {
            return Err("a server has one pair of pipes: only one agent can be via stdio".into());
        }
        Ok(())
    }
}
