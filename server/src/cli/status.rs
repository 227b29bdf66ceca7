//! `unity-mcp status`.

use clap::{ArgMatches, Command};
use unity_mcp::commands::status::Options;

use super::{flag, server_args, server_options};

const ABOUT: &str =
    "Show what the running server knows: project, Editor, queue, jobs and the last calls.

It only looks: no call of an agent waits for it, and it changes nothing.";

const AFTER_HELP: &str = "Examples:
  unity-mcp status           once
  unity-mcp status --watch   until Ctrl-C
  unity-mcp status --json    for a program

Exit codes: 0 a server answered, 2 bad flags or configuration, 4 there is no server.";

pub(super) fn command() -> Command {
    Command::new("status")
        .about("Show what the running server knows; see status --help")
        .long_about(ABOUT)
        .after_help(AFTER_HELP)
        .arg(flag("watch", "Show it again when something changes, until Ctrl-C"))
        .arg(flag("json", "Print one JSON object per line"))
        .args(server_args())
}

pub(super) fn options(matches: &ArgMatches) -> Options {
    Options {
        flags: server_options(matches).flags,
        watch: matches.get_flag("watch"),
        json: matches.get_flag("json"),
    }
}
