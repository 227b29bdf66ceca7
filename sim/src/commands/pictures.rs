//! The commands that draw: html, svg, diff.

use std::path::Path;
use std::process::ExitCode;

use page::{Entry, Finished};
use sim::levels::run::{self, Level};
use sim::record::picture::{self, Source};
use sim::scenario::Scenario;
use sim::scenario::files::{self, ScenarioFile};

use super::scenario::{read_with_seed, usage_error};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Theme {
    Light,
    Dark,
}

pub(crate) fn html(what: &str, seed: Option<u64>, output: &Path) -> ExitCode {
    write_one(what, seed, output, page::finished)
}

pub(crate) fn svg(what: &str, theme: Theme, output: &Path) -> ExitCode {
    let theme = match theme {
        Theme::Light => page::Theme::Light,
        Theme::Dark => page::Theme::Dark,
    };
    write_one(what, None, output, |run| page::svg(run, theme))
}

fn write_one(
    what: &str,
    seed: Option<u64>,
    output: &Path,
    draw: impl Fn(&Finished) -> String,
) -> ExitCode {
    let scenarios = match read_with_seed(Some(what), seed) {
        Ok(scenarios) => scenarios,
        Err(problem) => return usage_error(&problem),
    };
    let [(file, scenario)] = scenarios.as_slice() else {
        let names: Vec<&str> = scenarios.iter().map(|(file, _)| file.name.as_str()).collect();
        return usage_error(&format!("name one scenario; {what} matches {}", names.join(", ")));
    };
    match write(output, &draw(&finished(file, scenario, seed))) {
        Ok(()) => {
            println!("{} is drawn in {}", file.name, output.display());
            ExitCode::SUCCESS
        }
        Err(problem) => usage_error(&problem),
    }
}

/// A page for every scenario, and one that lists them.
pub(crate) fn all(seed: Option<u64>, folder: &Path) -> ExitCode {
    let scenarios = match read_with_seed(None, seed) {
        Ok(scenarios) => scenarios,
        Err(problem) => return usage_error(&problem),
    };
    let mut entries = Vec::new();
    for (file, scenario) in &scenarios {
        let mut run = finished(file, scenario, seed);
        run.index = Some("index.html".to_owned());
        let (topic, name) = file.name.split_once("::").unwrap_or(("", &file.name));
        let address = format!("{}.html", file.name.replace("::", "-"));
        if let Err(problem) = write(&folder.join(&address), &page::finished(&run)) {
            return usage_error(&problem);
        }
        entries.push(Entry { address, topic: topic.to_owned(), name: name.to_owned(), run });
    }
    let failed = entries.iter().filter(|entry| !entry.run.has_passed()).count();
    if let Err(problem) = write(&folder.join("index.html"), &page::index(&entries)) {
        return usage_error(&problem);
    }
    println!("{} scenarios are drawn in {}, {failed} failed", entries.len(), folder.display());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

pub(crate) fn diff(one: &Path, other: &Path, output: &Path) -> ExitCode {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let texts = read(one).and_then(|text| Ok((text, read(other)?)));
    let (text, other_text) = match texts {
        Ok(texts) => texts,
        Err(problem) => return usage_error(&problem),
    };
    let names = (one.display().to_string(), other.display().to_string());
    match write(output, &page::diff((&names.0, &text), (&names.1, &other_text))) {
        Ok(()) => {
            println!("the difference is drawn in {}", output.display());
            ExitCode::SUCCESS
        }
        Err(problem) => usage_error(&problem),
    }
}

fn finished(file: &ScenarioFile, scenario: &Scenario, seed: Option<u64>) -> Finished {
    let run = run::run(Level::Full, scenario);
    let seed = seed.map(|seed| format!(" --seed {seed}")).unwrap_or_default();
    let is_ours = file.path.starts_with(files::directory());
    let what = if is_ours { file.name.clone() } else { file.path.display().to_string() };
    let command = format!("cargo run -p sim -- run {what}{seed} --trace");
    let yaml = std::fs::read_to_string(&file.path).unwrap_or_else(|_| scenario.text());
    let source = Source { name: &file.name, level: Level::Full, command, yaml };
    picture::finished(source, scenario, &run)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|error| format!("{}: {error}; nothing was drawn there", path.display()))
}
