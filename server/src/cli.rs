//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use unity_mcp::config_loader::{RawFlags, setting_flags};

const ABOUT: &str = "MCP server for the Unity Editor.

Listens on 127.0.0.1 for the Unity plugin (ws://127.0.0.1:PORT/unity) and for
agents (http://127.0.0.1:PORT/mcp). With --stdio it also serves the agent that
started it. You can start it before Unity: calls wait for the Editor.";

const AFTER_HELP: &str = "Examples:
  unity-mcp --stdio           for an agent that starts the server itself
  unity-mcp --port 8123       for agents over HTTP, at http://127.0.0.1:8123/mcp
  unity-mcp --print-config    show every setting and where its value comes from
  unity-mcp certify           check whether a Unity plugin keeps the rules

Settings are read from flags, then from unity-mcp.server.json (in the folder of
--project, in the working directory, or in the Unity project around it; or
--config FILE), then defaults apply. Every setting of the file has a flag of the
same name with dashes.

Exit codes: 0 stopped cleanly, 2 bad flags or configuration, 3 the port is in
use, 1 anything else.";

const CERTIFY_ABOUT: &str = "Check whether a Unity plugin keeps the rules of docs/PROTOCOL.md.

Listens like the server, waits for a plugin to connect, and drives it through the checks. Stop a
server that uses the same port first. It reads the console and runs tests of the project; it changes
nothing in it.

Some checks need an Editor that compiles, reloads its domain or is blocked. At a terminal, it asks
you to do that in Unity. With --driver, a program does it.";

const CERTIFY_AFTER_HELP: &str = "Examples:
  unity-mcp certify                      for the Unity that is open now
  unity-mcp certify --only read_console  only the checks of one tool
  unity-mcp certify --port 0 --driver \"mock-unity --port {port} --reload 300ms\"

The driver takes words on stdin, as mock-unity does: compile 500ms, reload 300ms, freeze 1s,
log error \"text\", tests fail 1, tests pass, quit.

Exit codes: 0 no check failed, 1 a check failed, 2 bad flags, 3 the port is in use or no plugin
connected in time.";

/// What the program is asked to do.
pub(crate) enum Asked {
    Serve(Arguments),
    Certify(certify::Options),
}

pub(crate) struct Arguments {
    pub(crate) stdio: bool,
    pub(crate) print_config: bool,
    pub(crate) flags: RawFlags,
}

/// Exits the process for `--help`, `--version` and bad flags.
pub(crate) fn parse() -> Asked {
    let matches = command().get_matches();
    match matches.subcommand_matches("certify") {
        Some(matches) => Asked::Certify(certify_options(matches)),
        None => Asked::Serve(arguments(&matches)),
    }
}

fn certify_options(matches: &ArgMatches) -> certify::Options {
    let only = matches.get_many("only").unwrap_or_default();
    certify::Options {
        port: matches.get_one("port").copied().unwrap_or_default(),
        driver: matches.get_one("driver").cloned(),
        json: matches.get_flag("json"),
        only: only.cloned().collect(),
        wait: Duration::from_secs(matches.get_one("wait").copied().unwrap_or_default()),
        list: matches.get_flag("list"),
    }
}

fn arguments(matches: &ArgMatches) -> Arguments {
    let settings = setting_flags().filter_map(|flag| {
        let text: &String = matches.get_one(flag.setting)?;
        Some((flag.setting.to_owned(), text.clone()))
    });
    Arguments {
        stdio: matches.get_flag("stdio"),
        print_config: matches.get_flag("print-config"),
        flags: RawFlags {
            config: matches.get_one("config").cloned(),
            project: matches.get_one("project").cloned(),
            settings: settings.collect(),
        },
    }
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

fn certify_command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("certify")
        .about("Check whether a Unity plugin keeps the rules; see certify --help")
        .long_about(CERTIFY_ABOUT)
        .after_help(CERTIFY_AFTER_HELP)
        .arg(
            option("port", "N", "Port on 127.0.0.1; 0 takes a free one")
                .default_value("8091")
                .value_parser(value_parser!(u16)),
        )
        .arg(option(
            "driver",
            "COMMAND",
            "Start this program and type words on its stdin; {port} is replaced",
        ))
        .arg(
            option("only", "TEXT", "Only checks whose name contains TEXT; can be repeated")
                .action(ArgAction::Append),
        )
        .arg(
            option("wait", "SECONDS", "How long to wait for a plugin or a person")
                .default_value("60")
                .value_parser(value_parser!(u64).range(1..=3_600)),
        )
        .arg(flag("json", "Print one JSON object per line"))
        .arg(flag("list", "Show the checks, then exit"))
}

fn command() -> Command {
    let settings = setting_flags().map(|flag| {
        let is_frequent = flag.is_port() || flag.is_choice();
        let heading = (!is_frequent).then_some("Settings");
        let (is_switch, is_port) = (flag.is_switch(), flag.is_port());
        let argument = Arg::new(flag.setting)
            .long(flag.name)
            .value_name(flag.value_name)
            .help(flag.help)
            .help_heading(heading)
            .allow_hyphen_values(true);
        if is_port {
            argument.visible_alias("unity-ws-port")
        } else if is_switch {
            argument.num_args(0..=1).require_equals(true).default_missing_value("true")
        } else {
            argument
        }
    });
    Command::new("unity-mcp")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(AFTER_HELP)
        .max_term_width(100)
        .arg(flag("stdio", "Also serve an agent on stdin and stdout; stop when it disconnects"))
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .help("Read settings from FILE instead of unity-mcp.server.json")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("project")
                .long("project")
                .value_name("DIR")
                .help("Serve only the Unity project in DIR [default: the one around the working directory]")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(flag("print-config", "Show every setting and where its value comes from, then exit"))
        .args(settings)
        .subcommand(certify_command())
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}
