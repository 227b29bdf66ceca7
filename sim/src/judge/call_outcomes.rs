//! CallOutcomes: compares what agents were told with the books of Unity. It shares no code and no rule with the core.

use std::collections::{BTreeMap, BTreeSet};

use coordination::Guarantee;

/// Calls are named as on the wire: by their `client_request_id`.
#[derive(Debug, Default)]
pub(crate) struct CallOutcomes {
    answered: BTreeSet<String>,
    cancelled: BTreeSet<String>,
    /// Calls that were reported as not executed.
    not_executed: Vec<String>,
    /// Calls that were sent to Unity.
    sent: BTreeSet<String>,
    ended_jobs: BTreeMap<String, String>,
}

impl CallOutcomes {
    /// A request of this call is sent to Unity.
    pub(crate) fn sent(&mut self, call: String) -> Result<(), String> {
        if self.not_executed.contains(&call) {
            return Err(format!("{call} was sent after it was reported as not executed"));
        }
        self.sent.insert(call);
        Ok(())
    }

    pub(crate) fn cancelled(&mut self, call: String) {
        self.cancelled.insert(call);
    }

    pub(crate) fn was_sent(&self, call: &str) -> bool {
        self.sent.contains(call)
    }

    pub(crate) fn is_closed(&self, call: &str) -> bool {
        self.answered.contains(call) || self.cancelled.contains(call)
    }

    pub(crate) fn answered(&mut self, call: &str) -> Result<(), String> {
        if !self.answered.insert(call.to_owned()) {
            return Err(format!("{call} was answered twice"));
        }
        if self.cancelled.contains(call) {
            return Err(format!("{call} was answered after it was cancelled"));
        }
        Ok(())
    }

    /// A call that is for Unity failed. `ran`: Unity's books have it.
    pub(crate) fn failed(&mut self, call: &str, says: Guarantee, ran: bool) -> Result<(), String> {
        match says {
            Guarantee::NotExecuted if ran => {
                return Err(format!("{call} ran, but is reported as not executed"));
            }
            Guarantee::NotExecuted => self.not_executed.push(call.to_owned()),
            Guarantee::CompletedError | Guarantee::Unknown if !self.sent.contains(call) => {
                return Err(format!("{call} was never sent, but is reported as {}", says.text()));
            }
            Guarantee::CompletedError | Guarantee::Unknown => {}
        }
        Ok(())
    }

    /// An agent learned how a job ended.
    pub(crate) fn job_ended(&mut self, job: String, how: String) -> Result<(), String> {
        let before = self.ended_jobs.entry(job.clone()).or_insert_with(|| how.clone());
        if *before == how { Ok(()) } else { Err(format!("{job} was {before} and became {how}")) }
    }

    /// At the end of a run. `executed`: the calls that Unity ran, each as often as it ran.
    pub(crate) fn close<'a>(&self, executed: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let mut names: Vec<&str> = executed.filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        if let Some(call) = self.not_executed.iter().find(|call| names.contains(&call.as_str())) {
            return Err(format!("{call} ran after it was reported as not executed"));
        }
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(format!("{pair:?} ran twice")),
            None => Ok(()),
        }
    }
}
