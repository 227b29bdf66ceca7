//! Real domain reloads while agents call without a pause.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use harness::agent::{HttpAgent, Outcome, StdioAgent};
use harness::editor::{Editor, Program};
use harness::server::{Server, TIMEOUT};
use serde_json::{Value, json};

use crate::books::Books;

const RELOADS: u64 = 25;
const KILLS: usize = 8;
/// Answers between two reloads, and between two kills.
const BETWEEN: usize = 20;
/// Calls that the agent over stdio has open at a time.
const OPEN: usize = 4;
const POLL: Duration = Duration::from_millis(2);
/// So short that calls are rejected while the plugin looks for the next server: this promise is tested too.
const SHORT_WAIT: [&str; 2] = ["--request-reconnect-wait-ms", "50"];
/// The whole test must end within this time.
const LONGEST: Duration = Duration::from_secs(40);

/// What the threads of the agents share with the test.
#[derive(Default)]
struct Shared {
    answered: AtomicUsize,
    is_over: AtomicBool,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    fn wait_for_answers(&self, more: usize) {
        let (began, before) = (Instant::now(), self.answered.load(Ordering::Relaxed));
        while self.answered.load(Ordering::Relaxed) < before + more {
            assert!(began.elapsed() < TIMEOUT, "the agents get no answers");
            sleep(POLL);
        }
    }
}

fn arguments(agent: &str, number: usize) -> Value {
    json!({ "max_entries": 1, "client_request_id": format!("{agent}-{number}") })
}

fn names(agent: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{agent}-{number}")).collect()
}

/// Calls with several open at a time, until it is over. Returns how many calls it made. None fails. The agent comes back
/// too: the server ends with it.
fn call_over_stdio(mut agent: StdioAgent, shared: Arc<Shared>) -> JoinHandle<(usize, StdioAgent)> {
    spawn(move || {
        let mut open = std::collections::VecDeque::new();
        let mut made = 0;
        while !shared.is_over() || !open.is_empty() {
            while !shared.is_over() && open.len() < OPEN {
                open.push_back(agent.call("read_console", arguments("stdio", made)));
                made += 1;
            }
            if let Some(call) = open.pop_front() {
                agent.outcome(call).unwrap_or_else(|error| panic!("{error}"));
                shared.count();
            }
        }
        (made, agent)
    })
}

fn call_over_http(agent: HttpAgent, shared: Arc<Shared>) -> JoinHandle<usize> {
    spawn(move || {
        let mut made = 0;
        while !shared.is_over() {
            let answer = agent.run("read_console", &arguments("http", made));
            answer.unwrap_or_else(|error| panic!("{error}"));
            made += 1;
            shared.count();
        }
        made
    })
}

pub(crate) fn twenty_five_reloads_under_load_lose_nothing_and_double_nothing() {
    let began = Instant::now();
    let (mut server, http, mut editor) =
        Program::EditorHost.connected(&["--stdio"], &["--tool-time", "0ms"]);
    let stdio = StdioAgent::new(&mut server);
    let shared = Arc::new(Shared::default());
    let over_stdio = call_over_stdio(stdio, shared.clone());
    let over_http = call_over_http(http, shared.clone());
    for _ in 0..RELOADS {
        shared.wait_for_answers(BETWEEN);
        reload(&mut editor);
    }
    shared.wait_for_answers(BETWEEN);
    shared.is_over.store(true, Ordering::Relaxed);
    let http = over_http.join().unwrap();
    let (stdio, _agent) = over_stdio.join().unwrap();

    let books = Books::of(&mut editor);
    assert_eq!(books.of_agent("stdio"), names("stdio", stdio));
    assert_eq!(books.of_agent("http"), names("http", http));
    let calls = stdio + http;
    assert_eq!((books.reloads, books.executed.len()), (RELOADS, calls));
    assert_eq!(books.arrived, u64::try_from(calls).unwrap());
    let took = began.elapsed();
    println!("{RELOADS} reloads, {calls} calls in {took:.1?}: 0 failed, 0 doubled, in order");
    assert!(took < LONGEST, "{took:?}");
}

/// Waits until the plugin is back.
fn reload(editor: &mut Editor) {
    editor.type_line("reload 20ms");
    editor.wait_for(|passing| passing["to_server"]["state"] == "reloading");
    editor.gets("capability");
}

/// What an agent knows of a call.
enum Verdict {
    Ran,
    DidNotRun,
    Unknown,
}

fn verdict(answer: io::Result<Outcome>) -> Verdict {
    match answer {
        Ok(Ok(_)) => Verdict::Ran,
        Ok(Err(error)) => match error["details"]["execution_guarantee"].as_str() {
            Some("not_executed") => Verdict::DidNotRun,
            Some("completed_ok" | "completed_error") => Verdict::Ran,
            Some(_) => Verdict::Unknown,
            None => panic!("{error}"),
        },
        // The server was killed before it had answered. Nobody knows.
        Err(_) => Verdict::Unknown,
    }
}

/// Calls a server that is killed now and then.
fn call_restless(agent: &'static str, port: u16, shared: Arc<Shared>) -> JoinHandle<Vec<Verdict>> {
    spawn(move || {
        let http = HttpAgent { port };
        let mut verdicts = Vec::new();
        while !shared.is_over() {
            let verdict = verdict(http.try_run("read_console", &arguments(agent, verdicts.len())));
            match verdict {
                Verdict::Ran => shared.count(),
                // Between two servers a connection is refused at once.
                Verdict::DidNotRun | Verdict::Unknown => sleep(POLL),
            }
            verdicts.push(verdict);
        }
        verdicts
    })
}

pub(crate) fn reloads_and_killed_servers_run_nothing_twice_and_promise_nothing_false() {
    let began = Instant::now();
    let mut server = Server::start(&SHORT_WAIT);
    let port = server.port();
    let mut editor = Program::EditorHost.start(port, &["--tool-time", "2ms"]);
    editor.gets("capability");
    let shared = Arc::new(Shared::default());
    let agents = ["a", "b"].map(|name| (name, call_restless(name, port, shared.clone())));
    for round in 0..KILLS {
        shared.wait_for_answers(BETWEEN);
        editor.type_line("reload 20ms");
        // In every second round the server is killed during the reload.
        if round % 2 == 0 {
            shared.wait_for_answers(BETWEEN);
        }
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        let port = port.to_string();
        let flags = [&["--port", port.as_str()], &SHORT_WAIT[..]].concat();
        server = Server::start_with(&flags, |_| {});
        server.port();
    }
    shared.wait_for_answers(BETWEEN);
    shared.is_over.store(true, Ordering::Relaxed);
    let told = agents.map(|(name, agent)| (name, agent.join().unwrap()));
    judge(&Books::of(&mut editor), &told);
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
}

/// Compares what the agents were told with what ran.
fn judge(books: &Books, told: &[(&str, Vec<Verdict>)]) {
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in &books.executed {
        *ran.entry(name).or_default() += 1;
    }
    let (mut answered, mut rejected, mut unknown) = (0, 0, 0);
    for (agent, verdicts) in told {
        for (number, verdict) in verdicts.iter().enumerate() {
            let name = format!("{agent}-{number}");
            let times = ran.remove(name.as_str()).unwrap_or(0);
            let (seen, allowed) = match verdict {
                Verdict::Ran => (&mut answered, 1..=1),
                Verdict::DidNotRun => (&mut rejected, 0..=0),
                Verdict::Unknown => (&mut unknown, 0..=1),
            };
            *seen += 1;
            assert!(allowed.contains(&times), "{name} ran {times} times");
        }
    }
    assert!(ran.is_empty(), "calls ran that nobody made: {ran:?}");
    assert!(answered > 0 && rejected > 0 && unknown > 0, "not every promise was tested");
    assert_eq!(books.reloads, u64::try_from(KILLS).unwrap());
    println!(
        "{KILLS} killed servers, {} reloads: {answered} calls ran once, {rejected} did not run, {unknown} unknown",
        books.reloads
    );
}
