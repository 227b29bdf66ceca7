//! MockEditor: an Editor with the plugin in it, without sockets or clocks. What happens to it and the
//! time go in, what it does comes out; the same seed and the same inputs give the same outputs.

mod answers;
mod jobs;
mod link;
mod orders;
mod tools;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use protocol::{JobState, RequestId, ToUnity};

use crate::backoff::Chance;
use crate::books::Books;
use crate::command::{Command, Misanswer};
use crate::console::Console;
use crate::settings::Settings;
use jobs::Jobs;
pub use tools::{MockTool, TOOLS};

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
    /// Bytes that the server takes in a frame.
    frame_max: usize,
    activity: Activity,
    /// Until when the main thread is stuck; `None` inside means until it is dismissed.
    stuck: Option<Option<Duration>>,
    link: Link,
    /// When the server last said something.
    heard_at: Duration,
    /// Requests that the main thread has not begun.
    inbox: VecDeque<ToUnity>,
    /// What it is at, and until when.
    working: Option<(Duration, ToUnity)>,
    /// What is said later on purpose.
    later: Vec<(Duration, Later)>,
    /// Answers that wait for a connection that is welcome.
    unsent: Vec<Answer>,
    /// Requests of this connection without an answer, and whether they do something in Unity.
    unanswered: BTreeMap<RequestId, bool>,
    /// Since when the main thread gets to nothing.
    stopped_at: Option<Duration>,
    spoilt: VecDeque<Misanswer>,
    lie: Option<JobState>,
    jobs: Jobs,
    /// In order of time.
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
    Silence,
    Step,
    Appointment,
}

impl MockEditor {
    pub fn new(settings: Settings) -> Self {
        Self {
            chance: Chance::new(settings.seed),
            books: Books::default(),
            console: Console::sample(settings.console_name(1)),
            frame_max: link::FRAME_MAX,
            activity: Activity::Ready,
            stuck: None,
            link: Link::Away { dial_at: Duration::ZERO },
            heard_at: Duration::ZERO,
            inbox: VecDeque::new(),
            working: None,
            later: Vec::new(),
            unsent: Vec::new(),
            unanswered: BTreeMap::new(),
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
        self.arrange(Appointment { at, every, command });
    }

    /// Of two at the same time the one that was planned first is first.
    fn arrange(&mut self, item: Appointment) {
        let index = self.agenda.partition_point(|other| other.at <= item.at);
        self.agenda.insert(index, item);
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
            (Input::Connected, Link::Dialing) => self.on_connected(now),
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
        let link = match self.link {
            Link::Away { dial_at } if self.has_a_plugin() => Some((dial_at, Due::Dial)),
            Link::Open { .. } => {
                self.settings.idle_timeout.map(|limit| (self.heard_at + limit, Due::Silence))
            }
            Link::Away { .. } | Link::Dialing | Link::GivenUp => None,
        };
        let stuck = self.stuck.flatten().map(|until| (until, Due::Stuck));
        let work = self.working.as_ref().filter(|_| self.can_work());
        let work = work.map(|(until, _)| (*until, Due::Work));
        let step = self.jobs.next_at().map(|at| (at, Due::Step));
        let later = self.later.iter().enumerate().map(|(index, (at, _))| (*at, Due::Later(index)));
        let agenda = self.agenda.first().map(|item| (item.at, Due::Appointment));
        let singles = [activity, stuck, work, step, link].into_iter().flatten();
        singles.chain(later).chain(agenda).min_by_key(|(at, _)| *at)
    }

    fn expire(&mut self, now: Duration) {
        while let Some((at, due)) = self.next_due().filter(|(at, _)| *at <= now) {
            match due {
                Due::Activity => self.on_activity_over(at),
                Due::Stuck => self.resume(at),
                Due::Work => self.finish_work(at),
                Due::Step => self.finish_step(at),
                Due::Dial => {
                    self.link = Link::Dialing;
                    self.outputs.push(Output::Dial);
                }
                Due::Silence => {
                    self.tell("the server is silent");
                    self.outputs.push(Output::Cut);
                    self.on_away(at, None);
                }
                Due::Later(index) => match self.later.remove(index).1 {
                    Later::Pong => self.say_pong(),
                    Later::Answer(answer) => self.send_answer(answer),
                },
                Due::Appointment => self.on_appointment(at),
            }
            self.work(at);
        }
    }

    fn on_appointment(&mut self, at: Duration) {
        let mut item = self.agenda.remove(0);
        self.obey(at, item.command.clone());
        if let Some(every) = item.every {
            item.at = at + every;
            self.arrange(item);
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
}

/// Ids that no request has.
fn nobody() -> RequestId {
    RequestId("req-nobody-1".to_owned())
}
