//! Random plans at the three levels, and how a plan that finds something is shrunk.

use mock_unity::Command;
use sim::faults::Fault;
use sim::judge::coverage::Coverage;
use sim::levels::run::{Level, run, run_brief};
use sim::random::plan;
use sim::random::shrink::shrink;
use sim::scenario::{self, Action, Position, Scenario, Step, UNITY};

/// Without the positions in a file, and without the order of arguments.
fn without_positions(mut scenario: Scenario) -> String {
    for step in &mut scenario.steps {
        step.position = Position { line: 0, column: 0 };
        if let Action::Call(call) = &mut step.action {
            call.arguments.sort_keys();
        }
    }
    format!("{scenario:?}").split("config: ").next().unwrap_or_default().to_owned()
}

#[test]
fn every_plan_is_a_scenario_that_its_file_gives_back() {
    for seed in 0..2_000 {
        let plan = plan::draw_for(Level::Full, seed);
        let text = plan.text();
        let read =
            scenario::parse(&text).unwrap_or_else(|problem| panic!("{seed}: {problem}\n{text}"));
        assert_eq!(read.text(), text, "seed {seed}");
        assert_eq!(read.limits, plan.limits, "seed {seed}");
        assert_eq!(without_positions(read), without_positions(plan), "seed {seed}");
    }
}

/// The first plans of each level. Those of the core are enough to see everything that must be seen.
#[test]
fn plans_of_fixed_seeds_break_no_promise_and_see_everything() {
    for (level, seeds) in [(Level::Core, 6_000), (Level::Shell, 200), (Level::Full, 8)] {
        let mut coverage = Coverage::default();
        for seed in 0..seeds {
            let run = run_brief(level, &plan::draw_for(level, seed), Fault::None);
            assert!(run.failures.is_empty(), "{level:?} seed {seed}: {:?}", run.failures);
            coverage.add(&run.coverage);
        }
        assert_eq!(coverage.missing(), Vec::<String>::new(), "{level:?}");
        let seen = |(what, count, _)| (count == 0).then_some(what);
        let unseen: Vec<_> = coverage.table().into_iter().filter_map(seen).collect();
        assert!(level != Level::Core || unseen.is_empty(), "never seen: {unseen:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_at_every_level() {
    for (level, seeds) in [(Level::Core, 50), (Level::Shell, 20), (Level::Full, 3)] {
        for seed in 100..100 + seeds {
            let told = || run(level, &plan::draw_for(level, seed)).everything();
            assert!(told() == told(), "{level:?} seed {seed}");
        }
    }
}

#[test]
fn a_plan_that_finds_something_is_shrunk_to_what_finds_it() {
    // The Editor is still away when the probe comes. Nothing else in the plan matters.
    let words = "restart 60s";
    let action = Action::Unity {
        editor: UNITY,
        words: words.to_owned(),
        command: Command::parse(words).unwrap(),
    };
    let (at, position) = (std::time::Duration::from_millis(7_123), Position { line: 0, column: 0 });
    for level in [Level::Core, Level::Shell] {
        let mut plan = plan::draw(2);
        plan.steps.push(Step { at, position, action: action.clone() });
        plan.steps.sort_by_key(|step| step.at);
        let found = run(level, &plan).failures;
        assert!(found.iter().any(|finding| finding.contains("probe")), "{found:?}");
        let (small, found) = shrink(&plan, &found, |plan| run(level, plan));
        let text = small.text();
        assert_eq!(small.steps.len(), 3, "healing, the probe, and what is in its way: {text}");
        assert!(text.contains("- { at: 7s, unity: \"restart 60s\" }"), "{text}");
        assert!(found.iter().any(|finding| finding.contains("ERR_EDITOR_NOT_READY")), "{found:?}");
    }
}
