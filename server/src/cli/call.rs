//! `unity-mcp call`.

use clap::{Arg, ArgMatches, Command};
use unity_mcp::commands::call::{Asked, Options};

use super::{flag, server_args, server_options, start_flag};

const ABOUT: &str = "Call a tool of the running server.

The result goes to stdout as JSON, progress and errors go to stderr. The call waits while Unity \
compiles, reloads or reconnects, as the calls of an agent do. Ctrl-C cancels it.

Write arguments as --NAME VALUE, as one JSON object, or - to read the object from stdin. Dashes and \
underscores in names are the same. Repeat a list, or separate its words with commas.";

const AFTER_HELP: &str = "Examples:
  unity-mcp call --list                         the tools and their arguments
  unity-mcp call read_console --types error,warning --max-entries 10
  unity-mcp call run_tests --mode edit --wait   returns when the tests have ended
  unity-mcp call get_job_status '{\"job_id\":\"job-a4c5x3zn-2\"}'
  unity-mcp call read_console --start           starts a server for this call

Exit codes: 0 ok, 1 it ran and failed (also a job that failed), 2 the command or an argument is wrong, \
4 it did not run (also: no server), 5 unknown: it may have run, 130 Ctrl-C.";

/// The flags that may stand behind the arguments of the tool too, and those of them that have a value.
const SWITCHES: [&str; 6] = ["--json", "--quiet", "--wait", "--start", "--list", "--help"];
const WITH_VALUE: [&str; 3] = ["--port", "--config", "--project"];

pub(super) fn command() -> Command {
    Command::new("call")
        .about("Call a tool of the running server; see call --help")
        .long_about(ABOUT)
        .after_help(AFTER_HELP)
        .arg(Arg::new("tool").value_name("TOOL").help("Name of the tool"))
        .arg(
            Arg::new("arguments")
                .value_name("ARGUMENTS")
                .help("--NAME VALUE …, one JSON object, or - for stdin")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true),
        )
        .arg(flag("list", "Show the tools, or only TOOL, with their arguments"))
        .arg(flag("wait", "Wait until the job of the call has ended"))
        .arg(flag("json", "Print {\"result\": …} or {\"error\": …} on stdout"))
        .arg(flag("quiet", "Show no progress").short('q'))
        .args(server_args())
        .arg(start_flag())
}

pub(super) fn options(matches: &ArgMatches) -> Options {
    let words: Vec<String> =
        matches.get_many("arguments").unwrap_or_default().cloned().collect::<Vec<String>>();
    let (own, arguments) = split(words);
    // They may stand before the tool and behind its arguments.
    let behind = (!own.is_empty()).then(|| {
        let line = std::iter::once("unity-mcp call".to_owned()).chain(own);
        command().get_matches_from(line)
    });
    let is_set = |name: &str| {
        matches.get_flag(name) || behind.as_ref().is_some_and(|behind| behind.get_flag(name))
    };
    let mut server = server_options(matches);
    if let Some(behind) = behind.as_ref().map(server_options) {
        server.start |= behind.start;
        server.flags.config = behind.flags.config.or(server.flags.config);
        server.flags.project = behind.flags.project.or(server.flags.project);
        server.flags.settings.extend(behind.flags.settings);
    }
    let tool: Option<String> = matches.get_one("tool").cloned();
    let asked = match tool {
        Some(tool) if !is_set("list") => Asked::Call { tool, arguments, wait: is_set("wait") },
        Some(_) | None if is_set("list") => Asked::List(tool),
        Some(_) | None => command()
            .bin_name("unity-mcp call")
            .error(
                clap::error::ErrorKind::MissingRequiredArgument,
                "name a tool; unity-mcp call --list shows them",
            )
            .exit(),
    };
    Options { server, asked, json: is_set("json"), quiet: is_set("quiet") }
}

/// Our own flags among the arguments of the tool, and those arguments.
fn split(words: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (mut own, mut arguments) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if SWITCHES.contains(&word.as_str()) || word == "-q" {
            own.push(word);
        } else if WITH_VALUE.contains(&name) {
            let value = if name == word { words.next() } else { None };
            own.push(word);
            own.extend(value);
        } else {
            arguments.push(word);
        }
    }
    (own, arguments)
}
