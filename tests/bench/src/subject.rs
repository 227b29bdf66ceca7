//! What is measured: the floor in two flavours, and unity-mcp, each over stdio and over HTTP; and its process.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::agent::Agent;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// With a runtime of several threads, as most servers have.
    Floor,
    /// With one thread.
    FloorOfOneThread,
    Ours,
}

pub const SUBJECTS: [Subject; 3] = [Subject::Floor, Subject::FloorOfOneThread, Subject::Ours];

/// Where the programs are, and where the log goes.
pub struct Programs {
    pub floor: PathBuf,
    pub ours: PathBuf,
    pub out: PathBuf,
}

impl Subject {
    pub fn is_ours(self) -> bool {
        self == Self::Ours
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::FloorOfOneThread => "floor, one thread",
            Self::Ours => "unity-mcp",
        }
    }

    fn command(self, programs: &Programs, over: Transport, port: u16) -> Command {
        let port = port.to_string();
        let floor = |runtime: &str| {
            let mut command = Command::new(&programs.floor);
            command.args([if over == Transport::Stdio { "pipes" } else { "http" }, &port]);
            command.env("RUNTIME", runtime);
            command
        };
        match self {
            Self::Floor => floor("multi_thread"),
            Self::FloorOfOneThread => floor("current_thread"),
            Self::Ours => {
                let mut command = Command::new(&programs.ours);
                command.args(["--port", &port]).current_dir(&programs.out);
                if over == Transport::Stdio {
                    command.arg("--stdio");
                }
                command
            }
        }
    }
}

/// One process, and an agent that has got its list of tools.
pub struct Running {
    process: Child,
    pub agent: Agent,
    pub unity_port: u16,
    agent_port: u16,
}

impl Running {
    pub fn start(subject: Subject, programs: &Programs, over: Transport) -> Self {
        let unity_port = free_ports();
        let agent_port = unity_port + u16::from(!subject.is_ours());
        let mut command = subject.command(programs, over, unity_port);
        let log = File::create(programs.out.join("log.txt")).unwrap();
        command.stderr(log).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut agent = match over {
            Transport::Stdio => {
                let pipes = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
                Agent::over_pipes(pipes.0, pipes.1)
            }
            Transport::Http => Agent::over_http(dial(agent_port), agent_port),
        };
        agent.begin();
        Self { process, agent, unity_port, agent_port }
    }

    /// One more agent over HTTP.
    pub fn other_agent(&self) -> Agent {
        Agent::over_http(dial(self.agent_port), self.agent_port)
    }

    /// Closes its stdin, and waits until it has ended by itself.
    pub fn end(mut self) {
        self.agent.leave();
        self.process.wait().unwrap();
    }

    /// Of all its threads.
    pub fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let of_task = |path: &Path| {
            let text = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
        };
        Duration::from_nanos(tasks.map(|task| of_task(&task.unwrap().path())).sum())
    }

    pub fn memory_mb(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kilobytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes / 1024.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Waits until somebody listens.
fn dial(port: u16) -> TcpStream {
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            // Nobody listened, and the system chose this very port for our own end.
            Ok(stream) if stream.local_addr().unwrap() == stream.peer_addr().unwrap() => {}
            Ok(stream) => return stream,
            Err(_) => sleep(Duration::from_micros(100)),
        }
    }
}

/// A free port that is followed by a free one.
fn free_ports() -> u16 {
    let bind = |port| TcpListener::bind(("127.0.0.1", port));
    loop {
        let first = bind(0).unwrap();
        let port = first.local_addr().unwrap().port();
        if port < u16::MAX && bind(port + 1).is_ok() {
            return port;
        }
    }
}
