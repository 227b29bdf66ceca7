//! Cast: the programs of a scenario, each on its host: the real server, the mock Unity, real MCP clients.

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

use crate::faults::Planting;
use crate::faults::missed_wakeup::{Drowsy, DrowsyStream};
use crate::judge::judged::Verdicts;
use crate::levels::hosts::{self, Machine, Stage};
use crate::programs::agent::{self, Act, Diary, Part};
use crate::record::log::Log;
use crate::scenario::{Action, Editor, SERVER, Scenario, Via};

/// What server and plugin call themselves, so that a release changes no trace.
pub(crate) const VERSION: &str = "1.0.0";

/// What the programs share with whoever runs them.
#[derive(Clone)]
pub(crate) struct Props {
    pub(crate) log: Log,
    pub(crate) verdicts: Verdicts,
    pub(crate) diary: Diary,
    pub(crate) library: Library,
    /// What is wrong with its servers.
    pub(crate) planting: Planting,
    /// Stops the server that runs now.
    pub(crate) stop: Rc<RefCell<CancellationToken>>,
    /// Ends the Editors, so that their books can be read.
    pub(crate) finish: CancellationToken,
    starts: Rc<RefCell<u32>>,
}

/// The books of the Editors, with the time at which each began.
#[derive(Clone, Default)]
pub(crate) struct Library(Arc<Mutex<BTreeMap<String, (Duration, Books)>>>);

impl Library {
    pub(crate) fn books(&self) -> BTreeMap<String, (Duration, Books)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn add(&self, editor: &str, starts: Duration, books: Books) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(editor.to_owned(), (starts, books));
    }
}

impl Props {
    pub(crate) fn new(planting: Planting, log: Log) -> Self {
        Self {
            planting,
            log,
            verdicts: Verdicts::default(),
            diary: Diary::default(),
            library: Library::default(),
            stop: Rc::default(),
            finish: CancellationToken::new(),
            starts: Rc::default(),
        }
    }

    /// Each start of a server has a name of its own.
    pub(crate) fn next_boot(&self) -> Boot {
        let mut starts = self.starts.borrow_mut();
        *starts += 1;
        let boot = Boot::new(&format!("s{starts}"));
        let Some(boot) = boot else { unreachable!("s and a number is a boot") };
        boot
    }
}

/// Puts everybody on the stage.
pub(crate) fn assemble<S: Stage>(stage: &mut S, scenario: &Scenario, props: &Props) {
    let (config, cast, has_pipes) = (scenario.config.clone(), props.clone(), scenario.has_stdio());
    stage.host(SERVER, move |machine| {
        let stop = CancellationToken::new();
        *cast.stop.borrow_mut() = stop.clone();
        serve(config.clone(), machine, has_pipes, SERVER.to_owned(), stop, cast.clone())
    });
    for (name, _) in scenario.agents.iter().filter(|(_, agent)| agent.via == Via::OwnServer) {
        let host = scenario.server_of(name);
        let (config, cast) = (scenario.config.clone(), props.clone());
        stage.host(&host.clone(), move |machine| {
            let stop = CancellationToken::new();
            serve(config.clone(), machine, true, host.clone(), stop, cast.clone())
        });
    }
    for editor in &scenario.editors {
        let Editor { name, starts, settings } = editor;
        let mut mock = MockEditor::new(settings.clone());
        scenario.instruct(editor, &mut mock);
        let (mock, port) = (RefCell::new(Some(mock)), scenario.config.port);
        let (name, starts, props) = (*name, *starts, props.clone());
        stage.host(name, move |machine| {
            play_unity(mock.take(), name, starts, machine, port, props.clone())
        });
    }
    for name in scenario.agents.keys() {
        let (part, diary) = (part_of(scenario, name), props.diary.clone());
        stage.host(name, move |machine| agent::play(part.clone(), machine, diary.clone()));
    }
}

fn part_of(scenario: &Scenario, name: &str) -> Part {
    let agent_of =
        |label: &str| scenario.calls().any(|(_, call)| call.label == label && call.agent == name);
    let acts = scenario.steps.iter().filter_map(|step| {
        let act = match &step.action {
            Action::Call(call) if call.agent == name => Act::Call(call.clone()),
            Action::Cancel { label } if agent_of(label) => Act::TakeBack { label: label.clone() },
            Action::Leave { agent } if agent == name => Act::Leave,
            Action::Call(_)
            | Action::Cancel { .. }
            | Action::Leave { .. }
            | Action::Unity { .. }
            | Action::Network { .. }
            | Action::Server { .. } => return None,
        };
        Some((step.at, act))
    });
    let acts = acts.collect();
    let agent = scenario.agents.get(name);
    let (joins, via, speaks) = agent.map_or_else(
        || unreachable!("{name} is one of the agents"),
        |agent| (agent.joins, agent.via, agent.speaks),
    );
    let server = scenario.server_of(name);
    Part { joins, via, speaks, server, port: scenario.config.port, acts }
}

async fn serve<M: Machine>(
    config: Config,
    machine: M,
    has_pipes: bool,
    host: String,
    stop: CancellationToken,
    props: Props,
) {
    let mut pipes = None;
    if has_pipes {
        let Ok(stream) = machine.own_pipes().await else { return };
        pipes = Some(split(DrowsyStream::new(stream, props.planting.is_drowsy())));
    }
    let boot = props.next_boot();
    let is_drowsy = props.planting.is_drowsy();
    let network = Drowsy { network: machine, is_drowsy };
    let listener = network.bind(config.port).await.ok();
    let core = props.planting.core(&config.limits, boot, &props, &host);
    let sse_keep_alive = None; // It goes by the real clock, and there is none here.
    let started = SystemTime::UNIX_EPOCH + hosts::now();
    let (pid, token) = (1, None);
    let server =
        Server { config, core, boot, started, token, pid, network, sse_keep_alive, listener, stop };
    server.run(pipes).await;
    props.log.note(hosts::now(), &host, "ended", String::new());
}

async fn play_unity<M: Machine>(
    editor: Option<MockEditor>,
    name: &str,
    starts: Duration,
    machine: M,
    port: u16,
    props: Props,
) {
    let Some(mut editor) = editor else { return };
    let late = tokio::time::sleep(starts);
    tokio::select! {
        biased;
        () = props.finish.cancelled() => return,
        () = late => {}
    }
    let (_orders, orders) = mpsc::channel(1);
    let dial = || machine.connect(port);
    tokio::select! {
        biased;
        () = props.finish.cancelled() => {}
        _ = session::run(&mut editor, port, dial, orders, |_, _| {}) => {}
    }
    props.library.add(name, starts, editor.books().clone());
}
