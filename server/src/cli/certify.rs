//! `unity-mcp certify`.

use std::time::Duration;

use certify::Options;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::flag;

const ABOUT: &str = "Check whether a Unity plugin keeps the rules of docs/PROTOCOL.md.

Listens like the server, waits for a plugin to connect, and drives it through the checks. Stop a
server that uses the same port first. It reads the console and runs tests of the project; it changes
nothing in it.

Some checks need an Editor that compiles, reloads its domain or is blocked. At a terminal, it asks
you to do that in Unity. With --driver, a program does it.";

const AFTER_HELP: &str = "Examples:
  unity-mcp certify                      for the Unity that is open now
  unity-mcp certify --only read_console  only the checks of one tool
  unity-mcp certify --port 0 --driver \"mock-unity --port {port} --reload 300ms\"

The driver takes words on stdin, as mock-unity does: compile 500ms, reload 300ms, freeze 1s,
log error \"text\", tests fail 1, tests pass, quit.

Exit codes: 0 no check failed, 1 a check failed, 2 bad flags, 3 the port is in use or no plugin
connected in time.";

pub(super) fn command() -> Command {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("certify")
        .about("Check whether a Unity plugin keeps the rules; see certify --help")
        .long_about(ABOUT)
        .after_help(AFTER_HELP)
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

pub(super) fn options(matches: &ArgMatches) -> Options {
    let only = matches.get_many("only").unwrap_or_default();
    Options {
        port: matches.get_one("port").copied().unwrap_or_default(),
        driver: matches.get_one("driver").cloned(),
        json: matches.get_flag("json"),
        only: only.cloned().collect(),
        wait: Duration::from_secs(matches.get_one("wait").copied().unwrap_or_default()),
        list: matches.get_flag("list"),
    }
}
