//! The files of scenarios: `scenarios/<topic>/<behaviour>.yaml` has the name `<topic>::<behaviour>`, and its trace is
//! beside it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::scenario::{self, Scenario};

pub struct ScenarioFile {
    /// `<topic>::<behaviour>`.
    pub name: String,
    pub path: PathBuf,
}

impl ScenarioFile {
    fn at(path: &Path) -> Self {
        let part = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let topic = part(path.parent().and_then(Path::file_name));
        let behaviour = part(path.file_stem());
        let name = if topic.is_empty() { behaviour } else { format!("{topic}::{behaviour}") };
        Self { name, path: path.to_owned() }
    }

    /// `Err` names the file, the position and a correction.
    pub fn read(&self) -> Result<Scenario, String> {
        let shown = self.path.display();
        let text = fs::read_to_string(&self.path).map_err(|error| format!("{shown}: {error}"))?;
        scenario::parse(&text).map_err(|problem| format!("{shown}: {problem}"))
    }
}

/// The scenarios of this workspace.
pub fn directory() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    // Relative, as a user would type it.
    root.strip_prefix(here).unwrap_or(root).join("scenarios")
}

/// All scenarios, by name.
pub fn all() -> Result<Vec<ScenarioFile>, String> {
    let mut files = Vec::new();
    for topic in entries(&directory())? {
        if topic.is_dir() {
            files.extend(in_directory(&topic)?);
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// `what` is a file, a directory, a topic or part of a name; `None` means all.
pub fn matching(what: Option<&str>) -> Result<Vec<ScenarioFile>, String> {
    let Some(what) = what else { return all() };
    let path = Path::new(what);
    if path.is_file() {
        return Ok(vec![ScenarioFile::at(path)]);
    }
    if path.is_dir() {
        let found = in_directory(path)?;
        let none = format!("there is no scenario in {what}");
        return if found.is_empty() { Err(none) } else { Ok(found) };
    }
    if path.extension().is_some_and(|end| end == "yaml") {
        return Err(format!("there is no file {what}"));
    }
    let mut found = all()?;
    let is_topic = |file: &ScenarioFile| file.name.starts_with(&format!("{what}::"));
    if found.iter().any(is_topic) {
        found.retain(is_topic);
    } else {
        found.retain(|file| file.name.contains(what) && !what.is_empty());
    }
    if found.is_empty() {
        return Err(format!("no scenario is called \"{what}\"; `sim list` shows them all"));
    }
    Ok(found)
}

fn in_directory(directory: &Path) -> Result<Vec<ScenarioFile>, String> {
    let paths = entries(directory)?;
    let yaml = paths.iter().filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    let mut files: Vec<ScenarioFile> = yaml.map(|path| ScenarioFile::at(path)).collect();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error: std::io::Error| format!("{}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(problem)?;
    let paths: Result<Vec<PathBuf>, String> =
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(problem)).collect();
    paths
}
