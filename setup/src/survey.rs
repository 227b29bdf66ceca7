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
    /// The name of the entry.
    pub name: String,
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
        // A client that has files of projects alone is used in this folder.
        let here = Some(environment.directory.as_path());
        let folder = project.or(here.filter(|_| client.user.is_empty() && is_installed));
        let project = folder.and_then(|folder| client.project_file(folder));
        let project = project.map(|file| (Scope::Project, file));
        for (scope, file) in user.into_iter().chain(project) {
            findings.push(look(client, scope, file, is_installed, wanted));
        }
    }
    findings
}

/// As [`survey`], and each entry that starts this program under another name.
pub fn survey_all_names(
    environment: &Environment,
    project: Option<&Path>,
    wanted: &Wanted,
) -> Vec<Finding> {
    let findings = survey(environment, project, wanted).into_iter().flat_map(|finding| {
        let names = other_names(&finding);
        let others: Vec<Finding> = names
            .into_iter()
            .map(|name| {
                let wanted = Wanted { name, connection: wanted.connection.clone() };
                let Finding { client, scope, is_installed, .. } = finding;
                look(client, scope, finding.file.clone(), is_installed, &wanted)
            })
            .collect();
        std::iter::once(finding).chain(others)
    });
    findings.collect()
}

fn other_names(finding: &Finding) -> Vec<String> {
    let client = finding.client;
    let old = file::read(&finding.file, bytes_max(client, finding.scope)).ok().flatten();
    let tree = old.and_then(|old| edit::parse(&old.text, client.format).ok());
    let servers = tree.as_ref().and_then(|tree| tree.field(client.key));
    let names = servers.map(Tree::names).unwrap_or_default().into_iter();
    let is_ours = |name: &str| {
        let entry = servers.and_then(|servers| servers.field(name));
        entry.is_some_and(|entry| Found::read(entry).is_ours())
    };
    names.filter(|name| *name != finding.name && is_ours(name)).map(str::to_owned).collect()
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
    let name = wanted.name.clone();
    Finding { client, name, scope, file, is_installed, state, command_path, port }
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
