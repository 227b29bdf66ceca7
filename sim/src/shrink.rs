//! Shrinks a plan that finds something: lines are left out as long as the same kind of thing is found.

use crate::plan::Plan;
use crate::run::{Run, run};
use crate::scenario;

/// `Err` if a plan is no scenario.
pub fn try_out(plan: &Plan) -> Result<Run, String> {
    scenario::parse(&plan.text("a plan")).map(|scenario| run(&scenario))
}

/// The smallest plan found that still finds the same kind of thing, and what it finds.
pub fn shrink(plan: &Plan, found: &[String]) -> (Plan, Vec<String>) {
    let kind = found.first().map(|finding| kind_of(finding)).unwrap_or_default();
    let mut best = (plan.clone(), found.to_vec());
    let mut chunk = plan.steps.len().max(plan.settings.len()).next_power_of_two();
    while chunk > 0 {
        let mut smaller = false;
        for candidate in without_a_chunk(&best.0, chunk) {
            // It is no scenario if a line was left out that another one needs.
            let found = try_out(&candidate).map(|run| run.failures).unwrap_or_default();
            if found.iter().any(|finding| kind_of(finding) == kind) {
                best = (candidate, found);
                smaller = true;
                break;
            }
        }
        // Again with the same size as long as it helps.
        if !smaller {
            chunk /= 2;
        }
    }
    best
}

fn without_a_chunk(plan: &Plan, chunk: usize) -> Vec<Plan> {
    let cut = |lines: &[String], at: usize| {
        let end = (at + chunk).min(lines.len());
        [lines.get(..at).unwrap_or_default(), lines.get(end..).unwrap_or_default()].concat()
    };
    let starts = |lines: &[String]| (0..lines.len()).step_by(chunk).collect::<Vec<_>>();
    let steps = starts(&plan.steps)
        .into_iter()
        .map(|at| Plan { steps: cut(&plan.steps, at), settings: plan.settings.clone() });
    let settings = starts(&plan.settings)
        .into_iter()
        .map(|at| Plan { steps: plan.steps.clone(), settings: cut(&plan.settings, at) });
    steps.chain(settings).collect()
}

/// A finding without its times and ids: what stays the same when a plan gets smaller.
fn kind_of(finding: &str) -> String {
    finding.chars().filter(|letter| !letter.is_ascii_digit()).take(60).collect()
}
