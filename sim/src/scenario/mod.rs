//! Scenario: what agents, Unity, the network and the server do at which time, and what is expected. It is a YAML file:
//! `yaml` has its fields, `reading` reads it, `checking` checks it as a whole, `writing` writes one.

mod checking;
pub mod files;
mod reading;
mod words;
mod writing;
mod yaml;

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::Limits;
use mock_unity::{Command, MockEditor, Settings};
use protocol::{Json, Map};

use crate::levels::broken_adapters::Breaks;

pub use reading::parse;
pub(crate) use reading::uniform_suite;
pub(crate) use words::network_words;
pub use yaml::schema;

/// Names that every scenario has.
pub const SERVER: &str = "server";
pub const UNITY: &str = "unity";
pub const UNITY2: &str = "unity2";
/// The name for faults of links in a trace.
pub const NETWORK: &str = "network";
/// The agent of a scenario that names none.
pub const AGENT: &str = "agent";

/// A fault of the link between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// Everything is lost, and connections that lose something never recover.
    Partition,
    /// Everything arrives when the fault ends.
    Hold,
    /// What goes from the first host to the second is lost.
    Lose,
    /// Everything takes this long.
    Latency(Duration),
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub why: String,
    pub seed: u64,
    /// Without it the run ends a moment after the last step and the last answer.
    pub lasts: Option<Duration>,
    pub latency: Duration,
    pub shows_heartbeats: bool,
    pub shows_capabilities: bool,
    pub limits: Limits,
    pub editors: Vec<Editor>,
    pub agents: BTreeMap<String, Agent>,
    /// In order of time.
    pub steps: Vec<Step>,
    pub executed: Option<Vec<String>>,
    pub executed_once: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Editor {
    pub name: &'static str,
    pub starts: Duration,
    pub settings: Settings,
}

#[derive(Clone, Debug)]
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
    /// It has started its own server, which finds the port taken.
    OwnServer,
}

/// How an agent starts an MCP session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// `server/discover`, without a session (2026-07-28).
    Modern,
    /// The same, from a client that supports tasks.
    Tasks,
    /// `initialize` (2025-11-25 and before).
    Legacy,
}

/// A position in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: u64,
    pub column: u64,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub at: Duration,
    /// In the file.
    pub position: Position,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    Call(Call),
    /// An agent cancels its call.
    Cancel {
        label: String,
    },
    Leave {
        agent: String,
    },
    /// The server's code that waits for the answer of this call panics.
    Break {
        label: String,
    },
    Unity {
        editor: &'static str,
        words: String,
        command: Command,
    },
    Network {
        words: String,
        fault: LinkFault,
        from: String,
        to: String,
        lasts: Option<Duration>,
    },
    Server {
        /// The agent that started it, if it is not the server that is there from the beginning.
        of: Option<String>,
        does: ServerAction,
        away: Option<Duration>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAction {
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
    /// A tool, or one of the methods `tasks/get` and `tasks/cancel`.
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
    /// No answer: the call is cancelled, or its server is killed.
    Nothing,
    /// Any answer that keeps every promise.
    Anything,
}

impl Scenario {
    /// Takes all randomness from another seed.
    pub fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        for (number, editor) in (0..).zip(&mut self.editors) {
            editor.settings.seed = seed.wrapping_add(number); // Two Editors need two seeds.
        }
    }

    /// Whether an agent uses tasks, which only MCP has.
    pub(crate) fn has_tasks(&self) -> bool {
        self.agents.values().any(|agent| agent.speaks == Speaks::Tasks)
    }

    pub fn calls(&self) -> impl Iterator<Item = (Duration, &Call)> {
        self.steps.iter().filter_map(|step| {
            if let Action::Call(call) = &step.action { Some((step.at, call)) } else { None }
        })
    }

    /// Whether Unity sends frames that could be the answer to a request.
    pub(crate) fn forges_answers(&self) -> bool {
        let forges = |step: &Step| matches!(&step.action, Action::Unity { command: Command::Say(text), .. } if text.contains("request_id"));
        self.steps.iter().any(forges)
    }

    /// Whether several calls have the same `client_request_id`.
    pub(crate) fn repeats_names(&self) -> bool {
        let name = |call: &Call| call.arguments.get("client_request_id").cloned();
        let names: Vec<Json> = self.calls().filter_map(|(_, call)| name(call)).collect();
        names
            .iter()
            .enumerate()
            .any(|(index, name)| names.iter().take(index).any(|other| other == name))
    }

    pub(crate) fn breaks(&self) -> Breaks {
        let breaks = self.steps.iter().filter_map(|step| {
            if let Action::Break { label } = &step.action {
                Some((step.at, label.clone()))
            } else {
                None
            }
        });
        breaks.collect()
    }

    /// Gives an Editor its steps.
    pub(crate) fn instruct(&self, editor: &Editor, mock: &mut MockEditor) {
        for step in &self.steps {
            if let Action::Unity { editor: name, command, .. } = &step.action
                && *name == editor.name
            {
                mock.plan(step.at.saturating_sub(editor.starts), None, command.clone());
            }
        }
    }

    /// The host of the agent's server.
    pub fn server_of(&self, agent: &str) -> String {
        match self.agents.get(agent).map(|agent| agent.via) {
            Some(Via::OwnServer) => format!("{SERVER}-of-{agent}"),
            Some(Via::Http | Via::Stdio) | None => SERVER.to_owned(),
        }
    }

    /// The host of a server that a step names by its agent.
    pub(crate) fn server_named(&self, of: Option<&str>) -> String {
        of.map_or_else(|| SERVER.to_owned(), |agent| self.server_of(agent))
    }

    /// Whether there is more than one server.
    pub fn has_relays(&self) -> bool {
        self.agents.values().any(|agent| agent.via == Via::OwnServer)
    }

    /// Whether an agent holds the pipes of the server.
    pub fn has_stdio(&self) -> bool {
        self.agents.values().any(|agent| agent.via == Via::Stdio)
    }
}
