//! What may be written in a scenario, and how mistakes are told.

use std::collections::BTreeSet;
use std::path::Path;

use sim::{files, scenario};

fn problem(text: &str) -> String {
    let whole = format!("why: a test\n{text}\n");
    scenario::parse(&whole).map(|_| ()).err().unwrap_or_default()
}

#[test]
fn the_schema_for_editors_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/scenario.schema.json");
    let made = format!("{:#}\n", scenario::schema());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == made, "run BLESS=1 cargo test -p sim --test scenario_files");
}

#[test]
fn unknown_keys_are_told_with_line_column_and_what_was_meant() {
    let told = problem("steps:\n  - { at: 1s, unitty: drop }\nexpect: { executed: [] }");
    assert!(told.contains("line 3 column 15"), "{told}");
    assert!(told.contains("did you mean `unity`?"), "{told}");
    let told = problem("step: []\nexpect: { executed: [] }");
    assert!(told.contains("line 2 column 1") && told.contains("did you mean `steps`?"), "{told}");
    let told = problem("server: { queue_size: 3 }\nsteps: []\nexpect: { executed: [] }");
    assert!(told.contains("line 2 column 23") && told.contains("queue_max_size"), "{told}");
}

#[test]
fn wrong_values_are_told_with_line_column_and_what_would_be_right() {
    let step = |step: &str| problem(&format!("steps:\n  - {step}\nexpect: {{ executed: [] }}"));
    for (written, place, right) in [
        ("{ at: soon, unity: drop }", "line 3 column 11", "500ms"),
        ("{ at: 1s, unity: complie }", "line 3 column 22", "did you mean compile?"),
        ("{ at: 1s, network: explode unity }", "line 3 column 24", "partition unity"),
        ("{ at: 1s, network: hold nobody }", "line 3 column 5", "there are agent, unity, server"),
        ("{ at: 1s, server: reboot }", "line 3 column 23", "stop"),
        ("{ at: 1s }", "line 3 column 5", "exactly one of"),
        ("{ at: 1s, unity: drop, server: stop }", "line 3 column 5", "exactly one of"),
        ("{ at: 1s, unity: drop, for: 1s }", "line 3 column 5", "only network and server"),
        ("{ at: 1s, unity: drop, as: r1 }", "line 3 column 5", "belong to a call"),
        ("{ at: 1s, call: read_console }", "line 3 column 5", "as: r1"),
        ("{ at: 1s, call: read_console, as: r1 }", "line 3 column 5", "one of `ok`"),
        ("{ at: 1s, call: read_console, as: r1, error: ERR_X }", "line 3 column 5", "guarantee"),
        ("{ at: 1s, call: read_console, as: r1, by: eve, ok: {} }", "line 3 column 5", "\"eve\""),
        ("{ at: 1s, leave: eve }", "line 3 column 5", "there are agent"),
        ("{ at: 1s, unity2: drop }", "line 3 column 5", "\"unity2\""),
    ] {
        let told = step(written);
        assert!(told.contains(place) && told.contains(right), "{written}: {told}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let call =
        |label: &str| format!("  - {{ at: 1s, call: read_console, as: {label}, ok: {{}} }}\n");
    let twice = format!("steps:\n{0}{0}expect: {{ executed: [] }}", call("r1"));
    assert!(problem(&twice).contains("two calls are called r1"));
    let nobody = format!("steps:\n{}expect: {{ executed: [r2] }}", call("r1"));
    assert!(problem(&nobody).contains("no call is called r2"));
    let pipes =
        "agents: { a: { via: stdio }, b: { via: stdio } }\nsteps: []\nexpect: { executed: [] }";
    assert!(problem(pipes).contains("one pair of pipes"));
}

#[test]
fn every_trace_belongs_to_a_scenario() {
    let scenarios: BTreeSet<_> =
        files::all().unwrap().into_iter().map(|file| file.path.with_extension("snap")).collect();
    for topic in std::fs::read_dir(files::directory()).unwrap() {
        let topic = topic.unwrap().path();
        for entry in
            topic.is_dir().then(|| std::fs::read_dir(&topic).unwrap()).into_iter().flatten()
        {
            let path = entry.unwrap().path();
            let is_trace = path.extension().is_some_and(|end| end == "snap");
            assert!(!is_trace || scenarios.contains(&path), "{} has no scenario", path.display());
        }
    }
}
