//! Catalogue 1.1: a call that repeats a `client_request_id` runs nothing. The evidence is what agents were told and the
//! books of Unity.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::{Catalog, Tool};
use mock_unity::Execution;
use protocol::Json;

use super::coverage::Coverage;
use super::expectations::AllBooks;
use crate::record::calls::{CallRecordsSnapshot, CallResult};
use crate::scenario::{Action, Scenario, Step, Via};

/// All calls with one `client_request_id`.
#[derive(Default)]
struct Named<'a> {
    calls: usize,
    /// By the tool of the call.
    told: Vec<(&'a str, &'a CallResult)>,
}

/// What is wrong, and the coverage.
pub(crate) fn repeats(
    scenario: &Scenario,
    records: &CallRecordsSnapshot,
    books: &AllBooks,
) -> (Vec<String>, Coverage) {
    let mut coverage = Coverage::default();
    let mut named: BTreeMap<&str, Named<'_>> = BTreeMap::new();
    for (_, call) in scenario.calls() {
        let Some(id) = call.arguments.get("client_request_id").and_then(Json::as_str) else {
            continue;
        };
        if !Tool::named(&call.tool).is_some_and(|tool| Catalog::V1_1.deduplicates(tool)) {
            continue;
        }
        let of_id = named.entry(id).or_default();
        of_id.calls += 1;
        let record = records.calls.get(&call.label);
        let answers = record.iter().flat_map(|record| &record.answers);
        of_id.told.extend(answers.map(|(_, told)| (call.tool.as_str(), told)));
    }
    let mut failures = Vec::new();
    for (id, calls) in &named {
        let runs = runs(books, id);
        let ran = runs.len();
        if calls.calls > 1 {
            coverage.count("a repeated call: ran ", if ran == 0 { "never" } else { "once" });
        }
        calls.told.iter().filter(|(_, told)| is_replayed(told)).for_each(|_| {
            coverage.mark("an answer was replayed");
        });
        failures.extend(
            problem(calls, ran, may_run_again(scenario, &runs))
                .map(|problem| format!("{id} ({} calls, {ran} runs): {problem}", calls.calls)),
        );
    }
    for (editor, (_, books)) in books {
        let twice = books.sent_twice().into_iter();
        failures.extend(twice.map(|id| format!("{editor} got {id} twice")));
        if !scenario.forges_answers() {
            let overlapping = books.overlapping.iter();
            failures.extend(overlapping.map(|id| format!("{editor} got {id} before it was done")));
        }
    }
    (failures, coverage)
}

fn problem(calls: &Named<'_>, ran: usize, may_run_again: bool) -> Option<String> {
    if ran > 1 && !may_run_again {
        return Some(format!("ran {ran} times"));
    }
    let all_told = calls.told.len() == calls.calls;
    if all_told && calls.told.iter().all(|(_, told)| is_not_executed(told)) && ran > 0 {
        return Some("every call was told not_executed, but it ran".to_owned());
    }
    // The answer of a job may come before it runs.
    let is_done =
        |tool: &str, told: &CallResult| tool == "open_scene" && matches!(told, CallResult::Ok(_));
    if ran == 0 && calls.told.iter().any(|(tool, told)| is_done(tool, told)) {
        return Some("it was answered, but never ran".to_owned());
    }
    None
}

/// A run of an Editor.
struct Run<'a> {
    editor: &'a str,
    /// Since the start of the simulation.
    arrived: Duration,
}

/// The runs with this id, in order.
fn runs<'a>(books: &'a AllBooks, id: &str) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    for (editor, (started, books)) in books {
        let of_id = |run: &&Execution| run.client_request_id.as_deref() == Some(id);
        for run in books.executed.iter().filter(of_id) {
            let arrival = books.arrived.iter().find(|arrival| arrival.request_id == run.request_id);
            let arrived = *started + arrival.map_or(run.at, |arrival| arrival.at);
            runs.push(Run { editor, arrived });
        }
    }
    runs.sort_by_key(|run| run.arrived);
    runs
}

fn is_not_executed(told: &CallResult) -> bool {
    matches!(told, CallResult::Failed { guarantee: Some(guarantee), .. } if guarantee == "not_executed")
}

fn is_replayed(told: &CallResult) -> bool {
    matches!(told, CallResult::Ok(result) if result.get("replayed").is_some())
}

/// Only if both the server and the Editor have forgotten the run before.
fn may_run_again(scenario: &Scenario, runs: &[Run<'_>]) -> bool {
    runs.iter().zip(runs.iter().skip(1)).all(|(first, second)| {
        let between = |step: &&Step| (first.arrived..=second.arrived).contains(&step.at);
        let steps = || scenario.steps.iter().filter(between).map(|step| &step.action);
        let another_editor = first.editor != second.editor;
        steps().any(|action| ends_a_server(scenario, action))
            && (another_editor || steps().any(|action| forgets(action, first.editor)))
    })
}

fn ends_a_server(scenario: &Scenario, action: &Action) -> bool {
    match action {
        Action::Server { .. } => true,
        Action::Leave { agent } => {
            scenario.agents.get(agent).is_some_and(|agent| agent.via != Via::Http)
        }
        Action::Call(_)
        | Action::Cancel { .. }
        | Action::Break { .. }
        | Action::Unity { .. }
        | Action::Network { .. } => false,
    }
}

/// Whether this Editor starts again, or another one in its place.
fn forgets(action: &Action, of: &str) -> bool {
    match action {
        Action::Unity { editor, words, .. } => {
            *editor == of && (words.starts_with("restart") || words.starts_with("project"))
        }
        Action::Call(_)
        | Action::Cancel { .. }
        | Action::Leave { .. }
        | Action::Break { .. }
        | Action::Network { .. }
        | Action::Server { .. } => false,
    }
}
