//! Catalogue 1.1: a call that repeats a `client_request_id` runs nothing. The evidence is what agents were told and the
//! books of Unity.

use std::collections::BTreeMap;

use coordination::{Catalog, Tool};
use protocol::Json;

use super::coverage::Coverage;
use super::expectations::AllBooks;
use crate::record::calls::{CallRecordsSnapshot, CallResult};
use crate::scenario::{Action, Scenario};

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
        let ran = times_run(books, id);
        if calls.calls > 1 {
            coverage.count("a repeated call: ran ", if ran == 0 { "never" } else { "once" });
        }
        calls.told.iter().filter(|(_, told)| is_replayed(told)).for_each(|_| {
            coverage.mark("an answer was replayed");
        });
        failures.extend(
            problem(calls, ran, forgets_everything(scenario))
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

fn times_run(books: &AllBooks, id: &str) -> usize {
    let runs = books.values().flat_map(|(_, books)| &books.executed);
    runs.filter(|run| run.client_request_id.as_deref() == Some(id)).count()
}

fn is_not_executed(told: &CallResult) -> bool {
    matches!(told, CallResult::Failed { guarantee: Some(guarantee), .. } if guarantee == "not_executed")
}

fn is_replayed(told: &CallResult) -> bool {
    matches!(told, CallResult::Ok(result) if result.get("replayed").is_some())
}

/// The server and the Editor can both forget: only then may a run happen twice.
fn forgets_everything(scenario: &Scenario) -> bool {
    let server_ends =
        scenario.steps.iter().any(|step| matches!(step.action, Action::Server { .. }));
    let editor_ends = scenario.steps.iter().any(|step| match &step.action {
        Action::Unity { words, .. } => words.starts_with("restart") || words.starts_with("project"),
        Action::Call(_)
        | Action::Cancel { .. }
        | Action::Leave { .. }
        | Action::Break { .. }
        | Action::Network { .. }
        | Action::Server { .. } => false,
    });
    (server_ends || scenario.has_relays()) && (editor_ends || scenario.editors.len() > 1)
}
