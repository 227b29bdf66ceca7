//! The measurements of one round: each on a process of its own, or on one that is warm.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::subject::{Programs, Running, Subject, Transport};
use crate::unity::{CONSOLES, Consoles, Unity};

/// How much is measured in one round.
#[derive(Clone, Copy)]
pub struct Size {
    pub calls: usize,
    pub starts: usize,
    pub recoveries: usize,
    pub idle: Duration,
}

/// What a figure is, and whether less of it is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    Median,
    Cpu,
    AtOnce(usize),
    Console(usize),
    Start,
    Recovery,
    Memory,
    Idle,
}

impl Figure {
    pub fn name(self) -> String {
        match self {
            Self::Median => "p50 of a call".to_owned(),
            Self::Cpu => "CPU per call".to_owned(),
            Self::AtOnce(calls) => format!("calls per second, {calls} at once"),
            Self::Console(console) => {
                format!("p50, answer of {}", CONSOLES.get(console).map_or("", |known| known.name))
            }
            Self::Start => "spawn to the list of tools".to_owned(),
            Self::Recovery => "answer after Unity is back".to_owned(),
            Self::Memory => "memory after the calls".to_owned(),
            Self::Idle => "CPU while idle, per minute".to_owned(),
        }
    }

    pub fn unit(self) -> &'static str {
        match self {
            Self::Median | Self::Cpu | Self::Console(_) => "µs",
            Self::AtOnce(_) => "1/s",
            Self::Start | Self::Recovery | Self::Idle => "ms",
            Self::Memory => "MB",
        }
    }
}

pub fn round(
    subject: Subject,
    programs: &Programs,
    over: Transport,
    size: Size,
) -> Vec<(Figure, f64)> {
    let started = || {
        let begun = Instant::now();
        drop(Running::start(subject, programs, over));
        millis(begun.elapsed())
    };
    let starts = (0..size.starts).map(|_| started()).collect();
    let mut figures = vec![(Figure::Start, median(starts))];

    let mut server = Running::start(subject, programs, over);
    let consoles = Consoles::new();
    let unity = Unity::connect(subject, server.unity_port, consoles.clone());
    calls(&mut server, size.calls / 10, 0);
    let before = server.cpu();
    figures.push((Figure::Median, median(calls(&mut server, size.calls, 0))));
    let cpu = (server.cpu() - before).as_secs_f64() * 1e6;
    figures.push((Figure::Cpu, cpu / size.calls as f64));
    figures.push((Figure::Memory, server.memory_mb()));
    for together in [8, 32] {
        figures.push((Figure::AtOnce(together), at_once(&mut server, over, together, size.calls)));
    }
    for console in 1..CONSOLES.len() {
        consoles.choose(console);
        let count = (size.calls * 10 / CONSOLES[console].entries.max(10)).max(20);
        calls(&mut server, 3, console);
        figures.push((Figure::Console(console), median(calls(&mut server, count, console))));
    }
    consoles.choose(0);
    figures.extend(recovery(subject, &mut server, unity, &consoles, size.recoveries));
    figures
}

/// How long each call took, in microseconds.
fn calls(server: &mut Running, count: usize, console: usize) -> Vec<f64> {
    let call = |_| {
        let begun = Instant::now();
        server.agent.call(CONSOLES[console].entries.max(50));
        begun.elapsed().as_secs_f64() * 1e6
    };
    (0..count).map(call).collect()
}

/// Calls per second with so many that have no answer. Over HTTP each has its own connection.
fn at_once(server: &mut Running, over: Transport, together: usize, count: usize) -> f64 {
    let begun = Instant::now();
    match over {
        Transport::Stdio => {
            (0..together).for_each(|_| server.agent.send_call(50));
            for _ in 0..count {
                server.agent.receive_answer();
                server.agent.send_call(50);
            }
            for _ in 0..together {
                server.agent.receive_answer();
            }
        }
        Transport::Http => {
            let mut agents: Vec<_> = (0..together).map(|_| server.other_agent()).collect();
            agents.iter_mut().for_each(|agent| agent.send_call(50));
            for index in 0..count {
                let agent = &mut agents[index % together];
                agent.receive_answer();
                agent.send_call(50);
            }
            for agent in &mut agents {
                agent.receive_answer();
            }
        }
    }
    (count + together) as f64 / begun.elapsed().as_secs_f64()
}

/// From the moment Unity connects again to the answer of a call that has waited for it.
fn recovery(
    subject: Subject,
    server: &mut Running,
    mut unity: Unity,
    consoles: &Consoles,
    count: usize,
) -> Option<(Figure, f64)> {
    let moment = || sleep(Duration::from_millis(100));
    let mut times = Vec::new();
    for _ in 0..count {
        unity.disconnect();
        moment();
        server.agent.send_call(50);
        moment();
        let begun = Instant::now();
        unity = Unity::connect(subject, server.unity_port, consoles.clone());
        server.agent.receive_answer();
        times.push(millis(begun.elapsed()));
    }
    (!times.is_empty()).then(|| (Figure::Recovery, median(times)))
}

/// What the process uses while nothing happens but pings.
pub fn idle(subject: Subject, programs: &Programs, over: Transport, time: Duration) -> f64 {
    let mut server = Running::start(subject, programs, over);
    let unity = Unity::connect(subject, server.unity_port, Consoles::new());
    server.agent.call(50);
    let before = server.cpu();
    sleep(time);
    let used = millis(server.cpu() - before);
    unity.disconnect();
    used * 60.0 / time.as_secs_f64()
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
