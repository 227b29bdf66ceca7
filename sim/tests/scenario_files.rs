//! What a scenario file can contain, and how mistakes are reported.

use std::collections::BTreeSet;
use std::path::Path;

use sim::levels::run::{Level, run};
use sim::scenario::{self, files};

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
fn unknown_keys_are_reported_with_line_column_and_a_suggestion() {
    let told = problem("steps:\n  - { at: 1s, unitty: drop }\nexpect: { executed: [] }");
    assert!(told.contains("line 3 column 15"), "{told}");
    assert!(told.contains("did you mean `unity`?"), "{told}");
    let told = problem("step: []\nexpect: { executed: [] }");
    assert!(told.contains("line 2 column 1") && told.contains("did you mean `steps`?"), "{told}");
    let told = problem("server: { queue_size: 3 }\nsteps: []\nexpect: { executed: [] }");
    assert!(told.contains("line 2 column 23") && told.contains("queue_max_size"), "{told}");
}

#[test]
fn wrong_values_are_reported_with_line_column_and_a_correction() {
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
        ("{ at: 1s, unity: drop, within: 1s }", "line 3 column 5", "belong to a call"),
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
#[expect(clippy::too_many_lines, reason = "one flat table")]
fn steps_that_contradict_each_other_are_rejected_at_their_position() {
    let call = "{ at: 1s, call: read_console, as: r1, ok: {} }";
    let open = "{ at: 1s, call: read_console, as: r1, unanswered: true }";
    let file = |head: &str, steps: &[&str], executed: &str| {
        let steps: String = steps.iter().map(|step| format!("  - {step}\n")).collect();
        problem(&format!("{head}\nsteps:\n{steps}expect: {{ executed: [{executed}] }}"))
    };
    for (head, steps, executed, place, told) in [
        ("", &[call, call][..], "", "line 5 column 5", "two calls are called r1"),
        ("", &[call], "r2", "line 5 column 22", "no call is called r2"),
        (
            "",
            &[call, &call.replace("as: r1", "as: r2, with: { client_request_id: r1 }")],
            "",
            "line 5",
            "same client_request_id",
        ),
        (
            "",
            &["{ at: 500ms, cancel: r1 }", call],
            "",
            "line 4",
            "no call before this is called r1",
        ),
        ("", &[open], "", "line 4", "it will be answered"),
        (
            "unity: { starts: 3s }",
            &["{ at: 1s, unity: drop }"],
            "",
            "line 4",
            "unity has not started",
        ),
        (
            "",
            &["{ at: 1s, network: partition agent->unity }"],
            "",
            "line 4",
            "there is a link from the server",
        ),
        (
            "",
            &["{ at: 1s, network: hold server }"],
            "",
            "line 4",
            "there is a link from the server",
        ),
        (
            "",
            &[
                "{ at: 1s, network: hold unity, for: 2s }",
                "{ at: 2s, network: lose server->unity }",
            ],
            "",
            "line 5",
            "one fault at a time",
        ),
        ("", &["{ at: 1s, server: start, for: 1s }"], "", "line 4", "with stop or crash"),
        (
            "agents: { ann: { via: stdio } }",
            &["{ at: 1s, server: crash, of: ann }"],
            "",
            "line 4",
            "ann has no server of its own",
        ),
        ("", &["{ at: 1s, unity: \"drop 1s\", of: ann }"], "", "line 4", "only server takes"),
        ("agents: { server2: { via: http } }", &[], "", "line 2 column 20", "cannot be called"),
        ("unity: { silent: true, protocol_version: 7 }", &[], "", "", "no protocol_version"),
        ("unity: { tests: { count: 0, takes: 1s } }", &[], "", "", "1 to 1000 tests"),
        ("lasts: 500ms", &[call], "", "", "make `lasts` longer"),
        ("lasts: 20m", &[call], "", "", "ten minutes at most"),
    ] {
        let problem = file(head, steps, executed);
        assert!(problem.contains(place) && problem.contains(told), "{told}: {problem}");
    }
    assert!(problem("steps: []\nexpect: {}").contains("executed: []"));
    assert!(problem("why: again\nsteps: []\nexpect: {}").contains("duplicate"));
    assert!(!problem("why: again\nsteps: []\nexpect: {}").contains("Policy"));
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

#[test]
fn only_the_traces_of_the_handshake_show_the_tools() {
    for file in files::all().unwrap() {
        let is_handshake = file.name.starts_with("handshake::");
        let shows = file.read().unwrap().shows_capabilities;
        assert_eq!(shows, is_handshake, "{}: `capabilities: true`", file.name);
        let trace = std::fs::read_to_string(file.path.with_extension("snap")).unwrap();
        let has_tools = trace.contains(" capability ");
        assert!(is_handshake || !has_tools, "{} shows a list of tools", file.name);
    }
}

#[test]
fn what_unity_says_reaches_no_terminal_raw() {
    let text = r#"
why: a test
steps:
  - { at: 500ms, unity: 'say {"type": "sh\u001b[31mrug", "\u001b[31m\u202ekey": 1, "protocol_version": 1}' }
  - { at: 600ms, unity: "log error \"raw\e[31m\u202E\u009b\"" }
  - { at: 1s, call: read_console, as: r1, ok: { count: 99 } }
expect: { executed: [r1] }
"#;
    let scenario = scenario::parse(text).unwrap();
    for level in Level::ALL {
        let run = run(level, &scenario);
        let shown = run.trace() + &run.failures.concat();
        assert!(shown.contains("\\u{1b}[31mrug") && shown.contains("count"), "{shown}");
        let is_odd = |sign: char| sign != '\n' && (sign.is_control() || sign == '\u{202e}');
        assert!(!shown.contains(is_odd), "{shown:?}");
    }
}
