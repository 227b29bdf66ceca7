//! A schedule: one word that draws the world, then one word a step. Words shrink well and decode
//! always, so that a property test can drop any of them.

pub mod fake_unity;
pub mod world;

use std::time::Duration;

use coordination::Limits;

/// Draws words from a seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Words(u64);

impl Words {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

/// One random world: its limits, its mixture of actions, and what happens in it.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub draw: u64,
    pub steps: Vec<u64>,
}

impl Schedule {
    pub fn from_seed(seed: u64, length: usize) -> Self {
        let mut words = Words::from_seed(seed);
        Self { draw: words.next_word(), steps: (0..length).map(|_| words.next_word()).collect() }
    }
}

/// What may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Time passes: to just before, at, or just after the next deadline, or by some length.
    Pass,
    CallConsole,
    CallTests,
    CallStatus,
    CallCancel,
    CallState,
    /// An agent takes a call back.
    McpCancel,
    Broke,
    Connect,
    /// A second socket while one is active.
    Intrude,
    /// The socket is gone; Unity's memory stays.
    Drop,
    /// The socket is gone, and with it all requests; jobs stay.
    Reload,
    /// Everything is forgotten.
    Restart,
    Status,
    StaleStatus,
    /// Pongs stop, or come again.
    TogglePong,
    /// Unity runs what it was sent, without answering yet.
    Execute,
    /// Unity answers as it should.
    Answer,
    /// Unity answers with an error, nonsense, or something else.
    Misanswer,
    /// An answer to nobody, or a second one.
    Stray,
    Garbage,
    TooLarge,
    /// A job in Unity goes on, ends, or is forgotten.
    Job,
    /// The next request is not written: the socket is dying.
    RefuseSend,
    Capability,
}

const ACTIONS: [(Action, u64); 25] = [
    (Action::Pass, 40),
    (Action::CallConsole, 24),
    (Action::CallTests, 14),
    (Action::CallStatus, 12),
    (Action::CallCancel, 8),
    (Action::CallState, 4),
    (Action::McpCancel, 5),
    (Action::Broke, 2),
    (Action::Connect, 14),
    (Action::Intrude, 3),
    (Action::Drop, 5),
    (Action::Reload, 3),
    (Action::Restart, 1),
    (Action::Status, 12),
    (Action::StaleStatus, 2),
    (Action::TogglePong, 2),
    (Action::Execute, 8),
    (Action::Answer, 40),
    (Action::Misanswer, 8),
    (Action::Stray, 3),
    (Action::Garbage, 4),
    (Action::TooLarge, 1),
    (Action::Job, 14),
    (Action::RefuseSend, 2),
    (Action::Capability, 1),
];

/// The mixture of one world: some actions never happen in it, others often.
pub struct Mixture {
    cumulative: [u64; ACTIONS.len()],
    total: u64,
}

impl Mixture {
    pub fn draw(word: u64) -> Self {
        let mut words = Words::from_seed(word);
        let mut cumulative = [0; ACTIONS.len()];
        let mut total = 0;
        for (slot, (action, weight)) in cumulative.iter_mut().zip(ACTIONS) {
            let factor = match (action, words.next_word() % 8) {
                // Without these nothing happens at all.
                (Action::Pass | Action::Connect | Action::Answer | Action::CallConsole, _) => 2,
                (_, 0 | 1) => 0,
                (_, 2) => 6,
                (_, _) => 2,
            };
            total += weight * factor;
            *slot = total;
        }
        Self { cumulative, total }
    }

    pub fn action(&self, word: u64) -> Action {
        let point = (word & 0xFFFF_FFFF) % self.total;
        let index = self.cumulative.partition_point(|bound| *bound <= point);
        ACTIONS.get(index).map_or(Action::Pass, |(action, _)| *action)
    }
}

fn pick(word: u64, shift: u32, choices: &[u64]) -> u64 {
    let index = (word >> shift) as usize % choices.len();
    choices.get(index).copied().unwrap_or_default()
}

/// The limits of one world: often the defaults, sometimes extremes.
pub fn draw_limits(word: u64) -> Limits {
    let mut limits = Limits::default();
    if word & 1 == 0 {
        return limits;
    }
    let millis = |shift, choices| Duration::from_millis(pick(word, shift, choices));
    limits.queue_max = pick(word, 8, &[1, 2, 3, 32]) as usize;
    limits.jobs_kept_max = pick(word, 12, &[1, 2, 256]) as usize;
    limits.reconnect_wait = millis(16, &[10, 500, 2_500, 20_000]);
    limits.compile_grace = millis(20, &[100, 3_000, 60_000]);
    limits.heartbeat_interval = millis(24, &[100, 3_000]);
    limits.heartbeat_timeout = millis(28, &[150, 4_500]);
    limits.job_poll_interval = millis(32, &[50, 1_000]);
    limits.takeover_probe = millis(36, &[10, 500]);
    limits.jobs_active_max = pick(word, 40, &[1, 3, 1_024]) as usize;
    limits
}

/// Whether this world ends with a stop of the server instead of healing.
pub fn draw_stop(word: u64) -> bool {
    (word >> 50).is_multiple_of(8)
}
