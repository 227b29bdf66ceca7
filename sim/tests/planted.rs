//! Every planted fault must be found: a suite that misses one proves little.

use sim::faults::Fault;
use sim::faults::core::CoreFault;
use sim::levels::run::{Level, run_brief};
use sim::random::plan;

/// A fault must be found within so many plans.
const PLANS_MAX: u64 = 2_000;

fn is_found(level: Level, fault: Fault, counts: impl Fn(&str) -> bool) -> bool {
    (0..PLANS_MAX).any(|seed| {
        let failures = run_brief(level, &plan::draw(seed), fault).failures;
        failures.iter().any(|failure| counts(failure))
    })
}

#[test]
fn every_planted_fault_is_found() {
    for fault in Fault::all() {
        // A core has no streams that could miss a wake-up.
        let level = if fault.is_in_streams() { Level::Shell } else { Level::Core };
        assert!(is_found(level, fault, |_| true), "not found: {}", fault.name());
    }
}

/// The model might share a misunderstanding with the core. The wires and the books of Unity cannot.
#[test]
fn wires_and_books_alone_find_what_runs_twice_is_answered_twice_or_is_a_lie() {
    let faults = [
        CoreFault::ResendAfterReconnect,
        CoreFault::FreeTheLaneOnTimeout,
        CoreFault::AnswerTwice,
        CoreFault::LoseAnAnswer,
        CoreFault::LieAboutExecution,
        CoreFault::IgnoreMcpCancel,
        CoreFault::ChangeATerminalState,
        CoreFault::DoNothing,
    ];
    for fault in faults {
        let without_model = |failure: &str| !failure.contains("the model objects");
        let found = is_found(Level::Core, Fault::Core(fault), without_model);
        assert!(found, "not found by wires and books alone: {}", fault.name());
    }
}
