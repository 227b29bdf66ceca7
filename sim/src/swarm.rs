//! The swarm: as many random plans as one likes.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sim::plan::Plan;
use sim::seen::Seen;
use sim::shrink::{shrink, try_out};

/// What all plans came to.
#[derive(Default)]
struct Total {
    plans: u64,
    simulated: Duration,
    seen: Seen,
    /// The first seed that found something, and what.
    found: Option<(u64, Vec<String>)>,
}

pub(crate) fn swarm(seeds: u64, from: u64, minutes: Option<u64>) -> ExitCode {
    let begin = Instant::now();
    let end = minutes.map(|minutes| begin + Duration::from_secs(60 * minutes));
    let next = AtomicU64::new(from);
    let total = Mutex::new(Total::default());
    let lock = || total.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let is_late = end.is_some_and(|end| Instant::now() > end);
            if seed >= from + seeds || is_late || lock().found.is_some() {
                return;
            }
            let tried = try_out(&Plan::from_seed(seed));
            let mut total = lock();
            total.plans += 1;
            match tried {
                Ok(run) => {
                    total.simulated += run.simulated;
                    total.seen.add(&run.seen);
                    if !run.failures.is_empty() {
                        total.found.get_or_insert((seed, run.failures));
                    }
                }
                Err(problem) => drop(total.found.get_or_insert((seed, vec![problem]))),
            }
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut told = 0;
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(Duration::from_millis(50));
            if begin.elapsed().as_secs() > told {
                told = begin.elapsed().as_secs();
                println!("{} of {seeds} plans", lock().plans);
            }
        }
    });
    report(&lock(), begin.elapsed())
}

fn report(total: &Total, took: Duration) -> ExitCode {
    for (what, count) in total.seen.counts() {
        println!("{count:>12}  {what}");
    }
    let seconds = took.as_secs_f64();
    println!(
        "{} plans, {:.0} s simulated in {seconds:.0} s, {:.1} plans a second",
        total.plans,
        total.simulated.as_secs_f64(),
        total.plans as f64 / seconds,
    );
    let Some((seed, found)) = &total.found else {
        println!("no promise was broken");
        return ExitCode::SUCCESS;
    };
    println!("seed {seed} finds:\n  {}", found.join("\n  "));
    println!(
        "replay: cargo run -p sim -- plan {seed} > plan.yaml && cargo run -p sim -- run plan.yaml --trace"
    );
    let (plan, found) = shrink(&Plan::from_seed(*seed), found);
    println!("the smallest plan that finds it:\n\n{}", plan.text("say why"));
    println!("finds:\n  {}", found.join("\n  "));
    ExitCode::FAILURE
}

pub(crate) fn show(seed: u64) -> ExitCode {
    print!("{}", Plan::from_seed(seed).text(&format!("drawn from seed {seed}")));
    ExitCode::SUCCESS
}
