//! Coverage: what runs have seen. A run that has not seen a thing has not tested it, so each has a floor.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use coordination::ErrorCode;
use mock_unity::{JsonStyle, PongSeq};

use crate::record::calls::{CallRecord, CallRecordsSnapshot};
use crate::scenario::LinkFault;
use crate::scenario::{Action, Scenario, ServerAction};

#[derive(Clone, Debug, Default)]
pub struct Coverage {
    pub calls: u64,
    /// Events that cores handled.
    pub events: u64,
    counts: BTreeMap<Cow<'static, str>, u64>,
    /// How often there was each kind of fault, and how often while a call had no answer.
    faults: BTreeMap<String, (u64, u64)>,
    /// Runs with several servers.
    relayed: u64,
    /// Runs without a repeated `client_request_id`. The judges of the wires see them, and most floors are for them.
    judged: u64,
    /// Runs with a repeated `client_request_id`.
    repeated: u64,
}

/// Seen in runs with a repeated `client_request_id`.
const IN_REPEATS: [&str; 3] =
    ["a repeated call: ran once", "a repeated call: ran never", "an answer was replayed"];
/// Each of them is seen once in so many of these runs.
const IN_REPEATS_EVERY: u64 = 50;

/// Seen on the wires, in the books of Unity and in the records of agents. Every error code is added to it.
const ON_THE_WIRES: [&str; 28] = [
    "told completed",
    "told completed_error",
    "told not_executed",
    "told unknown",
    "told unknown and it ran",
    "told unknown and it did not run",
    "cancel_job: cancelled",
    "cancel_job: cancel_requested",
    "cancel_job: rejected",
    "a job shows cancel: requested",
    "a job shows cancel: rejected",
    "cancelled before it was sent",
    "cancelled after it was sent",
    "lost before a call was sent",
    "lost after a call was sent",
    "lost after a call ran",
    "lost after the result",
    "lost during a close",
    "an agent got progress",
    "a wait_ms ended with its job",
    "a wait_ms ended by time",
    "a promised cancel was sent",
    "waited a minute for a compile",
    "a submission had its half minute",
    "a job had its five minutes",
    "ran in unity2",
    "a plugin writes its JSON in another way",
    "a plugin sends pongs without a new seq",
];

/// Seen on the wires of plans with several servers.
const BETWEEN_SERVERS: [&str; 8] = [
    "a relay passed on a call",
    "a relay took over the port",
    "a holder is killed",
    "a holder is stopped",
    "a relay is killed",
    "a relay is stopped",
    "a call followed the port",
    "a call was lost with its holder",
];

/// Seen by the model.
const BESIDE_THE_CORE: [&str; 57] = [
    "Unity cancelled at once",
    "Unity forgot a job",
    "Unity refused a cancel",
    "Unity will cancel",
    "a call that waits for its job was cancelled",
    "a cancel was not answered",
    "a frame came back unsent",
    "a frame was too large",
    "a job ended while a call asked about it",
    "a job failed",
    "a job succeeded",
    "a job timed out",
    "a job was asked about at its limit",
    "a job was cancelled",
    "a job was lost with its Editor",
    "a late acceptance was cancelled",
    "a late answer freed the lane",
    "a new session freed the lane",
    "a newcomer took over",
    "a question timed out",
    "a plugin went away to reload",
    "a queued call was cancelled",
    "a reconnect window closed",
    "a remembered compile was forgotten",
    "a request of an earlier session had its time",
    "a running call was cancelled",
    "a second hello",
    "a session ended because Unity was stuck",
    "a session ended without pong",
    "a stale status",
    "a submission timed out",
    "an Editor replaced itself",
    "an adapter broke after its call was sent",
    "an adapter broke before its call was sent",
    "an answer that nothing waits for",
    "an ended job was forgotten",
    "an event 1 ms after a deadline",
    "an event 1 ms before a deadline",
    "an event at a deadline",
    "garbage",
    "lost with a call in Unity",
    "lost with a submission in Unity",
    "lost with the lane kept",
    "progress was reported",
    "reconnected within the window",
    "ten bad frames in a row",
    "the server stopped",
    "waited too long behind an overdue request",
    "waited too long for a compile",
    "waited too long for a reload",
    "waited too long for an Editor",
    "Unity was still at work after a reconnect",
    "a call was not moved to another project",
    "a cancel named a submission",
    "a job was kept for the grace and lost",
    "a place was reserved",
    "waited too long behind others",
];

/// Faults around the server.
const FAULTS: [&str; 38] = [
    "answer binary",
    "answer error",
    "answer flood",
    "answer late",
    "answer malformed",
    "answer misaddressed",
    "answer never",
    "answer oversize",
    "answer twice",
    "answer unreadable",
    "answer wrong-type",
    "break",
    "close",
    "compile",
    "dialog",
    "drop",
    "freeze",
    "goaway",
    "job cancelled",
    "job failed",
    "job lost",
    "job queued",
    "job succeeded",
    "latency",
    "lose from unity",
    "lose to unity",
    "hold",
    "partition",
    "play",
    "pong 300ms",
    "pong never",
    "reload",
    "restart",
    "say",
    "second Editor",
    "server killed",
    "server stopped",
    "stale",
];

/// One in so many plans with several servers must see each thing of `BETWEEN_SERVERS`.
const BETWEEN_SERVERS_EVERY: u64 = 20;

/// How often a run of so many plans must see a thing.
fn floor(what: &str, plans: u64) -> u64 {
    let per_million = match what {
        // Few plans have a job that Unity refuses to cancel, and an agent that asks about it then.
        "told ERR_CANCEL_REJECTED" | "a job shows cancel: rejected" | "cancel_job: cancelled" => {
            500
        }
        // Only plans with the default times can see these.
        "waited a minute for a compile"
        | "a submission had its half minute"
        | "a job had its five minutes" => 1_000,
        "told ERR_UNITY_DISCONNECTED" | "told ERR_RECONFIG_IN_PROGRESS" => 1_000,
        _ => 2_000,
    };
    plans * per_million / 1_000_000
}

/// A thing, how often it was seen, and its floor.
pub type Row = (Cow<'static, str>, u64, u64);

impl Coverage {
    pub(crate) fn mark(&mut self, what: &'static str) {
        *self.counts.entry(Cow::Borrowed(what)).or_default() += 1;
    }

    pub(crate) fn count(&mut self, group: &str, what: &str) {
        *self.counts.entry(Cow::Owned(format!("{group}{what}"))).or_default() += 1;
    }

    /// One more run. `has_repeats` decides which judges see it.
    pub(crate) fn count_run(&mut self, has_repeats: bool) {
        match has_repeats {
            false => self.judged += 1,
            true => self.repeated += 1,
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.events += other.events;
        self.relayed += other.relayed;
        self.judged += other.judged;
        self.repeated += other.repeated;
        for (what, count) in &other.counts {
            *self.counts.entry(what.clone()).or_default() += count;
        }
        for (kind, (times, busy)) in &other.faults {
            let sum = self.faults.entry(kind.clone()).or_default();
            *sum = (sum.0 + times, sum.1 + busy);
        }
    }

    /// Counts the faults of a scenario until `until`.
    pub(crate) fn count_faults(
        &mut self,
        scenario: &Scenario,
        records: &CallRecordsSnapshot,
        until: Duration,
    ) {
        self.calls = records.calls.len() as u64;
        self.relayed = u64::from(scenario.has_relays());
        for editor in &scenario.editors {
            if editor.settings.writes != JsonStyle::default() {
                self.mark("a plugin writes its JSON in another way");
            }
            if editor.settings.pong_seq != PongSeq::New {
                self.mark("a plugin sends pongs without a new seq");
            }
        }
        let mut add = |kind: String, at: Duration| {
            let is_busy = records.calls.values().any(|record| is_open(record, at));
            let sum = self.faults.entry(kind).or_default();
            *sum = (sum.0 + 1, sum.1 + u64::from(is_busy));
        };
        for editor in scenario.editors.iter().skip(1) {
            add("second Editor".to_owned(), editor.starts);
        }
        for step in scenario.steps.iter().filter(|step| step.at <= until) {
            if let Some(kind) = fault_of(&step.action) {
                add(kind, step.at);
            }
        }
    }

    /// Everything that has a floor, except faults.
    pub fn table(&self) -> Vec<Row> {
        let plans = self.judged;
        let codes =
            ErrorCode::ALL.into_iter().map(|code| Cow::Owned(format!("told {}", code.text())));
        let named = ON_THE_WIRES.into_iter().chain(BESIDE_THE_CORE).map(Cow::Borrowed);
        let row = |what: Cow<'static, str>| {
            let (count, floor) = (self.seen(&what), floor(&what, plans));
            (what, count, floor)
        };
        let relayed = BETWEEN_SERVERS.into_iter().filter(|_| self.relayed > 0);
        let relayed = relayed.map(|what| {
            (Cow::Borrowed(what), self.seen(what), self.relayed / BETWEEN_SERVERS_EVERY)
        });
        let repeats = IN_REPEATS
            .map(|what| (Cow::Borrowed(what), self.seen(what), self.repeated / IN_REPEATS_EVERY));
        codes.chain(named).map(row).chain(relayed).chain(repeats).collect()
    }

    /// How often a thing was seen.
    pub fn seen(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }

    /// Each kind of fault: how often, how often while a call had no answer, and the floor of the latter.
    pub fn fault_table(&self) -> Vec<(&'static str, u64, u64, u64)> {
        let plans = self.judged;
        let row = |kind: &'static str| {
            let (times, busy) = self.faults.get(kind).copied().unwrap_or_default();
            (kind, times, busy, floor(kind, plans))
        };
        FAULTS.into_iter().map(row).collect()
    }

    /// The number of faults of all kinds.
    pub fn faults(&self) -> u64 {
        self.faults.values().map(|(times, _)| times).sum()
    }

    /// What was seen less often than its floor.
    pub fn missing(&self) -> Vec<String> {
        let rows = self.table().into_iter();
        let rows =
            rows.filter(|(_, count, floor)| count < floor).map(|(what, ..)| what.into_owned());
        let faults = self.fault_table().into_iter();
        let faults = faults.filter(|(_, _, busy, floor)| busy < floor);
        rows.chain(faults.map(|(kind, ..)| format!("{kind} while a call had no answer"))).collect()
    }
}

fn is_open(record: &CallRecord, at: Duration) -> bool {
    let has_begun = record.called_at.is_some_and(|called| called <= at);
    let has_ended = record.answers.first().is_some_and(|(told, _)| *told < at)
        || record.cancelled_at.is_some_and(|back| back <= at);
    has_begun && !has_ended
}

fn fault_of(action: &Action) -> Option<String> {
    match action {
        Action::Call(_) | Action::Cancel { .. } | Action::Leave { .. } => None,
        Action::Break { .. } => Some("break".to_owned()),
        Action::Server { does: ServerAction::Crash, .. } => Some("server killed".to_owned()),
        Action::Server { does: ServerAction::Stop, .. } => Some("server stopped".to_owned()),
        Action::Server { does: ServerAction::Start, .. } => None,
        Action::Network { fault, from, .. } => Some(
            match fault {
                LinkFault::Partition => "partition",
                LinkFault::Hold => "hold",
                LinkFault::Lose if from == crate::scenario::SERVER => "lose to unity",
                LinkFault::Lose => "lose from unity",
                LinkFault::Latency(_) => "latency",
            }
            .to_owned(),
        ),
        Action::Unity { words, .. } => {
            let mut parts = words.split(' ');
            let (word, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            match (word, rest) {
                ("behave" | "dismiss", _) | ("pong", "0s") => None,
                ("answer" | "job" | "pong", rest) => Some(format!("{word} {rest}")),
                (word, _) => Some(word.to_owned()),
            }
        }
    }
}
