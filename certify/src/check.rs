//! Check: one thing that a plugin must do, and how it went.

use futures_util::future::LocalBoxFuture;

use crate::run::Run;

/// One check. Its name is a sentence that is true for a good plugin.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) needs: Needs,
    pub(crate) run: for<'a> fn(&'a mut Run) -> LocalBoxFuture<'a, Outcome>,
}

/// The checks of one file.
pub(crate) struct Topic {
    pub(crate) title: &'static str,
    pub(crate) checks: &'static [Check],
}

/// What a check needs beside the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// A program that makes the Editor do things.
    Driver,
    /// The same, or a person in front of Unity.
    DriverOrPerson,
}

/// `Ok` is the sentence of a check that passed.
pub(crate) type Outcome = Result<String, Stop>;

/// Why a check has not passed, as a sentence.
pub(crate) enum Stop {
    Failed(String),
    /// It could not be tried, or it does not apply to this plugin.
    NotTried(String),
}

pub(crate) fn failed<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(why.into()))
}

pub(crate) fn not_tried<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::NotTried(why.into()))
}

/// How a check ended, for the report.
pub(crate) struct Verdict {
    pub(crate) topic: &'static str,
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    /// Entries of the record that belong to it.
    pub(crate) frames: Vec<usize>,
}
