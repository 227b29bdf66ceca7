//! Every planted fault must be found: a suite that misses one proves little.

use sim::faults::Fault;
use sim::faults::core::CoreFault;
use sim::faults::shell::ShellFault;
use sim::levels::run::{Level, run_brief};
use sim::random::plan;

/// A fault must be found within so many plans.
const PLANS_MAX: u64 = 2_000;

fn is_found(level: Level, fault: Fault, counts: impl Fn(&str) -> bool) -> bool {
    (0..PLANS_MAX).any(|seed| {
        let failures = run_brief(level, &plan::draw_for(level, seed), fault).failures;
        failures.iter().any(|failure| counts(failure))
    })
}

#[test]
fn every_planted_fault_is_found() {
    for fault in Fault::all() {
        let level = if fault.is_in_network() { Level::Shell } else { Level::Core };
        assert!(is_found(level, fault, |_| true), "not found: {}", fault.name());
    }
}

/// Not only that something is odd: the wires and the books show that the call was repeated.
#[test]
fn a_relay_that_repeats_a_lost_call_is_found_by_what_it_repeats() {
    let fault = Fault::Shell(ShellFault::RepeatALostCall);
    let is_repeated =
        |failure: &str| failure.contains("ran twice") || failure.contains("a second time");
    assert!(is_found(Level::Shell, fault, is_repeated));
}

/// Server and plugin each remember what has run.
#[test]
fn a_run_that_server_or_plugin_forgets_is_found_by_its_second_run() {
    for fault in [Fault::ServerForgetsRuns, Fault::PluginForgetsRuns] {
        let ran_again = |failure: &str| failure.contains(" runs): ran ");
        assert!(is_found(Level::Core, fault, ran_again), "not found: {}", fault.name());
    }
}

/// The model might share a misunderstanding with the core. The wires and the books of Unity cannot.
#[test]
fn wires_and_books_alone_find_what_breaks_a_promise_to_an_agent() {
    let faults = [
        CoreFault::ResendAfterReconnect,
        CoreFault::FreeTheLaneOnTimeout,
        CoreFault::AnswerTwice,
        CoreFault::LoseAnAnswer,
        CoreFault::LieAboutExecution,
        CoreFault::IgnoreMcpCancel,
        CoreFault::ChangeATerminalState,
        CoreFault::LoseTheCancel,
        CoreFault::MixUpEditors,
        CoreFault::TellAnEmptyConsole,
        CoreFault::KeepTheResultOfAJob,
        CoreFault::KeepTheProgressOfAJob,
        CoreFault::ReportProgressOnceAnHour,
        CoreFault::IgnoreWaitMs,
        CoreFault::GiveUpEarly,
        CoreFault::PollLate,
        CoreFault::AdviseNothing,
        CoreFault::DoNothing,
    ];
    for fault in faults {
        let without_model = |failure: &str| !failure.contains("the model objects");
        let found = is_found(Level::Core, Fault::Core(fault), without_model);
        assert!(found, "not found by wires and books alone: {}", fault.name());
    }
}
