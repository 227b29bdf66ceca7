//! A plan: a random scenario, drawn from a seed. It is a scenario like any other: every level can run it, and one
//! that finds something can be committed as it is.
//!
//! Faults come first. Then every misbehaviour ends, and in the end a new call must succeed. Each seed draws its own
//! mixture: some plans have only drops, some have no compile.

mod steps;

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::Limits;
use mock_unity::{CancelPolicy, PongPolicy, Settings, Suite};

use super::rng::Rng;
use crate::scenario::{Agent, Editor, Scenario, Speaks, UNITY, UNITY2, Via, uniform_suite};
use steps::{KINDS, Kind, Steps};

/// Faults begin before this, in milliseconds.
const FAULTS_MS: u64 = 8_000;
/// All faults have ended by then.
const HEALED_MS: u64 = 12_000;
/// By then Unity has reconnected, whatever came before: no request in a plan has more than four seconds, and no
/// grace more than six.
const PROBE_MS: u64 = 25_000;
/// How long an Editor waits for a silent server.
const IDLE: Duration = Duration::from_secs(7);

/// The call that must succeed in the end.
pub const PROBE: &str = "probe";

/// The plan of a seed.
pub fn draw(seed: u64) -> Scenario {
    draw_from(Rng::Seed(seed), format!("drawn from seed {seed}"))
}

/// The plan of a fuzzer: two bytes for each draw, which is enough for every choice.
pub fn from_bytes(bytes: &[u8]) -> Scenario {
    let word = |pair: &[u8]| pair.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
    let words: Vec<u64> = bytes.chunks(2).map(word).collect();
    draw_from(Rng::Words(words.into_iter()), "drawn by a fuzzer".to_owned())
}

fn draw_from(mut rng: Rng, why: String) -> Scenario {
    let limits = draw_limits(&mut rng);
    let editors = draw_editors(&mut rng, &limits);
    let has_stdio = rng.one_in(2);
    let agents = draw_agents(&mut rng, has_stdio);
    let latency = rng.pick(&[1, 1, 1, 3, 20]);
    let weights = KINDS.map(|kind| (kind, draw_weight(&mut rng, kind)));
    let mut steps = Steps::new(&agents, has_stdio, latency, &limits);
    for _ in 0..rng.between(4, 26) {
        let at = steps.draw_time(&mut rng);
        let kind = draw_kind(&mut rng, &weights);
        steps.add(at, kind, &mut rng);
    }
    let mut scenario = Scenario {
        why,
        seed: 1,
        lasts: None,
        latency: Duration::from_millis(latency),
        shows_heartbeats: false,
        shows_capabilities: false,
        limits,
        editors,
        agents,
        steps: steps.end(),
        executed: None,
        executed_once: vec![PROBE.to_owned()],
    };
    scenario.reseed(rng.between(1, 1_000));
    scenario
}

/// Often the defaults, sometimes extremes.
fn draw_limits(rng: &mut Rng) -> Limits {
    let mut limits = Limits::default();
    let mut millis = |choices: &[u64]| Duration::from_millis(rng.pick(choices));
    limits.heartbeat_interval = millis(&[400, 1_000, 3_000, 3_000]);
    limits.heartbeat_timeout = millis(&[500, 1_500, 4_500, 4_500]);
    limits.reconnect_wait = millis(&[200, 1_000, 2_500, 2_500]);
    limits.compile_grace = millis(&[800, 2_000, 6_000, 6_000]);
    limits.job_poll_interval = millis(&[100, 400, 1_000, 1_000]);
    limits.queue_wait_max = millis(&[300, 2_000, 120_000, 120_000]);
    limits.takeover_probe = millis(&[50, 500, 500, 500]);
    limits.queue_max = rng.pick(&[1, 2, 4, 32]);
    limits.jobs_kept_max = rng.pick(&[1, 2, 256, 256]);
    limits.message_max_bytes = rng.pick(&[16_384, 16_384, 65_536]);
    limits
}

fn draw_editors(rng: &mut Rng, limits: &Limits) -> Vec<Editor> {
    let usual = Settings {
        plugin_version: crate::levels::context::VERSION.to_owned(),
        oversize: limits.message_max_bytes + 1,
        idle_timeout: Some(IDLE),
        ..Settings::default()
    };
    let mut millis = |choices: &[u64]| Duration::from_millis(rng.pick(choices));
    let (tool_time, pong) = (millis(&[1, 20, 300, 1_500]), millis(&[0, 0, 200]));
    let reload_time = Some(millis(&[0, 300, 1_500])).filter(|time| !time.is_zero());
    let takes = millis(&[50, 300, 900]);
    let settings = Settings {
        tool_time,
        reload_time,
        pong: PongPolicy::After(pong),
        names_itself: !rng.one_in(4),
        project: draw_project(rng),
        cancel: rng.pick(&[
            CancelPolicy::Honour,
            CancelPolicy::Honour,
            CancelPolicy::Refuse,
            CancelPolicy::Ignore,
        ]),
        // The probe needs the console. A project may have no tests.
        tools: rng.one_in(12).then(|| vec!["read_console".to_owned()]),
        suite: draw_suite(rng, takes),
        console: Some(UNITY.to_owned()),
        ..usual.clone()
    };
    let mut editors = vec![Editor { name: UNITY, starts: Duration::ZERO, settings }];
    if rng.one_in(6) {
        let starts = Duration::from_millis(rng.between(100, FAULTS_MS));
        let project = draw_project(rng);
        let settings = Settings { console: Some(UNITY2.to_owned()), project, ..usual };
        editors.push(Editor { name: UNITY2, starts, settings });
    }
    editors
}

/// Two Editors have the same project, different ones, or name none.
fn draw_project(rng: &mut Rng) -> Option<String> {
    rng.pick(&[None, Some("/work/a"), Some("/work/a"), Some("/work/b")]).map(str::to_owned)
}

fn draw_suite(rng: &mut Rng, takes: Duration) -> Suite {
    uniform_suite(rng.between(1, 6) as usize, takes, rng.between(0, 1) as usize)
}

fn draw_agents(rng: &mut Rng, has_stdio: bool) -> BTreeMap<String, Agent> {
    let via = if has_stdio { Via::Stdio } else { Via::Http };
    let agent = |via, speaks| Agent { joins: Duration::ZERO, via, speaks };
    let all = [
        ("a", agent(via, Speaks::Modern)),
        ("b", agent(Via::Http, Speaks::Legacy)),
        ("c", agent(Via::Http, Speaks::Modern)),
    ];
    let count = rng.pick(&[1, 1, 2, 3]);
    all.into_iter().take(count).map(|(name, agent)| (name.to_owned(), agent)).collect()
}

/// Some kinds of steps never happen in a plan, others often.
fn draw_weight(rng: &mut Rng, kind: Kind) -> u64 {
    let usual = if kind == Kind::Console { 4 } else { 0 };
    usual + if rng.one_in(2) { rng.between(1, 10) } else { 0 }
}

fn draw_kind(rng: &mut Rng, weights: &[(Kind, u64)]) -> Kind {
    let total: u64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut left = rng.between(0, total.saturating_sub(1));
    for (kind, weight) in weights {
        if left < *weight {
            return *kind;
        }
        left -= weight;
    }
    Kind::Console
}
