//! Nobody gets in, nothing brings it down: attacks on the running program with its default flags, over raw sockets
//! where clients are too polite. After each of them the program lives, answers a call within a second, has given
//! back what it took, and has written nothing into its log that a terminal would obey.
//!
//! `UNITY_MCP=path` names the program to attack; without it the one that cargo builds.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may fail loudly anywhere, in its helpers too"
)]

mod bench;
mod door;
mod frames;
mod handshake;
mod process;
mod stdio;
mod wire;

use bench::Bench;
use libtest_mimic::{Arguments, Failed, Trial};

/// Without anything that it needs to know before.
type Attack = (&'static str, fn(&mut Bench));

/// An attack by its name.
struct Case {
    name: String,
    run: Box<dyn FnOnce(&mut Bench) + Send>,
}

impl Case {
    fn new(name: impl Into<String>, run: impl FnOnce(&mut Bench) + Send + 'static) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

fn main() {
    if let Some(port) = std::env::var_os(process::SQUAT) {
        return process::squat(port.to_str().unwrap().parse().unwrap());
    }
    let topics = [
        ("door", door::cases()),
        ("handshake", handshake::cases()),
        ("frames", frames::cases()),
        ("wire", wire::cases()),
        ("stdio", stdio::cases()),
        ("process", process::cases()),
    ];
    let trials = topics.into_iter().flat_map(|(topic, cases)| {
        cases.into_iter().map(move |case| {
            let name = format!("{topic}::{}", case.name);
            Trial::test(name.clone(), move || attack(&name, case.run))
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn attack(name: &str, run: Box<dyn FnOnce(&mut Bench) + Send>) -> Result<(), Failed> {
    let mut bench = Bench::new();
    run(&mut bench);
    if let Some((peak, kept)) = bench.finish() {
        eprintln!("{name}: {peak} KiB more at the most, {kept} when it was over");
    }
    Ok(())
}
