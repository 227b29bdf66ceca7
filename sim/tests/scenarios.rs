//! Each scenario is one test: `cargo test -p sim --test scenarios reconnect::`.

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use sim::levels::run::{Level, run};
use sim::record::picture::{self, Source};
use sim::scenario::Scenario;
use sim::scenario::files::{self, ScenarioFile};

/// Where the page of a scenario that fails is written.
const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/sim-failures");

fn main() {
    let arguments = Arguments::from_args();
    let files = files::all().unwrap_or_default();
    let enough = Trial::test("there_are_scenarios", {
        let count = files.len();
        move || if count >= 45 { Ok(()) } else { Err(format!("only {count} were found").into()) }
    });
    let scenarios = files.into_iter().map(|file| {
        let name = file.name.clone();
        Trial::test(name, move || check(&file))
    });
    libtest_mimic::run(&arguments, scenarios.chain([enough]).collect()).exit();
}

fn check(file: &ScenarioFile) -> Result<(), Failed> {
    let scenario = file.read()?;
    let run = run(Level::Full, &scenario);
    let trace = run.trace();
    let checked = if run.failures.is_empty() {
        hold_at_other_levels(&scenario)?;
        let shown = std::panic::AssertUnwindSafe(|| compare(file, &scenario.why, &trace));
        std::panic::catch_unwind(shown).map_err(|_| {
            "the trace differs from the one beside the scenario; docs/TESTING.md says how to accept it"
                .into()
        })
    } else {
        Err(format!("{trace}\n{}", run.failures.join("\n")).into())
    };
    if checked.is_err() {
        let page = Path::new(PAGES).join(file.name.replace("::", "-") + ".html");
        std::fs::create_dir_all(PAGES)?;
        let command = format!("cargo run -p sim -- run {} --trace", file.name);
        let source = Source::of(&file.name, Level::Full, command, &scenario);
        std::fs::write(page, picture::page(source, &scenario, &run))?;
    }
    checked
}

/// The expectations must hold at every level. The trace is the one of the full level.
fn hold_at_other_levels(scenario: &Scenario) -> Result<(), Failed> {
    for level in [Level::Core, Level::Shell] {
        if level.fits(scenario).is_ok() {
            let failures = run(level, scenario).failures;
            if !failures.is_empty() {
                return Err(format!("at the {level:?} level: {}", failures.join("\n")).into());
            }
        }
    }
    Ok(())
}

/// The trace is beside the scenario; review a change of it as a diff.
fn compare(file: &ScenarioFile, why: &str, trace: &str) {
    let mut settings = insta::Settings::new();
    let directory = file.path.parent().unwrap_or(Path::new("."));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    settings.set_snapshot_path(root.join(directory));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(why);
    let name = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    settings.bind(|| insta::assert_snapshot!(name, trace));
}
