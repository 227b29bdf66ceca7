//! The verdict: each expectation of the scenario with what the judges found.

use page::{Event, Expectation};
use protocol::printable;

use crate::levels::run::Run;
use crate::scenario::{Call, Expected, Scenario};

pub(super) fn expectations(scenario: &Scenario, run: &Run, events: &[Event]) -> Vec<Expectation> {
    let mut failures: Vec<&String> = run.failures.iter().collect();
    let mut take = |begins: &dyn Fn(&str) -> bool| {
        let found = failures.iter().position(|failure| begins(failure));
        found.map(|found| failures.remove(found).clone())
    };
    let mut expectations = Vec::new();
    for (_, call) in scenario.calls() {
        let prefix = format!("{}: ", call.label);
        let problem = take(&|failure| failure.starts_with(&prefix));
        let problem = problem.map(|problem| problem.replacen(&prefix, "", 1));
        let event = last_of(events, &call.label);
        expectations.push(Expectation { text: call_text(call), problem, event });
    }
    if let Some(executed) = &scenario.executed {
        let text = if executed.is_empty() {
            "Unity runs nothing".to_owned()
        } else {
            format!("Unity runs {}, in this order", executed.join(", "))
        };
        let problem =
            take(&|failure| failure.starts_with("Unity ran ") && failure.contains(", expected "));
        expectations.push(Expectation { text, problem, event: last_run(events, "") });
    }
    for label in &scenario.executed_once {
        let problem = take(&|failure| failure.starts_with(&format!("Unity ran {label} ")));
        let event = last_run(events, label);
        let text = format!("Unity runs {label} exactly once");
        expectations.push(Expectation { text, problem, event });
    }
    let broken = failures.into_iter().map(|failure| {
        // Names of calls in a failure lead to the call.
        let names =
            |word: &str| last_of(events, word.trim_matches(|it: char| ",.:;\"`()".contains(it)));
        let event = failure.split(' ').find_map(names);
        let text = "Every promise of the server holds".to_owned();
        Expectation { text, problem: Some(failure.clone()), event }
    });
    let broken: Vec<Expectation> = broken.collect();
    if broken.is_empty() {
        let text = "Every promise of the server holds".to_owned();
        expectations.push(Expectation { text, problem: None, event: None });
    }
    expectations.extend(broken);
    expectations
}

fn call_text(call: &Call) -> String {
    let Call { label, tool, .. } = call;
    let told = match &call.expected {
        Expected::Ok(fields) if fields.as_object().is_some_and(protocol::Map::is_empty) => {
            "succeeds".to_owned()
        }
        Expected::Ok(fields) => format!("succeeds with {}", printable(&fields.to_string(), 200)),
        Expected::Error { code, guarantee } => match guarantee {
            Some(guarantee) => format!("fails with {code}, {guarantee}"),
            None => format!("fails with {code}"),
        },
        Expected::Nothing => "gets no answer".to_owned(),
        Expected::Anything => "ends in any way that keeps the promises".to_owned(),
    };
    let within = call.within.map(|within| format!(" within {within:?}")).unwrap_or_default();
    format!("{label} {tool} {told}{within}")
}

/// The last event of a call.
fn last_of(events: &[Event], label: &str) -> Option<usize> {
    events.iter().rposition(|event| match event {
        Event::CallBegan { call, .. } | Event::CallEnded { call, .. } => call == label,
        Event::Message { call, .. } | Event::Note { call, .. } => call.as_deref() == Some(label),
        Event::CallServed { .. }
        | Event::State { .. }
        | Event::LaneState { .. }
        | Event::Fault { .. } => false,
    })
}

/// The last execution in Unity, of this call or of any.
fn last_run(events: &[Event], label: &str) -> Option<usize> {
    events.iter().rposition(|event| {
        matches!(event, Event::Note { text, .. } if text.starts_with("ran ") && text.ends_with(label))
    })
}
