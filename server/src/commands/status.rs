//! `unity-mcp status`: what the running server knows, read from its page.

pub(super) mod look;
mod text;

use std::io::{self, IsTerminal as _, Write as _};

use protocol::printable_json;
use tokio::time::sleep;

use super::call_error::CallError;
use super::output::complain;
use crate::budget::STATUS_INTERVAL;
use crate::config_loader::{self, RawFlags};
use crate::system::{self, StopSignals};
use look::{Look, NoServer};

/// A server answers.
const EXIT_OK: i32 = 0;
const EXIT_USAGE: i32 = 2;
/// There is no server.
const EXIT_NO_SERVER: i32 = 4;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--port`, `--config` and `--project`, as the server has them.
    pub flags: RawFlags,
    /// Show it again when something changes, until Ctrl-C.
    pub watch: bool,
    /// As JSON.
    pub json: bool,
}

/// Returns the exit code.
pub async fn run(options: Options) -> i32 {
    let directory = std::env::current_dir().unwrap_or_default();
    let port = match config_loader::load(&options.flags, &directory) {
        Ok(config) => config.port,
        Err(error) => {
            refused(&CallError::usage(error.to_string()), options.json);
            return EXIT_USAGE;
        }
    };
    if options.watch {
        return watch(port, options.json).await;
    }
    match look::take(port).await {
        Ok(look) => {
            print(&shown(&look, options.json));
            EXIT_OK
        }
        Err(missing) => {
            refused(&missing.error(port), options.json);
            EXIT_NO_SERVER
        }
    }
}

/// At a terminal the same place is written again; in a pipe only what has changed is written.
async fn watch(port: u16, json: bool) -> i32 {
    let mut signals = StopSignals::catch();
    let redraws = io::stdout().is_terminal() && !json;
    let mut last = String::new();
    loop {
        let look = tokio::select! {
            () = signals.next() => return EXIT_OK,
            look = look::take(port) => look,
        };
        let text = watched(port, look, json);
        if text != last {
            let home = if redraws { "\u{1b}[H\u{1b}[2J" } else { "" };
            if !print(&format!("{home}{text}")) {
                return EXIT_OK; // Nobody reads it any more.
            }
            last = text;
        }
        tokio::select! {
            () = signals.next() => return EXIT_OK,
            () = sleep(STATUS_INTERVAL) => {}
        }
    }
}

fn watched(port: u16, look: Result<Look, NoServer>, json: bool) -> String {
    match look {
        Ok(look) => shown(&look, json),
        Err(missing) if json => {
            format!("{}\n", serde_json::json!({ "error": missing.error(port).0 }))
        }
        Err(missing) => format!("{}\n", missing.sentence(port)),
    }
}

fn shown(look: &Look, json: bool) -> String {
    if json {
        return format!("{}\n", printable_json(&look.json().to_string()));
    }
    text::lines(look, has_colours())
}

fn has_colours() -> bool {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !no_colour && system::shows_colours()
}

/// False if stdout is closed.
fn print(text: &str) -> bool {
    let mut stdout = io::stdout();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}

fn refused(error: &CallError, json: bool) {
    if json {
        print(&format!(
            "{}\n",
            printable_json(&serde_json::json!({ "error": error.0 }).to_string())
        ));
    }
    complain("status", error.message());
}
