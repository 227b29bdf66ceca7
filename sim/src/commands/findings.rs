//! Findings: runs that break a promise or an expectation, kept in files.

use std::path::{Path, PathBuf};

use sim::levels::run::{Level, Run};
use sim::record::picture::{self, Source};
use sim::scenario::Scenario;

const FOLDER: &str = "target/sim-failures";

/// Writes a scenario with its trace and page; returns the path of the scenario. To keep a plan that finds something, give
/// it a better `why` and commit it.
pub(crate) fn write(
    name: &str,
    level: Level,
    scenario: &Scenario,
    run: &Run,
) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(FOLDER)?;
    let path = Path::new(FOLDER).join(format!("{name}.yaml"));
    std::fs::write(&path, scenario.text())?;
    std::fs::write(path.with_extension("trace"), run.trace())?;
    let word = format!("{level:?}").to_lowercase();
    let command = format!("cargo run -p sim -- run {} --level {word} --trace", path.display());
    let source = Source::of(name, level, command, scenario);
    std::fs::write(path.with_extension("html"), picture::page(source, scenario, run))?;
    Ok(path)
}
