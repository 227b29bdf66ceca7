//! Settings: how the mock behaves from the start.

use std::time::Duration;

use crate::json_style::JsonStyle;
use crate::suite::Suite;

/// How a [`MockEditor`](crate::MockEditor) behaves. `Settings::default()` is a healthy Editor with a small
/// project.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed for all randomness: the jitter of reconnects and the names of Editor and session.
    pub seed: u64,
    /// `plugin_version` of the hello.
    pub plugin_version: String,
    /// `protocol_version` of the hello. The server accepts only 1. `None`: send no hello.
    pub protocol_version: Option<u32>,
    /// Whether the hello names the Editor, the session, the attempt and the request that still runs.
    pub names_itself: bool,
    /// Whether the plugin forgets which runs it has begun, although it says that it knows them.
    pub forgets_runs: bool,
    /// The path of the project, which the hello names. `None`: the hello names no project.
    pub project: Option<String>,
    /// The tools of the `capability` message. `None`: send no `capability`. [`TOOLS`](crate::TOOLS) lists
    /// those that the mock can run.
    pub tools: Option<Vec<String>>,
    /// When pings are answered.
    pub pong: PongPolicy,
    /// The `seq` of a pong.
    pub pong_seq: PongSeq,
    /// How frames are written.
    pub writes: JsonStyle,
    /// How long an `execute` takes.
    pub tool_time: Duration,
    /// How long a compile takes.
    pub compile_time: Duration,
    /// How long the domain reload after a compile takes. `None`: no domain reload.
    pub reload_time: Option<Duration>,
    /// What a cancel does to a job.
    pub cancel: CancelPolicy,
    /// The tests of the project.
    pub suite: Suite,
    /// How often to try to connect.
    pub reconnect: Reconnect,
    /// Drop the connection if no frame arrives for this long, pings included. `None`: wait forever.
    pub idle_timeout: Option<Duration>,
    /// What the cursors of the console begin with. `None`: a name from the seed.
    pub console: Option<String>,
    /// The size in bytes of an answer that is too large.
    pub oversize: usize,
}

/// When a `ping` is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PongPolicy {
    /// After this time; zero means at once.
    After(Duration),
    /// Not at all.
    Never,
}

/// The `seq` of a pong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PongSeq {
    /// A new one.
    #[default]
    New,
    /// That of the last status or pong, so that the server drops the state in the pong.
    Last,
    /// None at all.
    None,
}

/// What a `cancel` does to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelPolicy {
    /// The job ends after the current step.
    Honour,
    /// The mock answers `rejected`.
    Refuse,
    /// The mock answers `cancel_requested`, and the job runs on.
    Ignore,
}

/// How often to try to connect after a connection was lost or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// Without a limit.
    Forever,
    /// Until this many attempts in a row have failed.
    Times(u32),
}

impl Settings {
    /// Every start of an Editor has a new console: old cursors must not fit.
    pub(crate) fn console_name(&self, start: u64) -> String {
        let seed = || format!("c{}", self.seed);
        format!("{}.{start}", self.console.clone().unwrap_or_else(seed))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            plugin_version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol_version: Some(1),
            names_itself: true,
            forgets_runs: false,
            project: None,
            tools: None,
            pong: PongPolicy::After(Duration::ZERO),
            pong_seq: PongSeq::New,
            writes: JsonStyle::default(),
            tool_time: Duration::from_millis(20),
            compile_time: Duration::from_secs(3),
            reload_time: Some(Duration::from_secs(2)),
            cancel: CancelPolicy::Honour,
            suite: Suite::sample(),
            reconnect: Reconnect::Forever,
            idle_timeout: None,
            console: None,
            oversize: 17 * 1024 * 1024, // Larger than any server accepts.
        }
    }
}
