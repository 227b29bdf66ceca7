//! Shrinks a plan that finds something: removes steps, then simplifies them, as long as it finds the same kind of thing.

use std::time::Duration;

use coordination::Limits;
use mock_unity::{Command, Settings};

use crate::levels::run::Run;
use crate::random::plan::PROBE;
use crate::scenario::{self, Action, Scenario, Speaks, Step, UNITY, Via};

/// The smallest plan found that still finds the same kind of thing, and what it finds.
pub fn shrink(
    plan: &Scenario,
    found: &[String],
    try_out: impl Fn(&Scenario) -> Run,
) -> (Scenario, Vec<String>) {
    let kind = found.first().map(|finding| kind_of(finding)).unwrap_or_default();
    let mut best = (plan.clone(), found.to_vec());
    let mut improve = |candidates: &dyn Fn(&Scenario) -> Vec<Scenario>| {
        for candidate in candidates(&best.0) {
            // A removed step may be one that another step needs.
            if scenario::parse(&candidate.text()).is_err() {
                continue;
            }
            let found = try_out(&candidate).failures;
            if found.iter().any(|finding| kind_of(finding) == kind) {
                best = (candidate, found);
                return true;
            }
        }
        false
    };
    let mut chunk = plan.steps.len().next_power_of_two();
    while chunk > 0 {
        // The same size again, as long as it helps.
        if !improve(&|plan| without_a_chunk(plan, chunk)) {
            chunk /= 2;
        }
    }
    while improve(&simpler) {}
    best
}

/// Without the end of its faults or its probe a plan would find something that is not wrong.
fn is_needed(step: &Step) -> bool {
    match &step.action {
        Action::Call(call) => call.label.starts_with(PROBE),
        Action::Unity { command, .. } => *command == Command::Behave,
        Action::Cancel { .. }
        | Action::Leave { .. }
        | Action::Break { .. }
        | Action::Network { .. }
        | Action::Server { .. } => false,
    }
}

fn without_a_chunk(plan: &Scenario, chunk: usize) -> Vec<Scenario> {
    let starts = (0..plan.steps.len()).step_by(chunk);
    let without = |start: usize| {
        let mut index = 0;
        let mut smaller = plan.clone();
        smaller.steps.retain(|step| {
            let is_cut = (start..start + chunk).contains(&index);
            index += 1;
            !is_cut || is_needed(step)
        });
        smaller
    };
    starts.map(without).filter(|smaller| smaller.steps.len() < plan.steps.len()).collect()
}

/// Each differs in one thing: a default, or a round number.
fn simpler(plan: &Scenario) -> Vec<Scenario> {
    let mut candidates = Vec::new();
    let mut add = |change: &dyn Fn(&mut Scenario)| {
        let mut simpler = plan.clone();
        change(&mut simpler);
        if simpler.text() != plan.text() {
            candidates.push(simpler);
        }
    };
    add(&|plan| plan.editors.truncate(1));
    add(&|plan| plan.latency = Duration::from_millis(1));
    add(&|plan| plan.reseed(1));
    let called = |plan: &Scenario, name: &str| plan.calls().any(|(_, call)| call.agent == name);
    add(&|plan| {
        let used: Vec<String> =
            plan.agents.keys().filter(|name| called(plan, name)).cloned().collect();
        plan.agents.retain(|name, _| used.contains(name));
    });
    add(&|plan| plan.agents.values_mut().for_each(|agent| agent.via = Via::Http));
    add(&|plan| plan.agents.values_mut().for_each(|agent| agent.speaks = Speaks::Modern));
    // The limit of a frame stays, because the mock's oversize frame depends on it.
    let usual = Limits::default();
    add(&|plan| plan.limits.queue_max = usual.queue_max);
    add(&|plan| plan.limits.jobs_kept_max = usual.jobs_kept_max);
    add(&|plan| plan.limits.takeover_probe = usual.takeover_probe);
    add(&|plan| plan.limits.heartbeat_interval = usual.heartbeat_interval);
    add(&|plan| plan.limits.heartbeat_timeout = usual.heartbeat_timeout);
    add(&|plan| plan.limits.reconnect_wait = usual.reconnect_wait);
    add(&|plan| plan.limits.job_poll_interval = usual.job_poll_interval);
    let usual = Settings::default();
    let changes: [fn(&mut Settings, &Settings); 9] = [
        |settings, usual| settings.tool_time = usual.tool_time,
        |settings, usual| settings.reload_time = usual.reload_time,
        |settings, usual| settings.pong = usual.pong,
        |settings, usual| settings.pong_seq = usual.pong_seq,
        |settings, usual| settings.writes = usual.writes,
        |settings, usual| settings.names_itself = usual.names_itself,
        |settings, usual| settings.cancel = usual.cancel,
        |settings, usual| settings.tools = usual.tools.clone(),
        |settings, usual| settings.suite = usual.suite.clone(),
    ];
    for change in changes {
        add(&|plan| {
            let unity = plan.editors.iter_mut().filter(|editor| editor.name == UNITY);
            unity.for_each(|editor| change(&mut editor.settings, &usual));
        });
    }
    for (index, grain) in (0..plan.steps.len()).flat_map(|index| [(index, 1_000), (index, 100)]) {
        add(&|plan| {
            if let Some(step) = plan.steps.get_mut(index).filter(|step| !is_needed(step)) {
                step.at = rounded(step.at, grain);
            }
            plan.steps.sort_by_key(|step| step.at);
        });
    }
    candidates
}

/// Only to a rounder time, so that shrinking ends.
fn rounded(at: Duration, grain: u64) -> Duration {
    let millis = at.as_millis() as u64;
    let is_rounder = grain == 1_000 || !millis.is_multiple_of(1_000);
    let round = millis / grain * grain;
    Duration::from_millis(if is_rounder && round > 0 { round } else { millis })
}

/// A finding without times and ids, which change when a plan gets smaller.
fn kind_of(finding: &str) -> String {
    finding.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect()
}
