//! The command line.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use unity_mcp::config_loader::{RawFlags, setting_flags};

const ABOUT: &str = "MCP server for the Unity Editor.

Listens on 127.0.0.1 for the Unity plugin (ws://127.0.0.1:PORT/unity) and for
agents (http://127.0.0.1:PORT/mcp). With --stdio it also serves the agent that
started it. You can start it before Unity: calls wait for the Editor.";

const AFTER_HELP: &str = "Examples:
  unity-mcp --stdio           for an agent that starts the server itself
  unity-mcp --port 8123       for agents over HTTP, at http://127.0.0.1:8123/mcp
  unity-mcp --print-config    show every setting and where its value comes from

Settings are read from flags, then from unity-mcp.server.json (in the folder of
--project, in the working directory, or in the Unity project around it; or
--config FILE), then defaults apply. Every setting of the file has a flag of the
same name with dashes.

Exit codes: 0 stopped cleanly, 2 bad flags or configuration, 3 the port is in
use, 1 anything else.";

pub(crate) struct Arguments {
    pub(crate) stdio: bool,
    pub(crate) print_config: bool,
    pub(crate) flags: RawFlags,
}

/// Exits the process for `--help`, `--version` and bad flags.
pub(crate) fn parse() -> Arguments {
    let matches = command().get_matches();
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

fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
    };
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
}
