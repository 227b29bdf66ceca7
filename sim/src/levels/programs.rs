//! Runs a scenario with whole programs: lets virtual time pass, and changes network and server as the scenario says.

use std::time::Duration;

use crate::levels::context::RunContext;
use crate::levels::hosts::Hosts;
use crate::levels::in_memory::InMemoryHosts;
use crate::levels::run::{END_MAX, REST, ScheduledChange, changes};
use crate::levels::turmoil::TurmoilHosts;
use crate::programs::start;
use crate::record::log::Record;
use crate::scenario::{Scenario, ServerAction};

/// How many steps the Editors have to hand in their books.
const CLOSING_MAX: u32 = 1_000;

type Outcome = (Result<(), String>, Duration, Vec<Record>);

pub(crate) fn run_in_memory(scenario: &Scenario, context: &RunContext) -> Outcome {
    match InMemoryHosts::new(scenario.seed, scenario.latency, context.log.clone()) {
        Ok(hosts) => run_programs(hosts, scenario, context),
        Err(problem) => (Err(problem), Duration::ZERO, Vec::new()),
    }
}

pub(crate) fn run_on_turmoil(scenario: &Scenario, context: &RunContext) -> Outcome {
    let hosts = TurmoilHosts::new(scenario.seed, scenario.latency, context.log.clone());
    run_programs(hosts, scenario, context)
}

fn run_programs<S: Hosts>(mut hosts: S, scenario: &Scenario, context: &RunContext) -> Outcome {
    start::start_all(&mut hosts, scenario, context);
    let outcome = advance(&mut hosts, scenario, context);
    let simulated = hosts.elapsed();
    let records = context.log.take();
    context.finish.cancel();
    for _ in 0..CLOSING_MAX {
        if context.books.count() == scenario.editors.len() || hosts.step(Duration::MAX).is_err() {
            break;
        }
    }
    (outcome, simulated, records)
}

fn advance<S: Hosts>(
    hosts: &mut S,
    scenario: &Scenario,
    context: &RunContext,
) -> Result<(), String> {
    let mut changes = changes(scenario);
    let last_step = scenario.steps.last().map(|step| step.at).unwrap_or_default();
    let mut over_at = scenario.lasts;
    while over_at.is_none_or(|end| hosts.elapsed() < end) {
        let now = hosts.elapsed();
        while changes.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, change)) = changes.pop_front() else { break };
            apply(hosts, scenario, context, change);
        }
        let next_change = changes.front().map(|(at, _)| *at);
        let until = next_change.into_iter().chain(over_at).min();
        hosts.step(until.unwrap_or(Duration::MAX))?;
        let all_begun = changes.is_empty() && hosts.elapsed() > last_step;
        if over_at.is_none() && all_begun && is_answered(scenario, context) {
            over_at = Some(hosts.elapsed() + REST);
        }
        if hosts.elapsed() > END_MAX {
            return Err("after 20 minutes there is still a call without an answer".to_owned());
        }
    }
    Ok(())
}

/// Every call is answered, cancelled or lost.
fn is_answered(scenario: &Scenario, context: &RunContext) -> bool {
    scenario.calls().all(|(_, call)| context.calls.is_closed(&call.label))
}

fn apply<S: Hosts>(
    hosts: &mut S,
    scenario: &Scenario,
    context: &RunContext,
    change: ScheduledChange,
) {
    change.note(hosts.elapsed(), context);
    match change {
        ScheduledChange::BreakLink { fault, from, to, .. } => hosts.break_link(fault, &from, &to),
        ScheduledChange::RestoreLink { fault, from, to, .. } => {
            hosts.restore_link(fault, &from, &to, scenario.latency);
        }
        ScheduledChange::Server { host, does } => match does {
            ServerAction::Stop => context.stop(&host),
            ServerAction::Crash => {
                hosts.crash(&host);
                context.stop(&host); // The in-memory level cannot end its tasks; they are cut off.
            }
            ServerAction::Start => hosts.start(&host),
        },
        ScheduledChange::Note { .. } => {}
    }
}
