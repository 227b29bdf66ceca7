//! One client: which file or command, and what came of it.

use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::clients::{Client, Scope};
use crate::edit::{self, Change, Content, Edited, Location};
use crate::entry::Wanted;
use crate::environment::Environment;
use crate::file::{self, Refusal};
use crate::own_command::through_command;

/// What shall be done.
#[derive(Clone, Debug)]
pub struct Task {
    pub wanted: Wanted,
    /// The files of this project instead of those of the user.
    pub project: Option<PathBuf>,
    pub remove: bool,
    /// Nothing is written and no command runs.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing had to be done.
    Unchanged,
    /// There is a new file.
    Created,
    /// The file `backup` has the old text, or the one before the first of several changes.
    Changed {
        backup: PathBuf,
    },
    /// The file had our entry alone; it is the file `backup` now.
    Deleted {
        backup: PathBuf,
    },
    /// The client's own command did it.
    Ran {
        commands: Vec<String>,
    },
    WouldChange {
        diff: String,
    },
    WouldRun {
        commands: Vec<String>,
    },
}

/// Why nothing was done, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The file was left alone.
    File(Refusal),
    /// There is no file or form for this.
    Impossible(String),
    /// The client's own command failed.
    Command(String),
}

#[derive(Debug)]
pub struct Report {
    pub scope: Scope,
    /// `None` if there is no such file.
    pub file: Option<PathBuf>,
    pub result: Result<Outcome, Failure>,
}

/// Adds or removes the entry of one client.
pub fn apply(client: &'static Client, environment: &Environment, task: &Task) -> Report {
    let project = task.project.as_deref().or_else(|| {
        // It has files of projects alone.
        client.user.is_empty().then_some(environment.directory.as_path())
    });
    let (scope, file) = match project {
        Some(project) => (Scope::Project, client.project_file(project)),
        None => (Scope::User, client.user_file(environment)),
    };
    let Some(file) = file else {
        let kind = if scope == Scope::Project { "project" } else { "user" };
        let message = format!("{} has no {kind} file on this system", client.name);
        return Report { scope, file: None, result: Err(Failure::Impossible(message)) };
    };
    let result = match client.command.filter(|_| scope == Scope::User) {
        Some(own) => through_command(client, own, environment, &file, task),
        None => in_file(client, &file, task),
    };
    Report { scope, file: Some(file), result }
}

pub(crate) fn content(client: &Client, wanted: &Wanted) -> Result<Content, Failure> {
    client.entry(&wanted.connection).ok_or_else(|| {
        let name = client.name;
        Failure::Impossible(format!(
            "{name} cannot take an HTTP server from its file; leave out --http"
        ))
    })
}

pub(crate) fn in_file(client: &Client, file: &Path, task: &Task) -> Result<Outcome, Failure> {
    let location = client.location(&task.wanted.name);
    if task.remove {
        return change(file, &location, None, task.dry_run).map_err(Failure::File);
    }
    let content = content(client, &task.wanted)?;
    change(file, &location, Some(&content), task.dry_run).map_err(Failure::File)
}

/// Sets the value at a place of a file, or removes it.
///
/// # Errors
/// The file cannot be edited safely, or the system refuses. The file is as it was.
pub fn change(
    file: &Path,
    location: &Location,
    content: Option<&Content>,
    dry_run: bool,
) -> Result<Outcome, Refusal> {
    let mut old = file::read(file, file::BYTES_MAX)?;
    let before = file::before(file);
    if let (Some(old), Some(before)) = (&mut old, &before) {
        old.keeps_backup = edit::is_from_before(before, &old.text, location);
    }
    let text = old.as_ref().map(|old| old.text.as_str());
    let change = match content {
        Some(content) => Change::Set(content),
        None => Change::Remove { before: before.as_deref() },
    };
    let edited = edit::edit(text.unwrap_or_default(), location, &change);
    let edited = edited.map_err(Refusal::Content)?;
    let new = match &edited {
        Edited::Same => return Ok(Outcome::Unchanged),
        Edited::New(new) => Some(new.as_str()),
        Edited::NothingLeft => None,
    };
    if dry_run {
        let diff = diff(file, text.unwrap_or_default(), new.unwrap_or_default());
        return Ok(Outcome::WouldChange { diff });
    }
    match (&old, new) {
        (Some(old), Some(new)) => {
            file::replace(file, Some(old), new)?;
            Ok(Outcome::Changed { backup: file::backup(file) })
        }
        (None, Some(new)) => file::replace(file, None, new).map(|()| Outcome::Created),
        (Some(old), None) => {
            file::remove(file, old)?;
            Ok(Outcome::Deleted { backup: file::backup(file) })
        }
        (None, None) => Ok(Outcome::Unchanged),
    }
}

fn diff(file: &Path, old: &str, new: &str) -> String {
    let name = file.display().to_string();
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(2).header(&name, &name).to_string()
}
