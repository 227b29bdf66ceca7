//! Commands and what the Editor does about them.

use std::time::Duration;

use super::project::Project;
use super::{Activity, Later, Link, MockEditor, Output};
use crate::command::Command;
use crate::console::Console;
use crate::settings::{CancelPolicy, PongPolicy};
use crate::words::show_duration;

const RESTART_TIME: Duration = Duration::from_secs(5);
const AWAY_TIME: Duration = Duration::from_secs(1);
const FREEZE_TIME: Duration = Duration::from_secs(10);

impl MockEditor {
    pub(super) fn obey(&mut self, now: Duration, command: Command) {
        if let Some(text) = confirmation(&command) {
            self.tell(&text);
        }
        match command {
            Command::Compile(_)
            | Command::CompileFails(_)
            | Command::Reload(_)
            | Command::Play(_)
                if !self.has_a_plugin() =>
            {
                self.tell("ignored: the domain is not loaded");
            }
            Command::Compile(time) => {
                let errors = self.project.edited.unwrap_or(0);
                self.compile(now, time.unwrap_or(self.settings.compile_time), errors);
            }
            Command::Edit(errors) => self.project.edited = Some(errors),
            Command::Dirty => self.project.is_dirty = true,
            Command::CompileFails(errors) => self.compile(now, self.settings.compile_time, errors),
            Command::Reload(time) => {
                self.begin_reload(now, time.or(self.settings.reload_time).unwrap_or(AWAY_TIME));
            }
            Command::Play(time) => {
                self.tell("entering play mode");
                self.begin_reload(now, time.or(self.settings.reload_time).unwrap_or(AWAY_TIME));
            }
            Command::Restart(time) => self.restart(now, time.unwrap_or(RESTART_TIME)),
            Command::Drop(time) => self.leave(now, time, Output::Cut),
            Command::Close(time) => self.leave(now, time, Output::Close { code: 1000 }),
            Command::GoAway(time) => self.leave(now, time, Output::Close { code: 1001 }),
            Command::Freeze(time) => {
                let time = time.unwrap_or(FREEZE_TIME);
                self.tell(&format!("the main thread is stuck for {}", show_duration(time)));
                self.stuck = Some(Some(now + time));
            }
            Command::Dialog => {
                self.tell("a modal dialog is open");
                self.stuck = Some(None);
            }
            Command::Resume if self.stuck.is_none() => self.tell("the main thread is not stuck"),
            Command::Resume => self.resume(now),
            Command::Log { kind, message } => self.console.add(kind, &message),
            Command::Clear => self.console.clear(),
            Command::Project(path) => {
                self.settings.project = Some(path).filter(|path| !path.is_empty());
                self.restart(now, AWAY_TIME);
            }
            Command::FailTests(count) => self.settings.suite.fail_first(count),
            Command::Cancel(policy) => self.settings.cancel = policy,
            Command::Pong(policy) => self.settings.pong = policy,
            Command::Answer(how) => self.spoilt.push_back(how),
            Command::LoseJobs => self.forget_jobs(now),
            Command::Lie(state) => self.lie = Some(state),
            Command::Stale => self.say_stale_status(),
            Command::Say(text) => self.send_text(text),
            Command::Behave => {
                self.settings.pong = PongPolicy::After(Duration::ZERO);
                self.settings.cancel = CancelPolicy::Honour;
                self.spoilt.clear();
                self.lie = None;
                self.resume(now);
            }
        }
        self.set_pace(now);
    }

    /// The compile that a tool has asked for. It begins when the tool has answered.
    pub(super) fn arrange_compile(&mut self, now: Duration) {
        self.plan(now, None, Command::Compile(None));
    }

    fn compile(&mut self, now: Duration, time: Duration, errors: usize) {
        self.tell(&format!("compiling for {}", show_duration(time)));
        self.activity = Activity::Compiling { until: now + time, errors };
        self.say_status(now);
    }

    /// An unloaded domain drops its socket without a close handshake. A plugin stores its jobs and loses its
    /// requests.
    pub(super) fn begin_reload(&mut self, now: Duration, time: Duration) {
        self.tell(&format!("reloading the domain for {}", show_duration(time)));
        self.activity = Activity::Reloading { until: now + time };
        self.say_status(now);
        self.forget_requests();
        self.counts.sessions += 1;
        self.cut(now + time, Output::Cut);
    }

    pub(super) fn restart(&mut self, now: Duration, time: Duration) {
        self.tell(&format!("the Editor has quit and restarts in {}", show_duration(time)));
        self.activity = Activity::Ended { until: now + time };
        self.stuck = None;
        self.spoilt.clear();
        self.lie = None;
        self.forget_requests();
        self.forget_jobs(now);
        self.counts.editors += 1;
        self.console = Console::sample(self.settings.console_name(self.counts.editors));
        self.project = Project::sample();
        self.request_book.clear();
        self.counts.sessions += 1;
        self.counts.attempts = 0;
        self.cut(now + time, Output::Cut);
    }

    pub(super) fn forget_requests(&mut self) {
        self.inbox.clear();
        self.working = None;
        self.later.clear();
        self.unsent.clear();
    }

    fn forget_jobs(&mut self, now: Duration) {
        self.jobs.forget();
        self.books.end_jobs(now, None);
    }

    pub(super) fn leave(&mut self, now: Duration, time: Option<Duration>, how: Output) {
        let time = time.unwrap_or(AWAY_TIME);
        self.tell(&format!("disconnected for {}", show_duration(time)));
        self.cut(now + time, how);
    }

    pub(super) fn cut(&mut self, dial_at: Duration, how: Output) {
        if matches!(self.link, Link::Open { .. } | Link::Dialing) {
            self.outputs.push(how);
        }
        self.lose_connection();
        self.link = Link::Away { dial_at };
        self.counts.failed_dials = 0;
    }

    /// Pongs belong to their connection. So do requests, because the server does not resend them.
    pub(super) fn lose_connection(&mut self) {
        self.later.retain(|(_, later)| matches!(later, Later::Answer(_)));
        self.unanswered.clear();
    }

    pub(super) fn resume(&mut self, now: Duration) {
        if self.stuck.take().is_some() {
            self.tell("the main thread runs again");
            self.set_pace(now);
        }
    }
}

/// For commands whose effect cannot be seen at once. `None`: the effect itself is shown.
fn confirmation(command: &Command) -> Option<String> {
    let text = match command {
        Command::Log { kind, .. } => return Some(format!("added to the console: {}", kind.text())),
        Command::Clear => "the console is empty",
        Command::FailTests(count) => return Some(format!("{count} tests will fail")),
        Command::Cancel(CancelPolicy::Honour) => "a cancel ends its job",
        Command::Cancel(CancelPolicy::Refuse) => "a cancel is refused",
        Command::Cancel(CancelPolicy::Ignore) => "a cancel is accepted and ignored",
        Command::Pong(PongPolicy::After(time)) => {
            return Some(format!("a pong takes {}", show_duration(*time)));
        }
        Command::Pong(PongPolicy::Never) => "pings are not answered",
        Command::Answer(_) => "the next answer will be spoilt",
        Command::LoseJobs => "all jobs are forgotten",
        Command::Lie(_) => "the next job_status will be wrong",
        Command::Behave => "every misbehaviour has ended",
        Command::Edit(0) => "the scripts have changed on disk",
        Command::Edit(errors) => {
            return Some(format!("the scripts have changed on disk, with {errors} errors"));
        }
        Command::Dirty => "the active scene has unsaved changes",
        Command::Compile(_)
        | Command::CompileFails(_)
        | Command::Reload(_)
        | Command::Play(_)
        | Command::Restart(_)
        | Command::Drop(_)
        | Command::Close(_)
        | Command::GoAway(_)
        | Command::Freeze(_)
        | Command::Dialog
        | Command::Resume
        | Command::Project(_)
        | Command::Stale
        | Command::Say(_) => return None,
    };
    Some(text.to_owned())
}
