//! Measures unity-mcp beside the floor, in one run and in rounds that alternate. Its figures are ratios: absolute times
//! of a machine that others use mean nothing. `run` builds what it needs and pins it to one core.
//!
//! `bench FLOOR UNITY-MCP FOLDER [--quick] [--json] [--calls N] [--only stdio|http]`

mod agent;
mod measure;
mod report;
mod subject;
mod unity;

use std::path::PathBuf;
use std::time::Duration;

use measure::{Figure, Size};
use report::Report;
use subject::{Programs, Running, SUBJECTS, Subject, Transport};
use unity::{Consoles, Unity};

const ROUNDS: usize = 7;
const FULL: Size = Size { calls: 2_000, starts: 10, recoveries: 5, idle: Duration::from_secs(60) };
const QUICK: Size = Size { calls: 100, starts: 2, recoveries: 1, idle: Duration::ZERO };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let value = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).cloned()
    };
    let path = |index: usize| PathBuf::from(&arguments[index]);
    let programs = Programs { floor: path(0), ours: path(1), out: path(2) };
    if let Some(calls) = value("--count") {
        return only_calls(&programs, calls.parse().unwrap());
    }
    let (rounds, mut size) = if has("--quick") { (1, QUICK) } else { (ROUNDS, FULL) };
    if let Some(calls) = value("--calls") {
        size.calls = calls.parse().unwrap();
    }
    let only = value("--only");
    let transports = [(Transport::Stdio, "stdio"), (Transport::Http, "http")];
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);

    let mut report = Report::default();
    for (over, name) in transports.into_iter().filter(|(_, name)| wanted(name)) {
        for round in 1..=rounds {
            for subject in SUBJECTS {
                eprintln!("{name}, round {round} of {rounds}: {}", subject.name());
                report.add(name, subject, measure::round(subject, &programs, over, size));
            }
        }
        if !size.idle.is_zero() {
            for subject in SUBJECTS {
                eprintln!("{name}, idle for {:?}: {}", size.idle, subject.name());
                let used = measure::idle(subject, &programs, over, size.idle);
                report.add(name, subject, vec![(Figure::Idle, used)]);
            }
        }
    }
    if has("--json") { println!("{}", report.json()) } else { print!("{}", report.table()) }
}

/// So many calls over stdio and nothing else: for a tool that counts instructions. UNITY-MCP may be any command.
fn only_calls(programs: &Programs, calls: usize) {
    let subject = if has_floor() { Subject::FloorOfOneThread } else { Subject::Ours };
    let mut server = Running::start(subject, programs, Transport::Stdio);
    let unity = Unity::connect(subject, server.unity_port, Consoles::new());
    for _ in 0..calls {
        server.agent.call(50);
    }
    server.end();
    unity.disconnect();
}

fn has_floor() -> bool {
    std::env::args().any(|argument| argument == "--floor")
}
