//! Runs a scenario at a level and checks the result.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use protocol::printable;

use crate::faults::Fault;
use crate::judge;
use crate::judge::coverage::Coverage;
use crate::levels::context::RunContext;
use crate::levels::core;
#[cfg(feature = "programs")]
use crate::levels::programs;
use crate::record::log::{Log, Record, RecordKind};
use crate::record::trace::{self, Line};
use crate::scenario::{Action, LinkFault, NETWORK, SERVER, Scenario, ServerAction};

/// How long a run goes on after the last step and the last answer.
pub(crate) const REST: Duration = Duration::from_millis(200);
/// A run that lasts longer never ends.
pub(crate) const END_MAX: Duration = Duration::from_secs(1_200);
/// The real time that a run may take; a part of the simulated time is added.
const REAL_TIME_MAX: Duration = Duration::from_secs(20);

/// The failure of every run of a build that does not see panics.
const UNSOUND: &str = "built without --cfg tokio_unstable, so that a panic in a program would pass \
    unseen: RUSTFLAGS takes the place of .cargo/config.toml, add it there";

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// Only the core of the server and the core of the mock.
    Core,
    /// Whole programs and real clients in one runtime, over queues of bytes.
    #[cfg(feature = "programs")]
    Shell,
    /// The same programs, each on its own host, over the TCP of turmoil.
    #[cfg(feature = "programs")]
    Full,
}

impl Level {
    #[cfg(feature = "programs")]
    pub const ALL: [Self; 3] = [Self::Core, Self::Shell, Self::Full];

    /// Whether it can run more than one server.
    pub fn has_relays(self) -> bool {
        self != Self::Core
    }

    /// `Err` says why this level cannot run the scenario.
    pub fn fits(self, scenario: &Scenario) -> Result<(), String> {
        match self {
            Self::Core => core::fits(scenario),
            #[cfg(feature = "programs")]
            Self::Shell | Self::Full => Ok(()),
        }
    }
}

/// The result of a run.
pub struct Run {
    pub(crate) records: Vec<Record>,
    /// Empty if everything holds.
    pub failures: Vec<String>,
    pub simulated: Duration,
    pub coverage: Coverage,
    /// Types of frames that the trace does not show.
    pub(crate) hidden: &'static [&'static str],
    lines: OnceCell<Vec<Line>>,
}

impl Run {
    /// Made on demand: most runs of a swarm are never shown.
    pub(crate) fn lines(&self) -> &[Line] {
        self.lines.get_or_init(|| trace::lines(&self.records, self.hidden))
    }

    pub fn trace(&self) -> String {
        trace::render(self.lines())
    }

    /// All records of both ends of every wire. Two runs with one seed must have the same.
    pub fn everything(&self) -> String {
        let shown = |record| printable(&format!("{record:?}"), 10_000) + "\n";
        let records = self.records.iter().map(shown);
        let failures = self.failures.iter().map(|failure| format!("FAILED {failure}\n"));
        self.trace() + &records.chain(failures).collect::<String>()
    }
}

/// What changes at a time of the scenario, apart from what agents do.
pub(crate) enum ScheduledChange {
    BreakLink { fault: LinkFault, from: String, to: String, words: String },
    RestoreLink { fault: LinkFault, from: String, to: String, words: String },
    Server { host: String, does: ServerAction },
    Note { actor: String, kind: &'static str, text: String },
}

/// Runs the server without a fault and records everything.
pub fn run(level: Level, scenario: &Scenario) -> Run {
    run_with(level, scenario, Fault::None, Log::default())
}

/// Runs a server and records only what the checks read, which is faster.
pub fn run_brief(level: Level, scenario: &Scenario, fault: Fault) -> Run {
    run_with(level, scenario, fault, Log::brief())
}

fn run_with(level: Level, scenario: &Scenario, fault: Fault, log: Log) -> Run {
    let begin = std::time::Instant::now();
    let changed = fault.change(scenario);
    let scenario = changed.as_ref().unwrap_or(scenario);
    let context = RunContext::new(fault, log, scenario);
    let outcome = catch_unwind(AssertUnwindSafe(|| match level {
        Level::Core => {
            let (outcome, simulated) = core::run_scenario(scenario, &context);
            (outcome, simulated, context.log.take())
        }
        #[cfg(feature = "programs")]
        Level::Shell => programs::run_in_memory(scenario, &context),
        #[cfg(feature = "programs")]
        Level::Full => programs::run_on_turmoil(scenario, &context),
    }));
    let (mut failures, simulated, records) = match outcome {
        Ok((Ok(()), simulated, records)) => (Vec::new(), simulated, records),
        Ok((Err(problem), simulated, records)) => (vec![problem], simulated, records),
        Err(_) => (vec!["a program panicked".to_owned()], Duration::ZERO, context.log.take()),
    };
    if begin.elapsed() > REAL_TIME_MAX + simulated / 20 {
        failures.push("something in it waits for the real clock".to_owned());
    }
    if !cfg!(tokio_unstable) {
        failures.push(UNSOUND.to_owned());
    }
    let books = context.books.take();
    let (violations, seen) = context.violations.take();
    failures.extend(violations);
    let calls = context.calls.snapshot();
    failures.extend(judge::expectations(scenario, &calls, &books));
    // The judges of the wires know a call by its `client_request_id`.
    let (broken, mut coverage) = if scenario.repeats_names() {
        judge::repeats(scenario, &calls, &books)
    } else {
        judge::promises(&records, &books, scenario)
    };
    coverage.add(&seen);
    coverage.count_run(scenario.repeats_names());
    failures.extend(broken);
    let failures = failures.iter().map(|failure| printable_lines(failure)).collect();
    coverage.count_faults(scenario, &calls, simulated);
    let mut records = records;
    for (editor, (starts, books)) in &books {
        records.extend(books.executed.iter().map(|execution| {
            let client = execution.client_request_id.as_deref().unwrap_or_default();
            let text = format!("{} {} {client}", execution.request_id, execution.tool_name);
            let what = RecordKind::Note {
                actor: editor.clone(),
                kind: "ran",
                text: text.trim_end().into(),
            };
            Record { at: *starts + execution.at, what }
        }));
    }
    records.sort_by_key(|record| record.at);
    let hidden = hidden_frames(scenario);
    Run { records, failures, simulated, coverage, hidden, lines: OnceCell::new() }
}

/// Text of a peer that is in a failure must not control the terminal. Lines stay lines.
fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| printable(line, usize::MAX)).collect();
    lines.join("\n")
}

fn hidden_frames(scenario: &Scenario) -> &'static [&'static str] {
    match (scenario.shows_heartbeats, scenario.shows_capabilities) {
        (true, true) => &[],
        (true, false) => &["capability"],
        (false, true) => &["ping", "pong"],
        (false, false) => &["ping", "pong", "capability"],
    }
}

pub(crate) fn changes(scenario: &Scenario) -> VecDeque<(Duration, ScheduledChange)> {
    let mut changes = Vec::new();
    for step in &scenario.steps {
        match &step.action {
            Action::Call(_) => {}
            Action::Cancel { label } => {
                let agent = scenario.calls().find(|(_, call)| call.label == *label);
                let actor = agent.map(|(_, call)| call.agent.clone()).unwrap_or_default();
                let text = label.clone();
                changes.push((step.at, ScheduledChange::Note { actor, kind: "cancels", text }));
            }
            Action::Break { label } => {
                let (actor, text) = (SERVER.to_owned(), label.clone());
                changes.push((step.at, ScheduledChange::Note { actor, kind: "breaks", text }));
            }
            Action::Leave { agent } => {
                let (actor, text) = (agent.clone(), String::new());
                changes.push((step.at, ScheduledChange::Note { actor, kind: "leaves", text }));
            }
            Action::Unity { editor, words, .. } => {
                let (actor, text) = ((*editor).to_owned(), words.clone());
                changes.push((step.at, ScheduledChange::Note { actor, kind: "does", text }));
            }
            Action::Network { words, fault, from, to, lasts } => {
                let (fault, from, to, words) = (*fault, from.clone(), to.clone(), words.clone());
                if let Some(lasts) = lasts {
                    let (from, to, words) = (from.clone(), to.clone(), words.clone());
                    changes.push((
                        step.at + *lasts,
                        ScheduledChange::RestoreLink { fault, from, to, words },
                    ));
                }
                changes.push((step.at, ScheduledChange::BreakLink { fault, from, to, words }));
            }
            Action::Server { of, does, away } => {
                let change = |does| {
                    let host = scenario.server_named(of.as_deref());
                    ScheduledChange::Server { host, does }
                };
                changes.push((step.at, change(*does)));
                changes.extend(away.map(|away| (step.at + away, change(ServerAction::Start))));
            }
        }
    }
    changes.sort_by_key(|(at, _)| *at);
    changes.into()
}

impl ScheduledChange {
    pub(crate) fn note(&self, now: Duration, context: &RunContext) {
        let (actor, kind, text) = match self {
            Self::BreakLink { words, .. } => (NETWORK, "fails", words.as_str()),
            Self::RestoreLink { words, .. } => (NETWORK, "recovers", words.as_str()),
            Self::Server { host, does } => {
                let does = match does {
                    ServerAction::Stop => "is stopped",
                    ServerAction::Crash => "is killed",
                    ServerAction::Start => "starts",
                };
                (host.as_str(), does, "")
            }
            Self::Note { actor, kind, text } => (actor.as_str(), *kind, text.as_str()),
        };
        context.log.note(now, actor, kind, text.to_owned());
    }
}
