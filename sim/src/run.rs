//! Runs a scenario: lets virtual time pass, does to network and server what the scenario says, and
//! compares what came of it with what it expects.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::cast::{self, Props};
use crate::checks;
use crate::log::{Record, What};
use crate::net::{Fault, Stage};
use crate::scenario::{Action, NETWORK, SERVER, Scenario, ServerDoes};
use crate::seen::Seen;
use crate::trace::{self, Line};

/// How long the run goes on when everything is done and answered.
const REST: Duration = Duration::from_millis(200);
/// A run that is not over by then never will be.
const END_MAX: Duration = Duration::from_secs(1_200);
/// How much real time a run may take beside what it simulates.
const REAL_TIME_MAX: Duration = Duration::from_secs(20);
/// How long the Editors have to close their books.
const CLOSING_MAX: u32 = 1_000;

/// Said of a build whose runs prove nothing.
const UNSOUND: &str = "built without --cfg tokio_unstable, so that a panic in a program would pass \
    unseen: RUSTFLAGS takes the place of .cargo/config.toml, add it there";

/// What a scenario came to.
pub struct Run {
    pub(crate) lines: Vec<Line>,
    pub(crate) records: Vec<Record>,
    /// What is not as it should be; empty if all is well.
    pub failures: Vec<String>,
    pub simulated: Duration,
    /// By the model, in all servers.
    pub seen: Seen,
}

impl Run {
    pub fn trace(&self) -> String {
        trace::render(&self.lines)
    }

    /// Everything there is, at both ends of every wire: what two runs must agree on to the byte.
    pub fn everything(&self) -> String {
        let shown = |record| protocol::printable(&format!("{record:?}"), 10_000) + "\n";
        let records = self.records.iter().map(shown);
        let failures = self.failures.iter().map(|failure| format!("FAILED {failure}\n"));
        self.trace() + &records.chain(failures).collect::<String>()
    }
}

/// What the stage manager does at a time.
enum Cue {
    Break { fault: Fault, from: String, to: String, words: String },
    Mend { fault: Fault, from: String, to: String, words: String },
    Server(ServerDoes),
    Note { actor: String, kind: &'static str, text: String },
}

pub fn run(scenario: &Scenario) -> Run {
    let begin = std::time::Instant::now();
    let props = Props::new();
    let played = catch_unwind(AssertUnwindSafe(|| play(scenario, &props)));
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
    failures.extend(checks::expectations(scenario, &props.diary.pages(), &books));
    failures.extend(checks::promises(&records, &books));
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
    let lines = trace::lines(&records, scenario.shows_heartbeats);
    Run { lines, records, failures, simulated, seen }
}

fn play(scenario: &Scenario, props: &Props) -> (Result<(), String>, Duration, Vec<Record>) {
    let mut stage = Stage::new(scenario.seed, scenario.latency, props.log.clone());
    cast::assemble(&mut stage, scenario, props);
    let played = let_time_pass(&mut stage, scenario, props);
    let simulated = stage.elapsed();
    let records = props.log.take();
    props.finish.cancel();
    for _ in 0..CLOSING_MAX {
        if props.library.books().len() == scenario.editors.len() || stage.step().is_err() {
            break;
        }
    }
    (played, simulated, records)
}

fn let_time_pass(stage: &mut Stage, scenario: &Scenario, props: &Props) -> Result<(), String> {
    let mut cues = cues(scenario);
    let last_step = scenario.steps.last().map(|step| step.at).unwrap_or_default();
    let mut over_at = scenario.lasts;
    while over_at.is_none_or(|end| stage.elapsed() < end) {
        let now = stage.elapsed();
        while cues.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, cue)) = cues.pop_front() else { break };
            follow(stage, scenario, props, cue);
        }
        stage.step()?;
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

fn cues(scenario: &Scenario) -> VecDeque<(Duration, Cue)> {
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

fn follow(stage: &mut Stage, scenario: &Scenario, props: &Props, cue: Cue) {
    let now = stage.elapsed();
    match cue {
        Cue::Break { fault, from, to, words } => {
            stage.break_link(fault, &from, &to);
            props.log.note(now, NETWORK, "suffers", words);
        }
        Cue::Mend { fault, from, to, words } => {
            stage.mend_link(fault, &from, &to, scenario.latency);
            props.log.note(now, NETWORK, "recovers", words);
        }
        Cue::Server(does) => {
            let kind = match does {
                ServerDoes::Stop => "is stopped",
                ServerDoes::Crash => "is killed",
                ServerDoes::Start => "starts",
            };
            props.log.note(now, SERVER, kind, String::new());
            match does {
                ServerDoes::Stop => props.stop.borrow().cancel(),
                ServerDoes::Crash => stage.crash(SERVER),
                ServerDoes::Start => stage.start(SERVER),
            }
        }
        Cue::Note { actor, kind, text } => props.log.note(now, &actor, kind, text),
    }
}
