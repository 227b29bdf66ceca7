//! `unity-mcp verify`.

use clap::{Arg, ArgMatches, Command};
use unity_mcp::commands::verify::Options;

use super::{flag, server_args, server_options, start_flag};

const ABOUT: &str = "Compile the scripts, run the tests, and look for new errors in the console.

One verdict for a pipeline or a hook: the exit code is 0 only if the scripts compile, every test \
passes and no error was logged meanwhile. If the scripts do not compile, nothing else runs.

The server must have catalogue 1.1.";

const AFTER_HELP: &str = "Examples:
  unity-mcp verify                          everything
  unity-mcp verify --mode edit --filter Enemy
  unity-mcp verify --json                   one object with every step

Compile errors are printed as file(line,column): error CODE: message.

Exit codes: 0 all is green, 1 something failed, 2 bad flags, 4 it did not run (also: no server, no \
Editor, catalogue 1.0), 5 unknown, 130 Ctrl-C. The first step that did not pass decides.";

pub(super) fn command() -> Command {
    Command::new("verify")
        .about("Compile, test and check the console; see verify --help")
        .long_about(ABOUT)
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("mode")
                .long("mode")
                .value_name("MODE")
                .help("Which tests to run")
                .value_parser(["all", "edit", "play"]),
        )
        .arg(
            Arg::new("filter")
                .long("filter")
                .value_name("TEXT")
                .help("Only tests whose full name contains TEXT"),
        )
        .arg(flag("json", "Print one JSON object, and no progress"))
        .arg(flag("quiet", "Show no progress").short('q'))
        .args(server_args())
        .arg(start_flag())
}

pub(super) fn options(matches: &ArgMatches) -> Options {
    Options {
        server: server_options(matches),
        mode: matches.get_one("mode").cloned(),
        filter: matches.get_one("filter").cloned(),
        json: matches.get_flag("json"),
        quiet: matches.get_flag("quiet"),
    }
}
