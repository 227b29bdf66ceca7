//! A run as a picture: what the page draws of it. `pairs` finds both ends of each message, `events` tells what happened,
//! `calls` follows the calls, `state` what the server knows, `expected` the verdict.

mod calls;
mod events;
mod expected;
mod pairs;
mod state;

use page::{Finished, Lane, LaneKind};

use crate::levels::run::{Level, Run};
use crate::scenario::{SERVER, Scenario};

/// Where a run comes from.
pub struct Source<'a> {
    pub name: &'a str,
    pub level: Level,
    /// Runs it again.
    pub command: String,
    /// The scenario as its author wrote it.
    pub yaml: String,
}

impl<'a> Source<'a> {
    /// A scenario that is in no file yet is written as one.
    pub fn of(name: &'a str, level: Level, command: String, scenario: &Scenario) -> Self {
        Self { name, level, command, yaml: scenario.text() }
    }
}

/// The page of a run.
pub fn page(source: Source<'_>, scenario: &Scenario, run: &Run) -> String {
    page::finished(&finished(source, scenario, run))
}

pub fn finished(source: Source<'_>, scenario: &Scenario, run: &Run) -> Finished {
    let lanes = lanes(scenario);
    let events = events::events(run, scenario, &lanes, source.level);
    Finished {
        title: source.name.replace("::", ": ").replace('_', " "),
        why: scenario.why.clone(),
        seed: scenario.seed,
        level: format!("{:?}", source.level).to_lowercase(),
        lasted: run.simulated.as_millis() as u64,
        command: source.command,
        yaml: source.yaml,
        expectations: expected::expectations(scenario, run, &events),
        lanes,
        events,
        index: None,
    }
}

/// Agents, servers, Editors, from left to right.
fn lanes(scenario: &Scenario) -> Vec<Lane> {
    let lane = |id: String, kind| Lane { id, kind };
    let agents = scenario.agents.keys().map(|agent| lane(agent.clone(), LaneKind::Agent));
    let own = scenario.agents.keys().map(|agent| scenario.server_of(agent));
    let own = own.filter(|server| server != SERVER).chain([SERVER.to_owned()]);
    let servers = own.map(|server| lane(server, LaneKind::Server));
    let editors =
        scenario.editors.iter().map(|editor| lane(editor.name.to_owned(), LaneKind::Editor));
    agents.chain(servers).chain(editors).collect()
}

#[cfg(test)]
mod tests;
