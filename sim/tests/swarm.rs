//! Random plans against the whole server, and what becomes of one that finds something.

use sim::plan::Plan;
use sim::scenario;
use sim::shrink::{shrink, try_out};

#[test]
fn every_plan_is_a_scenario_and_the_same_seed_gives_the_same() {
    for seed in 0..2_000 {
        let text = Plan::from_seed(seed).text("a test");
        let problem = scenario::parse(&text).err();
        assert!(problem.is_none(), "seed {seed}: {problem:?}\n{text}");
        assert_eq!(text, Plan::from_seed(seed).text("a test"));
    }
}

#[test]
fn plans_of_fixed_seeds_break_no_promise() {
    for seed in 0..8 {
        let run = try_out(&Plan::from_seed(seed)).unwrap();
        assert!(run.failures.is_empty(), "seed {seed}: {:?}", run.failures);
    }
}

#[test]
fn a_plan_that_finds_something_is_shrunk_to_what_finds_it() {
    // An Editor that is still away when the fresh call comes: nothing else in the plan matters.
    let away = "{ at: 7s, unity: restart 60s }".to_owned();
    let mut plan = Plan::from_seed(1);
    plan.steps.truncate(6);
    plan.steps.insert(3, away.clone());
    let found = try_out(&plan).unwrap().failures;
    assert!(found.iter().any(|finding| finding.contains("probe")), "{found:?}");
    let (small, found) = shrink(&plan, &found);
    assert_eq!(small.steps, [away]);
    assert!(found.iter().any(|finding| finding.contains("ERR_EDITOR_NOT_READY")), "{found:?}");
}
