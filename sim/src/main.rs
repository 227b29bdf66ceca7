//! The sim program: runs scenarios and random plans, and shows what they find.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, value_parser};
use commands::pictures::{self, Theme};
use commands::swarm::{self, Drawn, Options};
use commands::{canary, figures, scenario};
use sim::levels::run::Level;

/// Simulations of unity-mcp in virtual time: scenarios, and random plans at three levels.
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 success, 1 a promise is broken or a planted fault is not found, 2 bad usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the scenarios.
    List,
    /// Run scenarios: all of them, a file, a topic, or those whose name contains the text.
    Run {
        what: Option<String>,
        /// Use this seed instead of the seed of each scenario.
        #[arg(long)]
        seed: Option<u64>,
        /// How much is simulated.
        #[arg(long, value_enum, default_value_t = Level::Full)]
        level: Level,
        /// Print the trace of each scenario.
        #[arg(long)]
        trace: bool,
    },
    /// Run every scenario in two processes and compare the results byte by byte.
    Meta {
        /// The number of seeds.
        #[arg(long, default_value_t = 3, value_parser = value_parser!(u64).range(1..))]
        seeds: u64,
    },
    /// Print everything that is recorded in every scenario.
    #[command(hide = true)]
    Dump {
        seed: u64,
        #[arg(long)]
        reverse: bool,
    },
    /// Draw a run of a scenario as a page for a browser.
    Html {
        /// A file, or part of the name of one scenario.
        #[arg(required_unless_present = "all")]
        what: Option<String>,
        /// Draw every scenario, and a page that lists them. The output is a folder.
        #[arg(long, conflicts_with = "what")]
        all: bool,
        /// The file or folder to write. [default: scenario.html, or site with --all]
        #[arg(short, long)]
        output: Option<PathBuf>,
        /// Use this seed instead of the seed of the scenario.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Draw a run of a scenario as an SVG for a document.
    Svg {
        /// A file, or part of the name of one scenario.
        what: String,
        #[arg(long, value_enum, default_value_t = Theme::Light)]
        theme: Theme,
        /// The file to write.
        #[arg(short, long, default_value = "scenario.svg")]
        output: PathBuf,
    },
    /// Show two traces side by side, with what is missing, added or moved.
    Diff {
        /// A snapshot or the output of `run --trace`.
        one: PathBuf,
        other: PathBuf,
        /// The file to write.
        #[arg(short, long, default_value = "diff.html")]
        output: PathBuf,
    },
    /// Check scenario files; report each mistake with its line.
    Validate { what: Option<String> },
    /// Run random plans, check every promise, and shrink a plan that breaks one.
    Swarm {
        /// How much is simulated.
        #[arg(long, value_enum, default_value_t = Level::Core)]
        level: Level,
        /// The number of plans.
        #[arg(long, default_value_t = 10_000, value_parser = value_parser!(u64).range(1..))]
        seeds: u64,
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Stop after this many minutes.
        #[arg(long)]
        minutes: Option<u64>,
    },
    /// Plant each fault and count the plans until it is found.
    Canary {
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// Run the full level too. This takes minutes.
        #[arg(long)]
        full: bool,
    },
    /// Print the plan of a seed, as a scenario that `run` takes.
    Plan {
        #[arg(required_unless_present = "input")]
        seed: Option<u64>,
        /// Take the plan of an input of the fuzz target `events` instead.
        #[arg(long, value_name = "FILE", conflicts_with = "seed")]
        input: Option<PathBuf>,
        /// Run the plan at this level and print its trace. If it finds something, keep it in target/sim-failures.
        #[arg(long, value_enum)]
        run: Option<Level>,
    },
    /// Measure the speed of the core, and how the cost of an event grows.
    Figures,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::List => scenario::list(),
        Command::Run { what, seed, level, trace } => {
            scenario::run(level, what.as_deref(), seed, trace)
        }
        Command::Meta { seeds } => scenario::meta(seeds),
        Command::Dump { seed, reverse } => scenario::dump(seed, reverse),
        Command::Html { what: Some(what), output, seed, .. } => {
            pictures::html(&what, seed, &output.unwrap_or_else(|| "scenario.html".into()))
        }
        Command::Html { what: None, output, seed, .. } => {
            pictures::all(seed, &output.unwrap_or_else(|| "site".into()))
        }
        Command::Svg { what, theme, output } => pictures::svg(&what, theme, &output),
        Command::Diff { one, other, output } => pictures::diff(&one, &other, &output),
        Command::Validate { what } => scenario::validate(what.as_deref()),
        Command::Swarm { level, seeds, from, minutes } => {
            swarm::swarm(Options { level, seeds, from, minutes })
        }
        Command::Canary { from, full } => canary::canary(from, full),
        Command::Plan { seed, input, run } => {
            let drawn = input.map_or(Drawn::Seed(seed.unwrap_or_default()), Drawn::Input);
            swarm::show(&drawn, run)
        }
        Command::Figures => figures::print(),
    }
}
