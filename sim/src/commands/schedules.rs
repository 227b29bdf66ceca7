//! The commands that are about random schedules against the core alone.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sim::random::schedule::Schedule;
use sim::random::schedule::world::{self, Judge, Report, Violation};

use super::progress::Progress;

type Share = Result<Report, (u64, Box<Violation>)>;

pub(crate) fn model(schedules: u64, from: u64, steps: usize) -> ExitCode {
    let begin = Instant::now();
    let workers = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let done = AtomicU64::new(0);
    let results: Vec<Share> = thread::scope(|scope| {
        let shares: Vec<_> = (0..workers)
            .map(|worker| {
                let done = &done;
                scope.spawn(move || share(from + worker, from + schedules, workers, steps, done))
            })
            .collect();
        let mut progress = Progress::new("schedules", schedules);
        while shares.iter().any(|share| !share.is_finished()) {
            thread::sleep(Duration::from_millis(50));
            progress.show(done.load(Ordering::Relaxed));
        }
        progress.end();
        shares.into_iter().flat_map(thread::ScopedJoinHandle::join).collect()
    });
    let mut total = Report::default();
    for result in results {
        match result {
            Ok(report) => total.add(&report),
            Err((seed, violation)) => return show_violation(seed, steps, &violation),
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    println!(
        "{schedules} schedules, {} events, {} calls, {:.1} days simulated in {elapsed:.1} s",
        total.events,
        total.calls,
        total.simulated as f64 / 86_400_000.0,
    );
    for (what, count) in total.seen.counts() {
        println!("{count:>12}  {what}");
    }
    let missing = total.seen.missing();
    if missing.is_empty() {
        println!("no promise was broken");
        ExitCode::SUCCESS
    } else {
        println!("never seen, so the run proves nothing about it: {}", missing.join("; "));
        ExitCode::FAILURE
    }
}

/// Every `stride`th seed from `first` on.
fn share(first: u64, end: u64, stride: u64, steps: usize, done: &AtomicU64) -> Share {
    let mut total = Report::default();
    let mut seed = first;
    while seed < end {
        let report =
            world::run(&Schedule::from_seed(seed, steps), Judge::ModelAndBooks, world::genuine);
        total.add(&report.map_err(|violation| (seed, violation))?);
        done.fetch_add(1, Ordering::Relaxed);
        seed += stride;
    }
    Ok(total)
}

pub(crate) fn replay(seed: u64, steps: usize) -> ExitCode {
    match world::tell(&Schedule::from_seed(seed, steps), world::genuine) {
        Ok(history) => {
            history.iter().for_each(|line| println!("{line}"));
            println!("no promise was broken");
            ExitCode::SUCCESS
        }
        Err(violation) => show_violation(seed, steps, &violation),
    }
}

fn show_violation(seed: u64, steps: usize, violation: &Violation) -> ExitCode {
    for line in &violation.history {
        println!("{line}");
    }
    println!("at {} ms, step {}: {}", violation.at, violation.step, violation.what);
    println!("replay: cargo run --profile sim -p sim -- replay {seed} --steps {steps}");
    ExitCode::FAILURE
}
