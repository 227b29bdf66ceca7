//! The promises of the contract, over random schedules.

#![expect(clippy::panic, reason = "a test may fail loudly anywhere, in its helpers too")]

use proptest::collection::vec;
use proptest::prelude::*;
use sim::random::schedule::Schedule;
use sim::random::schedule::world::{self, Judge, Report};

/// Enough for everything that must be seen, and quick enough for every run of the tests.
const SCHEDULES: u64 = 40_000;

fn share(first: u64) -> Report {
    let mut total = Report::default();
    for seed in (first..SCHEDULES).step_by(2) {
        match world::run(&Schedule::from_seed(seed, 100), Judge::ModelAndBooks, world::genuine) {
            Ok(report) => total.add(&report),
            Err(broken) => panic!(
                "seed {seed}, step {}, {} ms: {}\n{}",
                broken.step,
                broken.at,
                broken.what,
                broken.history.join("\n")
            ),
        }
    }
    total
}

#[test]
fn every_promise_holds_over_fixed_schedules_and_everything_that_must_be_seen_is_seen() {
    let (mut total, other) = std::thread::scope(|scope| {
        let odd = scope.spawn(|| share(1));
        (share(0), odd.join().unwrap())
    });
    total.add(&other);
    assert_eq!(total.seen.missing(), Vec::<&str>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    /// Fresh schedules at every run; a failure is shrunk to the steps that matter.
    #[test]
    fn every_promise_holds_over_fresh_schedules(
        draw in any::<u64>(), steps in vec(any::<u64>(), 0..200),
    ) {
        let schedule = Schedule { draw, steps };
        if let Err(broken) = world::run(&schedule, Judge::ModelAndBooks, world::genuine) {
            prop_assert!(false, "{}\n{}", broken.what, broken.history.join("\n"));
        }
    }
}

#[test]
fn the_same_schedule_gives_the_same_history() {
    for seed in 0..50 {
        let schedule = Schedule::from_seed(seed, 100);
        let told = || world::tell(&schedule, world::genuine).unwrap();
        assert_eq!(told(), told(), "seed {seed}");
    }
}
