//! Tally: what a run has seen, counted from wires, books and diaries. A run that has not seen a thing has not
//! tested it, so each has a floor.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::ErrorCode;

use crate::levels::hosts::LinkFault;
use crate::programs::agent::{CallRecord, CallRecordsSnapshot};
use crate::scenario::{Action, Scenario, ServerAction};

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub calls: u64,
    counts: BTreeMap<String, u64>,
    /// How often each kind of fault was there, and how often while a call had no answer.
    faults: BTreeMap<String, (u64, u64)>,
}

/// What agents are told of the execution of a call.
const GUARANTEES: [&str; 4] = ["completed", "completed_error", "not_executed", "unknown"];

/// What becomes of a cancel.
const CANCELS: [&str; 7] = [
    "cancel_job: cancelled",
    "cancel_job: cancel_requested",
    "cancel_job: rejected",
    "a job shows cancel: requested",
    "a job shows cancel: rejected",
    "taken back before it was sent",
    "taken back after it was sent",
];

/// Where a call is when the session with Unity ends.
const DROPS: [&str; 5] = [
    "before a call was sent",
    "after a call was sent",
    "after a call ran",
    "after the result",
    "during a close",
];

const FAULTS: [&str; 35] = [
    "answer binary",
    "answer error",
    "answer flood",
    "answer late",
    "answer malformed",
    "answer misaddressed",
    "answer never",
    "answer oversize",
    "answer twice",
    "answer wrong-type",
    "close",
    "compile",
    "dialog",
    "drop",
    "freeze",
    "job cancelled",
    "job failed",
    "job lost",
    "job queued",
    "job succeeded",
    "latency",
    "lose from unity",
    "lose to unity",
    "hold",
    "partition",
    "play",
    "pong 300ms",
    "pong never",
    "reload",
    "restart",
    "say",
    "second Editor",
    "server killed",
    "server stopped",
    "stale",
];

/// What a run of so many plans must have seen of a thing. Rare things are seen some times in a thousand
/// plans, all others more often; a run that is too short to ask for anything asks for nothing.
fn floor(what: &str, plans: u64) -> u64 {
    let per_million = match what {
        // Few plans have a job that Unity refuses to cancel, and an agent that asks about it then.
        "told ERR_CANCEL_REJECTED" | "a job shows cancel: rejected" => 500,
        "told ERR_UNITY_DISCONNECTED" | "told ERR_RECONFIG_IN_PROGRESS" => 1_000,
        "cancel_job: cancelled" => 500,
        _ => 2_000,
    };
    plans * per_million / 1_000_000
}

impl Tally {
    pub(crate) fn count(&mut self, group: &str, what: &str) {
        *self.counts.entry(format!("{group}{what}")).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        for (what, count) in &other.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
        for (kind, (times, busy)) in &other.faults {
            let sum = self.faults.entry(kind.clone()).or_default();
            *sum = (sum.0 + times, sum.1 + busy);
        }
    }

    /// What was done to the world until then.
    pub(crate) fn count_faults(
        &mut self,
        scenario: &Scenario,
        records: &CallRecordsSnapshot,
        until: Duration,
    ) {
        self.calls = records.calls.len() as u64;
        let mut add = |kind: String, at: Duration| {
            let is_busy = records.calls.values().any(|record| is_open(record, at));
            let sum = self.faults.entry(kind).or_default();
            *sum = (sum.0 + 1, sum.1 + u64::from(is_busy));
        };
        for editor in scenario.editors.iter().skip(1) {
            add("second Editor".to_owned(), editor.starts);
        }
        for step in scenario.steps.iter().filter(|step| step.at <= until) {
            if let Some(kind) = fault_of(&step.action) {
                add(kind, step.at);
            }
        }
    }

    /// Everything with a floor: what, how often, and how often a run of so many plans must have seen it.
    pub fn table(&self, plans: u64) -> Vec<(String, u64, u64)> {
        let named = |group: &'static str, names: &[&str]| -> Vec<String> {
            names.iter().map(|name| format!("{group}{name}")).collect()
        };
        let codes: Vec<&str> = ErrorCode::ALL.into_iter().map(ErrorCode::text).collect();
        let groups = [
            named("told ", &codes),
            named("told ", &GUARANTEES),
            named("", &CANCELS),
            named("lost ", &DROPS),
        ];
        let rows = groups.into_iter().flatten();
        rows.map(|what| {
            let count = self.counts.get(&what).copied().unwrap_or_default();
            let floor = floor(&what, plans);
            (what, count, floor)
        })
        .collect()
    }

    /// Kinds of faults: how often, how often while a call had no answer, and the floor of the latter.
    pub fn fault_table(&self, plans: u64) -> Vec<(&'static str, u64, u64, u64)> {
        let row = |kind: &'static str| {
            let (times, busy) = self.faults.get(kind).copied().unwrap_or_default();
            (kind, times, busy, floor(kind, plans))
        };
        FAULTS.into_iter().map(row).collect()
    }

    /// Of all kinds.
    pub fn faults(&self) -> u64 {
        self.faults.values().map(|(times, _)| times).sum()
    }

    /// What was seen less often than it must be.
    pub fn missing(&self, plans: u64) -> Vec<String> {
        let rows = self.table(plans).into_iter();
        let rows = rows.filter(|(_, count, floor)| count < floor).map(|(what, _, _)| what);
        let faults = self.fault_table(plans).into_iter();
        let faults = faults.filter(|(_, _, busy, floor)| busy < floor);
        rows.chain(faults.map(|(kind, _, _, _)| format!("{kind} while a call had no answer")))
            .collect()
    }
}

fn is_open(record: &CallRecord, at: Duration) -> bool {
    let has_begun = record.called_at.is_some_and(|called| called <= at);
    let has_ended = record.answers.first().is_some_and(|(told, _)| *told < at)
        || record.cancelled_at.is_some_and(|back| back <= at);
    has_begun && !has_ended
}

/// What kind of fault it is, if it is one.
fn fault_of(action: &Action) -> Option<String> {
    match action {
        Action::Call(_) | Action::Cancel { .. } | Action::Leave { .. } => None,
        Action::Server { does: ServerAction::Crash, .. } => Some("server killed".to_owned()),
        Action::Server { does: ServerAction::Stop, .. } => Some("server stopped".to_owned()),
        Action::Server { does: ServerAction::Start, .. } => None,
        Action::Network { fault, from, .. } => Some(
            match fault {
                LinkFault::Partition => "partition",
                LinkFault::Hold => "hold",
                LinkFault::Lose if from == crate::scenario::SERVER => "lose to unity",
                LinkFault::Lose => "lose from unity",
                LinkFault::Latency(_) => "latency",
            }
            .to_owned(),
        ),
        Action::Unity { words, .. } => {
            let mut parts = words.split(' ');
            let (word, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            match (word, rest) {
                ("behave" | "dismiss", _) | ("pong", "0s") => None,
                ("answer" | "job" | "pong", rest) => Some(format!("{word} {rest}")),
                (word, _) => Some(word.to_owned()),
            }
        }
    }
}
