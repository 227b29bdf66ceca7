//! The steps of a plan: what agents do, and what goes wrong around them.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::{Catalog, Limits, Tool};
use mock_unity::Command;
use protocol::{Json, Map};
use serde_json::json;

use super::servers::{Server, probing, that_end};
use super::words::{bad_call, unity_words};
use super::{PROBE, Pace, SLOWEST};
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
    /// Catalogue 1.1: a tool that changes something.
    Write,
    /// Catalogue 1.1: a call that repeats the `client_request_id` of an earlier one.
    Repeat,
}

pub(super) const KINDS: [Kind; 24] = [
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
    Kind::Write,
    Kind::Repeat,
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
/// A probe need not wait for the one before it.
const PROBE_PAUSE: u64 = 3_000;
/// Unity may still work on calls that timed out long ago.
const PROBE_TIMEOUT_MS: u64 = 30_000;
/// Bad frames that end a session.
const BABBLE: u64 = 10;
/// Forged answers at a time: the plan does not know the ids of the requests.
const FORGED: u64 = 4;
/// The default time of a test run.
const JOB_MS: u64 = 300_000;
/// A job that begins later has not had its time when the faults end.
const LONG_FROM_MAX: u64 = 12_000;
/// A dialog that opens later is closed too early: a question to Unity has five seconds.
const STUCK_FROM_MAX: u64 = 5_000;
/// By then every agent has joined its server.
const JOINED: u64 = 500;
/// An HTTP call travels so often until it arrives: its connection is made first.
const CONNECT_TRIPS: u64 = 3;

pub(super) struct Steps {
    pace: Pace,
    steps: Vec<Step>,
    agents: Vec<String>,
    /// Those that have their own server, before those that use whichever has the port.
    probing: Vec<String>,
    /// The servers that end, and since when each is there again.
    servers: Vec<(Server, u64)>,
    calls: u64,
    jobs: u64,
    catalog: Catalog,
    /// Calls that can be repeated.
    named: Vec<Call>,
    /// A link has one fault at a time.
    link_free_at: u64,
    /// In milliseconds.
    latency: u64,
    reconnect_wait: u64,
    compile_grace: u64,
    /// When something will be due in the server, if no fault comes before.
    deadlines: Vec<u64>,
}

impl Steps {
    pub(super) fn new(
        pace: Pace,
        agents: &BTreeMap<String, Agent>,
        latency: u64,
        limits: &Limits,
    ) -> Self {
        let servers = that_end(agents).into_iter().map(|server| (server, 0));
        Self {
            pace,
            steps: Vec::new(),
            agents: agents.keys().cloned().collect(),
            probing: probing(agents),
            servers: servers.collect(),
            calls: 0,
            catalog: limits.catalog,
            named: Vec::new(),
            jobs: 0,
            link_free_at: 0,
            latency,
            reconnect_wait: limits.reconnect_wait.as_millis() as u64,
            compile_grace: limits.compile_grace.as_millis() as u64,
            deadlines: Vec::new(),
        }
    }

    /// Some steps reach the server just before, at or just after a deadline.
    pub(super) fn draw_time(&self, rng: &mut Rng) -> u64 {
        if self.deadlines.is_empty() || !rng.one_in(3) {
            return rng.between(200, self.pace.faults);
        }
        let arrives = rng.pick(&self.deadlines) + rng.between(0, 2);
        let travels = self.latency * rng.pick(&[1, CONNECT_TRIPS]);
        arrives.saturating_sub(travels + 1).clamp(200, self.pace.faults)
    }

    /// In order, with the end of all faults and the probe.
    pub(super) fn end(mut self) -> Vec<Step> {
        self.unity(self.pace.healed, "behave");
        for (number, agent) in (1..).zip(self.probing.clone()) {
            let label = if number == 1 { PROBE.to_owned() } else { format!("{PROBE}{number}") };
            let probe = Call {
                agent,
                tool: "read_console".to_owned(),
                arguments: with_name(json!({ "timeout_ms": PROBE_TIMEOUT_MS }), &label),
                expected: Expected::Ok(json!({})),
                within: Some(PROBE_MAX),
                label,
            };
            self.push(self.pace.probe + (number - 1) * PROBE_PAUSE, Action::Call(probe));
        }
        self.steps.sort_by_key(|step| step.at);
        self.steps
    }

    pub(super) fn add(&mut self, at: u64, kind: Kind, rng: &mut Rng) {
        match kind {
            Kind::Console => {
                let timeout = self.pick(rng, &[50, 400, 2_000, 4_000], &[400, 10_000, 30_000]);
                self.call(at, rng, "read_console", json!({ "timeout_ms": timeout }));
            }
            Kind::Tests => {
                self.jobs += 1;
                let timeout = self.pick(rng, &[200, 1_500, 4_000], &[60_000, JOB_MS, JOB_MS]);
                let wait = self.pick(rng, &[0, 300, 20_000], &[0, 45_000, 60_000]);
                let with = json!({ "timeout_ms": timeout, "wait_ms": wait });
                self.call(at, rng, "run_tests", with);
            }
            Kind::Status => {
                let wait = self.pick(rng, &[0, 0, 500, 20_000], &[0, 0, 45_000, 60_000]);
                let with = json!({ "job_id": self.some_job(rng), "wait_ms": wait });
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
                let words = unity_words(kind, rng, self.pace.is_slow);
                self.unity(at, &words);
            }
            Kind::Babble => (0..BABBLE).for_each(|_| self.unity(at, "say x")),
            Kind::Network => self.network(at, rng),
            Kind::Server => self.server(at, rng),
            Kind::Write => self.write(at, rng),
            Kind::Repeat => self.repeat(at, rng),
        }
    }

    /// A plan with the default times has other times for everything.
    fn pick(&self, rng: &mut Rng, quick: &[u64], slow: &[u64]) -> u64 {
        rng.pick(if self.pace.is_slow { slow } else { quick })
    }

    /// One of the default times runs out, if nothing comes before.
    pub(super) fn add_long(&mut self, rng: &mut Rng) {
        let at = rng.between(200, LONG_FROM_MAX);
        match (self.pace, rng.one_in(2)) {
            (SLOWEST, _) => {
                self.long_job(at, rng);
                self.unity(at + rng.pick(&[40, 200]), "dialog");
                let with = json!({ "job_id": "job-s1-1", "wait_ms": 60_000 });
                self.call(at + JOB_MS - rng.pick(&[40_000, 1_000]), rng, "get_job_status", with);
            }
            (_, true) => {
                self.unity(at, "compile 70s");
                self.call(at + 500, rng, "read_console", json!({}));
                self.long_job(at + rng.between(600, 9_000), rng);
            }
            (_, false) => {
                self.unity(at, "dialog");
                self.long_job(at + 500, rng);
                let with = json!({ "job_id": self.some_job(rng) });
                self.call(at + rng.pick(&[30_400, 30_600, 40_000]), rng, "get_job_status", with);
                self.unity(at + rng.pick(&[35_000, 100_000]), "dismiss");
            }
        }
    }

    /// A test run with all its time.
    fn long_job(&mut self, at: u64, rng: &mut Rng) {
        self.jobs += 1;
        self.call(at, rng, "run_tests", json!({}));
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
        let at = at.min(STUCK_FROM_MAX); // Before the faults end.
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
        if Tool::named(tool).is_some_and(|tool| self.catalog.deduplicates(tool)) {
            self.named.push(call.clone());
        }
        self.push(at, Action::Call(call));
    }

    /// A tool of catalogue 1.1.
    fn write(&mut self, at: u64, rng: &mut Rng) {
        match rng.between(0, 4) {
            0 => self.unity(at, rng.pick(&["edit", "edit fails 2", "dirty"])),
            1 | 2 => {
                let path = rng.pick(&["Assets/Scenes/Menu.unity", "Assets/Scenes/Meadow.unity"]);
                let with = json!({ "path": path, "timeout_ms": rng.pick(&[50, 1_500, 4_000]) });
                self.call(at, rng, "open_scene", with);
            }
            3 => {
                self.jobs += 1;
                self.unity(at, "edit");
                let with = json!({ "wait_ms": rng.pick(&[0, 20_000]), "timeout_ms": 4_000 });
                self.call(at + 1, rng, "script_recompile_trigger", with);
            }
            _ => {
                let tool = rng.pick(&["ping", "list_scenes", "list_assets", "get_selection"]);
                self.call(at, rng, tool, json!({ "timeout_ms": 1_500 }));
            }
        }
    }

    /// Another agent, or the same, calls again. Now and then it has another limit, or uses the id for something else.
    fn repeat(&mut self, at: u64, rng: &mut Rng) {
        if self.named.is_empty() {
            return;
        }
        let which = rng.between(0, self.named.len() as u64 - 1) as usize;
        let Some(mut call) = self.named.get(which).cloned() else { return };
        let agent = self.agents.get(rng.between(0, self.agents.len() as u64 - 1) as usize);
        self.calls += 1;
        call.label = format!("r{}", self.calls);
        call.agent = agent.cloned().unwrap_or_default();
        if rng.one_in(3) {
            call.arguments.insert("timeout_ms".to_owned(), rng.pick(&[200, 1_500, 4_000]).into());
        }
        if rng.one_in(6) {
            call.tool = "open_scene".to_owned();
            call.arguments.retain(|name, _| name == "client_request_id");
            call.arguments.insert("path".to_owned(), "Assets/Scenes/Other.unity".into());
            call.arguments.insert("timeout_ms".to_owned(), 1_500.into());
        }
        self.push(at, Action::Call(call));
    }

    /// Most of them exist.
    fn some_job(&self, rng: &mut Rng) -> String {
        let boot = if self.has_relays() { rng.between(1, 3) } else { 1 };
        format!("job-s{boot}-{}", rng.between(1, self.jobs + 1))
    }

    fn has_relays(&self) -> bool {
        self.servers.len() > 1
    }

    fn unity(&mut self, at: u64, words: &str) {
        let Ok(command) = Command::parse(words) else { unreachable!("{words} is what it can do") };
        self.push(at, Action::Unity { editor: UNITY, words: words.to_owned(), command });
    }

    fn network(&mut self, at: u64, rng: &mut Rng) {
        let lasts = self.pick(rng, &[20, 300, 2_000], &[300, 20_000, 70_000]);
        let begin = at.max(self.link_free_at);
        let words = rng.pick(&LINK_FAULTS);
        if begin >= self.pace.faults {
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
        let away = rng.pick(&[200, 2_500]);
        let which =
            if self.has_relays() { rng.between(0, self.servers.len() as u64 - 1) } else { 0 };
        let (has_relays, faults) = (self.has_relays(), self.pace.faults);
        let Some((of, free_at)) = self.servers.get_mut(which as usize) else { return };
        let begin = at.max(*free_at).max(if has_relays { JOINED } else { 0 });
        if begin >= faults {
            return;
        }
        // A server that is asked to stop needs a while.
        let away = if does == ServerAction::Stop { away.max(2_500) } else { away };
        *free_at = begin + away + 1;
        let of = of.clone();
        self.push(begin, Action::Server { of, does, away: Some(Duration::from_millis(away)) });
        if has_relays {
            // One call is under way, and one comes while nobody has the port.
            self.long_call(begin - rng.pick(&[2, 30, 300]), rng);
            self.long_call(begin + rng.pick(&[1, 60, 240]), rng);
        }
    }
}

fn with_name(arguments: Json, label: &str) -> Map<String, Json> {
    let mut named = Map::from_iter([("client_request_id".to_owned(), label.into())]);
    if let Json::Object(fields) = arguments {
        named.extend(fields);
    }
    named
}
