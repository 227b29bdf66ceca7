//! Run: what every check has at hand: the plugin, and somebody who makes the Editor do things.

use std::ops::Range;
use std::time::Duration;

use protocol::{ErrorBody, ExecuteOutcome, FromUnity, Json};

use crate::check::{Needs, Outcome, Stop, failed, not_tried};
use crate::checks::reload::Reload;
use crate::checks::run_tests::TestRun;
use crate::driver::Driver;
use crate::plugin::Plugin;
use crate::report;

/// How long a request may take. The main thread of an Editor in the background runs a few times per second.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How long an answer to a ping may take.
pub(crate) const PONG_WAIT: Duration = Duration::from_secs(1);
/// How long a word takes to reach the Editor through the driver.
const WORD_WAIT: Duration = Duration::from_millis(300);
/// How long the effect of a word may take to show.
const EFFECT_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct Run {
    pub(crate) plugin: Plugin,
    pub(crate) helper: Helper,
    /// How long to wait for a plugin or a person.
    pub(crate) wait: Duration,
    /// Why the checks that follow cannot be tried.
    gone: Option<String>,
    /// The part of the record that the present check is about, if it is not the check's own time.
    pub(crate) evidence: Option<Range<usize>>,
    /// Whether the entries that the console checks use are in the console.
    pub(crate) has_logged: bool,
    /// One test run serves several checks.
    pub(crate) test_run: Option<TestRun>,
    /// One domain reload serves several checks.
    pub(crate) reload: Option<Reload>,
}

/// Who makes the Editor do things.
pub(crate) enum Helper {
    Driver(Driver),
    Person,
    Nobody,
}

impl Run {
    pub(crate) fn new(plugin: Plugin, helper: Helper, wait: Duration) -> Self {
        Self {
            plugin,
            helper,
            wait,
            gone: None,
            evidence: None,
            has_logged: false,
            test_run: None,
            reload: None,
        }
    }

    /// Waits until there is a session of an Editor that is ready.
    pub(crate) async fn healthy(&mut self) -> Result<(), Stop> {
        if let Some(why) = &self.gone {
            return not_tried(why.clone());
        }
        let ready = |plugin: &Plugin| {
            (plugin.is_ready() || plugin.bad_hello.is_some()).then(|| plugin.bad_hello.clone())
        };
        // In slices, so that the end of the driver is noticed.
        let mut left = self.wait;
        let why = loop {
            let slice = left.min(Duration::from_secs(1));
            match self.plugin.wait(slice, ready).await {
                Some(None) => {
                    self.notice_a_lost_session().await;
                    if self.plugin.is_ready() {
                        return Ok(());
                    }
                }
                Some(Some(why)) => break why,
                None => {}
            }
            left = left.saturating_sub(slice);
            if let Some(end) = self.driver_end().filter(|_| self.plugin.hello().is_none()) {
                break end;
            }
            if left.is_zero() {
                break match self.plugin.hello() {
                    Some(_) => "The Editor did not become ready in time.".to_owned(),
                    None => "The plugin did not come back in time.".to_owned(),
                };
            }
        };
        self.gone = Some(format!("There is no session. {why}"));
        failed(why)
    }

    /// A ping finds out whether a session is lost, and lets what the plugin has sent arrive. An answer is not
    /// required here.
    async fn notice_a_lost_session(&mut self) {
        let Some(socket) = self.plugin.session_socket() else { return };
        let Some(ping) = self.plugin.ping() else { return };
        let is_over = |plugin: &Plugin| {
            let is_over = plugin.session_socket() != Some(socket);
            (is_over || plugin.is_answered(socket, ping)).then_some(())
        };
        self.plugin.wait(PONG_WAIT, is_over).await;
    }

    pub(crate) fn driver_end(&mut self) -> Option<String> {
        match &mut self.helper {
            Helper::Driver(driver) => driver.end(),
            Helper::Person | Helper::Nobody => None,
        }
    }

    pub(crate) fn has_driver(&self) -> bool {
        matches!(self.helper, Helper::Driver(_))
    }

    /// Why an expected effect did not show: a person may just not have done it.
    pub(crate) fn no_effect<T>(&self, socket: Option<u64>, why: &str) -> Result<T, Stop> {
        let is_calm = self.plugin.is_ready() && self.plugin.session_socket() == socket;
        match &self.helper {
            Helper::Person if is_calm => not_tried("Nothing happened in Unity in time."),
            Helper::Driver(_) | Helper::Person | Helper::Nobody => failed(why),
        }
    }

    /// Says at once that a check cannot be tried.
    pub(crate) fn can(&self, needs: Needs) -> Result<(), Stop> {
        match (needs, &self.helper) {
            (Needs::Nothing, _)
            | (_, Helper::Driver(_))
            | (Needs::DriverOrPerson, Helper::Person) => Ok(()),
            (Needs::Driver, Helper::Person | Helper::Nobody) => {
                not_tried("It needs --driver, a program that makes the Editor do things.")
            }
            (Needs::DriverOrPerson, Helper::Nobody) => {
                not_tried("It needs --driver, or a person at a terminal.")
            }
        }
    }

    /// Types a word for the driver, or asks the person. Returns how long the effect may take to show.
    pub(crate) fn act(&mut self, word: &str, sentence: &str) -> Duration {
        match &self.helper {
            Helper::Driver(_) => {
                self.type_word(word);
                EFFECT_WAIT
            }
            Helper::Person => {
                self.plugin.note(&format!("asked the person: {sentence}"));
                report::ask(sentence, self.wait);
                self.wait
            }
            Helper::Nobody => Duration::ZERO,
        }
    }

    /// Types a word for the driver.
    pub(crate) fn type_word(&mut self, word: &str) {
        if let Helper::Driver(driver) = &self.helper {
            driver.type_word(word);
            self.plugin.note(&format!("typed for the driver: {word}"));
        }
    }

    /// Types a word, and waits until the Editor has it.
    pub(crate) async fn type_and_wait(&mut self, word: &str) {
        self.type_word(word);
        self.plugin.pause(WORD_WAIT).await;
    }

    pub(crate) fn needs_tool(&self, tool: &str) -> Result<(), Stop> {
        if self.plugin.offers(tool) {
            return Ok(());
        }
        not_tried(format!("The plugin's capability does not list {tool}."))
    }

    /// Executes a tool that must succeed.
    pub(crate) async fn execute(&mut self, tool: &str, params: Json) -> Result<Json, Stop> {
        let id = self.plugin.send_execute(tool, params)?;
        let answer = self.plugin.answer(&id, ANSWER_WAIT).await?;
        result_of(tool, answer)
    }

    /// Pings the session and waits for the pong.
    pub(crate) async fn ping(&mut self) -> Result<Duration, Stop> {
        let (socket, began) = (self.plugin.session_socket(), std::time::Instant::now());
        let Some(ping) = self.plugin.ping() else { return failed("The session has ended.") };
        let answered =
            |plugin: &Plugin| socket.filter(|socket| plugin.is_answered(*socket, ping)).map(|_| ());
        match self.plugin.wait(PONG_WAIT, answered).await {
            Some(()) => Ok(began.elapsed()),
            None => failed("A ping was not answered within 1 s."),
        }
    }
}

pub(crate) fn result_of(tool: &str, answer: FromUnity) -> Result<Json, Stop> {
    match answer {
        FromUnity::Result(result) => match result.outcome {
            ExecuteOutcome::Ok(result) => Ok(result),
            ExecuteOutcome::Error(error) => failed(format!("{tool} failed with {}.", show(&error))),
        },
        FromUnity::Error(error) => {
            failed(format!("{tool} was rejected with {}.", show(&error.error)))
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::SubmitJobResult(_)
        | FromUnity::JobStatus(_)
        | FromUnity::CancelResult(_) => failed(format!("{tool} was not answered with result.")),
    }
}

pub(crate) fn show(error: &ErrorBody) -> String {
    let code = protocol::printable(&error.code, 60);
    format!("{code} (\"{}\")", protocol::printable(&error.message, 120))
}

/// Passes if the answer is an `error` with this code.
pub(crate) fn expect_error(what: &str, answer: FromUnity, code: &str) -> Outcome {
    match answer {
        FromUnity::Error(error) if error.error.code == code => {
            Ok(format!("{what} was answered with {code}."))
        }
        FromUnity::Error(error) => {
            failed(format!("{what} must be answered with {code}, not {}.", show(&error.error)))
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(_)
        | FromUnity::SubmitJobResult(_)
        | FromUnity::JobStatus(_)
        | FromUnity::CancelResult(_) => {
            failed(format!("{what} must be answered with error and {code}."))
        }
    }
}
