//! How long a call takes with the plugin, compared with the mock in the same run.

use std::time::{Duration, Instant};

use harness::agent::StdioAgent;
use harness::editor::{Editor, Program};
use harness::server::Server;
use serde_json::json;

/// A plugin that does not wake its main thread is slower by a factor of 20 and more.
const FACTOR_MAX: f64 = 2.5;
/// Other programs may disturb a whole attempt.
const ATTEMPTS: usize = 5;
const ROUNDS: usize = 60;
const CALLS: usize = 25;

struct Line {
    agent: StdioAgent,
    best: Duration,
    _server: Server,
    _editor: Editor,
}

impl Line {
    fn new(program: Program) -> Self {
        let (mut server, _, editor) = program.connected(&["--stdio"], &["--tool-time", "0ms"]);
        let agent = StdioAgent::new(&mut server);
        Self { agent, best: Duration::MAX, _server: server, _editor: editor }
    }

    /// The median of some calls. The best round counts: others may have been disturbed.
    fn measure(&mut self) {
        let mut times: Vec<Duration> = (0..CALLS).map(|_| self.time_one_call()).collect();
        times.sort_unstable();
        self.best = self.best.min(times[CALLS / 2]);
    }

    fn time_one_call(&mut self) -> Duration {
        let began = Instant::now();
        self.agent.run("read_console", json!({})).unwrap();
        began.elapsed()
    }
}

pub(crate) fn a_woken_plugin_answers_within_two_and_a_half_times_the_time_of_the_mock() {
    let mut mock = Line::new(Program::MockUnity);
    let mut plugin = Line::new(Program::EditorHost);
    let is_fast = (0..ATTEMPTS).any(|_| {
        (mock.best, plugin.best) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            mock.measure();
            plugin.measure();
        }
        let factor = plugin.best.as_secs_f64() / mock.best.as_secs_f64();
        let (mock, plugin) = (mock.best, plugin.best);
        println!("p50 of read_console: mock {mock:.2?}, plugin {plugin:.2?}, factor {factor:.2}");
        factor <= FACTOR_MAX
    });
    assert!(is_fast, "the factor is above {FACTOR_MAX} in {ATTEMPTS} attempts");
}
