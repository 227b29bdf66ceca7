//! RequestBook: which runs of deduplicated tools the plugin has begun, by their `client_request_id`. It is kept over a
//! domain reload.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Capability, ExecuteOutcome, Json, UnityJobId};

#[derive(Debug, Default)]
pub(super) struct RequestBook {
    /// Tools that the server deduplicates.
    tools: BTreeSet<String>,
    runs: BTreeMap<String, (Asked, Begun)>,
    /// It forgets every run, although its name says that it does not.
    forgets: bool,
}

/// A tool and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) tool: String,
    pub(super) params: Json,
}

/// A run that has begun.
#[derive(Clone, Debug)]
pub(super) enum Begun {
    Execute(ExecuteOutcome),
    Job(UnityJobId),
}

impl RequestBook {
    pub(super) fn new(forgets: bool) -> Self {
        Self { forgets, ..Self::default() }
    }

    pub(super) fn on_capability(&mut self, capability: &Capability) {
        let deduplicated = capability.tools.iter().filter(|tool| tool.deduplicated);
        self.tools = deduplicated.map(|tool| tool.name.clone()).collect();
    }

    /// The name of the run that a request is about. `None`: every request is a new run.
    pub(super) fn name_of(&self, tool: &str, client_request_id: &Option<String>) -> Option<String> {
        client_request_id.clone().filter(|_| self.tools.contains(tool))
    }

    /// `Err`: the name belongs to another call.
    pub(super) fn begun(&self, name: Option<&str>, asked: &Asked) -> Result<Option<Begun>, ()> {
        let known = name.and_then(|name| self.runs.get(name)).filter(|_| !self.forgets);
        match known {
            Some((first, _)) if first != asked => Err(()),
            Some((_, begun)) => Ok(Some(begun.clone())),
            None => Ok(None),
        }
    }

    pub(super) fn note(&mut self, name: Option<String>, asked: Asked, begun: Begun) {
        if let Some(name) = name {
            self.runs.insert(name, (asked, begun));
        }
    }

    /// The Editor has quit.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}
