//! The command line.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand, value_parser};
use mock_unity::script::{self, Step};
use mock_unity::{CancelPolicy, PongPolicy, Reconnect, Settings, Suite, parse_duration};

use crate::display::Style;

const ABOUT: &str = "Plays the Unity plugin, for work without Unity.

Connects to a running unity-mcp and behaves like a healthy Editor with a small project: console entries
and twenty tests, of which two fail. Type \"help\" while it runs to see what it can be told to do.";

const EXAMPLES: &str = "Examples:
  mock-unity                                 a healthy Editor at the default port
  mock-unity --compile-every 30s --reload 5s compiles every 30 s, each time with a domain reload of 5 s
  mock-unity --pong-delay 2s --seed 7        slow pongs; all chance from seed 7
  mock-unity --script bad-day.yaml --json    what the file says, shown as JSON lines
  mock-unity demo                            server, mock and agent in one, told as a story

Exit codes: 0 told to quit, 2 bad flags or files, 3 no server (with --reconnect), 1 anything else.";

#[derive(Parser)]
#[command(name = "mock-unity", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true)]
struct Typed {
    #[command(subcommand)]
    command: Option<TypedCommand>,
    #[command(flatten)]
    play: TypedPlay,
}

#[derive(Subcommand)]
enum TypedCommand {
    /// Start a server and a mock Unity, drive all tools as an agent, and tell the story
    Demo(Demo),
}

#[derive(Args)]
pub(crate) struct Demo {
    /// Keep server and mock running, and say how to connect your own agent
    #[arg(long)]
    pub(crate) stay: bool,
    /// The server to run; without it the one of this workspace is built
    #[arg(long, value_name = "FILE")]
    pub(crate) server: Option<PathBuf>,
}

#[derive(Args)]
struct TypedPlay {
    /// Port of the server on 127.0.0.1
    #[arg(long, value_name = "N", default_value_t = 8091, value_parser = value_parser!(u16).range(1..))]
    port: u16,
    /// Where all chance comes from: the jitter of reconnects, the names of Editor and session
    /// [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Compile again and again
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    compile_every: Option<Duration>,
    /// How long a compile takes
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "3s")]
    compile_time: Duration,
    /// How long the domain reload after a compile takes; 0s has none
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    reload: Duration,
    /// How long a pong takes
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0s")]
    pong_delay: Duration,
    /// Never answer a ping
    #[arg(long, conflicts_with = "pong_delay")]
    no_pong: bool,
    /// Cut the socket once, after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    drop_after: Option<Duration>,
    /// How long a tool takes
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "20ms")]
    tool_time: Duration,
    /// What a cancel does to a test run
    #[arg(long, value_name = "HOW", value_parser = ["honour", "refuse", "ignore"], default_value = "honour")]
    cancel: String,
    /// Tools to say that it has, separated by commas; without it, it says nothing about them
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// What the hello says of the protocol; the server takes only 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    protocol_version: u32,
    /// Say no hello at all
    #[arg(long, conflicts_with = "protocol_version")]
    no_hello: bool,
    /// Leave the optional names out of the hello
    #[arg(long)]
    no_names: bool,
    /// How often to try to connect again: forever, never, or a number of failed attempts in a row
    #[arg(long, value_name = "TIMES", value_parser = parse_reconnect, default_value = "forever")]
    reconnect: Reconnect,
    /// Connect anew when the server has said nothing for so long, pings included
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    idle_timeout: Option<Duration>,
    /// Tests from a YAML file instead of the sample
    #[arg(long, value_name = "FILE")]
    tests: Option<PathBuf>,
    /// What to do at which time, from a YAML file
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Show what passes as JSON lines
    #[arg(long)]
    json: bool,
}

/// What was typed, understood.
pub(crate) enum Cli {
    Play(Box<Play>),
    Demo(Demo),
}

pub(crate) struct Play {
    pub(crate) port: u16,
    pub(crate) settings: Settings,
    pub(crate) script: Vec<Step>,
    pub(crate) compile_every: Option<Duration>,
    pub(crate) drop_after: Option<Duration>,
    pub(crate) display: Style,
}

impl Cli {
    /// Ends the process by itself for `--help`, `--version` and bad flags.
    pub(crate) fn read() -> Result<Self, String> {
        let typed = Typed::parse();
        match typed.command {
            Some(TypedCommand::Demo(demo)) => Ok(Self::Demo(demo)),
            None => typed.play.understood().map(|play| Self::Play(Box::new(play))),
        }
    }
}

impl TypedPlay {
    fn understood(self) -> Result<Play, String> {
        if self.compile_every == Some(Duration::ZERO) {
            return Err("--compile-every 0s would never end; give it a time".to_owned());
        }
        let suite = self.tests.map(|path| read(&path, Suite::from_yaml)).transpose()?;
        let script = self.script.map(|path| read(&path, script::parse)).transpose()?;
        let settings = Settings {
            seed: self.seed.unwrap_or_else(fresh_seed),
            names_itself: !self.no_names,
            tools: self.tools,
            pong: if self.no_pong { PongPolicy::Never } else { PongPolicy::After(self.pong_delay) },
            tool_time: self.tool_time,
            compile_time: self.compile_time,
            reload_time: Some(self.reload).filter(|time| !time.is_zero()),
            cancel: match self.cancel.as_str() {
                "refuse" => CancelPolicy::Refuse,
                "ignore" => CancelPolicy::Ignore,
                _ => CancelPolicy::Honour,
            },
            suite: suite.unwrap_or_else(Suite::sample),
            protocol_version: (!self.no_hello).then_some(self.protocol_version),
            reconnect: self.reconnect,
            idle_timeout: self.idle_timeout,
            ..Settings::default()
        };
        Ok(Play {
            port: self.port,
            settings,
            script: script.unwrap_or_default(),
            compile_every: self.compile_every,
            drop_after: self.drop_after,
            display: if self.json { Style::Json } else { Style::text() },
        })
    }
}

/// Two mocks are two Editors, and one that is started again does not know what it was asked before.
fn fresh_seed() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (time.as_millis() as u64).wrapping_mul(0x1_0000) ^ u64::from(std::process::id())
}

fn read<T>(path: &PathBuf, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    parse(&text).map_err(|problem| format!("{}: {problem}", path.display()))
}

fn parse_reconnect(text: &str) -> Result<Reconnect, String> {
    match text {
        "forever" => Ok(Reconnect::Forever),
        "never" => Ok(Reconnect::Times(0)),
        number => {
            let times = number.parse().map_err(|_| "write forever, never or a number".to_owned());
            times.map(Reconnect::Times)
        }
    }
}
