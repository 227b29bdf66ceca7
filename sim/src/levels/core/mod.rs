//! The core level: the core of the server and the core of the mock, without runtime, sockets or bytes. A message is a
//! packet that arrives later or never.
//!
//! The links of agents never fail here. Records are the same as at the other levels, so that the same checks apply.

mod agents;
mod links;
mod sockets;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use coordination::{CallId, ClosedBy, Core as _, Effect, Event, Timestamp};
use mock_unity::{Input, MockEditor, Output};

use crate::faults::AnyCore;
use crate::levels::clock::Clock;
use crate::levels::context::RunContext;
use crate::levels::run::{END_MAX, REST, ScheduledChange, changes};
use crate::scenario::{Action, SERVER, Scenario, ServerAction, Step};
use agents::OpenCall;
use links::{Held, Links, Packet, Side};
use sockets::Socket;

/// Milliseconds since the start of the simulation.
type Millis = u64;

struct CoreLevel<'a> {
    scenario: &'a Scenario,
    context: &'a RunContext,
    now: Millis,
    events: BTreeMap<(Millis, u64), TimedEvent>,
    /// Orders events of the same time as they were scheduled.
    scheduled: u64,
    server: Option<Server>,
    editors: Vec<EditorHost>,
    sockets: Vec<Socket>,
    links: Links,
    calls: BTreeMap<CallId, OpenCall>,
    connections: u16,
    /// Calls that are not answered, cancelled or lost.
    open_calls: usize,
}

struct Server {
    core: AnyCore,
    started: Millis,
}

/// An Editor and its connection.
struct EditorHost {
    name: &'static str,
    mock: MockEditor,
    starts: Millis,
    socket: Option<usize>,
    /// It does nothing else until its attempt to connect has ended.
    is_dialing: bool,
}

enum TimedEvent {
    Change(ScheduledChange),
    /// An agent makes the call of this step.
    Call(usize),
    CallArrives(usize),
    Cancels(String),
    Leaves(String),
    Arrives {
        socket: usize,
        at: Side,
        packet: Packet,
    },
    /// The WebSocket upgrade reaches the server.
    Reaches {
        socket: usize,
    },
    DialFails {
        socket: usize,
    },
    /// The core learns that a socket is closed.
    ClosedAtServer {
        socket: usize,
        by: ClosedBy,
    },
    /// Unity has not closed in time.
    CloseOver {
        socket: usize,
    },
}

/// `Err` says why this level cannot run the scenario.
pub(crate) fn fits(scenario: &Scenario) -> Result<(), String> {
    if scenario.has_relays() {
        return Err("the core level has one server".to_owned());
    }
    if scenario.has_tasks() {
        return Err("the core level knows no tasks".to_owned());
    }
    let comes_back = |step: &Step| matches!(&step.action, Action::Server { does, away, .. } if away.is_some() || *does == ServerAction::Start);
    if scenario.has_stdio() && scenario.steps.iter().any(comes_back) {
        return Err("at the core level a server on pipes does not come back".to_owned());
    }
    let of_agent = |host: &str| scenario.agents.contains_key(host);
    let breaks_agents = scenario.steps.iter().any(|step| {
        matches!(&step.action, Action::Network { from, to, .. } if of_agent(from) || of_agent(to))
    });
    if breaks_agents {
        Err("the links of agents do not fail at the core level".into())
    } else {
        Ok(())
    }
}

/// Records go to the context.
pub(crate) fn run_scenario(
    scenario: &Scenario,
    context: &RunContext,
) -> (Result<(), String>, Duration) {
    if let Err(problem) = fits(scenario) {
        return (Err(problem), Duration::ZERO);
    }
    Clock::Set(Duration::ZERO).use_it();
    let mut level = CoreLevel {
        scenario,
        context,
        now: 0,
        events: BTreeMap::new(),
        scheduled: 0,
        server: None,
        editors: Vec::new(),
        sockets: Vec::new(),
        links: Links::new(scenario),
        calls: BTreeMap::new(),
        connections: 0,
        open_calls: scenario.calls().count(),
    };
    level.start();
    let outcome = level.run();
    let simulated = Duration::from_millis(level.now);
    for host in level.editors {
        let starts = Duration::from_millis(host.starts);
        context.books.add(host.name, starts, host.mock.into_books());
    }
    (outcome, simulated)
}

impl CoreLevel<'_> {
    fn start(&mut self) {
        for editor in &self.scenario.editors {
            let mut mock = MockEditor::new(editor.settings.clone());
            self.scenario.instruct(editor, &mut mock);
            let starts = millis(editor.starts);
            let (name, socket) = (editor.name, None);
            self.editors.push(EditorHost { name, mock, starts, socket, is_dialing: false });
        }
        for (at, change) in changes(self.scenario) {
            self.schedule(millis(at), TimedEvent::Change(change));
        }
        for (index, step) in self.scenario.steps.iter().enumerate() {
            let at = millis(step.at);
            match &step.action {
                Action::Call(_) => self.schedule(at, TimedEvent::Call(index)),
                Action::Cancel { label } => self.schedule(at, TimedEvent::Cancels(label.clone())),
                Action::Leave { agent } => self.schedule(at, TimedEvent::Leaves(agent.clone())),
                Action::Break { .. }
                | Action::Unity { .. }
                | Action::Network { .. }
                | Action::Server { .. } => {}
            }
        }
        self.start_server();
        for editor in 0..self.editors.len() {
            self.drive_editor(editor, Input::Tick);
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let last_step = self.scenario.steps.last().map(|step| millis(step.at)).unwrap_or_default();
        let end = self.scenario.lasts.map(millis);
        loop {
            let is_over = end.is_none() && self.open_calls == 0 && self.now > last_step;
            let over_at = end.or(is_over.then(|| self.now + millis(REST)));
            let next = self.next().unwrap_or(Millis::MAX);
            match over_at {
                Some(end) if next > end => {
                    self.now = end;
                    return Ok(());
                }
                Some(_) | None => {}
            }
            if next > millis(END_MAX) {
                return Err("after 20 minutes there is still a call without an answer".to_owned());
            }
            self.now = next.max(self.now);
            Clock::Set(Duration::from_millis(self.now)).use_it();
            self.act();
        }
    }

    /// The time of the next event.
    fn next(&self) -> Option<Millis> {
        let scheduled = self.events.first_key_value().map(|((at, _), _)| *at);
        let editors = self.editors.iter().filter_map(EditorHost::deadline);
        scheduled.into_iter().chain(self.core_deadline()).chain(editors).min()
    }

    fn core_deadline(&self) -> Option<Millis> {
        let server = self.server.as_ref()?;
        let at = server.core.next_deadline()?.at.since_start();
        Some(server.started + millis_up(at))
    }

    /// Handles one event that is due.
    fn act(&mut self) {
        if let Some(record) = self.events.first_entry()
            && record.key().0 <= self.now
        {
            let event = record.remove();
            return self.react(event);
        }
        if self.pass_deadline() {
            return;
        }
        let due = |host: &EditorHost| host.deadline().is_some_and(|at| at <= self.now);
        if let Some(editor) = self.editors.iter().position(due) {
            self.drive_editor(editor, Input::Tick);
        }
    }

    /// Tells the core that a deadline has come, if one has.
    fn pass_deadline(&mut self) -> bool {
        let has_come = self.core_deadline().is_some_and(|at| at <= self.now);
        if has_come {
            self.handle(Event::DeadlineReached);
        }
        has_come
    }

    fn react(&mut self, event: TimedEvent) {
        match event {
            TimedEvent::Change(change) => self.apply(change),
            TimedEvent::Call(step) => self.on_call_made(step),
            TimedEvent::CallArrives(step) => self.on_call(step),
            TimedEvent::Cancels(label) => self.on_cancelled(&label),
            TimedEvent::Leaves(agent) => self.on_left(&agent),
            TimedEvent::Arrives { socket, at: Side::Server, packet } => {
                self.on_packet_at_server(socket, packet);
            }
            TimedEvent::Arrives { socket, at: Side::Unity, packet } => {
                self.on_packet_at_unity(socket, packet);
            }
            TimedEvent::Reaches { socket } => self.on_upgrade(socket),
            TimedEvent::DialFails { socket } => self.on_dial_failed(socket),
            TimedEvent::ClosedAtServer { socket, by } => {
                self.handle(Event::UnityClosed { on: sockets::connection(socket), by });
            }
            TimedEvent::CloseOver { socket } => self.end_at_server(socket),
        }
    }

    fn schedule(&mut self, at: Millis, event: TimedEvent) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    fn apply(&mut self, change: ScheduledChange) {
        change.note(Duration::from_millis(self.now), self.context);
        match change {
            ScheduledChange::Note { .. } => {}
            ScheduledChange::BreakLink { fault, from, to, .. } => {
                self.links.change(fault, &from, &to, true)
            }
            ScheduledChange::RestoreLink { fault, from, to, .. } => {
                self.links.change(fault, &from, &to, false);
                for held in self.links.released() {
                    match held {
                        Held::Packet { socket, to: at, packet } => {
                            self.schedule(self.now, TimedEvent::Arrives { socket, at, packet });
                        }
                        Held::Dial { socket } => self.dial_on(socket),
                    }
                }
            }
            ScheduledChange::Server { does, .. } => match does {
                ServerAction::Stop => self.handle(Event::StopRequested),
                ServerAction::Crash => self.end_server(),
                ServerAction::Start => self.start_server(),
            },
        }
    }

    // The server.

    fn start_server(&mut self) {
        self.end_server();
        let boot = self.context.next_boot();
        let core = self.context.fault.core(&self.scenario.limits, boot, self.context, SERVER);
        self.server = Some(Server { core, started: self.now });
        self.handle(Event::PortBound);
    }

    /// The system closes the sockets of a server that ended, stopped or killed.
    fn end_server(&mut self) {
        if self.server.take().is_none() {
            return;
        }
        for socket in 0..self.sockets.len() {
            self.end_at_server(socket);
        }
        let calls = std::mem::take(&mut self.calls);
        calls.into_values().for_each(|open_call| self.lose(open_call));
    }

    /// Gives the core an event, and what follows from its effects.
    fn handle(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some(server) = &mut self.server else { return };
            let now = Timestamp::from_millis(self.now - server.started);
            for effect in server.core.handle(now, event) {
                events.extend(self.perform(effect));
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Reply { call, outcome, .. } => {
                self.on_reply(call, outcome);
                None
            }
            Effect::Send { on, frame } => self.send(on, frame),
            Effect::Close { on, code, reason } => {
                self.close_socket(on, code as u16, reason);
                None
            }
            Effect::Progress { call, report } => {
                self.on_progress(call, &report);
                None
            }
            Effect::Note(_) => None,
            Effect::Stopped => {
                self.end_server();
                self.context.log.note(crate::levels::clock::now(), SERVER, "ended", String::new());
                None
            }
        }
    }

    // The Editors.

    /// Gives an Editor an input and performs its outputs.
    fn drive_editor(&mut self, editor: usize, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(host) = self.editors.get_mut(editor) else { return };
            let now = Duration::from_millis(self.now.saturating_sub(host.starts));
            if self.now < host.starts {
                return;
            }
            let mut outputs = VecDeque::from(host.mock.handle(now, input));
            while let Some(output) = outputs.pop_front() {
                match output {
                    // The mock gave the attempt up in the same step.
                    Output::Dial if outputs.iter().any(|later| *later == Output::Cut) => {}
                    Output::Dial => inputs.extend(self.dial(editor)),
                    Output::Send(text) => self.send_from_unity(editor, Packet::Text(text)),
                    Output::SendBinary(bytes) => {
                        self.send_from_unity(editor, Packet::Binary(bytes.len()))
                    }
                    Output::Cut => self.close_from_unity(editor, Packet::End),
                    Output::Close { code } => {
                        let code = Some(code);
                        self.close_from_unity(editor, Packet::Close { code, reason: "" })
                    }
                    Output::Tell(_) | Output::GiveUp => {}
                }
            }
        }
    }
}

impl EditorHost {
    fn deadline(&self) -> Option<Millis> {
        let at = self.mock.next_deadline().filter(|_| !self.is_dialing)?;
        Some(self.starts + millis_up(at))
    }
}

fn millis(time: Duration) -> Millis {
    time.as_millis() as Millis
}

fn millis_up(time: Duration) -> Millis {
    time.as_micros().div_ceil(1_000) as Millis
}
