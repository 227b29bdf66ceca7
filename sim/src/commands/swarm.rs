//! The swarm: many random plans at one level, on all cores of the machine.

use std::panic::{catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sim::faults::Fault;
use sim::judge::coverage::Coverage;
use sim::levels::run::{Level, run, run_brief};
use sim::random::plan;
use sim::random::shrink::shrink;
use sim::scenario::Scenario;

use super::findings;
use super::progress::Progress;

#[derive(Clone, Copy)]
pub(crate) struct Options {
    pub(crate) level: Level,
    pub(crate) seeds: u64,
    pub(crate) from: u64,
    pub(crate) minutes: Option<u64>,
}

/// The sum over all plans.
#[derive(Default)]
struct Total {
    plans: u64,
    simulated: Duration,
    coverage: Coverage,
    /// A seed that finds something, and what it finds.
    found: Option<(u64, Vec<String>)>,
    /// A seed whose run panicked.
    panicked: Option<u64>,
}

impl Total {
    fn add(&mut self, other: Self) {
        self.plans += other.plans;
        self.simulated += other.simulated;
        self.coverage.add(&other.coverage);
        if self.found.is_none() {
            self.found = other.found;
        }
        self.panicked = self.panicked.or(other.panicked);
    }
}

pub(crate) fn swarm(options: Options) -> ExitCode {
    let begin = Instant::now();
    let end = options.minutes.map(|minutes| begin + Duration::from_secs(60 * minutes));
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicU64::new(options.from);
    let done = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let work = || {
        let mut total = Total::default();
        while !is_over.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= options.from + options.seeds || end.is_some_and(|end| Instant::now() > end) {
                break;
            }
            let plan = || plan::draw_for(options.level, seed);
            let Ok(run) = catch_unwind(|| run_brief(options.level, &plan(), Fault::None)) else {
                total.panicked = Some(seed);
                is_over.store(true, Ordering::Relaxed);
                break;
            };
            total.plans += 1;
            total.simulated += run.simulated;
            total.coverage.add(&run.coverage);
            if !run.failures.is_empty() {
                total.found = Some((seed, run.failures));
                is_over.store(true, Ordering::Relaxed);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
        total
    };
    let mut total = Total::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut progress = Progress::new("plans", options.seeds);
        while workers.iter().any(|worker| !worker.is_finished()) {
            thread::sleep(Duration::from_millis(50));
            progress.show(done.load(Ordering::Relaxed));
        }
        progress.end();
        for worker in workers {
            total.add(worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    report(options, &total, begin.elapsed(), cores)
}

fn report(options: Options, total: &Total, took: Duration, cores: usize) -> ExitCode {
    let (level, plans) = (options.level, total.plans);
    println!("seen: times (floor)");
    for (what, count, floor) in total.coverage.table() {
        println!("{count:>12} {:>9}  {what}", format!("({floor})"));
    }
    println!("faults: times, times while a call had no answer (floor)");
    for (kind, times, busy, floor) in total.coverage.fault_table() {
        println!("{times:>12} {busy:>12} {:>9}  {kind}", format!("({floor})"));
    }
    let seconds = took.as_secs_f64();
    println!(
        "{level:?} level, seeds {} to {}: {plans} plans, {} calls, {} faults, {:.1} days simulated in {seconds:.0} s on \
         {cores} cores, {:.1} plans a second",
        options.from,
        options.from + plans.saturating_sub(1),
        total.coverage.calls,
        total.coverage.faults(),
        total.simulated.as_secs_f64() / 86_400.0,
        plans as f64 / seconds,
    );
    if let Some(seed) = total.panicked {
        return show_panic(level, seed);
    }
    if let Some((seed, found)) = &total.found {
        return show_finding(level, *seed, found);
    }
    let missing = total.coverage.missing();
    if missing.is_empty() {
        println!("no promise is broken, every floor is met");
        ExitCode::SUCCESS
    } else {
        println!("seen too rarely, so the run proves too little: {}", missing.join("; "));
        ExitCode::FAILURE
    }
}

/// A plan that panics cannot be drawn or shrunk: its run has no end.
fn show_panic(level: Level, seed: u64) -> ExitCode {
    let word = format!("{level:?}").to_lowercase();
    println!("\nthe run of seed {seed} panicked; stderr has the message");
    println!("replay: cargo run --profile sim -p sim -- plan {seed} --run {word}");
    let name = format!("seed_{seed}");
    findings::report(findings::write_plan(&name, &plan::draw_for(level, seed)));
    ExitCode::FAILURE
}

fn show_finding(level: Level, seed: u64, found: &[String]) -> ExitCode {
    println!("\nseed {seed} finds:\n  {}", found.join("\n  "));
    let word = format!("{level:?}").to_lowercase();
    println!("replay: cargo run --profile sim -p sim -- plan {seed} --run {word}");
    let plan = plan::draw_for(level, seed);
    println!("at the three levels:");
    for other in Level::ALL {
        if let Err(why) = other.fits(&plan) {
            println!("  {other:?}: {why}");
            continue;
        }
        let found = run(other, &plan).failures;
        println!("  {other:?}: {}", found.first().map_or("finds nothing", String::as_str));
    }
    let (mut small, found) = shrink(&plan, found, |plan| run(level, plan));
    small.why = format!(
        "Found by seed {seed} at the {word} level: {}",
        found.first().map_or("", String::as_str)
    );
    println!("the smallest plan that finds it:\n\n{}", small.text());
    findings::report(findings::write(&format!("seed_{seed}"), level, &small, &run(level, &small)));
    ExitCode::FAILURE
}

/// Prints a plan, or runs it and prints its trace. A run that finds something is kept in files.
pub(crate) fn show(what: &Drawn, level: Option<Level>) -> ExitCode {
    let (name, plan) = match what.plan(level.unwrap_or(Level::Full)) {
        Ok(drawn) => drawn,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(2);
        }
    };
    let Some(level) = level else {
        print!("{}", plan.text());
        return ExitCode::SUCCESS;
    };
    let run = run(level, &plan);
    print!("{}", run.trace());
    for failure in &run.failures {
        println!("{failure}");
    }
    if run.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    findings::report(findings::write(&name, level, &plan, &run));
    ExitCode::FAILURE
}

/// What a plan is drawn from.
pub(crate) enum Drawn {
    Seed(u64),
    /// An input of the fuzz target `events`.
    Input(PathBuf),
}

impl Drawn {
    /// The plan, and a name for its files.
    fn plan(&self, level: Level) -> Result<(String, Scenario), String> {
        match self {
            Self::Seed(seed) => Ok((format!("seed_{seed}"), plan::draw_for(level, *seed))),
            Self::Input(path) => {
                let bytes = std::fs::read(path);
                let bytes = bytes.map_err(|error| format!("{}: {error}", path.display()))?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                Ok((name.into_owned(), plan::from_bytes(&bytes)))
            }
        }
    }
}
