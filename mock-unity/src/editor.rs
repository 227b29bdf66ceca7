//! MockEditor: an Editor with the plugin in it, without sockets or clocks. What happens to it and the
//! time go in, what it does comes out; the same seed and the same inputs give the same outputs.

mod answers;
mod jobs;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use protocol::{
    EditorState, EditorStatus, FromUnity, JobState, OfferedTool, OfferedTools, PluginHello, Pong,
    RequestId, ToUnity, codec,
};

use crate::backoff::{self, Chance};
use crate::books::{Arrival, Books};
use crate::command::{Command, Misanswer};
use crate::console::Console;
use crate::settings::{PongPolicy, Reconnect, Settings};
use crate::words::show_duration;
use jobs::Jobs;

/// What a plugin does when it is told that another Editor has the place.
const REFUSED_WAIT: Duration = Duration::from_secs(10);
const REFUSED: &str = "another Unity websocket session is already active";
const RESTART_TIME: Duration = Duration::from_secs(5);
const AWAY_TIME: Duration = Duration::from_secs(1);
const FREEZE_TIME: Duration = Duration::from_secs(10);

/// Times are counted from the start of the mock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The socket is open.
    Connected,
    /// It could not be opened.
    DialFailed,
    Frame(String),
    /// The server or the network ended the socket.
    Closed,
    Do(Command),
    /// `next_deadline` has passed.
    Tick,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Dial,
    Send(String),
    SendBinary(Vec<u8>),
    /// The socket is gone, without a word.
    Cut,
    Close,
    /// Something a person would like to know.
    Tell(String),
    /// It has tried often enough.
    GiveUp,
}

#[derive(Debug)]
pub struct MockEditor {
    settings: Settings,
    books: Books,
    console: Console,
    activity: Activity,
    /// Until when the main thread is stuck; `None` inside means until it is dismissed.
    stuck: Option<Option<Duration>>,
    link: Link,
    /// Requests that the main thread has not begun.
    inbox: VecDeque<ToUnity>,
    /// What it is at, and until when.
    working: Option<(Duration, ToUnity)>,
    /// What is said later on purpose.
    later: Vec<(Duration, Later)>,
    /// Answers that wait for a connection that is welcome.
    unsent: Vec<Answer>,
    /// Requests of this connection without an answer.
    unanswered: BTreeSet<RequestId>,
    /// Since when the main thread gets to nothing.
    stopped_at: Option<Duration>,
    spoilt: VecDeque<Misanswer>,
    lie: Option<JobState>,
    jobs: Jobs,
    agenda: Vec<Appointment>,
    chance: Chance,
    counts: Counts,
    outputs: Vec<Output>,
}

/// What is done at a time, once or again and again.
#[derive(Clone, Debug)]
struct Appointment {
    at: Duration,
    every: Option<Duration>,
    command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Ready,
    Compiling {
        until: Duration,
    },
    /// The domain is being reloaded: there is no plugin to speak with.
    Reloading {
        until: Duration,
    },
    /// The process is not there.
    Ended {
        until: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Away {
        dial_at: Duration,
    },
    Dialing,
    Open {
        welcome: bool,
    },
    /// There are no more attempts.
    GivenUp,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    editors: u64,
    sessions: u64,
    attempts: u64,
    failed_dials: u32,
    seq: u64,
}

#[derive(Clone, Debug)]
enum Later {
    Pong,
    Answer(Answer),
}

/// A frame that answers a request, if it is addressed to one. Answers alone outlive a connection.
#[derive(Clone, Debug)]
struct Answer {
    to: Option<RequestId>,
    frame: String,
}

/// What becomes due.
enum Due {
    Activity,
    Stuck,
    Work,
    Later(usize),
    Dial,
    Test,
    Appointment(usize),
}

impl MockEditor {
    pub fn new(settings: Settings) -> Self {
        Self {
            chance: Chance::new(settings.seed),
            books: Books::default(),
            console: Console::sample(),
            activity: Activity::Ready,
            stuck: None,
            link: Link::Away { dial_at: Duration::ZERO },
            inbox: VecDeque::new(),
            working: None,
            later: Vec::new(),
            unsent: Vec::new(),
            unanswered: BTreeSet::new(),
            stopped_at: None,
            spoilt: VecDeque::new(),
            lie: None,
            jobs: Jobs::default(),
            agenda: Vec::new(),
            counts: Counts { editors: 1, sessions: 1, ..Counts::default() },
            outputs: Vec::new(),
            settings,
        }
    }

    /// Has a command done at a time, and from then on again and again if `every` says so.
    pub fn plan(&mut self, at: Duration, every: Option<Duration>, command: Command) {
        let every = every.map(|every| every.max(Duration::from_millis(1)));
        self.agenda.push(Appointment { at, every, command });
    }

    pub fn books(&self) -> &Books {
        &self.books
    }

    /// One line about how things are.
    pub fn describe(&self) -> String {
        let activity = match self.activity {
            Activity::Ready => "ready",
            Activity::Compiling { .. } => "compiling",
            Activity::Reloading { .. } => "reloading",
            Activity::Ended { .. } => "not running",
        };
        let link = match self.link {
            Link::Open { welcome: true } => "connected",
            Link::Open { welcome: false } | Link::Dialing => "connecting",
            Link::Away { .. } | Link::GivenUp => "not connected",
        };
        let stuck = if self.stuck.is_some() { ", main thread stuck" } else { "" };
        format!(
            "{activity}{stuck}, {link}; {} console entries; {}; {} requests arrived, {} executed",
            self.console.len(),
            self.jobs.describe(),
            self.books.arrived.len(),
            self.books.executed.len()
        )
    }

    pub fn handle(&mut self, now: Duration, input: Input) -> Vec<Output> {
        // An attempt to connect began before whatever has become due meanwhile.
        match (&input, self.link) {
            (Input::Connected, Link::Dialing) => self.on_connected(),
            (Input::DialFailed, Link::Dialing) => self.on_away(now, None),
            (_, Link::Away { .. } | Link::Dialing | Link::Open { .. } | Link::GivenUp) => {}
        }
        self.expire(now);
        match (input, self.link) {
            (Input::Closed, Link::Open { .. }) => {
                self.tell("the connection is lost");
                self.on_away(now, None);
            }
            (Input::Frame(text), Link::Open { .. }) => self.on_frame(now, &text),
            (Input::Do(command), _) => self.obey(now, command),
            // Of a connection that is not there any more.
            (Input::Closed | Input::Frame(_), _)
            | (Input::Connected | Input::DialFailed | Input::Tick, _) => {}
        }
        self.work(now);
        std::mem::take(&mut self.outputs)
    }

    pub fn next_deadline(&self) -> Option<Duration> {
        self.next_due().map(|(at, _)| at)
    }

    /// What is due next. Of two at the same time the one that is listed first.
    fn next_due(&self) -> Option<(Duration, Due)> {
        let activity = match self.activity {
            Activity::Ready => None,
            Activity::Compiling { until }
            | Activity::Reloading { until }
            | Activity::Ended { until } => Some((until, Due::Activity)),
        };
        let dial = match self.link {
            Link::Away { dial_at } if self.has_a_plugin() => Some((dial_at, Due::Dial)),
            Link::Away { .. } | Link::Dialing | Link::Open { .. } | Link::GivenUp => None,
        };
        let stuck = self.stuck.flatten().map(|until| (until, Due::Stuck));
        let work = self.working.as_ref().filter(|_| self.can_work());
        let work = work.map(|(until, _)| (*until, Due::Work));
        let test = self.jobs.next_at().map(|at| (at, Due::Test));
        let later = self.later.iter().enumerate().map(|(index, (at, _))| (*at, Due::Later(index)));
        let agenda = self.agenda.iter().enumerate();
        let agenda = agenda.map(|(index, item)| (item.at, Due::Appointment(index)));
        let singles = [activity, stuck, work, test, dial].into_iter().flatten();
        singles.chain(later).chain(agenda).min_by_key(|(at, _)| *at)
    }

    fn expire(&mut self, now: Duration) {
        while let Some((at, due)) = self.next_due().filter(|(at, _)| *at <= now) {
            match due {
                Due::Activity => self.on_activity_over(at),
                Due::Stuck => self.resume(at),
                Due::Work => self.finish_work(at),
                Due::Test => self.finish_test(at),
                Due::Dial => {
                    self.link = Link::Dialing;
                    self.outputs.push(Output::Dial);
                }
                Due::Later(index) => match self.later.remove(index).1 {
                    Later::Pong => self.say_pong(),
                    Later::Answer(answer) => self.send_answer(answer),
                },
                Due::Appointment(index) => self.on_appointment(at, index),
            }
            self.work(at);
        }
    }

    fn on_appointment(&mut self, at: Duration, index: usize) {
        let mut item = self.agenda.remove(index);
        self.obey(at, item.command.clone());
        if let Some(every) = item.every {
            item.at = at + every;
            self.agenda.push(item);
        }
    }

    fn on_activity_over(&mut self, at: Duration) {
        match (self.activity, self.settings.reload_time) {
            (Activity::Compiling { .. }, Some(reload)) => self.begin_reload(at, reload),
            (Activity::Ended { .. }, _) => {
                self.tell("the Editor has started again");
                self.become_ready(at);
            }
            (Activity::Compiling { .. } | Activity::Reloading { .. } | Activity::Ready, _) => {
                self.become_ready(at);
            }
        }
    }

    fn become_ready(&mut self, now: Duration) {
        self.activity = Activity::Ready;
        self.set_pace(now);
        self.say_status();
    }

    /// What the main thread is at goes on, or stands still.
    fn set_pace(&mut self, now: Duration) {
        let goes_on = self.can_work();
        match (goes_on, self.stopped_at) {
            (false, None) => self.stopped_at = Some(now),
            (true, Some(stopped_at)) => {
                self.stopped_at = None;
                if let Some((until, _)) = &mut self.working {
                    *until += now.saturating_sub(stopped_at);
                }
            }
            (true, None) | (false, Some(_)) => {}
        }
        self.jobs.set_pace(now, goes_on);
    }

    // What it is told.

    fn obey(&mut self, now: Duration, command: Command) {
        match command {
            Command::Compile(_) | Command::Reload(_) | Command::Play(_) if !self.has_a_plugin() => {
                self.tell("not now: the domain is not there");
            }
            Command::Compile(time) => {
                let time = time.unwrap_or(self.settings.compile_time);
                self.tell(&format!("compiling for {}", show_duration(time)));
                self.activity = Activity::Compiling { until: now + time };
                self.say_status();
            }
            Command::Reload(time) => {
                self.begin_reload(now, time.or(self.settings.reload_time).unwrap_or(AWAY_TIME));
            }
            Command::Play(time) => {
                self.tell("entering play mode");
                self.begin_reload(now, time.or(self.settings.reload_time).unwrap_or(AWAY_TIME));
            }
            Command::Restart(time) => self.restart(now, time.unwrap_or(RESTART_TIME)),
            Command::Drop(time) => self.leave(now, time, Output::Cut),
            Command::Close(time) => self.leave(now, time, Output::Close),
            Command::Freeze(time) => {
                let time = time.unwrap_or(FREEZE_TIME);
                self.tell(&format!("the main thread is stuck for {}", show_duration(time)));
                self.stuck = Some(Some(now + time));
            }
            Command::Dialog => {
                self.tell("a modal dialog is open");
                self.stuck = Some(None);
            }
            Command::Resume => self.resume(now),
            Command::Log { kind, message } => self.console.add(kind, &message),
            Command::Clear => self.console.clear(),
            Command::FailTests(count) => self.settings.suite.fail_first(count),
            Command::Cancel(policy) => self.settings.cancel = policy,
            Command::Pong(policy) => self.settings.pong = policy,
            Command::Answer(how) => self.spoilt.push_back(how),
            Command::LoseJobs => self.jobs.forget(),
            Command::Lie(state) => self.lie = Some(state),
            Command::Stale => self.say_stale_status(),
            Command::Say(text) => self.send_text(text),
        }
        self.set_pace(now);
    }

    /// The socket goes without a word, as it does when a domain is unloaded. Jobs are kept, for a
    /// plugin stores them; requests are forgotten.
    fn begin_reload(&mut self, now: Duration, time: Duration) {
        self.tell(&format!("reloading the domain for {}", show_duration(time)));
        self.activity = Activity::Reloading { until: now + time };
        self.say_status();
        self.forget_requests();
        self.counts.sessions += 1;
        self.cut(now + time, Output::Cut);
    }

    fn restart(&mut self, now: Duration, time: Duration) {
        self.tell(&format!("the Editor has ended and starts again in {}", show_duration(time)));
        self.activity = Activity::Ended { until: now + time };
        self.stuck = None;
        self.spoilt.clear();
        self.lie = None;
        self.forget_requests();
        self.jobs.forget();
        self.console = Console::sample();
        self.counts.editors += 1;
        self.counts.sessions += 1;
        self.counts.attempts = 0;
        self.cut(now + time, Output::Cut);
    }

    fn forget_requests(&mut self) {
        self.inbox.clear();
        self.working = None;
        self.later.clear();
        self.unsent.clear();
    }

    fn leave(&mut self, now: Duration, time: Option<Duration>, how: Output) {
        let time = time.unwrap_or(AWAY_TIME);
        self.tell(&format!("away for {}", show_duration(time)));
        self.cut(now + time, how);
    }

    fn cut(&mut self, dial_at: Duration, how: Output) {
        if matches!(self.link, Link::Open { .. } | Link::Dialing) {
            self.outputs.push(how);
        }
        self.lose_connection();
        self.link = Link::Away { dial_at };
        self.counts.failed_dials = 0;
    }

    /// Pongs belong to their connection, and so do requests as far as the server is concerned.
    fn lose_connection(&mut self) {
        self.later.retain(|(_, later)| matches!(later, Later::Answer(_)));
        self.unanswered.clear();
    }

    fn resume(&mut self, now: Duration) {
        if self.stuck.take().is_some() {
            self.tell("the main thread goes on");
            self.set_pace(now);
        }
    }

    // The link.

    fn on_connected(&mut self) {
        self.link = Link::Open { welcome: false };
        self.counts.attempts += 1;
        self.counts.seq = 0;
        let names = self.settings.names_itself;
        let seed = self.settings.seed;
        self.say(&FromUnity::Hello(PluginHello {
            plugin_version: self.settings.plugin_version.clone(),
            state: self.state(),
            editor_instance_id: names
                .then(|| format!("mock-{seed}-{}", self.counts.editors).as_str().into()),
            plugin_session_id: names
                .then(|| format!("session-{seed}-{}", self.counts.sessions).as_str().into()),
            connect_attempt_seq: names.then_some(self.counts.attempts),
        }));
        if let Some(tools) = self.settings.tools.clone() {
            let tools = tools.into_iter().map(|name| OfferedTool { name }).collect();
            self.say(&FromUnity::Capability(OfferedTools { tools }));
        }
    }

    /// The connection is lost or was not made: another attempt follows, later and later.
    fn on_away(&mut self, now: Duration, at_least: Option<Duration>) {
        self.lose_connection();
        let failed = self.counts.failed_dials;
        let wait = backoff::wait(failed, &mut self.chance).max(at_least.unwrap_or_default());
        self.counts.failed_dials += 1;
        self.link = match self.settings.reconnect {
            Reconnect::Times(max) if failed >= max => {
                self.outputs.push(Output::GiveUp);
                Link::GivenUp
            }
            Reconnect::Times(_) | Reconnect::Forever => Link::Away { dial_at: now + wait },
        };
    }

    fn on_frame(&mut self, now: Duration, text: &str) {
        let Ok(frame) = codec::decode::<ToUnity>(text.as_bytes()) else {
            self.books.not_understood += 1;
            self.tell("a frame that the plugin does not understand");
            return;
        };
        match frame {
            ToUnity::Hello(_) => {
                self.link = Link::Open { welcome: true };
                self.counts.failed_dials = 0;
                for answer in std::mem::take(&mut self.unsent) {
                    self.send_answer(answer);
                }
            }
            ToUnity::Capability(_) => {}
            ToUnity::Ping(_) => self.on_ping(now),
            ToUnity::Error(message) => {
                if message.error.message == REFUSED {
                    self.tell("another Editor has the place");
                    self.outputs.push(Output::Close);
                    self.on_away(now, Some(REFUSED_WAIT));
                }
            }
            ToUnity::Execute(_)
            | ToUnity::SubmitJob(_)
            | ToUnity::GetJobStatus(_)
            | ToUnity::Cancel(_) => self.take_in(now, frame),
        }
    }

    /// Answered beside the main thread: a pong does not show that anything runs.
    fn on_ping(&mut self, now: Duration) {
        match self.settings.pong {
            PongPolicy::Never => {}
            PongPolicy::After(Duration::ZERO) => self.say_pong(),
            PongPolicy::After(delay) => self.later.push((now + delay, Later::Pong)),
        }
    }

    fn say_pong(&mut self) {
        self.counts.seq += 1;
        let pong = Pong { editor_state: Some(self.state()), seq: Some(self.counts.seq) };
        self.say(&FromUnity::Pong(pong));
    }

    fn take_in(&mut self, now: Duration, frame: ToUnity) {
        if let Some((request_id, client_request_id, what)) = answers::label(&frame) {
            self.unanswered.insert(request_id.clone());
            let arrival = Arrival { at: now, request_id, client_request_id, what };
            self.books.arrived.push(arrival);
        }
        self.inbox.push_back(frame);
        self.books.unanswered_max = self.books.unanswered_max.max(self.unanswered.len());
    }

    // Saying things.

    fn state(&self) -> EditorState {
        match self.activity {
            Activity::Ready | Activity::Ended { .. } => EditorState::Ready,
            Activity::Compiling { .. } => EditorState::Compiling,
            Activity::Reloading { .. } => EditorState::Reloading,
        }
    }

    fn has_a_plugin(&self) -> bool {
        matches!(self.activity, Activity::Ready | Activity::Compiling { .. })
    }

    /// Whether the main thread gets to anything.
    fn can_work(&self) -> bool {
        self.activity == Activity::Ready && self.stuck.is_none()
    }

    fn say_status(&mut self) {
        self.counts.seq += 1;
        let status = EditorStatus { state: self.state(), seq: self.counts.seq };
        self.say(&FromUnity::EditorStatus(status));
    }

    fn say_stale_status(&mut self) {
        let seq = self.counts.seq.saturating_sub(1);
        self.say(&FromUnity::EditorStatus(EditorStatus { state: EditorState::Compiling, seq }));
    }

    fn say(&mut self, message: &FromUnity) {
        self.send_text(codec::encode(message));
    }

    /// On the socket that there is, or not at all.
    fn send_text(&mut self, frame: String) {
        if matches!(self.link, Link::Open { .. }) {
            self.outputs.push(Output::Send(frame));
        }
    }

    /// On whichever connection is welcome; what finds none is said on the next.
    fn send_answer(&mut self, answer: Answer) {
        if self.link == (Link::Open { welcome: true }) {
            if let Some(id) = &answer.to {
                self.unanswered.remove(id);
            }
            self.outputs.push(Output::Send(answer.frame));
        } else {
            self.unsent.push(answer);
        }
    }

    fn tell(&mut self, what: &str) {
        self.outputs.push(Output::Tell(what.to_owned()));
    }
}

/// Ids that no request has.
fn nobody() -> RequestId {
    RequestId("req-nobody-1".to_owned())
}
