//! Deduplicator: which `client_request_id` was used for which call. A repeated call is not a new one.

use std::collections::{BTreeMap, VecDeque};

use protocol::Json;

use crate::event::Outcome;
use crate::failure::{ErrorCode, Failure, Guarantee};
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
    /// The call before this one, if nobody knows whether that ran. This one is to find out.
    before: Option<Doubt>,
}

#[derive(Debug)]
enum State {
    /// Its first call has no answer, and is no job yet.
    Open(CallId),
    /// It is known how the job ended, or it has not ended.
    Job(JobId),
    /// It is known how the call ended.
    Ended(Box<Outcome>),
    Unknown(Doubt),
}

/// A call has ended, and nobody knows whether it ran.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) failure: Failure,
    /// If it became a job. It may not be kept any more.
    pub(crate) job: Option<JobId>,
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

/// What a caller gets when its call has ended.
#[derive(Debug)]
pub(crate) enum Told {
    Outcome(Outcome),
    /// This attempt did not run, and nobody knows about the one before it.
    Doubt(Doubt),
}

impl Deduplicator {
    /// `is_kept`: the report of this job can be read.
    pub(crate) fn meaning(
        &self,
        id: &str,
        asked: &ValidCall,
        is_kept: impl Fn(JobId) -> bool,
    ) -> Meaning {
        let Some(record) = self.records.get(id) else { return Meaning::New };
        if record.tool != asked.tool.name || Some(&record.params) != asked.params() {
            return Meaning::Reused;
        }
        match &record.state {
            State::Open(first) => Meaning::Follows(*first),
            State::Job(job) => Meaning::Job(*job),
            State::Ended(outcome) => Meaning::Ended(outcome.as_ref().clone()),
            State::Unknown(_) if record.book.is_some() => Meaning::New,
            State::Unknown(Doubt { job: Some(job), .. }) if is_kept(*job) => Meaning::Job(*job),
            State::Unknown(Doubt { failure, .. }) => Meaning::Ended(Err(failure.clone())),
        }
    }

    /// What is known of a run that a new call is to find out about.
    pub(crate) fn doubt(&self, id: &str) -> Option<&Doubt> {
        match &self.records.get(id)?.state {
            State::Unknown(doubt) => Some(doubt),
            State::Open(_) | State::Job(_) | State::Ended(_) => None,
        }
    }

    /// This call runs. It keeps the place of the call before it: the plugin, which forgets the oldest too, may not hear
    /// of this one. Forgets the oldest that have ended beyond `max`; `is_active` says which jobs have not.
    pub(crate) fn begin(
        &mut self,
        id: &str,
        call: CallId,
        asked: &ValidCall,
        max: usize,
        is_active: impl Fn(JobId) -> bool,
    ) {
        let (before, book) = match self.records.remove(id) {
            Some(Record { state: State::Unknown(doubt), book, .. }) => (Some(doubt), book),
            Some(_) | None => (None, None),
        };
        let params = asked.params().cloned().unwrap_or_default();
        let record =
            Record { tool: asked.tool.name, params, state: State::Open(call), book, before };
        self.records.insert(id.to_owned(), record);
        if !self.order.iter().any(|known| known == id) {
            self.order.push_back(id.to_owned());
        }
        self.retain(max, is_active);
    }

    fn retain(&mut self, max: usize, is_active: impl Fn(JobId) -> bool) {
        let has_ended = |record: &Record| match record.state {
            State::Open(_) => false,
            State::Job(job) => !is_active(job),
            State::Ended(_) | State::Unknown(_) => true,
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

    /// The call that runs has this outcome. Returns what its caller gets.
    pub(crate) fn on_outcome(&mut self, id: &str, outcome: Outcome) -> Told {
        let Some(record) = self.records.get_mut(id) else { return Told::Outcome(outcome) };
        let State::Open(_) = record.state else { return self.told(id, outcome) };
        let before = record.before.take();
        match outcome.as_ref().err().map(|failure| (failure, failure.guarantee)) {
            Some((_, Guarantee::NotExecuted)) => match before {
                Some(before) => {
                    record.state = State::Unknown(before.clone());
                    return Told::Doubt(before);
                }
                None => self.forget(id),
            },
            Some((failure, Guarantee::Unknown)) => {
                let doubt = Doubt { failure: failure.clone(), job: None };
                self.doubt_run(id, doubt, before);
            }
            Some((_, Guarantee::CompletedError)) | None => {
                record.state = State::Ended(Box::new(outcome.clone()));
            }
        }
        Told::Outcome(outcome)
    }

    /// What the caller of a call gets that does not decide what its id means.
    pub(crate) fn told(&self, id: &str, outcome: Outcome) -> Told {
        let is_unrun =
            outcome.as_ref().is_err_and(|failure| failure.guarantee == Guarantee::NotExecuted);
        let before = self.records.get(id).and_then(|record| record.before.as_ref());
        before.filter(|_| is_unrun).cloned().map_or(Told::Outcome(outcome), Told::Doubt)
    }

    /// The job that this id started has ended. `failure`: if it did not succeed; `ran`: unless it did not run. Returns
    /// what is known of the call before it, if the job did not find out more.
    pub(crate) fn on_job_ended(
        &mut self,
        id: &str,
        job: JobId,
        failure: Option<&Failure>,
        ran: bool,
    ) -> Option<Failure> {
        let record = self.records.get_mut(id)?;
        if !matches!(record.state, State::Job(known) if known == job) {
            return None;
        }
        let before = record.before.take();
        match (ran, before, failure) {
            (false, Some(before), _) => {
                record.state = State::Unknown(before.clone());
                return Some(before.failure);
            }
            (false, None, _) => self.forget(id),
            (true, before, Some(failure)) if failure.guarantee == Guarantee::Unknown => {
                let doubt = Doubt { failure: failure.clone(), job: Some(job) };
                self.doubt_run(id, doubt, before);
            }
            (true, _, Some(_) | None) => {}
        }
        None
    }

    /// Nobody knows whether it ran. But a plugin with a book that rejects the id has begun something else under it: what
    /// that was is not known here, and the book has the answer for who asks about it.
    fn doubt_run(&mut self, id: &str, doubt: Doubt, before: Option<Doubt>) {
        let Some(record) = self.records.get_mut(id) else { return };
        if doubt.failure.code != ErrorCode::InvalidRequest || record.book.is_none() {
            record.state = State::Unknown(doubt);
        } else if let Some(before) = before {
            record.state = State::Unknown(before);
        } else {
            self.forget(id);
        }
    }

    /// After a panic: the calls that run are these. Of others nobody knows whether they were sent.
    pub(crate) fn keep_open(&mut self, is_open: impl Fn(CallId) -> bool) {
        for record in self.records.values_mut() {
            let State::Open(call) = record.state else { continue };
            if !is_open(call) {
                let lost = Doubt { failure: Failure::broken_after_sending(), job: None };
                record.state = State::Unknown(record.before.take().unwrap_or(lost));
            }
        }
    }

    /// It did not run: a repeated call runs.
    fn forget(&mut self, id: &str) {
        self.records.remove(id);
        self.order.retain(|known| known != id);
    }

    pub(crate) fn assert_invariants(&self, max: usize) {
        debug_assert!(self.records.len() == self.order.len(), "every record has its place");
        debug_assert!(self.records.len() <= max, "records are bounded");
    }
}
