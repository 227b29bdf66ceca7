//! `unity-mcp setup`.

use std::path::PathBuf;

use ::setup::clients::CLIENTS;
use ::setup::entry::DEFAULT_NAME;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use unity_mcp::commands::setup::{Asked, ClientOptions, UnityOptions};

use super::flag;

const ABOUT: &str =
    "Add the server to the configuration of MCP clients, or the plugin to a Unity project.

Without a client, it lists the clients of this machine and what their files say. With clients, it
adds the entry \"unity\" to the file of each. It changes this entry and nothing else: comments,
order and layout stay. A file that it cannot change safely stays as it is. The old text is kept in
FILE.unity-mcp.bak.";

const AFTER_HELP: &str = "Examples:
  unity-mcp setup                        list the clients of this machine
  unity-mcp setup cursor vscode          add the server to two clients
  unity-mcp setup --all --dry-run        show what would change, and change nothing
  unity-mcp setup claude-code --project  add it to .mcp.json in this folder
  unity-mcp setup cursor --remove        take it out again
  unity-mcp setup unity --source DIR     add the plugin to the Unity project around this folder

Exit codes: 0 done, 1 something failed, 2 bad flags, or a file that cannot be changed safely.";

const UNITY_ABOUT: &str = "Add the plugin to a Unity project.

Adds the package to Packages/manifest.json. If another project or program uses the port 8091
now, it also writes a free port into unity-mcp.server.json, which the server and the plugin read.";

const UNITY_AFTER_HELP: &str = "Examples:
  unity-mcp setup unity --source ~/unity-mcp/unity-plugin   the project around this folder
  unity-mcp setup unity Game --source DIR --port 8123       the project in Game, with a port of its own
  unity-mcp setup unity --source DIR --dry-run              show what would change
  unity-mcp setup unity --remove                            take the plugin out again

Exit codes: 0 done, 1 something failed, 2 bad flags, no such project or package, or a file that cannot \
be changed safely.";

pub(super) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let ids = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.id));
    Command::new("setup")
        .about("Add the server to MCP clients, or the plugin to a Unity project; see setup --help")
        .long_about(ABOUT)
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("client")
                .value_name("CLIENT")
                .help("Which clients")
                .action(ArgAction::Append)
                .value_parser(ids),
        )
        .arg(flag("all", "Every client that is found on this machine").conflicts_with("client"))
        .arg(
            option("project", "DIR", "Use the files of a project [default: the working directory]")
                .num_args(0..=1)
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(flag("http", "Connect to a server that runs, instead of starting one"))
        .arg(
            option("port", "N", "Port of the server [default: its setting, or 8091]")
                .value_parser(value_parser!(u16).range(1..)),
        )
        .arg(
            option("name", "NAME", "Name of the entry")
                .default_value(DEFAULT_NAME)
                .value_parser(name),
        )
        .arg(
            option("catalog", "VERSION", "Which tools the server has")
                .value_parser(["1.0", "1.1"])
                .conflicts_with("http"),
        )
        .arg(flag("remove", "Remove the entry"))
        .arg(
            flag("print", "Show the entry, for pasting; change nothing")
                .conflicts_with_all(["remove", "dry-run"]),
        )
        .arg(flag("dry-run", "Show what would change; change nothing"))
        .arg(flag("json", "Print JSON"))
        .subcommand(unity_command())
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

fn unity_command() -> Command {
    Command::new("unity")
        .about("Add the plugin to a Unity project; see setup unity --help")
        .long_about(UNITY_ABOUT)
        .after_help(UNITY_AFTER_HELP)
        .arg(
            Arg::new("dir")
                .value_name("DIR")
                .help("Folder of the project [default: the project around the working directory]")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("source")
                .long("source")
                .value_name("URL|PATH")
                .help("The plugin: a git URL, file:PATH, or the folder unity-plugin")
                .conflicts_with("remove"),
        )
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("N")
                .help("Write this port into unity-mcp.server.json")
                .value_parser(value_parser!(u16).range(1..))
                .conflicts_with("remove"),
        )
        .arg(flag("remove", "Remove the plugin; unity-mcp.server.json stays"))
        .arg(flag("dry-run", "Show what would change; change nothing"))
        .arg(flag("json", "Print JSON"))
}

/// Clients put the name in front of each tool; some take few signs.
fn name(text: &str) -> Result<String, String> {
    let is_good = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if (1..=40).contains(&text.len()) && text.chars().all(is_good) {
        return Ok(text.to_owned());
    }
    Err("it must have 1 to 40 letters, digits, - or _".to_owned())
}

pub(super) fn options(matches: &ArgMatches) -> Asked {
    if let Some(matches) = matches.subcommand_matches("unity") {
        return Asked::Unity(UnityOptions {
            project: matches.get_one("dir").cloned(),
            source: matches.get_one("source").cloned(),
            port: matches.get_one("port").copied(),
            remove: matches.get_flag("remove"),
            dry_run: matches.get_flag("dry-run"),
            json: matches.get_flag("json"),
        });
    }
    let clients: Vec<&String> = matches.get_many("client").unwrap_or_default().collect();
    let named = CLIENTS.iter().filter(|client| clients.iter().any(|id| *id == client.id));
    let options = ClientOptions {
        clients: named.collect(),
        all: matches.get_flag("all"),
        project: matches.contains_id("project").then(|| matches.get_one("project").cloned()),
        http: matches.get_flag("http"),
        port: matches.get_one("port").copied(),
        name: matches.get_one("name").cloned().unwrap_or_default(),
        catalog: matches.get_one("catalog").cloned(),
        remove: matches.get_flag("remove"),
        dry_run: matches.get_flag("dry-run"),
        json: matches.get_flag("json"),
    };
    let has_clients = options.all || !options.clients.is_empty();
    let acts = ["remove", "dry-run", "print"].into_iter().find(|name| matches.get_flag(name));
    match (has_clients, acts) {
        (true, Some("print")) => Asked::Print(options),
        (true, Some(_) | None) => Asked::Apply(options),
        (false, None) => Asked::List(options),
        (false, Some(name)) => {
            let message = format!("--{name} needs a client, or --all");
            let kind = clap::error::ErrorKind::MissingRequiredArgument;
            command().bin_name("unity-mcp setup").error(kind, message).exit()
        }
    }
}
