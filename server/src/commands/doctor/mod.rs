//! `unity-mcp doctor`: what keeps an agent from Unity, one line per check. It reads and asks; it changes nothing.

mod clients;
mod editor;
mod files;
mod port;

use std::path::PathBuf;

use protocol::{Json, printable};
use serde_json::json;

use super::output::{GREEN, RED, RESET, YELLOW, complain, print, print_json, width, wrapped};
use super::session::ServerOptions;
use super::{EXIT_FAILED, EXIT_OK, EXIT_SIGNAL};
use crate::budget::COMMAND_TEXT_MAX;
use crate::config_loader::Config;
use crate::system::StopSignals;

pub struct Options {
    pub server: ServerOptions,
    pub json: bool,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    name: &'static str,
    state: State,
    fact: String,
    /// What to do, if there is something to do.
    action: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    Warn,
    Fail,
}

impl Check {
    fn ok(name: &'static str, fact: impl Into<String>) -> Self {
        Self { name, state: State::Ok, fact: fact.into(), action: None }
    }

    fn warn(name: &'static str, fact: impl Into<String>, action: impl Into<String>) -> Self {
        Self { name, state: State::Warn, fact: fact.into(), action: Some(action.into()) }
    }

    fn fail(name: &'static str, fact: impl Into<String>, action: impl Into<String>) -> Self {
        Self { name, state: State::Fail, fact: fact.into(), action: Some(action.into()) }
    }

    fn as_json(&self) -> Json {
        json!({
            "check": self.name, "state": self.state.text(), "fact": self.fact, "action": self.action,
        })
    }

    fn shown(&self) -> String {
        let (colour, state) = (self.state.colour(), self.state.text());
        let fact = printable(&self.fact, COMMAND_TEXT_MAX);
        let head = format!("{colour}{state:<4}{RESET}  {:<10} ", self.name);
        // Long facts go on below the first one.
        let text = textwrap::Options::new(width().saturating_sub(17).max(20));
        let lines = textwrap::wrap(&fact, text).join("\n                 ");
        let action = self.action.as_ref().map(|action| {
            let action = printable(action, COMMAND_TEXT_MAX);
            format!("{}\n", wrapped(&format!("-> {action}"), "                 "))
        });
        format!("{head}{lines}\n{}", action.unwrap_or_default())
    }
}

impl State {
    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Ok => GREEN,
            Self::Warn => YELLOW,
            Self::Fail => RED,
        }
    }
}

/// What several checks need to know.
struct Facts {
    config: Config,
    project: Option<PathBuf>,
    /// Whether an Editor has this project open, as far as its files tell.
    is_open: Option<bool>,
}

/// Returns the exit code.
pub async fn run(options: &Options) -> i32 {
    let mut signals = StopSignals::catch();
    tokio::select! {
        code = examine(options) => code,
        () = signals.next() => EXIT_SIGNAL,
    }
}

async fn examine(options: &Options) -> i32 {
    let config = match options.server.config() {
        Ok(config) => config,
        Err(error) => {
            if options.json {
                print_json(&json!({ "error": error.0 }));
            }
            complain("doctor", error.message());
            return error.exit_code();
        }
    };
    let project = config.project.clone().map(PathBuf::from);
    let mut checks = files::project(project.as_deref());
    let opened = project.as_deref().map(files::editor_instance);
    let is_open = opened.as_ref().and_then(|(is_open, _)| *is_open);
    let of_files = opened.map(|(_, check)| check);
    let facts = Facts { config, project, is_open };
    let (found, of_port) = port::port(&facts).await;
    let of_editor = match found {
        Some(client) => editor::editor(&facts, &client).await,
        None => editor::Seen::default(),
    };
    // Who is connected knows more than the files.
    checks.extend(of_files.map(|check| of_editor.open.clone().unwrap_or(check)));
    checks.extend(of_port);
    checks.extend(of_editor.checks);
    checks.push(files::token(&facts.config));
    checks.extend(clients::clients(&facts));
    checks.extend(files::wsl());
    let is_bad = checks.iter().any(|check| check.state == State::Fail);
    let code = if is_bad { EXIT_FAILED } else { EXIT_OK };
    if options.json {
        let listed: Json = checks.iter().map(Check::as_json).collect();
        print_json(&json!({ "exit_code": code, "checks": listed }));
    } else {
        print(&checks.iter().map(Check::shown).collect::<String>());
        print(&summary(&checks));
    }
    code
}

fn summary(checks: &[Check]) -> String {
    let count = |state: State| checks.iter().filter(|check| check.state == state).count();
    let (ok, warn, fail) = (count(State::Ok), count(State::Warn), count(State::Fail));
    format!("\n{ok} ok, {warn} warn, {fail} fail\n")
}
