//! A suite that finds nothing proves nothing: every planted fault must be found.

use sim::faults::Fault;
use sim::faults::core::CoreFault;
use sim::levels::run::{Level, judge};
use sim::random::plan;
use sim::random::schedule::Schedule;
use sim::random::schedule::world::{self, Judge};

const SCHEDULES: u64 = 400;

/// How many schedules it takes until the fault is found.
fn schedules_until_found(fault: CoreFault, judge: Judge) -> Option<u64> {
    (0..SCHEDULES).find(|seed| {
        world::run(&Schedule::from_seed(*seed, 100), judge, |limits| {
            fault.plant(limits, world::genuine)
        })
        .is_err()
    })
}

#[test]
fn every_planted_fault_is_found() {
    for fault in CoreFault::ALL {
        let found = schedules_until_found(fault, Judge::ModelAndBooks);
        assert!(found.is_some(), "not found: {}", fault.name());
    }
}

/// The same with plans: each is found by the two cores alone, or by the whole programs.
#[test]
fn every_planted_fault_is_found_by_plans() {
    for fault in Fault::faults() {
        let finds = |level| {
            (0..250).any(|seed| !judge(level, &plan::draw(seed), fault).failures.is_empty())
        };
        assert!(finds(Level::Core) || finds(Level::Shell), "not found: {}", fault.name());
    }
}

/// The model might share a misunderstanding with the core; books cannot.
#[test]
fn the_books_alone_find_what_breaks_at_most_once_one_answer_and_never_a_lie() {
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
        let found = schedules_until_found(fault, Judge::BooksAlone);
        assert!(found.is_some(), "not found by the books alone: {}", fault.name());
    }
    for seed in 0..SCHEDULES {
        let schedule = Schedule::from_seed(seed, 100);
        let genuine = world::run(&schedule, Judge::BooksAlone, world::genuine);
        assert!(genuine.is_ok(), "seed {seed}: the books accuse the genuine core");
    }
}
