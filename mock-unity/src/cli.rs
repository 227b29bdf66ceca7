//! The command line.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand, value_parser};
use mock_unity::script::{self, Step};
use mock_unity::{
    CancelPolicy, JSON_STYLES, JsonStyle, PongPolicy, PongSeq, Reconnect, Settings, Suite,
    parse_duration,
};

use crate::display::Style;

const ABOUT: &str = "Plays the Unity plugin, for work without Unity.

Connects to a running unity-mcp and behaves like a healthy Editor with a small project: five console
entries and twenty tests, two of which fail. While it runs, type \"help\" for a list of commands.";

const EXAMPLES: &str = "Examples:
  mock-unity                                 a healthy Editor on the default port
  mock-unity --compile-every 30s --reload 5s a compile every 30 s, each with a domain reload of 5 s
  mock-unity --pong-delay 2s --seed 7        slow pongs; seed 7 for all randomness
  mock-unity --script bad-day.yaml --json    commands from a file, output as JSON lines
  mock-unity demo                            a tour of server, mock and agent

Exit codes: 0 quit by a person, 1 other failure, 2 invalid flag or file, 3 no server (see --reconnect).";

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
    /// Start a server and a mock Unity, call the tools as an agent does, and explain each step
    Demo(Demo),
}

#[derive(Args)]
pub(crate) struct Demo {
    /// Keep server and mock running for your own agent, and show its calls
    #[arg(long)]
    pub(crate) stay: bool,
    /// Run the real plugin instead of the mock; needs Mono
    #[arg(long)]
    pub(crate) plugin: bool,
    /// Port of the server [default: 8091 with --stay, else a free one]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Show the log of the server
    #[arg(long)]
    pub(crate) server_log: bool,
    /// The server to run [default: the one beside this program; with cargo, the one of this workspace]
    #[arg(long, value_name = "FILE")]
    pub(crate) server: Option<PathBuf>,
}

#[derive(Args)]
struct TypedPlay {
    /// Port of the server on 127.0.0.1
    #[arg(long, value_name = "N", default_value_t = 8091, value_parser = value_parser!(u16).range(1..))]
    port: u16,
    /// Seed for all randomness: the jitter of reconnects, the names of Editor and session
    /// [default: a new one for each start]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The project that the mock says it has open
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Compile at this interval
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    compile_every: Option<Duration>,
    /// How long a compile takes
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "3s")]
    compile_time: Duration,
    /// How long the domain reload after a compile takes; 0s: no domain reload
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    reload: Duration,
    /// How long a pong takes
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0s")]
    pong_delay: Duration,
    /// Never answer a ping
    #[arg(long, conflicts_with = "pong_delay")]
    no_pong: bool,
    /// seq of a pong: a new one, the last one, or none
    #[arg(long, value_name = "HOW", value_parser = ["new", "last", "none"], default_value = "new")]
    pong_seq: String,
    /// Write frames in other ways, separated by commas: reversed, spaced, escaped, extra
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = JSON_STYLES)]
    writes: Vec<String>,
    /// Drop the socket once, after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    drop_after: Option<Duration>,
    /// How long a tool takes
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "20ms")]
    tool_time: Duration,
    /// What a cancel does to a job
    #[arg(long, value_name = "HOW", value_parser = ["honour", "refuse", "ignore"], default_value = "honour")]
    cancel: String,
    /// Tools of the capability message, separated by commas [default: send no capability]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// protocol_version of the hello; the server accepts only 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    protocol_version: u32,
    /// Send no hello
    #[arg(long, conflicts_with = "protocol_version")]
    no_hello: bool,
    /// Leave the optional fields out of the hello
    #[arg(long)]
    no_names: bool,
    /// How often to try to connect again: forever, never, or this many failed attempts in a row
    #[arg(long, value_name = "TIMES", value_parser = parse_reconnect, default_value = "forever")]
    reconnect: Reconnect,
    /// Drop the connection and reconnect if no frame arrives for this long, pings included
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    idle_timeout: Option<Duration>,
    /// Read the tests of the project from this YAML file
    #[arg(long, value_name = "FILE")]
    tests: Option<PathBuf>,
    /// Read commands and their times from this YAML file
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Show pings and pongs too
    #[arg(long)]
    heartbeats: bool,
    /// Write the output as JSON lines
    #[arg(long)]
    json: bool,
}

/// The command line, parsed and checked.
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
    pub(crate) heartbeats: bool,
    pub(crate) display: Style,
}

impl Cli {
    /// For `--help`, `--version` and invalid flags this ends the process.
    pub(crate) fn read() -> Result<Self, String> {
        let typed = Typed::parse();
        match typed.command {
            Some(TypedCommand::Demo(demo)) => Ok(Self::Demo(demo)),
            None => typed.play.check().map(|play| Self::Play(Box::new(play))),
        }
    }
}

impl TypedPlay {
    fn check(self) -> Result<Play, String> {
        if self.compile_every == Some(Duration::ZERO) {
            return Err("--compile-every 0s would never end; use a longer interval".to_owned());
        }
        let suite = self.tests.map(|path| read(&path, Suite::from_yaml)).transpose()?;
        let script = self.script.map(|path| read(&path, script::parse)).transpose()?;
        // As Unity names it: absolute. The folder need not exist.
        let project = self.project.map(std::path::absolute).transpose();
        let project = project.map_err(|error| format!("--project: {error}"))?;
        let settings = Settings {
            project: project.map(|path| path.to_string_lossy().replace('\\', "/")),
            seed: self.seed.unwrap_or_else(fresh_seed),
            names_itself: !self.no_names,
            tools: self.tools,
            pong: if self.no_pong { PongPolicy::Never } else { PongPolicy::After(self.pong_delay) },
            pong_seq: match self.pong_seq.as_str() {
                "last" => PongSeq::Last,
                "none" => PongSeq::None,
                _ => PongSeq::New,
            },
            writes: JsonStyle::from_names(self.writes.iter().map(String::as_str))?,
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
            heartbeats: self.heartbeats,
            display: if self.json { Style::Json } else { Style::text() },
        })
    }
}

/// Different for every start: two mocks are two Editors, and a new start knows no old requests.
fn fresh_seed() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed =
        u64::from(time.subsec_nanos()) ^ u64::from(std::process::id()).wrapping_mul(0x9E37_79B1);
    mixed % 1_000_000 // Short names are easier to read.
}

fn read<T>(path: &PathBuf, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
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
