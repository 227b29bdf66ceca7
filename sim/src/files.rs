//! Where scenarios lie and what they are called: `scenarios/<topic>/<behaviour>.yaml` is
//! `<topic>::<behaviour>`, and its trace lies beside it.

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
        let name = format!("{topic}::{}", part(path.file_stem()));
        Self { name, path: path.to_owned() }
    }

    /// `Err` names the file, the place in it and what would be right.
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
    // Shown as somebody would type it.
    root.strip_prefix(here).unwrap_or(root).join("scenarios")
}

/// All scenarios, by name.
pub fn all() -> Result<Vec<ScenarioFile>, String> {
    let root = directory();
    let mut files = Vec::new();
    for topic in entries(&root)? {
        if topic.is_dir() {
            let paths = entries(&topic)?;
            let yaml =
                paths.iter().filter(|path| path.extension().is_some_and(|end| end == "yaml"));
            files.extend(yaml.map(|path| ScenarioFile::at(path)));
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// What somebody means: a file, a topic, part of a name; nothing means all.
pub fn matching(what: Option<&str>) -> Result<Vec<ScenarioFile>, String> {
    let Some(what) = what else { return all() };
    let path = Path::new(what);
    if path.is_file() {
        return Ok(vec![ScenarioFile::at(path)]);
    }
    let mut found = all()?;
    found.retain(|file| file.name.contains(what));
    if found.is_empty() {
        return Err(format!("no scenario is called {what}; `sim list` shows them all"));
    }
    Ok(found)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error: std::io::Error| format!("{}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(problem)?;
    let paths: Result<Vec<PathBuf>, String> =
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(problem)).collect();
    paths
}
