//! Progress: a bar on a terminal, a line every second for a pipe.

use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

const BAR: usize = 40;

pub(crate) struct Progress {
    of: &'static str,
    all: u64,
    is_terminal: bool,
    begin: Instant,
    shown: Instant,
}

impl Progress {
    pub(crate) fn new(of: &'static str, all: u64) -> Self {
        let begin = Instant::now();
        Self { of, all, is_terminal: stdout().is_terminal(), begin, shown: begin }
    }

    pub(crate) fn show(&mut self, done: u64) {
        let pause = Duration::from_millis(if self.is_terminal { 200 } else { 1_000 });
        if self.shown.elapsed() < pause {
            return;
        }
        self.shown += pause;
        let rate = done as f64 / self.begin.elapsed().as_secs_f64();
        let left = (self.all.saturating_sub(done)) as f64 / rate.max(f64::MIN_POSITIVE);
        let line = format!(
            "{done} of {} {}, {rate:.0} a second, {} left",
            self.all,
            self.of,
            minutes(left)
        );
        if self.is_terminal {
            let full = (done as usize * BAR).checked_div(self.all as usize).unwrap_or(0).min(BAR);
            let bar = "#".repeat(full) + &"-".repeat(BAR - full);
            print!("\r[{bar}] {line}\x1b[K");
            stdout().flush().unwrap_or_default(); // A bar that cannot be shown does no harm.
        } else {
            println!("{line}");
        }
    }

    pub(crate) fn end(&self) {
        if self.is_terminal {
            print!("\r\x1b[K");
        }
    }
}

/// `42 s` or `3 min`, rounded up.
fn minutes(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{:.0} s", seconds.ceil())
    } else {
        format!("{:.0} min", (seconds / 60.0).ceil())
    }
}
