//! Settings: what the mock is from the start.

use std::time::Duration;

use crate::suite::Suite;

#[derive(Clone, Debug)]
pub struct Settings {
    /// All chance comes from it.
    pub seed: u64,
    pub plugin_version: String,
    /// What its hello says of the protocol; 1 is the one there is. `None` says no hello at all.
    pub protocol_version: Option<u32>,
    /// Whether the hello has its optional fields.
    pub names_itself: bool,
    /// The tools it says that it has; `None` says nothing about them.
    pub tools: Option<Vec<String>>,
    pub pong: PongPolicy,
    /// How long an `execute` takes.
    pub tool_time: Duration,
    pub compile_time: Duration,
    /// How long the domain reload after a compile takes; `None` has none.
    pub reload_time: Option<Duration>,
    pub cancel: CancelPolicy,
    pub suite: Suite,
    pub reconnect: Reconnect,
    /// A server that says nothing for so long, pings included, is given up; `None` waits for ever.
    pub idle_timeout: Option<Duration>,
    /// What cursors of its console begin with; by the seed if left out.
    pub console: Option<String>,
    /// Bytes of an answer that is too large.
    pub oversize: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PongPolicy {
    After(Duration),
    Never,
}

/// What a `cancel` does to a test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelPolicy {
    /// The run ends with the test that is running.
    Honour,
    Refuse,
    /// It says that it will, and goes on.
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    Forever,
    /// So many failed attempts in a row.
    Times(u32),
}

impl Settings {
    /// Every start of every Editor has a console of its own.
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
            tools: None,
            pong: PongPolicy::After(Duration::ZERO),
            tool_time: Duration::from_millis(20),
            compile_time: Duration::from_secs(3),
            reload_time: Some(Duration::from_secs(2)),
            cancel: CancelPolicy::Honour,
            suite: Suite::sample(),
            reconnect: Reconnect::Forever,
            idle_timeout: None,
            console: None,
            oversize: 17 * 1024 * 1024, // Larger than any server takes.
        }
    }
}
