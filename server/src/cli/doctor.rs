//! `unity-mcp doctor`.

use clap::{ArgMatches, Command};
use unity_mcp::commands::doctor::Options;

use super::{flag, server_args, server_options};

const ABOUT: &str = "Find out what keeps an agent from Unity.

One line per check: the project and its plugin, the Editor, the port and who has it, what the running \
server knows, the token, the entries of MCP clients. It changes nothing. Run it in the folder of the \
Unity project.";

const AFTER_HELP: &str = "Examples:
  unity-mcp doctor                       in the folder of the project
  unity-mcp doctor --project ../Game
  unity-mcp doctor --json                one object, for a program

Exit codes: 0 nothing failed (there may be warnings), 1 a check failed, 2 bad flags or configuration, \
130 Ctrl-C.";

pub(super) fn command() -> Command {
    Command::new("doctor")
        .about("Find out what keeps an agent from Unity; see doctor --help")
        .long_about(ABOUT)
        .after_help(AFTER_HELP)
        .arg(flag("json", "Print one JSON object"))
        .args(server_args())
}

pub(super) fn options(matches: &ArgMatches) -> Options {
    Options { server: server_options(matches), json: matches.get_flag("json") }
}
