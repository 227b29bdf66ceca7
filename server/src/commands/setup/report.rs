//! What `setup` says: lines for a person, or one JSON document.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use ::setup::apply::{Failure, Outcome};
use ::setup::clients::{Client, Finding, Scope, State};
use ::setup::file::Refusal;
use ::setup::unity;
use protocol::printable;
use serde_json::{Value, json};

use super::{shown, word};
use crate::commands::output::print_json;

/// What came of one client or file.
pub(super) struct Done {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    /// What a person does next, if something changed.
    pub(super) next: Option<String>,
    /// For programs.
    pub(super) more: Vec<(&'static str, Value)>,
    pub(super) file: Option<PathBuf>,
    pub(super) result: Result<Outcome, Failure>,
}

pub(super) struct Printer {
    json: bool,
    color: bool,
}

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        Self { json, color: is_wanted && std::io::stdout().is_terminal() }
    }

    /// For a person alone.
    pub(super) fn note(&self, text: &str) {
        if !self.json {
            print(&format!("{text}\n"));
        }
    }

    fn colored(&self, color: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{color}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// `plugin`: whether the Unity project around the working directory has it.
    pub(super) fn list(&self, findings: &[Finding], plugin: Option<&(bool, PathBuf)>) {
        if self.json {
            let clients: Vec<Value> = findings.iter().map(finding_json).collect();
            let plugin = plugin.map(
                |(is_there, project)| json!({ "project": shown(project), "installed": is_there }),
            );
            return print_json(&json!({ "clients": clients, "plugin": plugin }));
        }
        let is_shown = |finding: &&Finding| finding.is_installed || finding.state != State::Absent;
        let (mut text, mut missing) = (String::new(), Vec::new());
        for finding in findings.iter().filter(is_shown) {
            let color = match finding.state {
                State::Absent => "",
                State::Current => GREEN,
                State::Differs => YELLOW,
                State::Unreadable(_) => RED,
            };
            let state = self.colored(color, &format!("{:10}", finding.state.word()));
            let (id, file) = (finding.client.id, shown(&finding.file));
            text += &format!("{id:15} {state} {file}\n");
            if let State::Unreadable(refusal) = &finding.state {
                text += &format!("{:15} {:10} {}\n", "", "", printable(&refusal.to_string(), 300));
            }
        }
        for finding in findings.iter().filter(|finding| !is_shown(finding)) {
            if finding.scope == Scope::User {
                missing.push(finding.client.id);
            }
        }
        if text.is_empty() {
            text += "No client was found on this machine.\n";
        }
        if !missing.is_empty() {
            text += &format!("\nNot found: {}\n", missing.join(", "));
        }
        text += "\nAdd the server with `unity-mcp setup CLIENT`, or to all of them with `unity-mcp setup --all`.\n";
        if let Some((false, project)) = plugin {
            let (project, command) = (shown(project), unity::command());
            text += &format!(
                "The Unity project {project} does not have the plugin. Add it with: {command}\n"
            );
        }
        print(&text);
    }

    pub(super) fn snippets(&self, snippets: &[(&Client, Option<PathBuf>, String)]) {
        if self.json {
            let snippets: Vec<Value> = snippets
                .iter()
                .map(|(client, file, text)| {
                    json!({ "client": client.id, "file": file.as_deref().map(shown), "text": text })
                })
                .collect();
            return print_json(&json!({ "snippets": snippets }));
        }
        for (client, file, text) in snippets {
            // On stderr, so that stdout can go into a file.
            let place = file.as_deref().map(shown).unwrap_or_default();
            writeln!(std::io::stderr(), "{}: {place}", client.name).unwrap_or_default();
            print(text);
        }
    }

    pub(super) fn done(&self, done: &[Done], remove: bool) {
        if self.json {
            let results: Vec<Value> = done.iter().map(done_json).collect();
            return print_json(&json!({ "results": results }));
        }
        for done in done {
            let file = done.file.as_deref().map(shown).unwrap_or_default();
            let name = done.name;
            match &done.result {
                Ok(outcome) => {
                    let what = described(outcome, &file, remove);
                    print(&format!("{}: {what}\n", self.colored(GREEN, name)));
                    if let Some(next) = done.next.as_ref().filter(|_| has_changed(outcome)) {
                        print(&format!("  {next}\n"));
                    }
                }
                Err(failure) => {
                    let text = printable(&failed(failure, &file, done.id), 2_000);
                    let line = format!("unity-mcp: setup: {name}: {text}\n");
                    std::io::stderr().write_all(line.as_bytes()).unwrap_or_default();
                }
            }
        }
    }
}

fn has_changed(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Created
        | Outcome::Changed { .. }
        | Outcome::Deleted { .. }
        | Outcome::Ran { .. } => true,
        Outcome::Unchanged | Outcome::WouldChange { .. } | Outcome::WouldRun { .. } => false,
    }
}

fn described(outcome: &Outcome, file: &str, remove: bool) -> String {
    let kept = |backup: &Path| format!("an older copy is {}", shown(backup));
    match outcome {
        Outcome::Unchanged if remove => format!("nothing to do: {file} has no such entry"),
        Outcome::Unchanged => format!("nothing to do: {file} is current"),
        Outcome::Created => format!("created {file}"),
        Outcome::Changed { backup } if remove => {
            format!("removed from {file}; {}", kept(backup))
        }
        Outcome::Changed { backup } => format!("changed {file}; {}", kept(backup)),
        Outcome::Deleted { backup } => {
            format!("removed {file}, which had nothing else; {}", kept(backup))
        }
        Outcome::Ran { commands } => format!("ran {}", commands.join(", then ")),
        Outcome::WouldChange { diff } => {
            let lines = diff.lines().map(|line| printable(line, 1_000) + "\n");
            format!("would change {file}\n{}", lines.collect::<String>().trim_end())
        }
        Outcome::WouldRun { commands } => format!("would run {}", commands.join(", then ")),
    }
}

fn failed(failure: &Failure, file: &str, id: &str) -> String {
    let (problem, what_next) = match failure {
        Failure::File(Refusal::Content(problem)) => (
            format!("{file}: {problem}"),
            format!("Correct the file and try again{}.", or_paste(id)),
        ),
        Failure::File(Refusal::Kind(what)) => {
            (format!("{file} {what}"), format!("Change it and try again{}.", or_paste(id)))
        }
        Failure::File(Refusal::System(what)) => {
            (format!("{file} {what}"), "Try again when that is solved.".to_owned())
        }
        Failure::Impossible(why) => return format!("{why}; nothing was changed."),
        Failure::Command(why) => {
            return format!("{why}. Run it yourself to see all that it says.");
        }
    };
    format!("{problem}; nothing was changed. {what_next}")
}

fn or_paste(id: &str) -> String {
    match id {
        "unity" | "settings" => String::new(),
        id => format!(", or paste what `unity-mcp setup {id} --print` shows"),
    }
}

fn finding_json(finding: &Finding) -> Value {
    let scope = if finding.scope == Scope::Project { "project" } else { "user" };
    let mut value = json!({
        "client": finding.client.id,
        "name": finding.client.name,
        "scope": scope,
        "installed": finding.is_installed,
        "file": shown(&finding.file),
        "state": finding.state.word(),
    });
    if let Some(command) = &finding.command_path {
        put(&mut value, "command", json!(shown(command)));
    }
    if let Some(port) = finding.port {
        put(&mut value, "port", json!(port));
    }
    if let State::Unreadable(refusal) = &finding.state {
        put_refusal(&mut value, refusal);
    }
    value
}

fn done_json(done: &Done) -> Value {
    let file = done.file.as_deref().map(shown);
    let mut value = json!({ "client": done.id, "file": file });
    for (key, field) in &done.more {
        put(&mut value, key, field.clone());
    }
    match &done.result {
        Ok(outcome) => {
            put(&mut value, "outcome", json!(word(outcome)));
            match outcome {
                Outcome::Unchanged | Outcome::Created => {}
                Outcome::Changed { backup } | Outcome::Deleted { backup } => {
                    put(&mut value, "backup", json!(shown(backup)));
                }
                Outcome::Ran { commands } | Outcome::WouldRun { commands } => {
                    put(&mut value, "commands", json!(commands));
                }
                Outcome::WouldChange { diff } => put(&mut value, "diff", json!(diff)),
            }
            if let Some(next) = done.next.as_ref().filter(|_| has_changed(outcome)) {
                put(&mut value, "next", json!(next));
            }
        }
        Err(failure) => match failure {
            Failure::File(refusal) => {
                let is_system = matches!(refusal, Refusal::System(_));
                let outcome = if is_system { "failed" } else { "refused" };
                put(&mut value, "outcome", json!(outcome));
                put_refusal(&mut value, refusal);
            }
            Failure::Impossible(why) => {
                put(&mut value, "outcome", json!("refused"));
                put(&mut value, "message", json!(why));
            }
            Failure::Command(why) => {
                put(&mut value, "outcome", json!("failed"));
                put(&mut value, "message", json!(why));
            }
        },
    }
    value
}

fn put_refusal(value: &mut Value, refusal: &Refusal) {
    if let Refusal::Content(problem) = refusal {
        put(value, "line", json!(problem.line));
        put(value, "column", json!(problem.column));
        put(value, "message", json!(problem.message));
    } else {
        put(value, "message", json!(refusal.to_string()));
    }
}

fn put(value: &mut Value, key: &str, field: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), field);
    }
}

/// If stdout is closed, the exit code says how it ended.
fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap_or_default();
}
