//! Bare: the core of the server and the core of the mock, with nothing between them but time. No runtime,
//! no sockets, no bytes: what a shell would do at once happens at once, and a message is a parcel that
//! arrives later or never.
//!
//! Agents call over links that never fail. Everything is written down as at the other levels, so that the
//! same judges read it.

mod agents;
mod sockets;
mod wires;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use coordination::Core;
use coordination::{CallId, Effect, Event, Timestamp};
use mock_unity::{Input, MockEditor, Output};

use crate::faults::AnyCore;
use crate::levels::hosts::Clock;
use crate::levels::run::{Cue, END_MAX, REST, cues};
use crate::programs::cast::Props;
use crate::scenario::{Action, SERVER, Scenario, ServerDoes, Via};
use agents::Caller;
use sockets::Socket;
use wires::{Held, Parcel, Side, Wires};

/// Milliseconds since the start of the simulation; everything happens at a whole one.
type Millis = u64;

struct World<'a> {
    scenario: &'a Scenario,
    props: &'a Props,
    now: Millis,
    agenda: BTreeMap<(Millis, u64), Happening>,
    /// Of two things at the same time the one that was planned first is first.
    planned: u64,
    server: Option<Server>,
    editors: Vec<Actor>,
    sockets: Vec<Socket>,
    wires: Wires,
    callers: BTreeMap<CallId, Caller>,
    connections: u16,
    /// Calls without an end.
    open_calls: usize,
}

struct Server {
    core: AnyCore,
    started: Millis,
}

/// An Editor and what it is connected with.
struct Actor {
    name: &'static str,
    mock: MockEditor,
    starts: Millis,
    socket: Option<usize>,
    /// It does nothing else until the attempt has an end.
    is_dialing: bool,
}

enum Happening {
    Cue(Cue),
    /// The step of this number is a call.
    Call(usize),
    CallArrives(usize),
    TakesBack(String),
    Leaves(String),
    Arrives {
        socket: usize,
        at: Side,
        parcel: Parcel,
    },
    /// The upgrade of a socket reaches the server.
    Reaches {
        socket: usize,
    },
    DialFails {
        socket: usize,
    },
    /// A socket that was told to close had its time.
    CloseOver {
        socket: usize,
    },
}

/// Whether this level can show what the scenario is about.
pub(crate) fn fits(scenario: &Scenario) -> Result<(), String> {
    if scenario.agents.values().any(|agent| agent.via == Via::OwnServer) {
        return Err("the core level has one server".to_owned());
    }
    if scenario.has_tasks() {
        return Err("the core level knows no tasks".to_owned());
    }
    let of_agent = |host: &str| scenario.agents.contains_key(host);
    let breaks_agents = scenario.steps.iter().any(|step| match &step.action {
        Action::Network { from, to, .. } => of_agent(from) || of_agent(to),
        Action::Call(_)
        | Action::Cancel { .. }
        | Action::Leave { .. }
        | Action::Unity { .. }
        | Action::Server { .. } => false,
    });
    if breaks_agents {
        Err("the links of agents do not fail at the core level".into())
    } else {
        Ok(())
    }
}

/// Plays a scenario; what came of it is in the props.
pub(crate) fn play(scenario: &Scenario, props: &Props) -> (Result<(), String>, Duration) {
    if let Err(problem) = fits(scenario) {
        return (Err(problem), Duration::ZERO);
    }
    Clock::Set(Duration::ZERO).use_it();
    let mut world = World {
        scenario,
        props,
        now: 0,
        agenda: BTreeMap::new(),
        planned: 0,
        server: None,
        editors: Vec::new(),
        sockets: Vec::new(),
        wires: Wires::new(scenario),
        callers: BTreeMap::new(),
        connections: 0,
        open_calls: scenario.calls().count(),
    };
    world.assemble();
    let played = world.run();
    for actor in &world.editors {
        let starts = Duration::from_millis(actor.starts);
        props.library.add(actor.name, starts, actor.mock.books().clone());
    }
    (played, Duration::from_millis(world.now))
}

impl World<'_> {
    fn assemble(&mut self) {
        for editor in &self.scenario.editors {
            let mut mock = MockEditor::new(editor.settings.clone());
            self.scenario.instruct(editor, &mut mock);
            let starts = millis(editor.starts);
            let (name, socket) = (editor.name, None);
            self.editors.push(Actor { name, mock, starts, socket, is_dialing: false });
        }
        for (at, cue) in cues(self.scenario) {
            self.plan(millis(at), Happening::Cue(cue));
        }
        for (index, step) in self.scenario.steps.iter().enumerate() {
            let at = millis(step.at);
            match &step.action {
                Action::Call(_) => self.plan(at, Happening::Call(index)),
                Action::Cancel { label } => self.plan(at, Happening::TakesBack(label.clone())),
                Action::Leave { agent } => self.plan(at, Happening::Leaves(agent.clone())),
                Action::Unity { .. } | Action::Network { .. } | Action::Server { .. } => {}
            }
        }
        self.start_server();
        for editor in 0..self.editors.len() {
            self.stir(editor, Input::Tick);
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

    /// When something happens next.
    fn next(&self) -> Option<Millis> {
        let planned = self.agenda.first_key_value().map(|((at, _), _)| *at);
        let editors = self.editors.iter().filter_map(Actor::deadline);
        planned.into_iter().chain(self.core_deadline()).chain(editors).min()
    }

    fn core_deadline(&self) -> Option<Millis> {
        let server = self.server.as_ref()?;
        let at = server.core.next_deadline()?.at.since_start();
        Some(server.started + millis_up(at))
    }

    /// One thing that is due now.
    fn act(&mut self) {
        if let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= self.now
        {
            let happening = entry.remove();
            return self.happen(happening);
        }
        if self.core_deadline().is_some_and(|at| at <= self.now) {
            return self.tell(Event::DeadlineReached);
        }
        let due = |actor: &Actor| actor.deadline().is_some_and(|at| at <= self.now);
        if let Some(editor) = self.editors.iter().position(due) {
            self.stir(editor, Input::Tick);
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Cue(cue) => self.follow(cue),
            Happening::Call(step) => self.on_call_made(step),
            Happening::CallArrives(step) => self.on_call(step),
            Happening::TakesBack(label) => self.on_taken_back(&label),
            Happening::Leaves(agent) => self.on_left(&agent),
            Happening::Arrives { socket, at: Side::Server, parcel } => {
                self.on_parcel_at_server(socket, parcel);
            }
            Happening::Arrives { socket, at: Side::Unity, parcel } => {
                self.on_parcel_at_unity(socket, parcel);
            }
            Happening::Reaches { socket } => self.on_upgrade(socket),
            Happening::DialFails { socket } => self.on_dial_failed(socket),
            Happening::CloseOver { socket } => self.end_at_server(socket),
        }
    }

    fn plan(&mut self, at: Millis, happening: Happening) {
        self.planned += 1;
        self.agenda.insert((at, self.planned), happening);
    }

    fn follow(&mut self, cue: Cue) {
        cue.note(Duration::from_millis(self.now), self.props);
        match cue {
            Cue::Note { .. } => {}
            Cue::Break { fault, from, to, .. } => self.wires.change(fault, &from, &to, true),
            Cue::Mend { fault, from, to, .. } => {
                self.wires.change(fault, &from, &to, false);
                for held in self.wires.released() {
                    match held {
                        Held::Parcel { socket, to: at, parcel } => {
                            self.plan(self.now, Happening::Arrives { socket, at, parcel });
                        }
                        Held::Dial { socket } => self.dial_on(socket),
                    }
                }
            }
            Cue::Server(ServerDoes::Stop) => self.tell(Event::StopRequested),
            Cue::Server(ServerDoes::Crash) => self.end_server(),
            Cue::Server(ServerDoes::Start) => self.start_server(),
        }
    }

    // The server.

    fn start_server(&mut self) {
        self.end_server();
        let boot = self.props.next_boot();
        let core = self.props.planting.core(&self.scenario.config.limits, boot, self.props, SERVER);
        self.server = Some(Server { core, started: self.now });
        self.tell(Event::PortBound);
    }

    /// However it ended: the system closes its sockets.
    fn end_server(&mut self) {
        if self.server.take().is_none() {
            return;
        }
        for socket in 0..self.sockets.len() {
            self.end_at_server(socket);
        }
        let callers = std::mem::take(&mut self.callers);
        callers.into_values().for_each(|caller| self.lose(caller));
    }

    /// One event, and what follows from doing what the core decided about it.
    fn tell(&mut self, event: Event) {
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
                self.say_goodbye(on, code as u16, reason);
                None
            }
            Effect::Progress { .. } | Effect::Note(_) => None,
            Effect::Stopped => {
                self.end_server();
                self.props.log.note(crate::levels::hosts::now(), SERVER, "ended", String::new());
                None
            }
        }
    }

    // The Editors.

    /// Something happens to an Editor; what it does about it happens at once.
    fn stir(&mut self, editor: usize, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let Some(actor) = self.editors.get_mut(editor) else { return };
            let now = Duration::from_millis(self.now.saturating_sub(actor.starts));
            if self.now < actor.starts {
                return;
            }
            let mut outputs = VecDeque::from(actor.mock.handle(now, input));
            while let Some(output) = outputs.pop_front() {
                match output {
                    // An attempt that is called off before it began is not made.
                    Output::Dial if outputs.iter().any(|later| *later == Output::Cut) => {}
                    Output::Dial => inputs.extend(self.dial(editor)),
                    Output::Send(text) => self.say(editor, Parcel::Text(text)),
                    Output::SendBinary(bytes) => self.say(editor, Parcel::Binary(bytes.len())),
                    Output::Cut => self.hang_up(editor, Parcel::End),
                    Output::Close => self.hang_up(editor, Parcel::Close { code: None, reason: "" }),
                    Output::Tell(_) | Output::GiveUp => {}
                }
            }
        }
    }
}

impl Actor {
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
