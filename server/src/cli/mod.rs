//! The command line: the server without a subcommand, and a file for each subcommand.

mod call;
mod certify;
mod completions;
mod doctor;
mod setup;
mod status;
mod verify;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use unity_mcp::commands::{self, ServerOptions};
use unity_mcp::config_loader::{Page, RawFlags, setting_flags};

const ABOUT: &str = "MCP server for the Unity Editor.

Listens on 127.0.0.1 for the Unity plugin (ws://127.0.0.1:PORT/unity) and for
agents (http://127.0.0.1:PORT/mcp). With --stdio it also serves the agent that
started it. You can start it before Unity: calls wait for the Editor.";

const AFTER_HELP: &str = "Examples:
  unity-mcp --stdio           for an agent that starts the server itself
  unity-mcp --port 8123       for agents over HTTP, at http://127.0.0.1:8123/mcp
  unity-mcp --print-config    show every setting and where its value comes from
  unity-mcp setup             add the server to MCP clients
  unity-mcp doctor            find out what keeps an agent from Unity
  unity-mcp call --list       call a tool from the shell
  unity-mcp verify            compile, test and check the console
  unity-mcp status            what the running server knows
  unity-mcp certify           check whether a Unity plugin keeps the rules

Settings are read from flags, then from unity-mcp.server.json (in the folder of
--project, in the working directory, or in the Unity project around it; or
--config FILE), then defaults apply. Every setting of the file has a flag of the
same name with dashes.

Exit codes: 0 stopped cleanly, 2 bad flags or configuration, 3 the port is in
use, 1 anything else.";

/// What the program is asked to do.
pub(crate) enum Asked {
    Serve(Arguments),
    Certify(::certify::Options),
    Call(commands::call::Options),
    Doctor(commands::doctor::Options),
    /// A generated text for stdout.
    Print(Vec<u8>),
    Verify(commands::verify::Options),
    Setup(commands::setup::Asked),
    Status(commands::status::Options),
}

pub(crate) struct Arguments {
    pub(crate) stdio: bool,
    pub(crate) print_config: bool,
    pub(crate) flags: RawFlags,
}

/// Exits the process for `--help`, `--version` and bad flags.
pub(crate) fn parse() -> Asked {
    let matches = command().get_matches();
    match matches.subcommand() {
        Some(("certify", matches)) => Asked::Certify(certify::options(matches)),
        Some(("call", matches)) => Asked::Call(call::options(matches)),
        Some(("doctor", matches)) => Asked::Doctor(doctor::options(matches)),
        Some(("completions", matches)) => Asked::Print(completions::script(matches, command())),
        Some(("man", matches)) => Asked::Print(completions::man(matches, command())),
        Some(("verify", matches)) => Asked::Verify(verify::options(matches)),
        Some(("setup", matches)) => Asked::Setup(setup::options(matches)),
        Some(("status", matches)) => Asked::Status(status::options(matches)),
        Some(_) | None => Asked::Serve(arguments(&matches)),
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
            page: page(matches),
            settings: settings.collect(),
        },
    }
}

fn page(matches: &ArgMatches) -> Page {
    match (matches.get_flag("no-page"), matches.get_flag("page-bodies")) {
        (true, _) => Page::Off,
        (false, true) => Page::WithBodies,
        (false, false) => Page::WithoutBodies,
    }
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

/// Which server a command is for.
fn server_args() -> [Arg; 3] {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    [
        option("port", "N", "Port of the server [default: its setting, or 8091]")
            .value_parser(value_parser!(u16).range(1..)),
        option("config", "FILE", "Read settings from FILE instead of unity-mcp.server.json")
            .value_parser(value_parser!(PathBuf)),
        option(
            "project",
            "DIR",
            "The Unity project [default: the one around the working directory]",
        )
        .value_parser(value_parser!(PathBuf)),
    ]
}

fn start_flag() -> Arg {
    flag("start", "If no server runs, start one that ends with this command")
}

fn server_options(matches: &ArgMatches) -> ServerOptions {
    let port: Option<u16> = matches.get_one("port").copied();
    let settings = port.map(|port| ("unity_ws_port".to_owned(), port.to_string()));
    ServerOptions {
        flags: RawFlags {
            config: matches.get_one("config").cloned(),
            project: matches.get_one("project").cloned(),
            settings: settings.into_iter().collect(),
            page: Page::default(),
        },
        // Only some commands have the flag.
        start: matches!(matches.try_get_one("start"), Ok(Some(true))),
    }
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
        .arg(
            flag("page-bodies", "Show arguments and results of calls on the page at http://127.0.0.1:PORT/")
                .conflicts_with("no-page"),
        )
        .arg(flag("no-page", "Do not serve the page that shows what happens"))
        .args(settings)
        .subcommand(certify::command())
        .subcommand(call::command())
        .subcommand(doctor::command())
        .subcommand(completions::command())
        .subcommand(completions::man_command())
        .subcommand(verify::command())
        .subcommand(setup::command())
        .subcommand(status::command())
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}
