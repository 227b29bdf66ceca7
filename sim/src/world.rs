//! World: agents, a fake Unity and the time around one core. Runs a schedule and stops at the first
//! thing that is not as the contract says.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    DecodeError, EditorState, EditorStatus, Execute, FromUnity, Json, Map, OfferedTool,
    OfferedTools, Pong, RequestId, SubmitJob, ToUnity,
};
use unity_mcp::coordination::{
    Answer, Boot, CallId, ClosedBy, ConnectionId, Deadline, Effect, Event, ExecutionCoordinator,
    Failure, Guarantee, Limits, Note, Outcome, RawCall, Timestamp, ValidCall, validate,
};

use crate::fake_unity::{FakeUnity, console, error, result};
use crate::model::{Ask, Millis, Model};
use crate::schedule::{Action, Mixture, Schedule, draw_limits, draw_stop};
use crate::seen::Seen;

/// What is under test: the core, or the core with a fault planted around it.
pub trait Subject {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect>;
    fn next_deadline(&self) -> Option<Deadline>;
}

impl Subject for ExecutionCoordinator {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        Self::handle(self, now, event)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        Self::next_deadline(self)
    }
}

/// The core as it is shipped.
pub fn genuine(limits: &Limits) -> ExecutionCoordinator {
    let boot = Boot::new("m");
    let Some(boot) = boot else { unreachable!("m is a boot") };
    ExecutionCoordinator::new(limits.clone(), boot, "1.0.0")
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
    answered: BTreeSet<u64>,
    taken_back: BTreeSet<u64>,
    /// Agents' names of calls that were promised not to have run.
    promised: Vec<String>,
    /// Agents' names of calls whose bytes were handed over.
    handed: BTreeSet<String>,
    jobs: u64,
    refuse_send: bool,
    /// A frame that no socket took; that is reported now or a little later.
    unsent: Option<(ConnectionId, ToUnity)>,
    ended_jobs: BTreeMap<String, String>,
    history: Vec<String>,
    judge: Judge,
    remembers: bool,
}

/// Runs one schedule against the subject that `make` builds. A violation is run again to tell its
/// history, which costs too much to be kept always.
pub fn run<S: Subject>(
    schedule: &Schedule,
    judge: Judge,
    make: impl Fn(&Limits) -> S,
) -> Result<Report, Box<Violation>> {
    run_once(schedule, judge, &make, false).or_else(|_| run_once(schedule, judge, &make, true))
}

/// Runs one schedule and tells everything that happened.
pub fn tell<S: Subject>(
    schedule: &Schedule,
    make: impl Fn(&Limits) -> S,
) -> Result<Vec<String>, Box<Violation>> {
    run_once(schedule, Judge::ModelAndBooks, make, true).map(|report| report.history)
}

fn run_once<S: Subject>(
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

impl<S: Subject> World<S> {
    fn new(subject: S, limits: Limits, judge: Judge, remembers: bool) -> Self {
        Self {
            subject,
            model: Model::new(limits),
            unity: FakeUnity::new(),
            now: 0,
            step: 0,
            events: 0,
            connections: 0,
            intruder: None,
            calls: 0,
            for_unity: BTreeSet::new(),
            answered: BTreeSet::new(),
            taken_back: BTreeSet::new(),
            promised: Vec::new(),
            handed: BTreeSet::new(),
            jobs: 0,
            refuse_send: false,
            unsent: None,
            ended_jobs: BTreeMap::new(),
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

    // Steps.

    fn act(&mut self, action: Action, word: u64) -> Result<(), String> {
        match action {
            Action::Pass => self.pass_some(word),
            Action::CallConsole => self.call_console(pick(word, &[10_000, 10_000, 100, 30_000])),
            Action::CallTests => {
                let timeout = pick(word, &[300_000, 60_000, 5_000, 200]);
                self.call_tests(timeout, pick(word >> 8, &[0, 0, 500, 60_000]))
            }
            Action::CallStatus => {
                let job = self.some_job(word);
                self.call_status(job, pick(word >> 8, &[0, 0, 300, 60_000]))
            }
            Action::CallCancel => {
                let job =
                    if word.is_multiple_of(8) { "req-m-1".to_owned() } else { self.some_job(word) };
                self.call(
                    "cancel_job",
                    Ask::Cancel { job: job.clone() },
                    &[("job_id", job.into())],
                    5_000,
                )
            }
            Action::CallState => self.call("get_editor_state", Ask::State, &[], 5_000),
            Action::McpCancel => self.take_back(word),
            Action::Broke => self.break_adapter(word),
            Action::Connect => self.connect(word),
            Action::Intrude => self.intrude(word),
            Action::Drop => self.drop_socket(ClosedBy::Anyone),
            Action::Reload => self.lose_unity(FakeUnity::reload),
            Action::Restart => self.lose_unity(FakeUnity::restart),
            Action::Status => self.report_state(state(word)),
            Action::StaleStatus => self.stale_status(word),
            Action::TogglePong => {
                self.unity.answers_pings = !self.unity.answers_pings;
                Ok(())
            }
            Action::Execute => {
                self.unity.execute();
                Ok(())
            }
            Action::Answer => match self.unity.on.and_then(|_| self.unity.answer(word)) {
                Some(frame) => self.say(Ok(frame)),
                None => Ok(()),
            },
            Action::Misanswer => match self.unity.on.and_then(|_| self.unity.misanswer(word)) {
                Some(frame) => self.say(Ok(frame)),
                None => Ok(()),
            },
            Action::Stray => self.stray(word),
            Action::Garbage => self.garbage(word),
            Action::TooLarge => self.drop_socket(ClosedBy::FrameTooLarge),
            Action::Job => {
                self.unity.move_job(word);
                Ok(())
            }
            Action::RefuseSend => {
                self.refuse_send = true;
                Ok(())
            }
            Action::Capability => self.offer(word),
        }
    }

    fn pass_some(&mut self, word: u64) -> Result<(), String> {
        let next = self.next_deadline().unwrap_or(self.now).saturating_sub(self.now);
        let length = match word % 12 {
            0 => next.saturating_sub(1),
            1 | 2 => next,
            3 => next + 1,
            4 => 1,
            5 | 6 => 10,
            7 | 8 => 200,
            9 => 1_000,
            10 => 3_000,
            _ => (word >> 8) % 70_000,
        };
        self.pass(length.min(400_000))
    }

    fn next_deadline(&self) -> Option<Millis> {
        let core =
            self.subject.next_deadline().map(|next| next.at.since_start().as_millis() as Millis);
        match self.judge {
            Judge::ModelAndBooks => [core, self.model.next_deadline()].into_iter().flatten().min(),
            Judge::BooksAlone => core,
        }
    }

    /// Time passes; the core is called at each of its deadlines and at each of the contract's.
    fn pass(&mut self, length: Millis) -> Result<(), String> {
        let end = self.now + length;
        self.meet_deadlines(end)?;
        self.now = end;
        Ok(())
    }

    fn meet_deadlines(&mut self, end: Millis) -> Result<(), String> {
        let mut rounds = 0;
        while let Some(next) = self.next_deadline().filter(|next| *next <= end) {
            rounds += 1;
            if rounds > 20_000 {
                return Err(format!("time does not get past {next}"));
            }
            self.now = self.now.max(next);
            self.handle(Event::DeadlineReached)?;
        }
        Ok(())
    }

    fn report_unsent(&mut self) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        let Some((on, frame)) = self.unsent.take() else { return Ok(()) };
        // Only from now on does the server know that nothing was written.
        if let ToUnity::Execute(Execute { client_request_id: Some(client), .. })
        | ToUnity::SubmitJob(SubmitJob { client_request_id: Some(client), .. }) = &frame
        {
            self.handed.remove(client);
        }
        self.model.on_not_sent(self.now, on, &frame);
        self.handle(Event::UnityNotSent { on, frame })
    }

    // Agents.

    fn call_console(&mut self, timeout: Millis) -> Result<(), String> {
        self.call("read_console", Ask::Console, &[], timeout)
    }

    fn call_tests(&mut self, timeout: Millis, wait: Millis) -> Result<(), String> {
        self.call("run_tests", Ask::Tests { wait }, &[("wait_ms", wait.into())], timeout)
    }

    fn call_status(&mut self, job: String, wait: Millis) -> Result<(), String> {
        let arguments = [("job_id", Json::from(job.clone())), ("wait_ms", wait.into())];
        self.call("get_job_status", Ask::Status { job, wait }, &arguments, 5_000)
    }

    /// Mostly a job that was issued, sometimes one that never was.
    fn some_job(&self, word: u64) -> String {
        format!("job-m-{}", 1 + (word >> 16) % (self.jobs + 1))
    }

    fn call(
        &mut self,
        tool: &'static str,
        ask: Ask,
        arguments: &[(&'static str, Json)],
        timeout: Millis,
    ) -> Result<(), String> {
        self.calls += 1;
        let id = self.calls;
        let client = format!("c{id}");
        let request = valid_call(tool, arguments, timeout, &client)?;
        if matches!(ask, Ask::Console | Ask::Tests { .. }) {
            self.for_unity.insert(id);
        }
        self.meet_deadlines(self.now)?;
        self.model.on_call(self.now, id, ask, client, timeout);
        let wants_progress = id.is_multiple_of(3);
        self.handle(Event::CallReceived { call: CallId(id), request, wants_progress })
    }

    fn some_open_call(&self, word: u64) -> Option<u64> {
        let answered = |id: &u64| self.answered.contains(id) || self.taken_back.contains(id);
        let open: Vec<u64> = (1..=self.calls).rev().take(40).filter(|id| !answered(id)).collect();
        let index = (word as usize).checked_rem(open.len())?;
        open.get(index).copied()
    }

    fn take_back(&mut self, word: u64) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        let Some(id) = self.some_open_call(word) else { return Ok(()) };
        self.taken_back.insert(id);
        self.model.on_cancelled(self.now, id);
        self.handle(Event::CallCancelled { call: CallId(id) })
    }

    fn break_adapter(&mut self, word: u64) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        let Some(id) = self.some_open_call(word) else { return Ok(()) };
        self.model.on_broke(self.now, id);
        self.handle(Event::CallBroke { call: CallId(id) })
    }

    // Unity.

    fn connect(&mut self, word: u64) -> Result<(), String> {
        if self.unity.on.is_some() {
            return Ok(());
        }
        let on = self.open()?;
        let hello = self.unity.hello(on, state(word), word >> 4);
        self.say(Ok(hello))
    }

    fn open(&mut self) -> Result<ConnectionId, String> {
        self.meet_deadlines(self.now)?;
        self.connections += 1;
        let on = ConnectionId(self.connections);
        self.handle(Event::UnityOpened { on })?;
        Ok(on)
    }

    /// A second socket says hello: the same Editor anew, or another one.
    fn intrude(&mut self, word: u64) -> Result<(), String> {
        if self.unity.on.is_none() {
            return Ok(());
        }
        let on = self.open()?;
        if word.is_multiple_of(2) {
            // The Editor itself: its old socket is half open, and it talks on the new one.
            let hello = self.unity.hello(on, EditorState::Ready, word >> 4);
            return self.say(Ok(hello));
        }
        self.intruder = Some(on);
        let mut other = FakeUnity::new();
        other.restart();
        let hello = other.hello(on, EditorState::Ready, word >> 4);
        self.frame(on, Ok(hello))
    }

    fn drop_socket(&mut self, by: ClosedBy) -> Result<(), String> {
        let Some(on) = self.unity.on.take() else { return Ok(()) };
        self.closed(on, by)
    }

    fn lose_unity(&mut self, forget: impl FnOnce(&mut FakeUnity)) -> Result<(), String> {
        let on = self.unity.on.take();
        for inbound in &self.unity.inbox {
            self.model.seen.mark(if inbound.executed {
                "executed and the answer was lost"
            } else {
                "sent and never run"
            });
        }
        forget(&mut self.unity);
        on.map_or(Ok(()), |on| self.closed(on, ClosedBy::Anyone))
    }

    fn closed(&mut self, on: ConnectionId, by: ClosedBy) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        self.model.on_closed(self.now, on, by);
        self.handle(Event::UnityClosed { on, by })
    }

    fn report_state(&mut self, state: EditorState) -> Result<(), String> {
        if self.unity.on.is_none() {
            return Ok(());
        }
        self.unity.state = state;
        let seq = self.unity.next_seq();
        self.say(Ok(FromUnity::EditorStatus(EditorStatus { state, seq })))
    }

    fn stale_status(&mut self, word: u64) -> Result<(), String> {
        let seq = self.unity.seq();
        self.say(Ok(FromUnity::EditorStatus(EditorStatus { state: state(word), seq })))
    }

    fn stray(&mut self, word: u64) -> Result<(), String> {
        let open: Vec<&RequestId> =
            self.unity.inbox.iter().map(|inbound| &inbound.request_id).collect();
        let request = RequestId(format!("req-m-{}", word % 300));
        if open.contains(&&request) {
            return Ok(()); // That would be an answer.
        }
        // A request that Unity has forgotten may still be waited for: then this is its answer.
        let frame = match word >> 16 & 3 {
            0 => error(Some(request), "OWN_CODE"),
            _ => result(request, protocol::ExecuteOutcome::Ok(console())),
        };
        self.say(Ok(frame))
    }

    fn garbage(&mut self, word: u64) -> Result<(), String> {
        let problem = String::new();
        let times = if word.is_multiple_of(16) { 11 } else { 1 };
        for _ in 0..times {
            let frame = match word >> 8 & 3 {
                0 => Err(DecodeError::UnknownType { name: "x".to_owned() }),
                1 => {
                    let request_id =
                        self.unity.inbox.front().map(|inbound| inbound.request_id.clone());
                    if request_id.is_some() && times == 1 {
                        self.unity.inbox.pop_front();
                        Err(DecodeError::BadField { request_id, problem: problem.clone() })
                    } else {
                        Err(DecodeError::MissingType)
                    }
                }
                2 if times == 1 => Ok(self.unity.hello_again()),
                _ => Err(DecodeError::NotJson { problem: problem.clone() }),
            };
            self.say(frame)?;
        }
        Ok(())
    }

    fn offer(&mut self, word: u64) -> Result<(), String> {
        let names: &[&str] = match word % 3 {
            0 => &["read_console", "run_tests"],
            1 => &["run_tests"],
            _ => &["read_console"],
        };
        let tools = names.iter().map(|name| OfferedTool { name: (*name).to_owned() }).collect();
        self.say(Ok(FromUnity::Capability(OfferedTools { tools })))
    }

    /// Unity says something on its socket, if it has one.
    fn say(&mut self, frame: Result<FromUnity, DecodeError>) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        self.unity.on.map_or(Ok(()), |on| self.frame(on, frame))
    }

    fn frame(
        &mut self,
        on: ConnectionId,
        frame: Result<FromUnity, DecodeError>,
    ) -> Result<(), String> {
        self.model.on_frame(self.now, on, &frame);
        self.handle(Event::UnityFrame { on, frame })
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
            Effect::Reply { call, outcome } => self.answered(call.0, outcome)?,
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
        if let Some(client) = &request
            && self.promised.contains(client)
        {
            return Err(format!("{client} was sent after the promise that it would not run"));
        }
        self.handed.extend(request);
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
        if !self.answered.insert(id) {
            return Err(format!("call {id} was answered twice"));
        }
        if self.taken_back.contains(&id) {
            return Err(format!("call {id} was answered after it was taken back"));
        }
        match outcome {
            Ok(Answer::JobAccepted { .. }) => self.jobs += 1,
            Ok(Answer::Job(report)) if report.state.is_terminal() => {
                let told = format!("{:?} {:?}", report.state, report.error.map(|error| error.code));
                let before =
                    self.ended_jobs.entry(report.job.to_string()).or_insert_with(|| told.clone());
                if *before != told {
                    return Err(format!("{} was {before} and became {told}", report.job));
                }
            }
            Ok(_) => {}
            Err(failure) => self.check_guarantee(id, &failure)?,
        }
        Ok(())
    }

    /// A promise is compared with the books, now and at the end.
    fn check_guarantee(&mut self, id: u64, failure: &Failure) -> Result<(), String> {
        let client = format!("c{id}");
        match failure.guarantee {
            _ if !self.for_unity.contains(&id) => {}
            Guarantee::NotExecuted if self.unity.books.ran(&client) > 0 => {
                return Err(format!("{client} ran, but was promised not to have"));
            }
            Guarantee::NotExecuted => self.promised.push(client),
            Guarantee::CompletedError | Guarantee::Unknown if !self.handed.contains(&client) => {
                return Err(format!(
                    "{client} never left, but is said to be {:?}",
                    failure.guarantee
                ));
            }
            Guarantee::CompletedError | Guarantee::Unknown => {}
        }
        Ok(())
    }

    // The end.

    /// All faults end: every call must be answered, and a fresh one must succeed.
    fn heal(&mut self) -> Result<(), String> {
        self.refuse_send = false;
        self.report_unsent()?;
        self.unity.answers_pings = true;
        for _ in 0..600 {
            self.be_healthy()?;
            if self.open_calls() == 0 {
                break;
            }
            self.pass(500)?;
        }
        if self.open_calls() > 0 {
            return Err(format!(
                "{} calls are open though all faults have ended",
                self.open_calls()
            ));
        }
        let probe = self.calls + 1;
        self.call_console(10_000)?;
        for _ in 0..200 {
            self.be_healthy()?;
            if self.answered.contains(&probe) {
                self.model.seen.mark("healed and answered a fresh call");
                return Ok(());
            }
            self.pass(500)?;
        }
        Err("a fresh call is not answered after all faults have ended".into())
    }

    /// By the agents' own books.
    fn open_calls(&self) -> usize {
        self.calls as usize - self.answered.union(&self.taken_back).count()
    }

    fn be_healthy(&mut self) -> Result<(), String> {
        if let Some(on) = self.intruder.take() {
            self.closed(on, ClosedBy::Anyone)?;
        }
        self.connect(0)?;
        if self.unity.state != EditorState::Ready {
            self.report_state(EditorState::Ready)?;
        }
        self.offer(0)?;
        self.unity.finish_jobs();
        while let Some(frame) = self.unity.on.and_then(|_| self.unity.answer(3)) {
            self.say(Ok(frame))?;
        }
        Ok(())
    }

    /// Whatever was promised not to have run must not have run, now that all is over.
    fn close_the_books(&self) -> Result<(), String> {
        let books = &self.unity.books;
        if let Some(client) = self.promised.iter().find(|client| books.ran(client) > 0) {
            return Err(format!("{client} ran after all, but was promised not to"));
        }
        let mut names: Vec<&String> =
            books.executed.iter().filter(|name| !name.is_empty()).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(format!("{pair:?} ran twice"));
        }
        Ok(())
    }
}

fn pick(word: u64, choices: &[Millis]) -> Millis {
    choices.get(word as usize % choices.len()).copied().unwrap_or_default()
}

fn state(word: u64) -> EditorState {
    match word % 4 {
        0 | 1 => EditorState::Ready,
        2 => EditorState::Compiling,
        _ => EditorState::Reloading,
    }
}

fn valid_call(
    tool: &str,
    arguments: &[(&'static str, Json)],
    timeout: Millis,
    client: &str,
) -> Result<ValidCall, String> {
    let mut all: Map<String, Json> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    all.insert("timeout_ms".to_owned(), timeout.into());
    all.insert("client_request_id".to_owned(), client.into());
    validate(RawCall { tool: tool.to_owned(), arguments: all }).map_err(|failure| failure.message)
}
