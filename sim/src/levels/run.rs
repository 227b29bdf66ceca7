//! Runs a scenario: lets virtual time pass, does to network and server what the scenario says, and
//! compares what came of it with what it expects.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use protocol::printable;

use crate::faults::Planting;
use crate::judge;
use crate::judge::seen::Seen;
use crate::judge::tally::Tally;
use crate::levels::core;
use crate::levels::hosts::{Fault, Stage};
use crate::levels::in_memory::Memory;
use crate::levels::turmoil::Turmoil;
use crate::programs::cast::{self, Props};
use crate::record::log::{Log, Record, What};
use crate::record::trace::{self, Line};
use crate::scenario::{Action, NETWORK, SERVER, Scenario, ServerDoes};

/// How long the run goes on when everything is done and answered.
pub(crate) const REST: Duration = Duration::from_millis(200);
/// A run that is not over by then never will be.
pub(crate) const END_MAX: Duration = Duration::from_secs(1_200);
/// How much real time a run may take beside what it simulates.
const REAL_TIME_MAX: Duration = Duration::from_secs(20);
/// How long the Editors have to close their books.
const CLOSING_MAX: u32 = 1_000;

/// Said of a build whose runs prove nothing.
const UNSOUND: &str = "built without --cfg tokio_unstable, so that a panic in a program would pass \
    unseen: RUSTFLAGS takes the place of .cargo/config.toml, add it there";

/// How much of the world is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// The core of the server and that of the mock, and nothing else.
    Core,
    /// The whole programs and real clients, in one runtime and with a network that is nothing but queues.
    Shell,
    /// The same on hosts of their own, over the TCP of turmoil.
    Full,
}

impl Level {
    pub const ALL: [Self; 3] = [Self::Core, Self::Shell, Self::Full];

    /// Whether it can show what the scenario is about; if not, why.
    pub fn fits(self, scenario: &Scenario) -> Result<(), String> {
        match self {
            Self::Core => core::fits(scenario),
            Self::Shell | Self::Full => Ok(()),
        }
    }
}

/// What a scenario came to.
pub struct Run {
    pub(crate) records: Vec<Record>,
    /// What is not as it should be; empty if all is well.
    pub failures: Vec<String>,
    pub simulated: Duration,
    /// By the model, in all servers.
    pub seen: Seen,
    /// By wires, books and diaries.
    pub tally: Tally,
    shows_heartbeats: bool,
    lines: OnceCell<Vec<Line>>,
}

impl Run {
    /// Made when it is asked for: most runs of a swarm are never looked at.
    pub(crate) fn lines(&self) -> &[Line] {
        self.lines.get_or_init(|| trace::lines(&self.records, self.shows_heartbeats))
    }

    pub fn trace(&self) -> String {
        trace::render(self.lines())
    }

    /// Everything there is, at both ends of every wire: what two runs must agree on to the byte.
    pub fn everything(&self) -> String {
        let shown = |record| printable(&format!("{record:?}"), 10_000) + "\n";
        let records = self.records.iter().map(shown);
        let failures = self.failures.iter().map(|failure| format!("FAILED {failure}\n"));
        self.trace() + &records.chain(failures).collect::<String>()
    }
}

/// What the stage manager does at a time.
pub(crate) enum Cue {
    Break { fault: Fault, from: String, to: String, words: String },
    Mend { fault: Fault, from: String, to: String, words: String },
    Server(ServerDoes),
    Note { actor: String, kind: &'static str, text: String },
}

/// Runs the genuine server, and writes everything down.
pub fn run(level: Level, scenario: &Scenario) -> Run {
    run_with(level, scenario, Planting::Nothing, Log::default())
}

/// The same for judges alone: what they do not need is left out, for it takes time.
pub fn judge(level: Level, scenario: &Scenario, planting: Planting) -> Run {
    run_with(level, scenario, planting, Log::brief())
}

fn run_with(level: Level, scenario: &Scenario, planting: Planting, log: Log) -> Run {
    let begin = std::time::Instant::now();
    let props = Props::new(planting, log);
    let played = catch_unwind(AssertUnwindSafe(|| {
        let (seed, latency, log) = (scenario.seed, scenario.latency, props.log.clone());
        match level {
            Level::Core => {
                let (played, simulated) = core::play(scenario, &props);
                (played, simulated, props.log.take())
            }
            Level::Full => play(Turmoil::new(seed, latency, log), scenario, &props),
            Level::Shell => match Memory::new(seed, latency, log) {
                Ok(stage) => play(stage, scenario, &props),
                Err(problem) => (Err(problem), Duration::ZERO, Vec::new()),
            },
        }
    }));
    let (mut failures, simulated, records) = match played {
        Ok((Ok(()), simulated, records)) => (Vec::new(), simulated, records),
        Ok((Err(problem), simulated, records)) => (vec![problem], simulated, records),
        Err(_) => (vec!["a program panicked".to_owned()], Duration::ZERO, props.log.take()),
    };
    if begin.elapsed() > REAL_TIME_MAX + simulated / 20 {
        failures.push("something in it waits for the real clock".to_owned());
    }
    if !cfg!(tokio_unstable) {
        failures.push(UNSOUND.to_owned());
    }
    let books = props.library.books();
    let (verdicts, seen) = props.verdicts.take();
    failures.extend(verdicts);
    let diary = props.diary.pages();
    failures.extend(judge::expectations(scenario, &diary, &books));
    let (broken, mut tally) = judge::promises(&records, &books);
    failures.extend(broken);
    let failures = failures.iter().map(|failure| printable(failure, usize::MAX)).collect();
    tally.count_faults(scenario, &diary, simulated);
    let mut records = records;
    for (editor, (starts, books)) in &books {
        records.extend(books.executed.iter().map(|execution| {
            let client = execution.client_request_id.as_deref().unwrap_or_default();
            let text = format!("{} {} {client}", execution.request_id, execution.tool_name);
            let what =
                What::Note { actor: editor.clone(), kind: "ran", text: text.trim_end().into() };
            Record { at: *starts + execution.at, what }
        }));
    }
    records.sort_by_key(|record| record.at);
    let shows_heartbeats = scenario.shows_heartbeats;
    Run { records, failures, simulated, seen, tally, shows_heartbeats, lines: OnceCell::new() }
}

fn play<S: Stage>(
    mut stage: S,
    scenario: &Scenario,
    props: &Props,
) -> (Result<(), String>, Duration, Vec<Record>) {
    cast::assemble(&mut stage, scenario, props);
    let played = let_time_pass(&mut stage, scenario, props);
    let simulated = stage.elapsed();
    let records = props.log.take();
    props.finish.cancel();
    for _ in 0..CLOSING_MAX {
        if props.library.books().len() == scenario.editors.len()
            || stage.step(Duration::MAX).is_err()
        {
            break;
        }
    }
    (played, simulated, records)
}

fn let_time_pass<S: Stage>(
    stage: &mut S,
    scenario: &Scenario,
    props: &Props,
) -> Result<(), String> {
    let mut cues = cues(scenario);
    let last_step = scenario.steps.last().map(|step| step.at).unwrap_or_default();
    let mut over_at = scenario.lasts;
    while over_at.is_none_or(|end| stage.elapsed() < end) {
        let now = stage.elapsed();
        while cues.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, cue)) = cues.pop_front() else { break };
            follow(stage, scenario, props, cue);
        }
        let next_cue = cues.front().map(|(at, _)| *at);
        let until = next_cue.into_iter().chain(over_at).min();
        stage.step(until.unwrap_or(Duration::MAX))?;
        let all_begun = cues.is_empty() && stage.elapsed() > last_step;
        if over_at.is_none() && all_begun && is_settled(scenario, props) {
            over_at = Some(stage.elapsed() + REST);
        }
        if stage.elapsed() > END_MAX {
            return Err("after 20 minutes there is still a call without an answer".to_owned());
        }
    }
    Ok(())
}

/// Every call has its answer, or will have none.
fn is_settled(scenario: &Scenario, props: &Props) -> bool {
    scenario.calls().all(|(_, call)| props.diary.is_closed(&call.label))
}

pub(crate) fn cues(scenario: &Scenario) -> VecDeque<(Duration, Cue)> {
    let mut cues = Vec::new();
    for step in &scenario.steps {
        match &step.action {
            Action::Call(_) => {}
            Action::Cancel { label } => {
                let agent = scenario.calls().find(|(_, call)| call.label == *label);
                let actor = agent.map(|(_, call)| call.agent.clone()).unwrap_or_default();
                let text = label.clone();
                cues.push((step.at, Cue::Note { actor, kind: "takes back", text }));
            }
            Action::Leave { agent } => {
                let (actor, text) = (agent.clone(), String::new());
                cues.push((step.at, Cue::Note { actor, kind: "leaves", text }));
            }
            Action::Unity { editor, words, .. } => {
                let (actor, text) = ((*editor).to_owned(), words.clone());
                cues.push((step.at, Cue::Note { actor, kind: "does", text }));
            }
            Action::Network { words, fault, from, to, lasts } => {
                let (fault, from, to, words) = (*fault, from.clone(), to.clone(), words.clone());
                if let Some(lasts) = lasts {
                    let (from, to, words) = (from.clone(), to.clone(), words.clone());
                    cues.push((step.at + *lasts, Cue::Mend { fault, from, to, words }));
                }
                cues.push((step.at, Cue::Break { fault, from, to, words }));
            }
            Action::Server { does, away } => {
                cues.push((step.at, Cue::Server(*does)));
                cues.extend(away.map(|away| (step.at + away, Cue::Server(ServerDoes::Start))));
            }
        }
    }
    cues.sort_by_key(|(at, _)| *at);
    cues.into()
}

fn follow<S: Stage>(stage: &mut S, scenario: &Scenario, props: &Props, cue: Cue) {
    cue.note(stage.elapsed(), props);
    match cue {
        Cue::Break { fault, from, to, .. } => stage.break_link(fault, &from, &to),
        Cue::Mend { fault, from, to, .. } => {
            stage.mend_link(fault, &from, &to, scenario.latency);
        }
        Cue::Server(ServerDoes::Stop) => props.stop.borrow().cancel(),
        Cue::Server(ServerDoes::Crash) => {
            stage.crash(SERVER);
            props.stop.borrow().cancel(); // If it still runs, then to no effect.
        }
        Cue::Server(ServerDoes::Start) => stage.start(SERVER),
        Cue::Note { .. } => {}
    }
}

impl Cue {
    /// What is told of it.
    pub(crate) fn note(&self, now: Duration, props: &Props) {
        let (actor, kind, text) = match self {
            Self::Break { words, .. } => (NETWORK, "suffers", words.as_str()),
            Self::Mend { words, .. } => (NETWORK, "recovers", words.as_str()),
            Self::Server(ServerDoes::Stop) => (SERVER, "is stopped", ""),
            Self::Server(ServerDoes::Crash) => (SERVER, "is killed", ""),
            Self::Server(ServerDoes::Start) => (SERVER, "starts", ""),
            Self::Note { actor, kind, text } => (actor.as_str(), *kind, text.as_str()),
        };
        props.log.note(now, actor, kind, text.to_owned());
    }
}
