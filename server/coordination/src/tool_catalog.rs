//! The tool catalogue: one row per tool. The validator, the capability message, the answers to agents, the
//! MCP schemas and the documents are made from it.

mod v1_0;
mod v1_1;

use std::time::Duration;

use protocol::{ExecutionMode, Json, ToolMetadata};

use crate::shape::Shape;
use crate::tool_answers::{Problem, Tell, UnwantedOutcome};

/// Catalogue 1.0: the tools of every server.
pub static TOOLS: &[Tool] = v1_0::TOOLS;

/// Which tools a server has, and whether a repeated `client_request_id` is the same call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Catalog {
    #[default]
    V1_0,
    /// Six more tools, and deduplication.
    V1_1,
}

impl Catalog {
    /// The names in the configuration.
    pub const NAMES: &'static [&'static str] = &["1.0", "1.1"];

    /// The catalogue with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "1.0" => Some(Self::V1_0),
            "1.1" => Some(Self::V1_1),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }

    pub fn tools(self) -> impl Iterator<Item = &'static Tool> + Clone {
        let more = match self {
            Self::V1_0 => &[],
            Self::V1_1 => v1_1::TOOLS,
        };
        TOOLS.iter().chain(more)
    }

    pub fn tool(self, name: &str) -> Option<&'static Tool> {
        self.tools().find(|tool| tool.name == name)
    }

    /// The row as the plugin gets it.
    pub fn metadata(self, tool: &Tool) -> ToolMetadata {
        ToolMetadata {
            name: tool.name.to_owned(),
            execution_mode: tool.execution_mode(),
            supports_cancel: tool.supports_cancel,
            default_timeout_ms: tool.default_timeout_ms,
            max_timeout_ms: tool.max_timeout_ms,
            requires_client_request_id: tool.requires_client_request_id,
            execution_error_retryable: tool.retryable,
            deduplicated: self.deduplicates(tool),
        }
    }

    /// The least catalogue in which a call of this one means the same.
    pub fn needed_for(self, tool: &Tool, has_id: bool) -> Self {
        let runs_once = has_id && self.deduplicates(tool);
        let is_new = Self::V1_0.tool(tool.name).is_none();
        if runs_once || is_new { self } else { Self::V1_0 }
    }

    /// A repeated `client_request_id` of this tool is the same call.
    pub fn deduplicates(self, tool: &Tool) -> bool {
        match self {
            Self::V1_0 => false,
            Self::V1_1 => match tool.kind {
                Kind::ReadHeavy | Kind::Write | Kind::WriteHeavy => true,
                Kind::Read | Kind::Control => false,
            },
        }
    }
}

#[derive(Clone, Debug)]
pub struct Tool {
    pub name: &'static str,
    /// What it does, for a table.
    pub summary: &'static str,
    /// What it does and when to use it, for an agent.
    pub about: &'static str,
    pub kind: Kind,
    pub route: Route,
    pub supports_cancel: bool,
    pub default_timeout_ms: u64,
    pub max_timeout_ms: u64,
    pub requires_client_request_id: bool,
    /// Running it twice does no harm.
    pub retryable: bool,
    /// Beside `timeout_ms` and `client_request_id`, which every tool takes.
    pub parameters: &'static [Parameter],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    ReadHeavy,
    Control,
    /// It changes something in the Editor.
    Write,
    WriteHeavy,
}

/// How the server answers a call of a tool.
#[derive(Clone, Debug)]
pub enum Route {
    /// From what the server knows, at once.
    EditorState,
    /// One `execute` in Unity.
    Execute(UnityAnswer),
    /// One `submit_job` in Unity; then the job lives on, and this is its result.
    SubmitJob(UnityAnswer),
    JobStatus,
    CancelJob,
}

/// What Unity answers, and what an agent gets of it.
#[derive(Clone, Debug)]
pub struct UnityAnswer {
    /// What Unity must give.
    pub given: Shape,
    /// Makes what the agent gets.
    pub tell: Tell,
    /// Why an answer that Unity calls a success is none.
    pub problem: Problem,
    /// What the agent gets.
    pub told: Shape,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub about: &'static str,
    pub shape: Shape,
    pub need: Need,
    /// Other forms of a value that agents use, and what they mean.
    pub also: &'static [(&'static str, &'static str)],
    pub for_unity: ForUnity,
}

/// How an argument is passed on to Unity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForUnity {
    /// It is for the server alone.
    No,
    AsItIs,
    /// True unless it is this word.
    AsFlag {
        unless: &'static str,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
    /// Filled in when left out, so that Unity never has to guess.
    DefaultInteger(u64),
    DefaultWord(&'static str),
    DefaultFlag(bool),
}

impl Tool {
    /// In any catalogue.
    pub fn named(name: &str) -> Option<&'static Self> {
        Catalog::V1_1.tool(name)
    }

    pub fn execution_mode(&self) -> ExecutionMode {
        match self.route {
            Route::SubmitJob(_) => ExecutionMode::Job,
            Route::EditorState | Route::Execute(_) | Route::JobStatus | Route::CancelJob => {
                ExecutionMode::Sync
            }
        }
    }

    /// Why what the agent gets is a failure although Unity calls it a success.
    pub(crate) fn problem(&self, told: &Json, asked: &Json) -> Option<UnwantedOutcome> {
        match &self.route {
            Route::Execute(answer) | Route::SubmitJob(answer) => (answer.problem)(told, asked),
            Route::EditorState | Route::JobStatus | Route::CancelJob => None,
        }
    }

    /// What an agent gets of Unity's answer, which came after `took`; an error says what is wrong with the answer.
    pub fn tell(&self, given: Json, asked: &Json, took: Duration) -> Result<Json, String> {
        match &self.route {
            Route::Execute(answer) | Route::SubmitJob(answer) => {
                answer.given.check(&given)?;
                Ok((answer.tell)(given, asked, took))
            }
            Route::EditorState | Route::JobStatus | Route::CancelJob => Ok(given),
        }
    }

    pub fn default_timeout(&self) -> Duration {
        Duration::from_millis(self.default_timeout_ms)
    }
}

/// There is one row per name.
impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
