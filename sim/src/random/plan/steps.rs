//! The steps of a plan: what agents do, and what goes wrong around them.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::Limits;
use mock_unity::Command;
use protocol::{Json, Map};
use serde_json::json;

use super::{FAULTS_MS, HEALED_MS, PROBE, PROBE_MS};
use crate::random::rng::Rng;
use crate::scenario::{
    Action, Agent, Call, Expected, Position, ServerAction, Step, UNITY, network_words,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Console,
    Tests,
    Status,
    CancelJob,
    State,
    /// A call that must be rejected.
    Bad,
    CancelCall,
    Compile,
    Reload,
    Drop,
    Restart,
    Freeze,
    Pong,
    Misanswer,
    Jobs,
    Garbage,
    /// So much of it that the server closes the socket.
    Babble,
    /// The adapter of a call breaks.
    Break,
    /// Unity answers a cancel with a frame that it did not make for it.
    Forge,
    /// Unity does not answer while the time of a test run ends.
    StuckJob,
    Network,
    /// The server is killed or stopped, and starts again.
    Server,
}

pub(super) const KINDS: [Kind; 22] = [
    Kind::Console,
    Kind::Tests,
    Kind::Status,
    Kind::CancelJob,
    Kind::State,
    Kind::Bad,
    Kind::CancelCall,
    Kind::Compile,
    Kind::Reload,
    Kind::Drop,
    Kind::Restart,
    Kind::Freeze,
    Kind::Pong,
    Kind::Misanswer,
    Kind::Jobs,
    Kind::Garbage,
    Kind::Babble,
    Kind::Break,
    Kind::Forge,
    Kind::StuckJob,
    Kind::Network,
    Kind::Server,
];

const MISANSWERS: [&str; 16] = [
    "late 1s",
    "late 6s",
    "twice",
    "never",
    "malformed",
    "unreadable",
    "oversize",
    "flood",
    "flood",
    "wrong-type",
    "misaddressed",
    "binary",
    "error ERR_UNITY_EXECUTION",
    "error ERR_INVALID_PARAMS",
    "error ERR_RECONFIG_IN_PROGRESS",
    "error OWN_CODE",
];

const GARBAGE: [&str; 5] = [
    "stale",
    "say x",
    "say {}",
    "say {\"type\": \"shrug\", \"protocol_version\": 1}",
    "say {\"type\": \"hello\", \"protocol_version\": 1, \"plugin_version\": \"1.0.0\", \"state\": \"ready\"}",
];

/// Only the link with Unity fails: an agent would wait for ever for an answer that was lost on the way to it.
const LINK_FAULTS: [&str; 5] = [
    "partition unity",
    "hold unity",
    "lose unity->server",
    "lose server->unity",
    "latency unity 150ms",
];

/// How long the probe may take: all other calls of a plan may be queued before it, at a slow Unity.
const PROBE_MAX: Duration = Duration::from_secs(60);
/// Unity may still work on calls that timed out long ago.
const PROBE_TIMEOUT_MS: u64 = 30_000;
/// Bad frames that end a session.
const BABBLE: u64 = 10;
/// Forged answers at a time: the plan does not know the ids of the requests.
const FORGED: u64 = 4;
/// A dialog that opens later is closed too early: a question to Unity has five seconds.
const STUCK_FROM_MAX: u64 = 5_000;
/// An HTTP call travels so often until it arrives: its connection is made first.
const CONNECT_TRIPS: u64 = 3;

pub(super) struct Steps {
    steps: Vec<Step>,
    agents: Vec<String>,
    /// Then the server ends with its agent and does not come back.
    has_stdio: bool,
    calls: u64,
    jobs: u64,
    /// A link has one fault at a time.
    link_free_at: u64,
    /// The server is stopped once at a time, and starts again.
    server_free_at: u64,
    /// In milliseconds.
    latency: u64,
    reconnect_wait: u64,
    compile_grace: u64,
    /// When something will be due in the server, if no fault comes before.
    deadlines: Vec<u64>,
}

impl Steps {
    pub(super) fn new(
        agents: &BTreeMap<String, Agent>,
        has_stdio: bool,
        latency: u64,
        limits: &Limits,
    ) -> Self {
        Self {
            steps: Vec::new(),
            agents: agents.keys().cloned().collect(),
            has_stdio,
            calls: 0,
            jobs: 0,
            link_free_at: 0,
            server_free_at: 0,
            latency,
            reconnect_wait: limits.reconnect_wait.as_millis() as u64,
            compile_grace: limits.compile_grace.as_millis() as u64,
            deadlines: Vec::new(),
        }
    }

    /// Some steps reach the server just before, at or just after a deadline.
    pub(super) fn draw_time(&self, rng: &mut Rng) -> u64 {
        if self.deadlines.is_empty() || !rng.one_in(3) {
            return rng.between(200, FAULTS_MS);
        }
        let arrives = rng.pick(&self.deadlines) + rng.between(0, 2);
        let travels = self.latency * rng.pick(&[1, CONNECT_TRIPS]);
        arrives.saturating_sub(travels + 1).clamp(200, FAULTS_MS)
    }

    /// In order, with the end of all faults and the probe.
    pub(super) fn end(mut self) -> Vec<Step> {
        self.unity(HEALED_MS, "behave");
        let agent = self.agents.first().cloned().unwrap_or_default();
        let probe = Call {
            label: PROBE.to_owned(),
            agent,
            tool: "read_console".to_owned(),
            arguments: with_name(json!({ "timeout_ms": PROBE_TIMEOUT_MS }), PROBE),
            expected: Expected::Ok(json!({})),
            within: Some(PROBE_MAX),
        };
        self.push(PROBE_MS, Action::Call(probe));
        self.steps.sort_by_key(|step| step.at);
        self.steps
    }

    pub(super) fn add(&mut self, at: u64, kind: Kind, rng: &mut Rng) {
        match kind {
            Kind::Console => {
                let timeout = rng.pick(&[50, 400, 2_000, 4_000]);
                self.call(at, rng, "read_console", json!({ "timeout_ms": timeout }));
            }
            Kind::Tests => {
                self.jobs += 1;
                let (timeout, wait) = (rng.pick(&[200, 1_500, 4_000]), rng.pick(&[0, 300, 20_000]));
                let with = json!({ "timeout_ms": timeout, "wait_ms": wait });
                self.call(at, rng, "run_tests", with);
            }
            Kind::Status => {
                let with = json!({ "job_id": self.some_job(rng), "wait_ms": rng.pick(&[0, 0, 500, 20_000]) });
                self.call(at, rng, "get_job_status", with);
            }
            Kind::CancelJob => {
                let with = json!({ "job_id": self.some_job(rng) });
                self.call(at, rng, "cancel_job", with);
            }
            Kind::State => self.call(at, rng, "get_editor_state", json!({})),
            Kind::Bad => {
                let (tool, with) = bad_call(rng, self.calls);
                self.call(at, rng, tool, with);
            }
            Kind::CancelCall => {
                let later = at + rng.pick(&[1, 30, 400, 2_000]);
                self.long_call(at, rng);
                self.push(later, Action::Cancel { label: format!("r{}", self.calls) });
            }
            Kind::Break => {
                let later = at + rng.pick(&[5, 30, 400, 2_000]);
                self.long_call(at, rng);
                self.push(later, Action::Break { label: format!("r{}", self.calls) });
            }
            Kind::Forge => self.forge(at, rng),
            Kind::StuckJob => self.stuck_job(at, rng),
            Kind::Compile
            | Kind::Reload
            | Kind::Drop
            | Kind::Restart
            | Kind::Freeze
            | Kind::Pong
            | Kind::Misanswer
            | Kind::Jobs
            | Kind::Garbage => {
                let waits =
                    if kind == Kind::Compile { self.compile_grace } else { self.reconnect_wait };
                let arrives = at + self.latency;
                self.deadlines.extend([arrives, arrives + waits]);
                self.unity(at, &unity_words(kind, rng));
            }
            Kind::Babble => (0..BABBLE).for_each(|_| self.unity(at, "say x")),
            Kind::Network => self.network(at, rng),
            Kind::Server => self.server(at, rng),
        }
    }

    fn push(&mut self, at: u64, action: Action) {
        let position = Position { line: 0, column: 0 };
        self.steps.push(Step { at: Duration::from_millis(at), position, action });
    }

    /// A call that is likely to be open for a while.
    fn long_call(&mut self, at: u64, rng: &mut Rng) {
        let wait = rng.pick(&[0, 20_000]);
        match rng.pick(&["read_console", "run_tests"]) {
            "run_tests" => {
                self.jobs += 1;
                self.call(at, rng, "run_tests", json!({ "timeout_ms": 4_000, "wait_ms": wait }));
            }
            tool => self.call(at, rng, tool, json!({ "timeout_ms": 4_000 })),
        }
    }

    /// Unity's own answer is late, so that a forged one comes first.
    fn forge(&mut self, at: u64, rng: &mut Rng) {
        self.jobs += 1;
        self.call(at, rng, "run_tests", json!({ "timeout_ms": 4_000 }));
        self.unity(at + 150, "answer late 1s");
        let with = json!({ "job_id": self.some_job(rng) });
        self.call(at + 150, rng, "cancel_job", with);
        let first = rng.between(1, 2 * self.calls);
        for number in first..first + FORGED {
            let words = format!(
                "say {{\"type\": \"cancel_result\", \"protocol_version\": 1, \"request_id\": \"req-s1-{number}\", \"status\": \"cancelled\"}}"
            );
            self.unity(at + 300, &words);
        }
    }

    fn stuck_job(&mut self, at: u64, rng: &mut Rng) {
        let at = at.min(STUCK_FROM_MAX);
        self.jobs += 1;
        self.call(at, rng, "run_tests", json!({ "timeout_ms": 1_500 }));
        self.unity(at + 1_000, "dialog");
        // The question waits longer for Unity than the job does.
        let with = json!({ "job_id": self.some_job(rng), "timeout_ms": 10_000 });
        self.call(at + 1_100, rng, "get_job_status", with);
    }

    fn call(&mut self, at: u64, rng: &mut Rng, tool: &str, with: Json) {
        self.calls += 1;
        let times = ["timeout_ms", "wait_ms"].iter().filter_map(|name| with.get(name)?.as_u64());
        let arrives = at + self.latency * CONNECT_TRIPS;
        self.deadlines.extend(times.filter(|time| *time > 0).map(|time| arrives + time));
        let label = format!("r{}", self.calls);
        let agent = self.agents.get(rng.between(0, self.agents.len() as u64 - 1) as usize);
        let call = Call {
            agent: agent.cloned().unwrap_or_default(),
            tool: tool.to_owned(),
            arguments: with_name(with, &label),
            label,
            expected: Expected::Anything,
            within: None,
        };
        self.push(at, Action::Call(call));
    }

    /// Most of them exist.
    fn some_job(&self, rng: &mut Rng) -> String {
        format!("job-s1-{}", rng.between(1, self.jobs + 1))
    }

    fn unity(&mut self, at: u64, words: &str) {
        let Ok(command) = Command::parse(words) else { unreachable!("{words} is what it can do") };
        self.push(at, Action::Unity { editor: UNITY, words: words.to_owned(), command });
    }

    fn network(&mut self, at: u64, rng: &mut Rng) {
        let (begin, lasts) = (at.max(self.link_free_at), rng.pick(&[20, 300, 2_000]));
        let words = rng.pick(&LINK_FAULTS);
        if begin >= FAULTS_MS {
            return;
        }
        let Ok((fault, from, to)) = network_words(words) else {
            unreachable!("{words} is a fault")
        };
        self.link_free_at = begin + lasts + 1;
        let (words, lasts) = (words.to_owned(), Some(Duration::from_millis(lasts)));
        self.push(begin, Action::Network { words, fault, from, to, lasts });
    }

    fn server(&mut self, at: u64, rng: &mut Rng) {
        let does = rng.pick(&[ServerAction::Crash, ServerAction::Stop]);
        let (begin, away) = (at.max(self.server_free_at), rng.pick(&[200, 2_500]));
        if self.has_stdio || begin >= FAULTS_MS {
            return;
        }
        // A server that is asked to stop needs a while.
        let away = if does == ServerAction::Stop { away.max(2_500) } else { away };
        self.server_free_at = begin + away + 1;
        self.push(begin, Action::Server { does, away: Some(Duration::from_millis(away)) });
    }
}

fn with_name(arguments: Json, label: &str) -> Map<String, Json> {
    let mut named = Map::from_iter([("client_request_id".to_owned(), label.into())]);
    if let Json::Object(fields) = arguments {
        named.extend(fields);
    }
    named
}

/// `number` makes two of them differ.
fn bad_call(rng: &mut Rng, number: u64) -> (&'static str, Json) {
    match rng.between(0, 4) {
        0 => ("no_such_tool", json!({})),
        1 => ("read_console", json!({ "max_entries": 0 })),
        2 => ("read_console", json!({ "client_request_id": format!("no name {number}") })),
        3 => ("cancel_job", json!({ "job_id": "req-s1-1" })),
        _ => ("get_job_status", json!({ "job_id": "none" })),
    }
}

/// What Unity does, well or badly.
fn unity_words(kind: Kind, rng: &mut Rng) -> String {
    match kind {
        Kind::Compile => format!("compile {}ms", rng.pick(&[50, 500, 3_000])),
        Kind::Reload => {
            format!("{} {}ms", rng.pick(&["reload", "play"]), rng.pick(&[50, 500, 3_000]))
        }
        Kind::Drop => {
            format!("{} {}ms", rng.pick(&["drop", "close", "goaway"]), rng.pick(&[1, 300, 3_000]))
        }
        Kind::Restart => format!("restart {}ms", rng.pick(&[200, 2_000])),
        Kind::Freeze => rng.pick(&["freeze 500ms", "freeze 3s", "dialog", "dismiss"]).to_owned(),
        Kind::Pong => format!("pong {}", rng.pick(&["never", "300ms", "0s"])),
        Kind::Misanswer => format!("answer {}", rng.pick(&MISANSWERS)),
        Kind::Jobs => {
            let how = ["lost", "succeeded", "failed", "queued", "cancelled"];
            format!("job {}", rng.pick(&how))
        }
        Kind::Garbage => rng.pick(&GARBAGE).to_owned(),
        Kind::Console
        | Kind::Tests
        | Kind::Status
        | Kind::CancelJob
        | Kind::State
        | Kind::Bad
        | Kind::CancelCall
        | Kind::Babble
        | Kind::Break
        | Kind::Forge
        | Kind::StuckJob
        | Kind::Network
        | Kind::Server => unreachable!("these are not Unity's"),
    }
}
