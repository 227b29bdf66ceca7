//! The sim program: scenarios, the swarm, and random schedules against the core.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program speaks on its standard output"
)]

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use commands::swarm::{self, Extent};
use commands::{canary, figures, scenario};
use sim::levels::run::Level;

/// Simulations of unity-mcp: scenarios, random plans at three levels, random schedules against the core.
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
        /// How much of the world is simulated.
        #[arg(long, value_enum, default_value_t = Level::Full)]
        level: Level,
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
    /// Run random plans, check every promise, and shrink what breaks one.
    Swarm {
        /// How much of the world is simulated.
        #[arg(long, value_enum, default_value_t = Level::Core)]
        level: Level,
        /// How many plans.
        #[arg(long, default_value_t = 10_000)]
        seeds: u64,
        /// The first seed; each plan has the next one.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Stop after so many minutes.
        #[arg(long)]
        minutes: Option<u64>,
    },
    /// Plant each fault and count the plans until it is found.
    Canary {
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// At the full level too, which takes minutes.
        #[arg(long)]
        full: bool,
    },
    /// Print the plan of a seed, as a scenario that `run` takes.
    Plan {
        seed: u64,
        /// Print what comes of it at this level instead.
        #[arg(long, value_enum)]
        run: Option<Level>,
    },
    /// Measure how fast the core is, and how its cost grows.
    Figures,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::List => scenario::list(),
        Command::Run { what, seed, level, trace } => {
            scenario::play(level, what.as_deref(), seed, trace)
        }
        Command::Meta { seeds } => scenario::meta(seeds),
        Command::Tell { seed, reverse } => scenario::tell(seed, reverse),
        Command::Html { what, output, seed } => scenario::draw(&what, seed, &output),
        Command::Validate { what } => scenario::validate(what.as_deref()),
        Command::Swarm { level, seeds, from, minutes } => {
            swarm::swarm(Extent { level, seeds, from, minutes })
        }
        Command::Canary { from, full } => canary::canary(from, full),
        Command::Plan { seed, run } => swarm::show(seed, run),
        Command::Figures => figures::print(),
    }
}
