//! `unity-mcp completions` and `unity-mcp man`: texts made from the command line itself.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

const NAME: &str = "unity-mcp";

const AFTER_HELP: &str = "Examples:
  bash  unity-mcp completions bash > ~/.local/share/bash-completion/completions/unity-mcp
  zsh   unity-mcp completions zsh > ~/.zfunc/_unity-mcp      (a folder of fpath)
  fish  unity-mcp completions fish > ~/.config/fish/completions/unity-mcp.fish
  PowerShell  unity-mcp completions powershell | Out-String | Invoke-Expression";

pub(super) fn command() -> Command {
    Command::new("completions")
        .about("Print the completions of a shell")
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("shell").value_name("SHELL").required(true).value_parser(value_parser!(Shell)),
        )
}

pub(super) fn man_command() -> Command {
    Command::new("man")
        .about("Print the man page, or that of a command")
        .after_help("Example: unity-mcp man call | man -l -")
        .arg(Arg::new("command").value_name("COMMAND"))
}

pub(super) fn script(matches: &ArgMatches, mut command: Command) -> Vec<u8> {
    let mut script = Vec::new();
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        clap_complete::generate(*shell, &mut command, NAME, &mut script);
    }
    script
}

/// Exits the process for a command that does not exist.
pub(super) fn man(matches: &ArgMatches, mut command: Command) -> Vec<u8> {
    // The section NAME has one line.
    let long = command.get_about().cloned().unwrap_or_default();
    let page = match matches.get_one::<String>("command") {
        None => command.about("MCP server for the Unity Editor").long_about(long),
        Some(name) => match command.find_subcommand(name) {
            Some(found) => {
                found.clone().name(format!("{NAME}-{name}")).bin_name(format!("{NAME} {name}"))
            }
            None => command
                .error(
                    clap::error::ErrorKind::InvalidSubcommand,
                    format!("there is no command {name}"),
                )
                .exit(),
        },
    };
    let mut text = Vec::new();
    // Writing to a vector does not fail.
    clap_mangen::Man::new(page).render(&mut text).unwrap_or_default();
    text
}
