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
    let path = write_plan(name, scenario)?;
    std::fs::write(path.with_extension("trace"), run.trace())?;
    let word = format!("{level:?}").to_lowercase();
    let command = format!("cargo run -p sim -- run {} --level {word} --trace", path.display());
    let source = Source::of(name, level, command, scenario);
    std::fs::write(path.with_extension("html"), picture::page(source, scenario, run))?;
    Ok(path)
}

/// Writes a scenario alone; returns its path.
pub(crate) fn write_plan(name: &str, scenario: &Scenario) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(FOLDER)?;
    let path = Path::new(FOLDER).join(format!("{name}.yaml"));
    std::fs::write(&path, scenario.text())?;
    Ok(path)
}

/// Says where the files are.
pub(crate) fn report(written: std::io::Result<PathBuf>) {
    match written {
        Ok(path) => println!("written to {}", path.display()),
        Err(problem) => println!("it could not be written: {problem}"),
    }
}
