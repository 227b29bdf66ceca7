//! The steps of a plan: what agents do, and what goes wrong around them.

use std::collections::BTreeMap;
use std::time::Duration;

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
    /// A call that can only be refused.
    Bad,
    TakeBack,
    Compile,
    Reload,
    Drop,
    Restart,
    Freeze,
    Pong,
    Misanswer,
    Jobs,
    Garbage,
    /// So much of it that the server closes.
    Babble,
    Network,
    /// The server is killed or stopped, and starts again.
    Server,
}

pub(super) const KINDS: [Kind; 19] = [
    Kind::Console,
    Kind::Tests,
    Kind::Status,
    Kind::CancelJob,
    Kind::State,
    Kind::Bad,
    Kind::TakeBack,
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
    Kind::Network,
    Kind::Server,
];

const MISANSWERS: [&str; 15] = [
    "late 1s",
    "late 6s",
    "twice",
    "never",
    "malformed",
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

const GARBAGE: [&str; 4] =
    ["stale", "say x", "say {}", "say {\"type\": \"shrug\", \"protocol_version\": 1}"];

/// Only what falls into the link with Unity is lost: an agent would wait for ever for an answer that was
/// lost on the way, whatever the server does.
const LINK_FAULTS: [&str; 5] = [
    "partition unity",
    "hold unity",
    "lose unity->server",
    "lose server->unity",
    "latency unity 150ms",
];

/// How long the probe may take: all other calls of a plan may be in line before it, at a slow Unity.
const PROBE_MAX: Duration = Duration::from_secs(60);
/// Bad frames that end a session.
const BABBLE: u64 = 10;

pub(super) struct Steps {
    steps: Vec<Step>,
    agents: Vec<String>,
    /// Then the server ends with its agent, and does not come back.
    has_stdio: bool,
    calls: u64,
    jobs: u64,
    /// One fault at a time on a link.
    link_free_at: u64,
    /// The same for the server, which starts again.
    server_free_at: u64,
}

impl Steps {
    pub(super) fn new(agents: &BTreeMap<String, Agent>, has_stdio: bool) -> Self {
        let agents = agents.keys().cloned().collect();
        let (link_free_at, server_free_at) = (0, 0);
        Self {
            steps: Vec::new(),
            agents,
            has_stdio,
            calls: 0,
            jobs: 0,
            link_free_at,
            server_free_at,
        }
    }

    /// In order, with healing and the probe.
    pub(super) fn end(mut self) -> Vec<Step> {
        self.unity(HEALED_MS, "behave");
        let agent = self.agents.first().cloned().unwrap_or_default();
        let probe = Call {
            label: PROBE.to_owned(),
            agent,
            tool: "read_console".to_owned(),
            arguments: with_name(json!({}), PROBE),
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
            Kind::TakeBack => {
                let later = at + rng.pick(&[1, 30, 400, 2_000]);
                let tool = rng.pick(&["read_console", "run_tests"]);
                self.call(at, rng, tool, json!({ "timeout_ms": 4_000 }));
                self.push(later, Action::Cancel { label: format!("r{}", self.calls) });
            }
            Kind::Compile
            | Kind::Reload
            | Kind::Drop
            | Kind::Restart
            | Kind::Freeze
            | Kind::Pong
            | Kind::Misanswer
            | Kind::Jobs
            | Kind::Garbage => self.unity(at, &unity_words(kind, rng)),
            Kind::Babble => (0..BABBLE).for_each(|_| self.unity(at, "say x")),
            Kind::Network => self.network(at, rng),
            Kind::Server => self.server(at, rng),
        }
    }

    fn push(&mut self, at: u64, action: Action) {
        let position = Position { line: 0, column: 0 };
        self.steps.push(Step { at: Duration::from_millis(at), position, action });
    }

    fn call(&mut self, at: u64, rng: &mut Rng, tool: &str, with: Json) {
        self.calls += 1;
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

    /// Mostly one that was issued.
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
        // One that is asked to stop is still there for a while.
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

/// `number` tells two of them apart.
fn bad_call(rng: &mut Rng, number: u64) -> (&'static str, Json) {
    match rng.between(0, 4) {
        0 => ("no_such_tool", json!({})),
        1 => ("read_console", json!({ "max_entries": 0 })),
        2 => ("read_console", json!({ "client_request_id": format!("no name {number}") })),
        3 => ("cancel_job", json!({ "job_id": "req-s1-1" })),
        _ => ("get_job_status", json!({ "job_id": "none" })),
    }
}

/// What Unity is told to do, well or badly.
fn unity_words(kind: Kind, rng: &mut Rng) -> String {
    match kind {
        Kind::Compile => format!("compile {}ms", rng.pick(&[50, 500, 3_000])),
        Kind::Reload => {
            format!("{} {}ms", rng.pick(&["reload", "play"]), rng.pick(&[50, 500, 3_000]))
        }
        Kind::Drop => {
            format!("{} {}ms", rng.pick(&["drop", "close"]), rng.pick(&[1, 300, 3_000]))
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
        | Kind::TakeBack
        | Kind::Babble
        | Kind::Network
        | Kind::Server => unreachable!("these are not Unity's"),
    }
}
