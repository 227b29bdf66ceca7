//! Attacks on the running server with its default flags, over raw sockets where a client library would not send
//! such bytes. After each attack the server still runs, answers a call within a second, has released its memory
//! and descriptors, and has written no control characters to its log.
//!
//! `UNITY_MCP=path` names the program to attack. Without it, cargo builds one.

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
mod page;
mod process;
mod stdio;
mod wire;

use bench::Bench;
use libtest_mimic::{Arguments, Failed, Trial};

/// Name and attack.
type Attack = (&'static str, fn(&mut Bench));

/// An attack with its name, as one test.
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
        ("page", page::cases()),
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
