//! World: agents, a fake Unity and the time around one core. Runs a schedule and stops at the first
//! thing that is not as the contract says.

mod agents;
mod end;
mod steps;
mod unity;

use std::collections::BTreeSet;

use coordination::{
    Answer, Boot, ClosedBy, ConnectionId, Effect, Event, ExecutionCoordinator, Limits, Note,
    Outcome, Timestamp,
};
use protocol::{FromUnity, Pong, ToUnity};

use coordination::Core;

use crate::judge::call_outcomes::CallOutcomes;
use crate::judge::model::{Millis, Model};
use crate::judge::seen::Seen;
use crate::random::schedule::fake_unity::FakeUnity;
use crate::random::schedule::{Mixture, Schedule, draw_limits, draw_stop};

/// The core as it is shipped.
pub fn genuine(limits: &Limits) -> ExecutionCoordinator {
    ExecutionCoordinator::new(limits.clone(), boot(), "1.0.0")
}

fn boot() -> Boot {
    let boot = Boot::new("m");
    let Some(boot) = boot else { unreachable!("m is a boot") };
    boot
}

/// Who judges what the core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// The model, and the books of Unity and of the agents.
    ModelAndBooks,
    /// The books alone: they share no idea with the core, not even the contract's rules.
    BooksAlone,
}

/// A promise that was broken, and when.
#[derive(Clone, Debug)]
pub struct Violation {
    pub step: usize,
    /// In milliseconds.
    pub at: u64,
    pub what: String,
    /// The last things that happened, oldest first.
    pub history: Vec<String>,
}

/// What a run of a schedule came to.
#[derive(Debug, Default)]
pub struct Report {
    pub seen: Seen,
    pub events: u64,
    /// In milliseconds.
    pub simulated: u64,
    pub calls: u64,
    history: Vec<String>,
}

impl Report {
    pub fn add(&mut self, other: &Self) {
        self.seen.add(&other.seen);
        self.events += other.events;
        self.simulated += other.simulated;
        self.calls += other.calls;
    }
}

/// What the world does at once about an effect.
enum FollowUp {
    Pong { on: ConnectionId },
    Closed { on: ConnectionId },
}

struct World<S> {
    subject: S,
    model: Model,
    unity: FakeUnity,
    now: Millis,
    step: usize,
    events: u64,
    connections: u64,
    /// The other socket of a contest.
    intruder: Option<ConnectionId>,
    calls: u64,
    /// Calls that Unity is to run.
    for_unity: BTreeSet<u64>,
    outcomes: CallOutcomes,
    jobs: u64,
    refuse_send: bool,
    /// A frame that no socket took; that is reported now or a little later.
    unsent: Option<(ConnectionId, ToUnity)>,
    history: Vec<String>,
    judge: Judge,
    remembers: bool,
}

/// Runs one schedule against the subject that `make` builds. A violation is run again to tell its
/// history, which costs too much to be kept always.
pub fn run<S: Core>(
    schedule: &Schedule,
    judge: Judge,
    make: impl Fn(&Limits) -> S,
) -> Result<Report, Box<Violation>> {
    run_once(schedule, judge, &make, false).or_else(|_| run_once(schedule, judge, &make, true))
}

/// Runs one schedule and tells everything that happened.
pub fn tell<S: Core>(
    schedule: &Schedule,
    make: impl Fn(&Limits) -> S,
) -> Result<Vec<String>, Box<Violation>> {
    run_once(schedule, Judge::ModelAndBooks, make, true).map(|report| report.history)
}

fn run_once<S: Core>(
    schedule: &Schedule,
    judge: Judge,
    make: impl Fn(&Limits) -> S,
    remembers: bool,
) -> Result<Report, Box<Violation>> {
    let limits = draw_limits(schedule.draw);
    let mixture = Mixture::draw(schedule.draw);
    let mut world = World::new(make(&limits), limits, judge, remembers);
    let outcome = world.play(schedule, &mixture);
    match outcome {
        Ok(()) => Ok(Report {
            seen: world.model.seen,
            events: world.events,
            simulated: world.now,
            calls: world.calls,
            history: world.history,
        }),
        Err(what) => Err(Box::new(Violation {
            step: world.step,
            at: world.now,
            what,
            history: world.history,
        })),
    }
}

impl<S: Core> World<S> {
    fn new(subject: S, limits: Limits, judge: Judge, remembers: bool) -> Self {
        Self {
            subject,
            model: Model::new(limits, boot()),
            unity: FakeUnity::new(),
            now: 0,
            step: 0,
            events: 0,
            connections: 0,
            intruder: None,
            calls: 0,
            for_unity: BTreeSet::new(),
            outcomes: CallOutcomes::default(),
            jobs: 0,
            refuse_send: false,
            unsent: None,
            history: Vec::new(),
            judge,
            remembers,
        }
    }

    fn play(&mut self, schedule: &Schedule, mixture: &Mixture) -> Result<(), String> {
        self.handle(Event::PortBound)?;
        for word in &schedule.steps {
            self.step += 1;
            if !word.is_multiple_of(3) {
                self.report_unsent()?;
            }
            self.act(mixture.action(*word), word >> 32)?;
        }
        if draw_stop(schedule.draw) {
            self.meet_deadlines(self.now)?;
            self.model.on_stop(self.now);
            self.handle(Event::StopRequested)?;
            self.pass(2_000)?;
        } else {
            self.heal()?;
        }
        self.close_the_books()
    }

    // The core.

    fn handle(&mut self, event: Event) -> Result<(), String> {
        self.events += 1;
        if self.remembers {
            self.history.push(format!("{} {event:?}", self.now));
        }
        let by_time = event == Event::DeadlineReached;
        if by_time {
            self.model.expire(self.now);
        }
        let now = Timestamp::from_millis(self.now);
        let effects = self.subject.handle(now, event);
        let mut follow_ups = Vec::new();
        for effect in effects {
            if self.remembers {
                self.history.push(format!("    -> {effect:?}"));
            }
            let verdict = self.model.effect(self.now, &effect);
            self.heed(verdict)?;
            follow_ups.extend(self.perform(effect)?);
            if by_time {
                self.model.expire(self.now); // What one deadline changed, another may depend on.
            }
        }
        let verdict = self.model.settle(self.now, by_time);
        self.heed(verdict)?;
        for follow_up in follow_ups {
            self.meet_deadlines(self.now)?;
            match follow_up {
                FollowUp::Pong { on } => self.frame(on, Ok(FromUnity::Pong(Pong::default())))?,
                FollowUp::Closed { on } => self.closed(on, ClosedBy::Anyone)?,
            }
        }
        Ok(())
    }

    /// The model's verdict, if the model is asked.
    fn heed(&self, verdict: Result<(), String>) -> Result<(), String> {
        match self.judge {
            Judge::ModelAndBooks => verdict,
            Judge::BooksAlone => Ok(()),
        }
    }

    /// Does to agents and Unity what the core decided; gives what follows at once.
    fn perform(&mut self, effect: Effect) -> Result<Option<FollowUp>, String> {
        match effect {
            Effect::Reply { call, outcome, .. } => self.answered(call.0, outcome)?,
            Effect::Send { on, frame } => return self.deliver(on, frame),
            Effect::Close { on, .. } => {
                if self.unity.on == Some(on) {
                    self.unity.on = None;
                }
                self.intruder.take_if(|other| *other == on);
                return Ok(Some(FollowUp::Closed { on }));
            }
            Effect::Note(Note::AnswerDropped { .. }) => {
                self.model.seen.mark("an answer came for nobody");
            }
            Effect::Note(_) | Effect::Progress { .. } | Effect::Stopped => {}
        }
        Ok(None)
    }

    fn deliver(&mut self, on: ConnectionId, frame: ToUnity) -> Result<Option<FollowUp>, String> {
        let request = match &frame {
            ToUnity::Ping(_) => {
                let answers = self.unity.on == Some(on) && self.unity.answers_pings;
                return Ok(answers.then_some(FollowUp::Pong { on }));
            }
            ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Error(_) => return Ok(None),
            ToUnity::Execute(frame) => frame.client_request_id.clone(),
            ToUnity::SubmitJob(frame) => frame.client_request_id.clone(),
            ToUnity::GetJobStatus(_) | ToUnity::Cancel(_) => None,
        };
        if let Some(client) = request {
            self.outcomes.handed(client)?;
        }
        if std::mem::take(&mut self.refuse_send) {
            if self.unity.on == Some(on) {
                self.unity.on = None;
            }
            self.unsent = Some((on, frame));
        } else if self.unity.on == Some(on) {
            self.unity.receive(on, &frame, self.now)?;
        }
        Ok(None)
    }

    fn answered(&mut self, id: u64, outcome: Outcome) -> Result<(), String> {
        let client = named(id);
        self.outcomes.answered(&client)?;
        match outcome {
            Ok(Answer::JobAccepted { .. }) => self.jobs += 1,
            Ok(Answer::Job(report)) if report.state.is_terminal() => {
                let how = format!("{:?} {:?}", report.state, report.error.map(|error| error.code));
                self.outcomes.job_ended(report.job.to_string(), how)?;
            }
            Ok(_) => {}
            Err(failure) if self.for_unity.contains(&id) => {
                let ran = self.unity.books.ran(&client) > 0;
                self.outcomes.failed(&client, failure.guarantee, ran)?;
            }
            Err(_) => {}
        }
        Ok(())
    }
}

/// What the agent calls its call.
fn named(id: u64) -> String {
    format!("c{id}")
}
