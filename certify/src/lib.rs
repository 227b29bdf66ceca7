//! `unity-mcp certify`: checks whether a Unity plugin keeps the rules of docs/PROTOCOL.md.
//!
//! It is a small WebSocket server of its own, not the real one, so that it decides about every frame. It waits for a
//! plugin and drives it through the checks in `checks`, one file per topic. To add a check, add a row to the table of its topic.
//!
//! | module | what it is |
//! |---|---|
//! | `listener` | the sockets |
//! | `plugin` | the server's side of the wire, and what the plugin has done so far |
//! | `record`, `rules` | every frame with its time; what must hold for all of them |
//! | `check`, `checks`, `run` | the checks and what they have at hand |
//! | `driver` | a program that makes the Editor do things |
//! | `report` | the table, the frames of failures, the summary |

mod check;
mod checks;
mod driver;
mod listener;
mod plugin;
mod record;
mod report;
mod rules;
mod run;

use std::io::{ErrorKind, IsTerminal as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use check::{Check, Verdict};
use checks::{TOPICS, whole_run};
use driver::Driver;
use plugin::Plugin;
use report::Report;
use run::{Helper, Run};

/// At the end, frames that are on their way still count.
const LAST_FRAMES: Duration = Duration::from_millis(300);

/// What the command line says.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 takes a free port.
    pub port: u16,
    /// The command line of a program with the words of mock-unity on stdin.
    pub driver: Option<String>,
    pub json: bool,
    /// Only checks whose name contains one of these; all if there are none.
    pub only: Vec<String>,
    /// How long to wait for a plugin or a person.
    pub wait: Duration,
    /// Show the checks instead of running them.
    pub list: bool,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// An option is wrong.
    Usage(String),
    /// The port is in use, or no plugin has connected.
    NoPlugin(String),
    /// Anything else.
    Other(String),
}

/// Runs the checks and prints the report. True if none has failed.
pub async fn run(options: Options) -> Result<bool, Problem> {
    if options.list {
        report::list(options.json);
        return Ok(true);
    }
    let selected = select(&options.only)?;
    let started = listener::start(options.port).await;
    let (port, arriving) = started.map_err(|error| no_port(options.port, &error))?;
    let mut report = Report::new(options.json);
    report.listening(port, options.wait);
    let helper = match &options.driver {
        Some(line) => Helper::Driver(Driver::start(line, port).map_err(Problem::Usage)?),
        None if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => Helper::Person,
        None => Helper::Nobody,
    };
    let mut run = Run::new(Plugin::new(arriving, boot()), helper, options.wait);
    first_socket(&mut run).await?;
    let mut mark = 0; // The frames until the first session belong to the first check.
    for (topic, check) in selected {
        let verdict = perform(&mut run, mark, topic, check).await;
        mark = run.plugin.mark();
        report.add(verdict, &run.plugin.record);
    }
    run.plugin.pause(LAST_FRAMES).await;
    for verdict in whole_run::verdicts(&run.plugin) {
        report.add(verdict, &run.plugin.record);
    }
    let counts = report.finish(&run.plugin.record);
    if let Helper::Driver(driver) = run.helper {
        driver.quit();
    }
    Ok(counts.failed == 0)
}

fn no_port(port: u16, error: &std::io::Error) -> Problem {
    if error.kind() == ErrorKind::AddrInUse {
        return Problem::NoPlugin(format!(
            "port {port} is in use; stop the unity-mcp or other program that has it, or choose another with --port"
        ));
    }
    Problem::Other(format!("port {port} cannot be used: {error}"))
}

fn select(only: &[String]) -> Result<Vec<(&'static str, &'static Check)>, Problem> {
    let is_wanted = |name: &str| {
        let name = name.to_lowercase();
        only.is_empty() || only.iter().any(|part| name.contains(&part.to_lowercase()))
    };
    let all = TOPICS.iter().flat_map(|topic| topic.checks.iter().map(|check| (topic.title, check)));
    let selected: Vec<_> = all.filter(|(_, check)| is_wanted(check.name)).collect();
    let is_rule = whole_run::RULES.iter().any(|(_, name)| is_wanted(name));
    if selected.is_empty() && !is_rule {
        return Err(Problem::Usage(
            "no check has a name that contains the text of --only; see --list".to_owned(),
        ));
    }
    Ok(selected)
}

/// Waits for the first socket.
async fn first_socket(run: &mut Run) -> Result<(), Problem> {
    let mut left = run.wait;
    loop {
        let slice = left.min(Duration::from_secs(1));
        let connected = |plugin: &Plugin| plugin.has_opened_since(0).then_some(());
        if run.plugin.wait(slice, connected).await.is_some() {
            return Ok(());
        }
        left = left.saturating_sub(slice);
        let end = run.driver_end();
        if left.is_zero() || end.is_some() {
            let refused = run.plugin.refused.as_ref().map(|why| format!(". {why}"));
            let waited = format!("no plugin connected within {} s", run.wait.as_secs());
            let waited = waited + &refused.unwrap_or_default();
            return Err(Problem::NoPlugin(end.unwrap_or(waited)));
        }
    }
}

async fn perform(
    run: &mut Run,
    mark: usize,
    topic: &'static str,
    check: &'static Check,
) -> Verdict {
    run.evidence = None;
    let outcome = match run.can(check.needs) {
        Ok(()) => match run.healthy().await {
            Ok(()) => (check.run)(run).await,
            Err(stop) => Err(stop),
        },
        Err(stop) => Err(stop),
    };
    let frames = run.evidence.take().unwrap_or(mark..run.plugin.mark()).collect();
    Verdict { topic, name: check.name, outcome, frames }
}

/// A name that no earlier run had: the plugin may still know its requests.
fn boot() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("c{:x}", time.as_millis() & 0xFF_FFFF_FFFF)
}
