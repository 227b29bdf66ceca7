//! One client: which file or command, and what came of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio as Pipe};

use similar::TextDiff;

use crate::clients::{Client, OwnCommand, Scope, State};
use crate::edit::{self, Change, Content, Edited, Location};
use crate::entry::{Connection, Wanted};
use crate::environment::Environment;
use crate::file::{self, Refusal};
use crate::survey::look;

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
    /// The old text is in the file `backup`.
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

fn content(client: &Client, wanted: &Wanted) -> Result<Content, Failure> {
    client.entry(&wanted.connection).ok_or_else(|| {
        let name = client.name;
        Failure::Impossible(format!(
            "{name} cannot take an HTTP server from its file; leave out --http"
        ))
    })
}

fn in_file(client: &Client, file: &Path, task: &Task) -> Result<Outcome, Failure> {
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
    let old = file::read(file, file::BYTES_MAX)?;
    let text = old.as_ref().map(|old| old.text.as_str());
    let before = file::before(file);
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

fn through_command(
    client: &'static Client,
    own: OwnCommand,
    environment: &Environment,
    file: &Path,
    task: &Task,
) -> Result<Outcome, Failure> {
    let state = || look(client, Scope::User, file.to_path_buf(), true, &task.wanted).state;
    let before = state();
    let is_done = match &before {
        State::Unreadable(refusal) => return Err(Failure::File(refusal.clone())),
        State::Absent => task.remove,
        State::Current => !task.remove,
        State::Differs => false,
    };
    if is_done {
        return Ok(Outcome::Unchanged);
    }
    let name = client.program.unwrap_or_default();
    let program = environment.program(name);
    let program = match (own, program) {
        (OwnCommand::Codex, None) => return in_file(client, file, task),
        // Its command would drop the fields of the user.
        (OwnCommand::Codex, Some(_)) if before != State::Absent && !task.remove => {
            return in_file(client, file, task);
        }
        (OwnCommand::Claude, None) => {
            return Err(Failure::Impossible(format!(
                "only {} itself may change {}, and its program {name} is not on the PATH; install it, or use --project",
                client.name,
                file.display()
            )));
        }
        (OwnCommand::Claude | OwnCommand::Codex, Some(program)) => program,
    };
    let arguments = own.arguments(&before, task);
    let commands: Vec<String> =
        arguments.iter().map(|args| format!("{name} {}", args.join(" "))).collect();
    if task.dry_run {
        return Ok(Outcome::WouldRun { commands });
    }
    for (args, shown) in arguments.iter().zip(&commands) {
        run(&program, args, &environment.directory)
            .map_err(|why| Failure::Command(format!("`{shown}` failed: {why}")))?;
    }
    let wanted = if task.remove { State::Absent } else { State::Current };
    if state() != wanted {
        let last = commands.last().map(String::as_str).unwrap_or_default();
        let message = format!("`{last}` ended well, but {} does not show it", file.display());
        return Err(Failure::Command(message));
    }
    Ok(Outcome::Ran { commands })
}

impl OwnCommand {
    /// Its commands, in order.
    fn arguments(self, before: &State, task: &Task) -> Vec<Vec<String>> {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let name = task.wanted.name.as_str();
        let scope: &[&str] = match self {
            Self::Claude => &["--scope", "user"],
            Self::Codex => &[],
        };
        let remove = words(&[&["mcp", "remove"], scope, &[name]].concat());
        if task.remove {
            return vec![remove];
        }
        let mut add = words(&[&["mcp", "add"], scope].concat());
        match (&task.wanted.connection, self) {
            (Connection::Stdio { program, args }, Self::Claude | Self::Codex) => {
                add.extend(words(&[name, "--", program]));
                add.extend(args.iter().cloned());
            }
            (Connection::Http { url }, Self::Claude) => {
                add.extend(words(&["--transport", "http", name, url]));
            }
            (Connection::Http { url }, Self::Codex) => add.extend(words(&[name, "--url", url])),
        }
        // It refuses to add what is there.
        if *before == State::Differs { vec![remove, add] } else { vec![add] }
    }
}

fn run(program: &Path, args: &[String], directory: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(directory).stdin(Pipe::null());
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said =
        [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).into_owned());
    let line = said.iter().flat_map(|text| text.lines()).find(|line| !line.trim().is_empty());
    let line = protocol::printable(line.unwrap_or("it said nothing").trim(), 300);
    Err(format!("{line} ({})", output.status))
}
