//! The sim program: random schedules against the core, as many as one likes.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program speaks on its standard output"
)]

mod figures;
mod scenes;
mod swarm;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::{Parser, Subcommand};
use sim::planted::Fault;
use sim::schedule::Schedule;
use sim::world::{self, Judge, Report, Violation};

/// Random schedules of agents, Unity and time against the core of unity-mcp.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 all is well, 1 a promise was broken or a fault not found, 2 bad usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the scenarios.
    List,
    /// Run scenarios: all, a file, a topic, or those whose name has this in it.
    Run {
        what: Option<String>,
        /// In place of each scenario's own seed.
        #[arg(long)]
        seed: Option<u64>,
        /// Print what crossed the wires.
        #[arg(long)]
        trace: bool,
    },
    /// Run every scenario twice in two processes and compare them byte by byte.
    Meta {
        /// How many seeds.
        #[arg(long, default_value_t = 3)]
        seeds: u64,
    },
    /// Print everything that happens in every scenario.
    #[command(hide = true)]
    Tell {
        seed: u64,
        #[arg(long)]
        reverse: bool,
    },
    /// Draw what happens in a scenario, as one page for a browser.
    Html {
        /// A file, or part of the name of one scenario.
        what: String,
        /// Where the page is written.
        #[arg(short, long, default_value = "scenario.html")]
        output: PathBuf,
        /// In place of the scenario's own seed.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Say what is wrong in scenario files, and where.
    Validate { what: Option<String> },
    /// Run random plans against the whole server.
    Swarm {
        /// How many plans.
        #[arg(long, default_value_t = 200)]
        seeds: u64,
        /// The first seed; each plan has the next one.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Stop after so many minutes.
        #[arg(long)]
        minutes: Option<u64>,
    },
    /// Print the plan of a seed, as a scenario that `run` takes.
    Plan { seed: u64 },
    /// Run schedules and check every promise of the contract.
    Model {
        /// How many schedules.
        #[arg(long, default_value_t = 100_000)]
        schedules: u64,
        /// The first seed; each schedule has the next one.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Steps of each schedule.
        #[arg(long, default_value_t = 100)]
        steps: usize,
    },
    /// Show one schedule, event by event.
    Replay {
        seed: u64,
        #[arg(long, default_value_t = 100)]
        steps: usize,
    },
    /// Plant each fault and count the schedules until it is found.
    Planted {
        /// Give up after so many schedules.
        #[arg(long, default_value_t = 2_000)]
        schedules: u64,
    },
    /// Measure how fast the core is, and how its cost grows.
    Figures,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::List => scenes::list(),
        Command::Run { what, seed, trace } => scenes::play(what.as_deref(), seed, trace),
        Command::Meta { seeds } => scenes::meta(seeds),
        Command::Tell { seed, reverse } => scenes::tell(seed, reverse),
        Command::Html { what, output, seed } => scenes::draw(&what, seed, &output),
        Command::Validate { what } => scenes::validate(what.as_deref()),
        Command::Swarm { seeds, from, minutes } => swarm::swarm(seeds, from, minutes),
        Command::Plan { seed } => swarm::show(seed),
        Command::Model { schedules, from, steps } => model(schedules, from, steps),
        Command::Replay { seed, steps } => replay(seed, steps),
        Command::Planted { schedules } => planted(schedules),
        Command::Figures => figures::print(),
    }
}

fn model(schedules: u64, from: u64, steps: usize) -> ExitCode {
    let begin = Instant::now();
    let workers = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let done = AtomicU64::new(0);
    let results: Vec<Result<Report, (u64, Box<Violation>)>> = thread::scope(|scope| {
        let shares: Vec<_> = (0..workers)
            .map(|worker| {
                let done = &done;
                scope.spawn(move || share(from + worker, from + schedules, workers, steps, done))
            })
            .collect();
        scope.spawn(|| show_progress(&done, schedules));
        let joined = shares.into_iter().map(thread::ScopedJoinHandle::join);
        let results = joined.flatten().collect();
        done.store(schedules, Ordering::Relaxed); // Ends the progress, also after a violation.
        results
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
fn share(
    first: u64,
    end: u64,
    stride: u64,
    steps: usize,
    done: &AtomicU64,
) -> Result<Report, (u64, Box<Violation>)> {
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

/// One line a second while there is something left to do.
fn show_progress(done: &AtomicU64, schedules: u64) {
    let mut waited = 0;
    while done.load(Ordering::Relaxed) < schedules {
        thread::sleep(std::time::Duration::from_millis(50));
        waited += 1;
        if waited % 20 == 0 {
            println!("{} of {schedules} schedules", done.load(Ordering::Relaxed));
        }
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

fn replay(seed: u64, steps: usize) -> ExitCode {
    match world::tell(&Schedule::from_seed(seed, steps), world::genuine) {
        Ok(history) => {
            history.iter().for_each(|line| println!("{line}"));
            println!("no promise was broken");
            ExitCode::SUCCESS
        }
        Err(violation) => show_violation(seed, steps, &violation),
    }
}

fn planted(schedules: u64) -> ExitCode {
    let mut all_found = true;
    for fault in Fault::ALL {
        let found = (0..schedules).find_map(|seed| {
            let schedule = Schedule::from_seed(seed, 100);
            let violation =
                world::run(&schedule, Judge::ModelAndBooks, |limits| fault.plant(limits)).err()?;
            Some((seed + 1, violation.what))
        });
        match found {
            Some((count, what)) => {
                println!(
                    "{count:>6}  {}: {}",
                    fault.name(),
                    what.chars().take(90).collect::<String>()
                );
            }
            None => {
                all_found = false;
                println!("NEVER   {}", fault.name());
            }
        }
    }
    if all_found { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
