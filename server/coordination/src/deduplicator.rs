//! Deduplicator: which `client_request_id` was used for which call. A repeated call is not a new one.

use std::collections::{BTreeMap, VecDeque};

use protocol::Json;

use crate::event::Outcome;
use crate::failure::{Failure, Guarantee};
use crate::ids::{CallId, JobId};
use crate::request_validator::ValidCall;

#[derive(Debug, Default)]
pub(crate) struct Deduplicator {
    records: BTreeMap<String, Record>,
    /// Oldest first.
    order: VecDeque<String>,
}

#[derive(Debug)]
struct Record {
    tool: &'static str,
    params: Json,
    state: State,
    /// The book of the plugin that it was sent to last.
    book: Option<String>,
    /// How the call before this one ended, if nobody knows whether that ran. This one is to find out.
    before: Option<Before>,
}

#[derive(Clone, Debug)]
enum State {
    /// Its first call has no answer, and is no job yet.
    Open(CallId),
    Job(JobId),
    Ended(Box<Outcome>),
}

/// An answer that says `unknown`.
#[derive(Clone, Debug)]
pub(crate) enum Before {
    Failed(Failure),
    Job(JobId),
}

/// What a call means.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// It runs.
    New,
    /// It waits for the answer to this one.
    Follows(CallId),
    /// It is about this job.
    Job(JobId),
    /// It gets this answer.
    Ended(Outcome),
    /// The id was used for something else.
    Reused,
}

impl Deduplicator {
    /// `is_unknown`: nobody knows whether this job ran.
    pub(crate) fn meaning(
        &self,
        id: &str,
        asked: &ValidCall,
        is_unknown: impl Fn(JobId) -> bool,
    ) -> Meaning {
        let Some(record) = self.records.get(id) else { return Meaning::New };
        if record.tool != asked.tool.name || Some(&record.params) != asked.params() {
            return Meaning::Reused;
        }
        match &record.state {
            State::Open(first) => Meaning::Follows(*first),
            State::Job(job) if is_unknown(*job) && record.book.is_some() => Meaning::New,
            State::Job(job) => Meaning::Job(*job),
            State::Ended(outcome) if is_settled(outcome) || record.book.is_none() => {
                Meaning::Ended(outcome.as_ref().clone())
            }
            State::Ended(_) => Meaning::New,
        }
    }

    /// This call runs. Returns the job that it is to find out about. Forgets the oldest that have ended beyond `max`;
    /// `is_active` says which jobs have not.
    pub(crate) fn begin(
        &mut self,
        id: &str,
        call: CallId,
        asked: &ValidCall,
        max: usize,
        is_active: impl Fn(JobId) -> bool,
    ) -> Option<JobId> {
        let old = self.records.remove(id);
        self.order.retain(|known| known != id);
        let (before, book) = match old {
            Some(Record { state: State::Ended(outcome), book, .. }) => {
                (outcome.err().map(Before::Failed), book)
            }
            Some(Record { state: State::Job(job), book, .. }) => (Some(Before::Job(job)), book),
            Some(Record { state: State::Open(_), .. }) | None => (None, None),
        };
        let job = match &before {
            Some(Before::Job(job)) => Some(*job),
            Some(Before::Failed(_)) | None => None,
        };
        let params = asked.params().cloned().unwrap_or_default();
        let record =
            Record { tool: asked.tool.name, params, state: State::Open(call), book, before };
        self.records.insert(id.to_owned(), record);
        self.order.push_back(id.to_owned());
        self.retain(max, is_active);
        job
    }

    fn retain(&mut self, max: usize, is_active: impl Fn(JobId) -> bool) {
        let has_ended = |record: &Record| match record.state {
            State::Open(_) => false,
            State::Job(job) => !is_active(job),
            State::Ended(_) => true,
        };
        while self.records.len() > max {
            let records = &self.records;
            let ended = |id: &String| records.get(id).is_none_or(has_ended);
            let Some(oldest) = self.order.iter().position(ended) else { return };
            if let Some(id) = self.order.remove(oldest) {
                self.records.remove(&id);
            }
        }
    }

    /// Whether it may be sent to the plugin with this book. A run whose outcome is unknown is repeated only if the
    /// plugin would know that it began.
    pub(crate) fn may_send(&self, id: &str, book: Option<&str>) -> bool {
        let Some(Record { before: Some(_), book: known, .. }) = self.records.get(id) else {
            return true;
        };
        book.is_some() && known.as_deref() == book
    }

    /// It is handed to the plugin with this book: from here on, nobody knows whether it ran until Unity answers.
    pub(crate) fn on_sent(&mut self, id: &str, book: Option<&str>) {
        if let Some(record) = self.records.get_mut(id) {
            record.book = book.map(str::to_owned);
        }
    }

    pub(crate) fn on_job(&mut self, id: &str, job: JobId) {
        if let Some(record) = self.records.get_mut(id) {
            record.state = State::Job(job);
        }
    }

    /// The call that runs has this outcome. Returns what its caller gets. `Err`: this attempt did not run, and nobody
    /// knows about the one before it.
    pub(crate) fn on_outcome(&mut self, id: &str, outcome: Outcome) -> Result<Outcome, Before> {
        let Some(record) = self.records.get_mut(id) else { return Ok(outcome) };
        let State::Open(_) = record.state else { return Ok(outcome) };
        let not_executed =
            outcome.as_ref().is_err_and(|failure| failure.guarantee == Guarantee::NotExecuted);
        match record.before.take().filter(|_| not_executed) {
            Some(before) => {
                record.state = match &before {
                    Before::Failed(failure) => State::Ended(Box::new(Err(failure.clone()))),
                    Before::Job(job) => State::Job(*job),
                };
                Err(before)
            }
            None if not_executed => {
                self.forget(id);
                Ok(outcome)
            }
            None => {
                record.state = State::Ended(Box::new(outcome.clone()));
                Ok(outcome)
            }
        }
    }

    /// It did not run: a repeated call runs.
    pub(crate) fn forget(&mut self, id: &str) {
        self.records.remove(id);
        self.order.retain(|known| known != id);
    }

    /// The job that this id started did not run.
    pub(crate) fn forget_job(&mut self, id: &str, job: JobId) {
        if let Some(Record { state: State::Job(known), before, .. }) = self.records.get_mut(id)
            && *known == job
        {
            match before.take() {
                Some(Before::Job(earlier)) => *known = earlier,
                Some(Before::Failed(_)) | None => self.forget(id),
            }
        }
    }

    pub(crate) fn assert_invariants(&self, max: usize) {
        debug_assert!(self.records.len() == self.order.len(), "every record has its place");
        debug_assert!(self.records.len() <= max, "records are bounded");
    }
}

/// Whether it is known how the call ended.
fn is_settled(outcome: &Outcome) -> bool {
    outcome.as_ref().err().is_none_or(|failure| failure.guarantee != Guarantee::Unknown)
}
