//! The canary: plants each fault and counts the plans until a check finds it. A suite that misses a fault proves little.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sim::faults::Fault;
use sim::levels::run::{Level, run_brief};
use sim::random::plan;

/// A fault must be found within this many plans.
const CORE_MAX: u64 = 2_000;
const FULL_MAX: u64 = 300;

/// `with_full`: runs the full level too, which takes minutes.
pub(crate) fn canary(from: u64, with_full: bool) -> ExitCode {
    // A panic that a fault causes is a finding: no backtrace.
    std::panic::set_hook(Box::new(|_| {}));
    println!("plans until a planted fault is found, from seed {from}");
    println!("{:>6} {:>6} {:>6}", "core", "shell", if with_full { "full" } else { "" });
    let mut all_found = true;
    for fault in Fault::all() {
        let in_core = !fault.is_in_network();
        let core = in_core.then(|| found_after(Level::Core, fault, from, CORE_MAX)).flatten();
        let shell = found_after(Level::Shell, fault, from, CORE_MAX);
        let full = with_full.then(|| found_after(Level::Full, fault, from, FULL_MAX)).flatten();
        all_found &= if in_core { core.is_some() } else { shell.is_some() };
        let shown = |found: &Option<(u64, String)>| {
            found.as_ref().map_or("-".to_owned(), |(count, _)| count.to_string())
        };
        let full_shown = if with_full { shown(&full) } else { String::new() };
        println!("{:>6} {:>6} {full_shown:>6}  {}", shown(&core), shown(&shell), fault.name());
        let what = core.or(shell).or(full).map_or("NOT FOUND".to_owned(), |(_, what)| what);
        println!("                      {}", what.chars().take(110).collect::<String>());
    }
    if all_found { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many plans it takes, and what the last of them finds.
fn found_after(level: Level, fault: Fault, from: u64, max: u64) -> Option<(u64, String)> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicU64::new(from);
    let first = AtomicU64::new(u64::MAX);
    let work = || {
        let mut found = None;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= from + max || seed > first.load(Ordering::Relaxed) {
                return found;
            }
            let run = run_brief(level, &plan::draw_for(level, seed), fault);
            if let Some(what) = run.failures.first() {
                first.fetch_min(seed, Ordering::Relaxed);
                found = found.or(Some((seed - from + 1, what.clone())));
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().filter_map(|worker| worker.join().ok().flatten());
        found.min_by_key(|(count, _)| *count)
    })
}
