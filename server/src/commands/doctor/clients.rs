//! Checks of the entries in the files of MCP clients.

use std::path::Path;

use setup::clients::{Finding, Scope, State, survey_all_names};
use setup::entry::{Connection, DEFAULT_NAME, Wanted};
use setup::environment::Environment;
use setup::own_command::shell_word;

use super::{Check, Facts};

const NAME: &str = "client";

pub(super) fn clients(facts: &Facts) -> Vec<Check> {
    let environment = Environment::here();
    let program = std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
    let connection = Connection::Stdio { program, args: vec!["--stdio".to_owned()] };
    let wanted = Wanted { name: DEFAULT_NAME.to_owned(), connection };
    let findings = survey_all_names(&environment, facts.project.as_deref(), &wanted);
    let checks: Vec<Check> = findings.iter().filter_map(|finding| check(facts, finding)).collect();
    if checks.is_empty() {
        let action = "add the server to your clients with: unity-mcp setup";
        return vec![Check::warn(NAME, "no client has an entry for the server", action)];
    }
    checks
}

/// `None` if the client has no entry.
fn check(facts: &Facts, finding: &Finding) -> Option<Check> {
    let (port, place) = (facts.config.port, place(finding));
    match &finding.state {
        State::Absent => return None,
        State::Unreadable(_) if !finding.is_installed && finding.scope == Scope::User => {
            return None;
        }
        State::Unreadable(refusal) => {
            let fact = format!("{place} cannot be read: {refusal}");
            return Some(Check::warn(NAME, fact, "repair the file"));
        }
        State::Current | State::Differs => {}
    }
    let again = format!("write the entry again with: {}", command(facts, finding));
    if let Some(program) = finding.command_path.as_deref().filter(|path| is_missing(path)) {
        let fact = format!("{place} starts {}, which does not exist", program.display());
        return Some(Check::fail(NAME, fact, again));
    }
    match finding.port {
        Some(other) if other != port => {
            let fact =
                format!("{place} names port {other}, and the server of this folder has {port}");
            Some(Check::warn(NAME, fact, again))
        }
        Some(_) | None => Some(Check::ok(NAME, format!("{place} has the entry"))),
    }
}

fn place(finding: &Finding) -> String {
    let (client, file) = (finding.client.name, finding.file.display());
    match finding.name.as_str() {
        DEFAULT_NAME => format!("{client} ({file})"),
        name => format!("{client} ({file}, entry \"{name}\")"),
    }
}

/// What changes this file and this entry.
fn command(facts: &Facts, finding: &Finding) -> String {
    let mut command = format!("unity-mcp setup {}", finding.client.id);
    if finding.name != DEFAULT_NAME {
        command += &format!(" --name {}", shell_word(&finding.name));
    }
    // A client with files of projects alone needs no flag in the folder of the project.
    let project = facts.project.as_ref().filter(|_| finding.scope == Scope::Project);
    if let Some(project) = project {
        command += &format!(" --project {}", shell_word(&project.to_string_lossy()));
    }
    command
}

/// A program without a folder is found by the client, in a PATH that is not known here.
fn is_missing(program: &Path) -> bool {
    program.is_absolute() && !program.is_file()
}
