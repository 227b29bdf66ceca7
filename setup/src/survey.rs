//! What the clients of this machine say about the server.

use std::path::{Path, PathBuf};

use crate::clients::{CLIENTS, Client, OwnCommand};
use crate::edit::{self, Content, Tree};
use crate::entry::{Found, Wanted};
use crate::environment::Environment;
use crate::file::{self, Refusal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
}

/// One file of one client.
#[derive(Debug)]
pub struct Finding {
    pub client: &'static Client,
    pub scope: Scope,
    pub file: PathBuf,
    /// Whether the client is on this machine.
    pub is_installed: bool,
    pub state: State,
    /// The program that the entry starts, if it starts one.
    pub command_path: Option<PathBuf>,
    /// The port that the entry names, if it names one.
    pub port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no entry with the name, or no file.
    Absent,
    Current,
    /// The entry says something else.
    Differs,
    Unreadable(Refusal),
}

impl State {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Current => "current",
            Self::Differs => "differs",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// The user's file of every client, and with a project the files of it. Reads files and changes none.
pub fn survey(environment: &Environment, project: Option<&Path>, wanted: &Wanted) -> Vec<Finding> {
    let mut findings = Vec::new();
    for client in CLIENTS {
        let is_installed = client.is_installed(environment);
        let user = client.user_file(environment).map(|file| (Scope::User, file));
        let project = project.and_then(|project| client.project_file(project));
        let project = project.map(|file| (Scope::Project, file));
        for (scope, file) in user.into_iter().chain(project) {
            findings.push(look(client, scope, file, is_installed, wanted));
        }
    }
    findings
}

pub(crate) fn look(
    client: &'static Client,
    scope: Scope,
    file: PathBuf,
    is_installed: bool,
    wanted: &Wanted,
) -> Finding {
    let (state, found) = state(client, scope, &file, wanted);
    let command_path = found.as_ref().and_then(|found| found.command.clone()).map(PathBuf::from);
    let port = found.as_ref().and_then(Found::port);
    Finding { client, scope, file, is_installed, state, command_path, port }
}

/// The state of Claude Code holds its history too; it is read and never written.
fn is_live(client: &Client, scope: Scope) -> bool {
    scope == Scope::User && client.command == Some(OwnCommand::Claude)
}

fn bytes_max(client: &Client, scope: Scope) -> u64 {
    if is_live(client, scope) { file::LIVE_BYTES_MAX } else { file::BYTES_MAX }
}

/// The entry in the user's file, if the file can be read and has it.
pub(crate) fn own_entry(client: &Client, file: &Path, name: &str) -> Option<Tree> {
    let old = file::read(file, bytes_max(client, Scope::User)).ok()??;
    let tree = edit::parse(&old.text, client.format).ok()?;
    tree.get(&[client.key, name]).cloned()
}

fn state(client: &Client, scope: Scope, file: &Path, wanted: &Wanted) -> (State, Option<Found>) {
    let is_live = is_live(client, scope);
    let text = match file::read(file, bytes_max(client, scope)) {
        Ok(Some(old)) => old.text,
        Ok(None) => return (State::Absent, None),
        Err(refusal) => return (State::Unreadable(refusal), None),
    };
    let location = client.location(&wanted.name);
    let path: Vec<&str> = location.path.iter().map(String::as_str).collect();
    let tree = match edit::parse(&text, location.format) {
        Ok(tree) => tree,
        Err(problem) => return (State::Unreadable(Refusal::Content(problem)), None),
    };
    let Some(entry) = tree.get(&path) else { return (State::Absent, None) };
    let found = Found::read(entry);
    let content = client.entry(&wanted.connection);
    let is_current = content.is_some_and(|content| match (&content, is_live) {
        // It writes fields of its own, such as `type: "stdio"`.
        (Content::Fields { set, .. }, true) => {
            let content = Content::Fields { set: set.clone(), unset: Vec::new() };
            entry.says(&content)
        }
        (Content::Fields { .. } | Content::Value(_), _) => entry.says(&content),
    });
    (if is_current { State::Current } else { State::Differs }, Some(found))
}
