//! MockEditor: an Editor with its plugin, without sockets or clocks. Inputs and the time go in, outputs
//! come out. The same seed and the same inputs give the same outputs.

mod answers;
mod jobs;
mod link;
mod orders;
mod project;
mod request_book;
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
use project::Project;
use request_book::RequestBook;
pub use tools::{MockTool, TOOLS};

/// What happens to the Editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The socket that [`Output::Dial`] asked for is open.
    Connected,
    /// That socket could not be opened.
    DialFailed,
    /// The server sent a text frame.
    Frame(String),
    /// The server or the network closed the socket. `reason`: what the close frame of the server says.
    Closed {
        /// Empty without a close frame.
        reason: String,
    },
    /// Somebody gives a command.
    Do(Command),
    /// The time of [`MockEditor::next_deadline`] has come.
    Tick,
}

/// What the Editor does. Do it in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Open a socket, then report [`Input::Connected`] or [`Input::DialFailed`].
    Dial,
    /// Send a text frame.
    Send(String),
    /// Send a binary frame, which no plugin should do.
    SendBinary(Vec<u8>),
    /// Drop the socket without a close handshake. If a `Dial` has not finished, abandon it.
    Cut,
    /// Close the socket with a close handshake and this code.
    Close {
        /// 1000, or 1001 for a plugin that will be back after a reload.
        code: u16,
    },
    /// Show a line to a person.
    Tell(String),
    /// Stop: the limit of [`Settings::reconnect`] is reached.
    GiveUp,
}

/// A Unity Editor with its plugin.
///
/// It has no socket and no clock. Call [`handle`](Self::handle) with every event and do what it returns;
/// call it with [`Input::Tick`] at [`next_deadline`](Self::next_deadline). All times count from the start
/// of the mock and must not go back.
#[derive(Debug)]
pub struct MockEditor {
    settings: Settings,
    books: Books,
    console: Console,
    /// The largest frame in bytes that the server accepts.
    frame_max: usize,
    activity: Activity,
    /// Until when the main thread is stuck; the inner `None` means until `dismiss`.
    stuck: Option<Option<Duration>>,
    link: Link,
    /// When the last frame of the server arrived.
    heard_at: Duration,
    /// Requests that the main thread has not started.
    inbox: VecDeque<ToUnity>,
    /// The current request and when it is done.
    working: Option<(Duration, ToUnity)>,
    /// Frames that are late on purpose.
    later: Vec<(Duration, Later)>,
    /// Answers that wait for the server's hello on a new connection.
    unsent: Vec<Answer>,
    /// Requests of this connection without an answer; true if they run something in Unity.
    unanswered: BTreeMap<RequestId, bool>,
    /// Since when the main thread is blocked.
    stopped_at: Option<Duration>,
    spoilt: VecDeque<Misanswer>,
    lie: Option<JobState>,
    jobs: Jobs,
    project: Project,
    request_book: RequestBook,
    /// Sorted by time.
    agenda: Vec<Appointment>,
    chance: Chance,
    counts: Counts,
    outputs: Vec<Output>,
}

/// A command at a time, once or at an interval.
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
        /// How many errors it will find.
        errors: usize,
    },
    /// The domain reloads: the plugin is not loaded.
    Reloading {
        until: Duration,
    },
    /// The process does not run.
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
        /// Whether the server has sent its hello.
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

/// A frame that answers a request. Only answers survive a lost connection.
#[derive(Clone, Debug)]
struct Answer {
    /// `None` for a frame that names no request or a wrong one.
    to: Option<RequestId>,
    frame: String,
}

/// What happens at a deadline.
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
    /// An Editor that is ready and not connected. Its first deadline is to connect, at time zero.
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
            project: Project::sample(),
            request_book: RequestBook::new(settings.forgets_runs),
            agenda: Vec::new(),
            counts: Counts { editors: 1, sessions: 1, ..Counts::default() },
            outputs: Vec::new(),
            settings,
        }
    }

    /// Plans a command for a time, and then for every interval `every` if it is given.
    pub fn plan(&mut self, at: Duration, every: Option<Duration>, command: Command) {
        let every = every.map(|every| every.max(Duration::from_millis(1)));
        self.arrange(Appointment { at, every, command });
    }

    /// Of two commands at the same time, the one that was planned first comes first.
    fn arrange(&mut self, item: Appointment) {
        let index = self.agenda.partition_point(|other| other.at <= item.at);
        self.agenda.insert(index, item);
    }

    /// What arrived and what ran since the start.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// The same, at the end of the Editor.
    pub fn into_books(self) -> Books {
        self.books
    }

    /// One line for a person: what the Editor is doing, the connection, console, jobs and requests.
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

    /// Takes one input at the time `now` and returns what the Editor does about it, and about every deadline
    /// up to `now`.
    pub fn handle(&mut self, now: Duration, input: Input) -> Vec<Output> {
        // The attempt to connect started before every deadline that has passed since.
        match (&input, self.link) {
            (Input::Connected, Link::Dialing) => self.on_connected(now),
            (Input::DialFailed, Link::Dialing) => self.on_away(now, None),
            (_, Link::Away { .. } | Link::Dialing | Link::Open { .. } | Link::GivenUp) => {}
        }
        self.expire(now);
        match (input, self.link) {
            (Input::Closed { reason }, Link::Open { .. }) if reason == link::REPLACED => {
                self.tell("another plugin with the same editor_instance_id has connected");
                self.lose_connection();
                self.link = Link::GivenUp; // Two that replace each other would never stop.
            }
            (Input::Closed { .. }, Link::Open { .. }) => {
                self.tell("the connection is lost");
                self.on_away(now, None);
            }
            (Input::Frame(text), Link::Open { .. }) => self.on_frame(now, &text),
            (Input::Do(command), _) => self.obey(now, command),
            // These belong to a connection that has ended.
            (Input::Closed { .. } | Input::Frame(_), _)
            | (Input::Connected | Input::DialFailed | Input::Tick, _) => {}
        }
        self.work(now);
        std::mem::take(&mut self.outputs)
    }

    /// When to call [`handle`](Self::handle) with [`Input::Tick`] at the latest; `None` if nothing is planned.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.next_due().map(|(at, _)| at)
    }

    /// The next deadline. Of two at the same time, the first in this list comes first.
    fn next_due(&self) -> Option<(Duration, Due)> {
        let activity = match self.activity {
            Activity::Ready => None,
            Activity::Compiling { until, .. }
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
                    self.tell("no frame from the server within the idle timeout");
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
        if let Activity::Compiling { errors, .. } = self.activity {
            self.project.on_compiled(at, errors);
        }
        match (self.activity, self.settings.reload_time) {
            (Activity::Compiling { errors: 0, .. }, Some(reload)) => self.begin_reload(at, reload),
            (Activity::Compiling { errors, .. }, _) if errors > 0 => {
                self.tell(&format!("the compile failed with {errors} errors"));
                self.console.add_compile_errors(errors);
                self.end_compile_jobs(at, JobState::Failed, "failed", errors, false);
                self.become_ready(at);
            }
            (Activity::Ended { .. }, _) => {
                self.tell("the Editor has restarted");
                self.become_ready(at);
            }
            (Activity::Compiling { .. } | Activity::Reloading { .. } | Activity::Ready, _) => {
                let reloaded = matches!(self.activity, Activity::Reloading { .. });
                self.end_compile_jobs(at, JobState::Succeeded, "compiled", 0, reloaded);
                self.become_ready(at);
            }
        }
    }

    fn end_compile_jobs(
        &mut self,
        at: Duration,
        ends: JobState,
        outcome: &str,
        errors: usize,
        reloaded: bool,
    ) {
        let took = self.settings.compile_time;
        let result = tools::compile_result(outcome, errors, reloaded, took);
        for job in self.jobs.on_compiled(ends, &result) {
            self.books.end_jobs(at, Some(&job));
            self.tell(&format!("the compile has ended: {outcome}"));
        }
    }

    fn become_ready(&mut self, now: Duration) {
        self.activity = Activity::Ready;
        self.set_pace(now);
        self.say_status(now);
    }

    /// Lets the current request and job continue, or stops their clocks.
    fn set_pace(&mut self, now: Duration) {
        let runs = self.can_work();
        match (runs, self.stopped_at) {
            (false, None) => self.stopped_at = Some(now),
            (true, Some(stopped_at)) => {
                self.stopped_at = None;
                if let Some((until, _)) = &mut self.working {
                    *until += now.saturating_sub(stopped_at);
                }
            }
            (true, None) | (false, Some(_)) => {}
        }
        self.jobs.set_pace(now, runs);
    }
}

/// An id that no request has.
fn unknown_request() -> RequestId {
    RequestId("req-nobody-1".to_owned())
}
