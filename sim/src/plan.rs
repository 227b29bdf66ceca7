//! A plan: a random scenario, drawn from a seed. It is kept as the lines of its file, so that a plan
//! that finds something can be shrunk by leaving lines out and committed as it is.
//!
//! First faults, then healing: whatever misbehaves stops, and at the end a fresh call must succeed. Each
//! seed draws its own mixture, so that some plans have nothing but drops and some no compile at all.

use crate::schedule::Words;

/// Faults begin before this, in milliseconds.
const FAULTS_MS: u64 = 8_000;
/// From here on all is well.
const HEALED_MS: u64 = 12_000;
/// By then everybody has found each other again, whatever came before: no request in a plan has more
/// than ten seconds, and no grace more than six.
const PROBE_MS: u64 = 32_000;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Lines before the steps that may be left out.
    pub settings: Vec<String>,
    /// Steps that may be left out.
    pub steps: Vec<String>,
}

impl Plan {
    pub fn from_seed(seed: u64) -> Self {
        let mut dice = Dice(Words::from_seed(seed));
        let world = World::draw(&mut dice);
        let mut steps = Steps { calls: 0, jobs: 0, lines: Vec::new(), link_free_at: 0 };
        for _ in 0..dice.between(4, 40) {
            let at = dice.between(200, FAULTS_MS);
            steps.add(at, &world, &mut dice);
        }
        Self { settings: world.settings, steps: steps.lines }
    }

    /// The file. `why` is what it is kept for.
    pub fn text(&self, why: &str) -> String {
        let settings: String = self.settings.iter().map(|line| format!("{line}\n")).collect();
        let steps: String = self.steps.iter().map(|line| format!("  - {line}\n")).collect();
        format!(
            "# yaml-language-server: $schema=../scenario.schema.json\nwhy: {why}\n{settings}steps:\n{steps}  \
             - {{ at: {HEALED_MS}ms, unity: behave }}\n  - {{ at: {PROBE_MS}ms, call: read_console, as: \
             probe, by: a, ok: {{}}, within: 12s }}\nexpect: {{ executed_once: [probe] }}\n"
        )
    }
}

/// What a seed draws before anything happens.
struct World {
    settings: Vec<String>,
    agents: Vec<&'static str>,
    has_stdio: bool,
    /// How likely each kind of step is, for this seed.
    weights: Vec<(Kind, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Console,
    Tests,
    Status,
    CancelJob,
    State,
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
    Network,
    Crash,
}

const KINDS: [Kind; 17] = [
    Kind::Console,
    Kind::Tests,
    Kind::Status,
    Kind::CancelJob,
    Kind::State,
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
    Kind::Network,
    Kind::Crash,
];

impl World {
    fn draw(dice: &mut Dice) -> Self {
        let mut settings = vec![format!("seed: {}", dice.between(1, 1_000))];
        let mut server = Vec::new();
        for (name, values) in [
            ("queue_max_size", [1, 2, 4, 32]),
            ("heartbeat_interval_ms", [300, 1_000, 3_000, 3_000]),
            ("heartbeat_timeout_ms", [500, 1_500, 4_500, 4_500]),
            ("request_reconnect_wait_ms", [200, 1_000, 2_500, 2_500]),
            ("compile_grace_timeout_ms", [800, 2_000, 6_000, 6_000]),
            ("job_poll_interval_ms", [100, 400, 1_000, 1_000]),
            ("takeover_probe_ms", [50, 500, 500, 500]),
            ("job_retention_max", [1, 2, 256, 256]),
        ] {
            server.push(format!("{name}: {}", dice.pick(&values)));
        }
        settings.push(format!("server: {{ {} }}", server.join(", ")));
        settings.push(format!(
            "unity: {{ tool_time: {}ms, reload_time: {}ms, pong: {}ms, idle_timeout: 7s, nameless: {}, \
             cancel: {}, tests: {{ count: {}, takes: {}ms, failing: {} }} }}",
            dice.pick(&[1, 20, 300, 1_500]),
            dice.pick(&[0, 300, 1_500]),
            dice.pick(&[0, 0, 200]),
            dice.one_in(4),
            dice.pick(&["honour", "honour", "refuse", "ignore"]),
            dice.between(1, 6),
            dice.pick(&[50, 300, 900]),
            dice.between(0, 1),
        ));
        if dice.one_in(6) {
            let starts = dice.between(100, FAULTS_MS);
            settings.push(format!("unity2: {{ starts: {starts}ms, idle_timeout: 7s }}"));
        }
        let has_stdio = dice.one_in(4);
        let via = if has_stdio { "stdio" } else { "http" };
        let agents = ["a", "b", "c"].into_iter().take(dice.between(1, 3) as usize).collect();
        settings.push(format!(
            "agents: {{ a: {{ via: {via} }}, b: {{ via: http, speaks: legacy }}, c: {{ via: http }} }}"
        ));
        let weight = |kind: Kind, dice: &mut Dice| {
            let usual = if kind == Kind::Console { 1 } else { 0 };
            usual + if dice.one_in(2) { dice.between(1, 10) } else { 0 }
        };
        let weights = KINDS.into_iter().map(|kind| (kind, weight(kind, dice))).collect();
        Self { settings, agents, has_stdio, weights }
    }

    fn draw_kind(&self, dice: &mut Dice) -> Kind {
        let total: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut left = dice.between(0, total - 1);
        for (kind, weight) in &self.weights {
            if left < *weight {
                return *kind;
            }
            left -= weight;
        }
        Kind::Console
    }
}

struct Steps {
    lines: Vec<String>,
    calls: u64,
    jobs: u64,
    /// One fault at a time on a link.
    link_free_at: u64,
}

impl Steps {
    fn add(&mut self, at: u64, world: &World, dice: &mut Dice) {
        let (by, kind) = (dice.pick(&world.agents), world.draw_kind(dice));
        match kind {
            Kind::Console => {
                let timeout = dice.pick(&["50", "400", "3000", "10000"]);
                self.call(at, by, "read_console", &format!("timeout_ms: {timeout}"));
            }
            Kind::Tests => {
                self.jobs += 1;
                let timeout = dice.pick(&["200", "1500", "6000"]);
                let wait = dice.pick(&["0", "300", "20000"]);
                self.call(at, by, "run_tests", &format!("timeout_ms: {timeout}, wait_ms: {wait}"));
            }
            Kind::Status => {
                let job = dice.between(1, self.jobs + 1);
                let wait = dice.pick(&["0", "0", "500", "20000"]);
                let with = format!("job_id: job-s1-{job}, wait_ms: {wait}");
                self.call(at, by, "get_job_status", &with);
            }
            Kind::CancelJob => {
                let job = dice.between(1, self.jobs + 1);
                self.call(at, by, "cancel_job", &format!("job_id: job-s1-{job}"));
            }
            Kind::State => self.call(at, by, "get_editor_state", ""),
            Kind::TakeBack => {
                let (later, label) = (at + dice.pick(&[1, 30, 400, 2_000]), self.calls + 1);
                let tool = dice.pick(&["read_console", "run_tests"]);
                self.call(at, by, tool, "timeout_ms: 6000");
                self.lines.push(format!("{{ at: {later}ms, cancel: r{label} }}"));
            }
            Kind::Compile
            | Kind::Reload
            | Kind::Drop
            | Kind::Restart
            | Kind::Freeze
            | Kind::Pong
            | Kind::Misanswer
            | Kind::Jobs
            | Kind::Garbage => {
                self.lines.push(format!("{{ at: {at}ms, unity: '{}' }}", unity_words(kind, dice)));
            }
            Kind::Network => self.network(at, dice),
            Kind::Crash if !world.has_stdio => {
                let away = dice.pick(&[1, 200, 1_500]);
                self.lines.push(format!("{{ at: {at}ms, server: crash, for: {away}ms }}"));
            }
            Kind::Crash => {}
        }
    }

    fn call(&mut self, at: u64, by: &str, tool: &str, with: &str) {
        self.calls += 1;
        let label = self.calls;
        let line = format!(
            "{{ at: {at}ms, call: {tool}, as: r{label}, by: {by}, with: {{ {with} }}, any: true }}"
        );
        self.lines.push(line);
    }

    /// Only what falls into the link with Unity is lost: an agent would wait for ever for an answer
    /// that was lost on the way, whatever the server does.
    fn network(&mut self, at: u64, dice: &mut Dice) {
        let begin = at.max(self.link_free_at);
        let lasts = dice.pick(&[20, 300, 2_000]);
        if begin >= FAULTS_MS {
            return;
        }
        let words = dice.pick(&[
            "partition unity",
            "hold unity",
            "lose unity->server",
            "lose server->unity",
            "latency unity 150ms",
        ]);
        self.link_free_at = begin + lasts + 1;
        self.lines.push(format!("{{ at: {begin}ms, network: {words}, for: {lasts}ms }}"));
    }
}

/// What Unity is told to do, well or badly.
fn unity_words(kind: Kind, dice: &mut Dice) -> String {
    let misanswers = [
        "late 1s",
        "twice",
        "never",
        "malformed",
        "oversize",
        "wrong-type",
        "misaddressed",
        "binary",
        "error ERR_UNITY_EXECUTION",
        "error ERR_INVALID_PARAMS",
        "error OWN_CODE",
    ];
    let garbage =
        ["stale", "say x", "say {}", "say {\"type\": \"shrug\", \"protocol_version\": 1}"];
    match kind {
        Kind::Compile => format!("compile {}ms", dice.pick(&[50, 500, 3_000])),
        Kind::Reload => {
            format!("{} {}ms", dice.pick(&["reload", "play"]), dice.pick(&[50, 500, 3_000]))
        }
        Kind::Drop => {
            format!("{} {}ms", dice.pick(&["drop", "close"]), dice.pick(&[1, 300, 3_000]))
        }
        Kind::Restart => format!("restart {}ms", dice.pick(&[200, 2_000])),
        Kind::Freeze => dice.pick(&["freeze 500ms", "freeze 3s", "dialog", "dismiss"]).to_owned(),
        Kind::Pong => format!("pong {}", dice.pick(&["never", "300ms", "0s"])),
        Kind::Misanswer => format!("answer {}", dice.pick(&misanswers)),
        Kind::Jobs => {
            let how = ["lost", "succeeded", "failed", "queued", "cancelled"];
            format!("job {}", dice.pick(&how))
        }
        Kind::Garbage => dice.pick(&garbage).to_owned(),
        Kind::Console
        | Kind::Tests
        | Kind::Status
        | Kind::CancelJob
        | Kind::State
        | Kind::TakeBack
        | Kind::Network
        | Kind::Crash => unreachable!("these are not Unity's"),
    }
}

struct Dice(Words);

impl Dice {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.next_word() % (high - low + 1)
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.0.next_word().is_multiple_of(sides)
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.0.next_word() as usize % choices.len().max(1);
        let Some(choice) = choices.get(index) else { unreachable!("there is always a choice") };
        *choice
    }
}
