//! Starts the programs of a scenario, each on its host.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use coordination::Boot;
use mock_unity::{Books, MockEditor, session};
use tokio::io::split;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unity_mcp::Server;
use unity_mcp::config_loader::Config;
use unity_mcp::network::Network as _;

use crate::faults::Fault;
use crate::faults::missed_wakeup::{MissedWakeupStream, MissedWakeups};
use crate::judge::checked_core::Violations;
use crate::levels::clock;
use crate::levels::hosts::{HostNetwork, Hosts};
use crate::programs::agent::{self, AgentScript, AgentStep, CallRecords};
use crate::programs::broken_adapters::Breaks;
use crate::record::log::Log;
use crate::scenario::{Action, Editor, SERVER, Scenario, Via};

/// The version of server and plugin, so that a release changes no trace.
pub(crate) const VERSION: &str = "1.0.0";

/// What all programs of a run share.
#[derive(Clone)]
pub(crate) struct RunContext {
    pub(crate) log: Log,
    pub(crate) violations: Violations,
    pub(crate) calls: CallRecords,
    pub(crate) books: EditorBooks,
    /// The fault that is planted in its servers.
    pub(crate) fault: Fault,
    /// Stops the running server.
    pub(crate) stop: Rc<RefCell<CancellationToken>>,
    /// Ends the Editors, so that their books can be read.
    pub(crate) finish: CancellationToken,
    pub(crate) breaks: Breaks,
    starts: Rc<RefCell<u32>>,
}

/// The books of the Editors, with the time at which each began.
#[derive(Clone, Default)]
pub(crate) struct EditorBooks(Arc<Mutex<BTreeMap<String, (Duration, Books)>>>);

impl EditorBooks {
    pub(crate) fn all(&self) -> BTreeMap<String, (Duration, Books)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn add(&self, editor: &str, starts: Duration, books: Books) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(editor.to_owned(), (starts, books));
    }
}

impl RunContext {
    pub(crate) fn new(fault: Fault, log: Log, scenario: &Scenario) -> Self {
        Self {
            breaks: scenario.breaks(),
            fault,
            log,
            violations: Violations::default(),
            calls: CallRecords::default(),
            books: EditorBooks::default(),
            stop: Rc::default(),
            finish: CancellationToken::new(),
            starts: Rc::default(),
        }
    }

    /// Each start of a server has its own boot id.
    pub(crate) fn next_boot(&self) -> Boot {
        let mut starts = self.starts.borrow_mut();
        *starts += 1;
        let boot = Boot::new(&format!("s{starts}"));
        let Some(boot) = boot else { unreachable!("s and a number is a boot") };
        boot
    }
}

/// Starts every program on its host.
pub(crate) fn start_all<S: Hosts>(hosts: &mut S, scenario: &Scenario, context: &RunContext) {
    let (config, shared, has_pipes) =
        (scenario.config.clone(), context.clone(), scenario.has_stdio());
    hosts.host(SERVER, move |network| {
        let stop = CancellationToken::new();
        *shared.stop.borrow_mut() = stop.clone();
        serve(config.clone(), network, has_pipes, SERVER.to_owned(), stop, shared.clone())
    });
    for (name, _) in scenario.agents.iter().filter(|(_, agent)| agent.via == Via::OwnServer) {
        let host = scenario.server_of(name);
        let (config, shared) = (scenario.config.clone(), context.clone());
        hosts.host(&host.clone(), move |network| {
            let stop = CancellationToken::new();
            serve(config.clone(), network, true, host.clone(), stop, shared.clone())
        });
    }
    for editor in &scenario.editors {
        let Editor { name, starts, settings } = editor;
        let mut mock = MockEditor::new(settings.clone());
        scenario.instruct(editor, &mut mock);
        let (mock, port) = (RefCell::new(Some(mock)), scenario.config.port);
        let (name, starts, context) = (*name, *starts, context.clone());
        hosts.host(name, move |network| {
            run_unity(mock.take(), name, starts, network, port, context.clone())
        });
    }
    for name in scenario.agents.keys() {
        let (script, calls) = (script_of(scenario, name), context.calls.clone());
        hosts.host(name, move |network| agent::run(script.clone(), network, calls.clone()));
    }
}

fn script_of(scenario: &Scenario, name: &str) -> AgentScript {
    let agent_of =
        |label: &str| scenario.calls().any(|(_, call)| call.label == label && call.agent == name);
    let steps = scenario.steps.iter().filter_map(|step| {
        let done = match &step.action {
            Action::Call(call) if call.agent == name => AgentStep::Call(call.clone()),
            Action::Cancel { label } if agent_of(label) => {
                AgentStep::Cancel { label: label.clone() }
            }
            Action::Leave { agent } if agent == name => AgentStep::Leave,
            Action::Call(_)
            | Action::Cancel { .. }
            | Action::Leave { .. }
            | Action::Break { .. }
            | Action::Unity { .. }
            | Action::Network { .. }
            | Action::Server { .. } => return None,
        };
        Some((step.at, done))
    });
    let steps = steps.collect();
    let agent = scenario.agents.get(name);
    let (joins, via, speaks) = agent.map_or_else(
        || unreachable!("{name} is one of the agents"),
        |agent| (agent.joins, agent.via, agent.speaks),
    );
    let server = scenario.server_of(name);
    AgentScript { joins, via, speaks, server, port: scenario.config.port, steps }
}

async fn serve<M: HostNetwork>(
    config: Config,
    network: M,
    has_pipes: bool,
    host: String,
    stop: CancellationToken,
    context: RunContext,
) {
    let mut pipes = None;
    if has_pipes {
        let Ok(stream) = network.own_pipes().await else { return };
        pipes = Some(split(MissedWakeupStream::new(stream, context.fault.is_in_streams())));
    }
    let boot = context.next_boot();
    let misses_wakeups = context.fault.is_in_streams();
    let network = MissedWakeups { network, misses_wakeups };
    let listener = network.bind(config.port).await.ok();
    let core = context.fault.core(&config.limits, boot, &context, &host);
    let sse_keep_alive = None; // It uses the real clock.
    let started = SystemTime::UNIX_EPOCH + clock::now();
    let (pid, token) = (1, None);
    let server =
        Server { config, core, boot, started, token, pid, network, sse_keep_alive, listener, stop };
    server.run(pipes).await;
    context.log.note(clock::now(), &host, "ended", String::new());
}

async fn run_unity<M: HostNetwork>(
    editor: Option<MockEditor>,
    name: &str,
    starts: Duration,
    network: M,
    port: u16,
    context: RunContext,
) {
    let Some(mut editor) = editor else { return };
    let late = tokio::time::sleep(starts);
    tokio::select! {
        biased;
        () = context.finish.cancelled() => return,
        () = late => {}
    }
    let (_orders, orders) = mpsc::channel(1);
    let dial = || network.connect(port);
    tokio::select! {
        biased;
        () = context.finish.cancelled() => {}
        _ = session::run(&mut editor, port, dial, orders, |_, _| {}) => {}
    }
    context.books.add(name, starts, editor.books().clone());
}
