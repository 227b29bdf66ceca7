use page::{CallOutcome, Event, Finished};

use super::{Source, finished, page};
use crate::levels::run::{Level, run};
use crate::scenario::{Scenario, parse};

fn drawn(level: Level, text: &str) -> (Scenario, Finished) {
    let scenario = parse(text).unwrap();
    let run = run(level, &scenario);
    let source = Source::of("topic::a_name", level, "sim run x".to_owned(), &scenario);
    let finished = finished(source, &scenario, &run);
    (scenario, finished)
}

const LOST: &str = "why: <a & b> {{data}}\nserver: { request_reconnect_wait_ms: 500 }\nsteps:\n  - { at: 1s, network: lose server->unity, for: 1s }\n  - { at: 1100ms, call: read_console, as: r1, with: { timeout_ms: 500 }, error: ERR_REQUEST_TIMEOUT, guarantee: unknown }\n  - { at: 3s, unity: compile 1s }\n  - { at: 3100ms, call: get_editor_state, as: s1, ok: {} }\nexpect: { executed: [] }\n";

#[test]
fn a_picture_has_lost_messages_faults_and_states() {
    let (_, drawn) = drawn(Level::Full, LOST);
    let has = |wanted: &dyn Fn(&Event) -> bool| drawn.events.iter().any(wanted);
    assert!(has(
        &|event| matches!(event, Event::Message { lost: true, what, .. } if what == "execute")
    ));
    assert!(has(
        &|event| matches!(event, Event::Fault { text, until: Some(2000), lane, .. } if text == "lose server->unity" && lane == "unity")
    ));
    assert!(has(
        &|event| matches!(event, Event::LaneState { lane, text: Some(text), .. } if lane == "unity" && text == "compiling")
    ));
    assert!(has(
        &|event| matches!(event, Event::LaneState { lane, text: Some(text), .. } if lane == "server" && text == "calls wait: compiling")
    ));
    assert!(has(
        &|event| matches!(event, Event::State { state, .. } if state.running.as_deref() == Some("read_console r1"))
    ));
}

#[test]
fn the_end_of_a_call_follows_its_answer_at_once() {
    let (_, drawn) = drawn(Level::Full, LOST);
    let end = drawn.events.iter().position(|event| {
        matches!(event, Event::CallEnded { call, outcome: CallOutcome::Failed, code: Some(code), guarantee: Some(guarantee), .. }
            if call == "r1" && code == "ERR_REQUEST_TIMEOUT" && guarantee == "unknown")
    });
    let before = drawn.events.get(end.unwrap() - 1);
    assert!(
        matches!(before, Some(Event::Message { what, call: Some(call), .. }) if what == "answer" && call == "r1"),
        "{before:?}"
    );
}

#[test]
fn the_core_level_is_drawn_too_though_it_records_one_end_of_the_agents() {
    let text = "why: x\nsteps:\n  - { at: 1s, call: read_console, as: r1, ok: {} }\nexpect: { executed: [r1] }\n";
    let (_, drawn) = drawn(Level::Core, text);
    let of_call = |event: &&Event| matches!(event, Event::Message { call: Some(call), lost: false, .. } if call == "r1");
    assert_eq!(drawn.events.iter().filter(of_call).count(), 4, "{:#?}", drawn.events);
    assert!(drawn.events.iter().any(|event| matches!(event, Event::CallEnded { .. })));
}

#[test]
fn a_failed_expectation_says_what_differs_and_where() {
    let text = "why: x\nsteps:\n  - { at: 1s, call: read_console, as: r1, ok: { count: -1 } }\nexpect: { executed: [] }\n";
    let (_, drawn) = drawn(Level::Full, text);
    let failed: Vec<_> =
        drawn.expectations.iter().filter(|expectation| expectation.problem.is_some()).collect();
    assert_eq!(failed.len(), 2, "{:#?}", drawn.expectations);
    let problem = failed[0].problem.as_ref().unwrap();
    assert!(problem.contains("count: expected -1"), "{problem}");
    assert!(problem.contains('\n') && !problem.contains("\\u{a}"), "lines stay lines: {problem}");
    let shown = &drawn.events[failed[0].event.unwrap()];
    assert!(matches!(shown, Event::CallEnded { call, .. } if call == "r1"), "{shown:?}");
    assert!(!drawn.has_passed());
}

const JOBS: &str = "why: x\nunity: { tests: { count: 4, takes: 400ms } }\nserver: { job_poll_interval_ms: 100 }\nsteps:\n  - { at: 1s, call: run_tests, as: t1, ok: { state: queued } }\n  - { at: 5s, unity: reload }\n  - { at: 9s, call: get_editor_state, as: s1, ok: {} }\nexpect: { executed: [t1] }\n";

fn states(drawn: &Finished) -> Vec<&page::State> {
    let mut states = Vec::new();
    for event in &drawn.events {
        if let Event::State { state, .. } = event {
            states.push(state);
        }
    }
    states
}

#[test]
fn a_job_is_followed_to_its_end_although_no_agent_asks() {
    let (_, drawn) = drawn(Level::Full, JOBS);
    let states = states(&drawn);
    let has = |wanted: &str, done: Option<u64>| {
        states
            .iter()
            .any(|state| state.jobs.iter().any(|job| job.state == wanted && job.done == done))
    };
    assert!(has("queued", None) && has("running", Some(2)), "{states:#?}");
    let last = states.last().unwrap();
    assert_eq!(last.jobs.len(), 1);
    assert_eq!(
        (last.jobs[0].job_id.as_str(), last.jobs[0].state.as_str()),
        ("job-s1-1", "succeeded")
    );
}

#[test]
fn an_editor_without_a_session_is_a_gap_until_it_says_hello() {
    let (_, drawn) = drawn(Level::Full, JOBS);
    let mut of_unity = Vec::new();
    for event in &drawn.events {
        if let Event::LaneState { lane, text, .. } = event
            && lane == "unity"
        {
            of_unity.push(text.as_deref());
        }
    }
    assert_eq!(of_unity, [None, Some("reloading"), Some("no session: reloading"), None]);
}

#[test]
fn a_lost_close_says_what_it_is() {
    let text = include_str!(
        "../../../../scenarios/jobs/a_name_that_unity_gives_again_ends_the_job_that_had_it.yaml"
    );
    let (_, drawn) = drawn(Level::Full, text);
    let mut messages = Vec::new();
    for event in &drawn.events {
        if let Event::Message { what, lost, .. } = event {
            messages.push((what.as_str(), *lost));
        }
    }
    assert!(messages.iter().all(|(what, _)| !what.is_empty()), "{messages:?}");
    assert!(messages.contains(&("close", true)), "{messages:?}");
}

#[test]
fn a_page_needs_nothing_else_and_its_data_cannot_leave_its_element() {
    let scenario = parse(LOST).unwrap();
    let run = run(Level::Full, &scenario);
    let source = Source::of("topic::a_name", Level::Full, "x </script>".to_owned(), &scenario);
    let page = page(source, &scenario, &run);
    assert!(page.contains("<title>topic: a name</title>"));
    assert!(page.contains("\\u003ca & b> {{data}}") && page.contains("x \\u003c/script>"));
    for outside in ["https://", "src=", "@import", "innerHTML"] {
        assert!(!page.contains(outside), "{outside}");
    }
}
