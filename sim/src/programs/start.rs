//! Starts the programs of a scenario, each on its host.

use std::cell::RefCell;
use std::time::{Duration, SystemTime};

use mock_unity::{MockEditor, session};
use tokio::io::split;
use tokio::sync::mpsc;
use unity_mcp::Server;
use unity_mcp::config_loader::Config;
use unity_mcp::network::Network as _;

use crate::faults::Fault;
use crate::faults::missed_wakeup::{MissedWakeupStream, MissedWakeups};
use crate::faults::relays::FaultyRelays;
use crate::faults::shell::ShellFault;
use crate::levels::clock;
use crate::levels::context::RunContext;
use crate::levels::hosts::{HostNetwork, Hosts};
use crate::programs::agent::{self, AgentScript, AgentStep};
use crate::scenario::{Action, Editor, SERVER, Scenario, ServerAction, Via};

/// How long an agent needs to see that its pipes are closed.
const NOTICED: Duration = Duration::from_millis(10);

/// Starts every program on its host.
pub(crate) fn start_all<S: Hosts>(hosts: &mut S, scenario: &Scenario, context: &RunContext) {
    let (configured, shared, has_pipes) = (config(scenario), context.clone(), scenario.has_stdio());
    hosts.host(SERVER, move |network| {
        serve(configured.clone(), network, has_pipes, SERVER.to_owned(), shared.clone())
    });
    for (name, _) in scenario.agents.iter().filter(|(_, agent)| agent.via == Via::OwnServer) {
        let host = scenario.server_of(name);
        let (configured, shared) = (config(scenario), context.clone());
        hosts.host(&host.clone(), move |network| {
            serve(configured.clone(), network, true, host.clone(), shared.clone())
        });
    }
    for editor in &scenario.editors {
        let Editor { name, starts, settings } = editor;
        let mut mock = MockEditor::new(settings.clone());
        scenario.instruct(editor, &mut mock);
        let (mock, port) = (RefCell::new(Some(mock)), config(scenario).port);
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

fn config(scenario: &Scenario) -> Config {
    let mut config = Config::default();
    config.limits = scenario.limits.clone();
    config
}

fn script_of(scenario: &Scenario, name: &str) -> AgentScript {
    let agent_of =
        |label: &str| scenario.calls().any(|(_, call)| call.label == label && call.agent == name);
    let comes_back = |of: &Option<String>| match (of, scenario.agents.get(name)) {
        (Some(agent), _) => agent == name,
        (None, agent) => agent.is_some_and(|agent| agent.via == Via::Stdio),
    };
    let steps = scenario.steps.iter().filter_map(|step| {
        let done = match &step.action {
            Action::Call(call) if call.agent == name => AgentStep::Call(Box::new(call.clone())),
            Action::Cancel { label } if agent_of(label) => {
                AgentStep::Cancel { label: label.clone() }
            }
            Action::Leave { agent } if agent == name => AgentStep::Leave,
            Action::Server { of, does, away } if comes_back(of) => {
                let is_start = *does == ServerAction::Start;
                let after = away.or(is_start.then_some(Duration::ZERO))?;
                // It has noticed by then that the old one has ended.
                return Some((step.at + after + scenario.latency + NOTICED, AgentStep::JoinAgain));
            }
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
    let mut steps: Vec<(Duration, AgentStep)> = steps.collect();
    steps.sort_by_key(|(at, _)| *at);
    let agent = scenario.agents.get(name);
    let (joins, via, speaks) = agent.map_or_else(
        || unreachable!("{name} is one of the agents"),
        |agent| (agent.joins, agent.via, agent.speaks),
    );
    let server = scenario.server_of(name);
    AgentScript { joins, via, speaks, server, port: config(scenario).port, steps }
}

async fn serve<M: HostNetwork>(
    config: Config,
    network: M,
    has_pipes: bool,
    host: String,
    context: RunContext,
) {
    let misses_wakeups = context.fault == Fault::Shell(ShellFault::MissAWakeup);
    let mut pipes = None;
    if has_pipes {
        let Ok(stream) = network.own_pipes().await else { return };
        pipes = Some(split(MissedWakeupStream::new(stream, misses_wakeups)));
    }
    let boot = context.next_boot();
    let network = FaultyRelays { network, fault: context.fault };
    let network = MissedWakeups { network, misses_wakeups };
    let listener = network.bind(config.port).await.ok();
    if !has_pipes && listener.is_none() {
        context.log.note(clock::now(), &host, "ended", String::new()); // The port is taken.
        return;
    }
    let core = context.fault.core(&config.limits, boot, &context, &host);
    let sse_keep_alive = None; // It uses the real clock.
    let (started, stop) = (SystemTime::UNIX_EPOCH + clock::now(), context.next_stop(&host));
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
    context.books.add(name, starts, editor.into_books());
}
