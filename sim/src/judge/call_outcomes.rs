//! CallOutcomes: what agents were promised, compared with what Unity's books say. It shares no idea with the
//! core, not even the contract's rules.

use std::collections::{BTreeMap, BTreeSet};

use coordination::Guarantee;

/// Calls are named as on the wire: by their `client_request_id`.
#[derive(Debug, Default)]
pub(crate) struct CallOutcomes {
    answered: BTreeSet<String>,
    taken_back: BTreeSet<String>,
    /// Calls that were promised not to have run.
    promised: Vec<String>,
    /// Calls whose bytes were handed over.
    handed: BTreeSet<String>,
    ended_jobs: BTreeMap<String, String>,
}

impl CallOutcomes {
    /// A request of this call goes to Unity.
    pub(crate) fn handed(&mut self, call: String) -> Result<(), String> {
        if self.promised.contains(&call) {
            return Err(format!("{call} was sent after the promise that it would not run"));
        }
        self.handed.insert(call);
        Ok(())
    }

    pub(crate) fn taken_back(&mut self, call: String) {
        self.taken_back.insert(call);
    }

    pub(crate) fn was_handed(&self, call: &str) -> bool {
        self.handed.contains(call)
    }

    pub(crate) fn is_closed(&self, call: &str) -> bool {
        self.answered.contains(call) || self.taken_back.contains(call)
    }

    pub(crate) fn answered(&mut self, call: &str) -> Result<(), String> {
        if !self.answered.insert(call.to_owned()) {
            return Err(format!("{call} was answered twice"));
        }
        if self.taken_back.contains(call) {
            return Err(format!("{call} was answered after it was taken back"));
        }
        Ok(())
    }

    /// A call that is for Unity failed. `ran`: Unity's books have it.
    pub(crate) fn failed(&mut self, call: &str, says: Guarantee, ran: bool) -> Result<(), String> {
        match says {
            Guarantee::NotExecuted if ran => {
                return Err(format!("{call} ran, but was promised not to have"));
            }
            Guarantee::NotExecuted => self.promised.push(call.to_owned()),
            Guarantee::CompletedError | Guarantee::Unknown if !self.handed.contains(call) => {
                return Err(format!("{call} never left, but is said to be {}", says.text()));
            }
            Guarantee::CompletedError | Guarantee::Unknown => {}
        }
        Ok(())
    }

    /// An agent was told how a job ended.
    pub(crate) fn job_ended(&mut self, job: String, how: String) -> Result<(), String> {
        let before = self.ended_jobs.entry(job.clone()).or_insert_with(|| how.clone());
        if *before == how { Ok(()) } else { Err(format!("{job} was {before} and became {how}")) }
    }

    /// Now that all is over. `executed`: the calls that Unity ran, each as often as it did.
    pub(crate) fn close<'a>(&self, executed: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let mut names: Vec<&str> = executed.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        if let Some(call) = self.promised.iter().find(|call| names.contains(&call.as_str())) {
            return Err(format!("{call} ran after all, but was promised not to"));
        }
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(format!("{pair:?} ran twice")),
            None => Ok(()),
        }
    }
}
