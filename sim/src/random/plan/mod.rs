//! A plan: a random scenario, drawn from a seed. It is a scenario like any other: every level can run it, and one
//! that finds something can be committed as it is.
//!
//! Faults come first. Then every misbehaviour ends, and in the end a new call must succeed. Each seed draws its own
//! mixture: some plans have only drops, some have no compile.

mod servers;
mod steps;
mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::{Catalog, Limits};
use mock_unity::{CancelPolicy, JsonStyle, PongPolicy, PongSeq, Settings, Suite};

use super::rng::Rng;
use crate::levels::run::Level;
use crate::scenario::{Agent, Editor, Scenario, Speaks, UNITY, UNITY2, Via, uniform_suite};
use steps::{KINDS, Kind, Steps};

/// When things happen in a plan, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    /// Faults begin before this.
    faults: u64,
    /// All faults have ended by then.
    healed: u64,
    /// By then Unity has reconnected, whatever came before.
    probe: u64,
    /// How long an Editor waits for a silent server.
    idle: u64,
    /// With the default times.
    is_slow: bool,
}

/// No request has more than four seconds, and no grace more than six.
const QUICK: Pace =
    Pace { faults: 8_000, healed: 12_000, probe: 25_000, idle: 7_000, is_slow: false };
/// Every relay asks for the holder four times a second, which makes such plans slow. So they are short.
const RELAYED: Pace = Pace { faults: 5_000, healed: 8_000, probe: 21_000, ..QUICK };
/// A compile has a minute, a submission half a minute, and no request more than that.
const SLOW: Pace =
    Pace { faults: 100_000, healed: 180_000, probe: 270_000, idle: 25_000, is_slow: true };
/// A job has five minutes.
const SLOWEST: Pace = Pace { healed: 320_000, probe: 420_000, ..SLOW };
/// One of so many plans is slow.
const SLOW_EVERY: u64 = 8;
/// One of so many seeds gives several servers, from this one on.
const SERVERS_EVERY: u64 = 12;
const SERVERS_FIRST: u64 = 5;

/// The call that must succeed in the end. If there are several, their names begin like this.
pub const PROBE: &str = "probe";

/// The plan of a seed, with one server.
pub fn draw(seed: u64) -> Scenario {
    draw_from(Rng::Seed(seed), format!("drawn from seed {seed}"), false, catalog_of(seed))
}

/// Half of the seeds have catalogue 1.1.
fn catalog_of(seed: u64) -> Catalog {
    if seed % 4 < 2 { Catalog::V1_0 } else { Catalog::V1_1 }
}

/// The plan of a seed at a level. A level with whole programs gets several servers from some seeds.
pub fn draw_for(level: Level, seed: u64) -> Scenario {
    if !level.has_relays() || seed % SERVERS_EVERY != SERVERS_FIRST {
        return draw(seed);
    }
    let why = format!("drawn from seed {seed}, with several servers");
    draw_from(Rng::Seed(seed), why, true, catalog_of(seed))
}

/// The plan of a fuzzer: two bytes for each draw, which is enough for every choice.
pub fn from_bytes(bytes: &[u8]) -> Scenario {
    let word = |pair: &[u8]| pair.iter().fold(0, |word, byte| (word << 8) | u64::from(*byte));
    let words: Vec<u64> = bytes.chunks(2).map(word).collect();
    draw_from(Rng::Words(words.into_iter()), "drawn by a fuzzer".to_owned(), false, Catalog::V1_0)
}

fn draw_from(mut rng: Rng, why: String, has_relays: bool, catalog: Catalog) -> Scenario {
    let pace = match rng.one_in(SLOW_EVERY) {
        true if !has_relays => rng.pick(&[SLOW, SLOW, SLOWEST]),
        true | false if has_relays => RELAYED,
        true | false => QUICK,
    };
    let limits = Limits { catalog, ..draw_limits(&mut rng, pace) };
    let editors = draw_editors(&mut rng, &limits, pace);
    let has_stdio = rng.one_in(2);
    let agents = match has_relays {
        true => servers::draw_agents(&mut rng, has_stdio),
        false => draw_agents(&mut rng, has_stdio),
    };
    let latency = rng.pick(&[1, 1, 1, 3, 20]);
    let mut weights = KINDS.map(|kind| (kind, draw_weight(&mut rng, kind, catalog)));
    if has_relays {
        servers::change_weights(&mut rng, &mut weights);
    }
    let mut steps = Steps::new(pace, &agents, latency, &limits);
    if pace.is_slow {
        steps.add_long(&mut rng);
    }
    for _ in 0..rng.between(4, if pace.is_slow { 12 } else { 26 }) {
        let at = steps.draw_time(&mut rng);
        let kind = draw_kind(&mut rng, &weights);
        steps.add(at, kind, &mut rng);
    }
    let steps = steps.end();
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
        executed: None,
        executed_once: Vec::new(),
        steps,
    };
    let labels = scenario.calls().map(|(_, call)| call.label.clone());
    scenario.executed_once = labels.filter(|label| label.starts_with(PROBE)).collect();
    scenario.reseed(rng.between(1, 1_000));
    scenario
}

/// Often the defaults, sometimes extremes.
fn draw_limits(rng: &mut Rng, pace: Pace) -> Limits {
    let mut limits = Limits::default();
    if pace.is_slow {
        // Heartbeats cost most of the time of a long plan.
        limits.heartbeat_interval =
            Duration::from_millis(rng.pick(&[3_000, 10_000, 10_000, 10_000]));
        limits.message_max_bytes = 16_384;
        return limits;
    }
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

fn draw_editors(rng: &mut Rng, limits: &Limits, pace: Pace) -> Vec<Editor> {
    let usual = Settings {
        plugin_version: crate::levels::context::VERSION.to_owned(),
        oversize: limits.message_max_bytes + 1,
        idle_timeout: Some(Duration::from_millis(pace.idle)),
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
        pong_seq: rng.pick(&[
            PongSeq::New,
            PongSeq::New,
            PongSeq::New,
            PongSeq::Last,
            PongSeq::None,
        ]),
        writes: draw_json_style(rng),
        // The probe needs the console. A project may have no tests.
        tools: rng.one_in(12).then(|| vec!["read_console".to_owned()]),
        suite: draw_suite(rng, takes),
        console: Some(UNITY.to_owned()),
        ..usual.clone()
    };
    let mut editors = vec![Editor { name: UNITY, starts: Duration::ZERO, settings }];
    if rng.one_in(6) {
        let starts = Duration::from_millis(rng.between(100, pace.faults));
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

/// Most plugins write what the codec writes.
fn draw_json_style(rng: &mut Rng) -> JsonStyle {
    if !rng.one_in(20) {
        return JsonStyle::default();
    }
    let [reversed, spaced, escaped, extra] = [(); 4].map(|()| rng.one_in(2));
    JsonStyle { reversed, spaced, escaped, extra }
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
fn draw_weight(rng: &mut Rng, kind: Kind, catalog: Catalog) -> u64 {
    match (kind, catalog) {
        (Kind::Write | Kind::Repeat, Catalog::V1_0) => return 0,
        (Kind::Write, Catalog::V1_1) => return 10,
        // Without a repeated call the judges of the wires see the plan too.
        (Kind::Repeat, Catalog::V1_1) => return if rng.one_in(2) { 10 } else { 0 },
        (_, Catalog::V1_0 | Catalog::V1_1) => {}
    }
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
