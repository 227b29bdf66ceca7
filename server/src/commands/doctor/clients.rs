//! Checks of the entries in the files of MCP clients.

use std::path::Path;

use setup::clients::{Finding, Scope, State, survey};
use setup::entry::{Connection, DEFAULT_NAME, Wanted};
use setup::environment::Environment;

use super::{Check, Facts};

const NAME: &str = "client";

pub(super) fn clients(facts: &Facts) -> Vec<Check> {
    let environment = Environment::here();
    let program = std::env::current_exe().unwrap_or_default().to_string_lossy().into_owned();
    let connection = Connection::Stdio { program, args: vec!["--stdio".to_owned()] };
    let wanted = Wanted { name: DEFAULT_NAME.to_owned(), connection };
    let findings = survey(&environment, facts.project.as_deref(), &wanted);
    let checks: Vec<Check> =
        findings.iter().filter_map(|finding| check(facts.config.port, finding)).collect();
    if checks.is_empty() {
        let action = "add the server to your clients with: unity-mcp setup";
        return vec![Check::warn(NAME, "no client has an entry for the server", action)];
    }
    checks
}

/// `None` if the client has no entry.
fn check(port: u16, finding: &Finding) -> Option<Check> {
    let place = place(finding);
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
    let again = format!("write the entry again with: unity-mcp setup {}", finding.client.id);
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
    format!("{} ({})", finding.client.name, finding.file.display())
}

/// A program without a folder is found by the client, in a PATH that is not known here.
fn is_missing(program: &Path) -> bool {
    program.is_absolute() && !program.is_file()
}
