//! Checks over the whole file. A step that can have no effect would prove nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::Catalog;

use super::{
    Action, Expected, NETWORK, Position, SERVER, Scenario, ServerAction, Step, UNITY, Via,
};

/// The longest run. An hour of virtual time takes half a minute of real time.
const LASTS_MAX: Duration = Duration::from_secs(600);

type Problem = (Option<Position>, String);

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    check_whole(scenario).map_err(|problem| (None, problem))?;
    let mut seen = Seen::default();
    for step in &scenario.steps {
        seen.check(scenario, step).map_err(|problem| (Some(step.position), problem))?;
    }
    Ok(())
}

/// Whether an agent may have this name.
pub(super) fn check_agent(name: &str) -> Result<(), String> {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let taken = name.starts_with(SERVER) || name.starts_with(UNITY) || name == NETWORK;
    if taken || name.is_empty() || !name.chars().all(plain) {
        return Err(format!(
            "an agent cannot be called \"{name}\"; take another name of a-z and 0-9"
        ));
    }
    Ok(())
}

fn check_whole(scenario: &Scenario) -> Result<(), String> {
    if scenario.why.trim().is_empty() {
        return Err("`why` is empty: say why this must hold".into());
    }
    if scenario.agents.values().filter(|agent| agent.via == Via::Stdio).count() > 1 {
        return Err("a server has one pair of pipes: only one agent can be via stdio".into());
    }
    let last = scenario.steps.last().map(|step| step.at).unwrap_or_default();
    match scenario.lasts {
        Some(end) if end <= last => Err("it ends before its last step: make `lasts` longer".into()),
        Some(end) if end > LASTS_MAX => Err("a run can last ten minutes at most".into()),
        None if last >= LASTS_MAX => Err("a run can last ten minutes at most".into()),
        Some(_) | None => Ok(()),
    }
}

/// What comes before a step.
#[derive(Default)]
struct Seen<'a> {
    labels: BTreeSet<&'a str>,
    client_request_ids: BTreeSet<String>,
    /// Faults with their links and ends.
    faults: Vec<(&'a str, &'a str, Option<Duration>)>,
}

impl<'a> Seen<'a> {
    fn check(&mut self, scenario: &'a Scenario, step: &'a Step) -> Result<(), String> {
        match &step.action {
            Action::Call(call) => {
                if !self.labels.insert(&call.label) {
                    return Err(format!("two calls are called {}", call.label));
                }
                let id = call.arguments.get("client_request_id").map(ToString::to_string);
                let is_new = self.client_request_ids.insert(id.unwrap_or_default());
                if !is_new && scenario.limits.catalog == Catalog::V1_0 {
                    return Err("two calls have the same client_request_id".into());
                }
                let lost = call.expected == Expected::Nothing;
                if lost && scenario.lasts.is_none() && !can_be_lost(scenario, &call.label) {
                    return Err(
                        "it will be answered, unless it is cancelled, its agent leaves or \
                                the server is killed; or say how long the run `lasts`"
                            .into(),
                    );
                }
                Ok(())
            }
            Action::Cancel { label } | Action::Break { label }
                if !self.labels.contains(label.as_str()) =>
            {
                Err(format!("no call before this is called {label}"))
            }
            Action::Cancel { .. } | Action::Break { .. } | Action::Leave { .. } => Ok(()),
            Action::Unity { editor, .. } => {
                let starts = scenario.editors.iter().find(|other| other.name == *editor);
                if starts.is_some_and(|editor| editor.starts > step.at) {
                    return Err(format!("{editor} has not started at that time"));
                }
                Ok(())
            }
            Action::Network { from, to, lasts, .. } => self.check_fault(step.at, from, to, *lasts),
            Action::Server { does: ServerAction::Start, away: Some(_), .. } => {
                Err("`for` is how long a server is away: write it with stop or crash".into())
            }
            Action::Server { .. } => Ok(()),
        }
    }

    fn check_fault(
        &mut self,
        at: Duration,
        from: &'a str,
        to: &'a str,
        lasts: Option<Duration>,
    ) -> Result<(), String> {
        if (from == SERVER) == (to == SERVER) {
            return Err("there is a link from the server to each other host, and no other".into());
        }
        let link =
            |one: &str, other: &str| (one == from && other == to) || (one == to && other == from);
        let overlaps = |(one, other, end): &(&str, &str, Option<Duration>)| {
            link(one, other) && end.is_none_or(|end| end > at)
        };
        if self.faults.iter().any(overlaps) {
            return Err("that link has a fault already; one fault at a time".into());
        }
        self.faults.push((from, to, lasts.map(|lasts| at + lasts)));
        Ok(())
    }
}

/// Whether something in the scenario can prevent the answer of a call.
fn can_be_lost(scenario: &Scenario, of: &str) -> bool {
    scenario.steps.iter().any(|step| match &step.action {
        Action::Cancel { label } => label == of,
        Action::Leave { .. } => true,
        Action::Server { does, .. } => *does != ServerAction::Start,
        Action::Call(_) | Action::Break { .. } | Action::Unity { .. } | Action::Network { .. } => {
            false
        }
    })
}
