//! The client's own command changes its file, where nobody else may.

use std::path::Path;
use std::process::{Command, Stdio as Pipe};

use serde_json::{Map, Value};

use crate::apply::{Failure, Outcome, Task, content, in_file};
use crate::clients::{Client, OwnCommand, Scope, State};
use crate::edit::{Content, Tree};
use crate::entry::Connection;
use crate::environment::Environment;
use crate::survey::{look, own_entry};

pub(crate) fn through_command(
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
    let old = own_entry(client, file, &task.wanted.name);
    let plan = plan(client, own, old.as_ref(), task)?;
    let shown_without_secrets = |args: &Vec<String>| shown(name, &without_secrets(args));
    let commands: Vec<String> = plan.steps.iter().map(shown_without_secrets).collect();
    if task.dry_run {
        return Ok(Outcome::WouldRun { commands });
    }
    for (place, args) in plan.steps.iter().enumerate() {
        let Err(why) = run(&program, args, &environment.directory) else { continue };
        let mut message = format!("`{}` failed: {why}", shown_without_secrets(args));
        if let Some(undo) = plan.undo.as_ref().filter(|_| place > 0) {
            message += &match run(&program, undo, &environment.directory) {
                Ok(()) => "; the old entry was put back".to_owned(),
                // Nobody else has the old entry now.
                Err(_) => {
                    format!("; the old entry is gone, bring it back with: {}", shown(name, undo))
                }
            };
        }
        return Err(Failure::Command(message));
    }
    let wanted = if task.remove { State::Absent } else { State::Current };
    if state() != wanted {
        let last = commands.last().map(String::as_str).unwrap_or_default();
        let message = format!("`{last}` ended well, but {} does not show it", file.display());
        return Err(Failure::Command(message));
    }
    Ok(Outcome::Ran { commands })
}

/// The arguments of its commands, in order.
struct Plan {
    steps: Vec<Vec<String>>,
    /// If a later step fails, this brings the old entry back.
    undo: Option<Vec<String>>,
}

fn plan(
    client: &Client,
    own: OwnCommand,
    old: Option<&Tree>,
    task: &Task,
) -> Result<Plan, Failure> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let name = task.wanted.name.as_str();
    let scope: &[&str] = match own {
        OwnCommand::Claude => &["--scope", "user"],
        OwnCommand::Codex => &[],
    };
    let remove = words(&[&["mcp", "remove"], scope, &[name]].concat());
    if task.remove {
        return Ok(Plan { steps: vec![remove], undo: None });
    }
    if let Some(old) = old {
        // It refuses to add what is there, and what it adds has no fields of the user.
        let add = |entry: &Value| {
            let json = entry.to_string();
            words(&[&["mcp", "add-json"], scope, &[name, &json]].concat())
        };
        let new = changed(old, &content(client, &task.wanted)?, &task.wanted.connection);
        return Ok(Plan { steps: vec![remove, add(&new)], undo: Some(add(&old.json())) });
    }
    let mut add = words(&[&["mcp", "add"], scope].concat());
    match (&task.wanted.connection, own) {
        (Connection::Stdio { program, args }, OwnCommand::Claude | OwnCommand::Codex) => {
            add.extend(words(&[name, "--", program]));
            add.extend(args.iter().cloned());
        }
        (Connection::Http { url }, OwnCommand::Claude) => {
            add.extend(words(&["--transport", "http", name, url]));
        }
        (Connection::Http { url }, OwnCommand::Codex) => add.extend(words(&[name, "--url", url])),
    }
    Ok(Plan { steps: vec![add], undo: None })
}

/// The new entry, with the fields of the user that the old one has.
fn changed(old: &Tree, content: &Content, connection: &Connection) -> Value {
    let (set, unset) = match content {
        Content::Value(value) => return value.clone(),
        Content::Fields { set, unset } => (set, unset),
    };
    let mut fields = match old.json() {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    fields.retain(|key, _| !unset.contains(&key.as_str()));
    if matches!(connection, Connection::Stdio { .. }) {
        fields.insert("type".to_owned(), Value::from("stdio"));
    }
    fields.extend(set.iter().cloned());
    Value::Object(fields)
}

/// What the user keeps in the environment or in headers may be secret, and what is shown ends up in logs.
fn without_secrets(args: &[String]) -> Vec<String> {
    let mut args = args.to_vec();
    let json = args.last_mut().filter(|word| word.starts_with('{'));
    if let Some((word, mut entry)) =
        json.and_then(|word| serde_json::from_str(word).ok().map(|entry: Value| (word, entry)))
    {
        for key in ["env", "headers"] {
            let fields = entry.get_mut(key).and_then(Value::as_object_mut);
            fields.into_iter().flatten().for_each(|(_, value)| *value = Value::from("…"));
        }
        *word = entry.to_string();
    }
    args
}

/// As a person types it.
fn shown(program: &str, args: &[String]) -> String {
    let words = args.iter().map(|word| shell_word(word));
    std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// In quotes, if a shell would not take it as one word.
pub fn shell_word(word: &str) -> String {
    let is_plain = |sign: char| {
        sign.is_ascii_alphanumeric() || "-_./:=@%+,".contains(sign) || !sign.is_ascii()
    };
    let is_plain = |sign: char| is_plain(sign) || (cfg!(windows) && sign == '\\');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if cfg!(windows) {
        return format!("\"{}\"", word.replace('"', "\\\""));
    }
    format!("'{}'", word.replace('\'', "'\\''"))
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
