//! What must have been seen for a run to count: a run that never met a thing has not tested it.

use std::collections::BTreeMap;

use coordination::{CancelAnswer, ErrorCode, Guarantee};

/// How often each thing was seen.
#[derive(Clone, Debug, Default)]
pub struct Seen(BTreeMap<&'static str, u64>);

/// Everything that a run of some size must see, beside every error code.
const MUST_BE_SEEN: [&str; 54] = [
    "a call was told not_executed",
    "a call was told unknown",
    "a call was told completed_error",
    "cancel_job answered cancelled",
    "cancel_job answered cancel_requested",
    "cancel_job answered rejected",
    "Unity cancelled at once",
    "Unity will cancel",
    "Unity refused a cancel",
    "a cancel was not answered",
    "a late acceptance was cancelled",
    "waited too long for an Editor",
    "waited too long behind an overdue request",
    "waited too long for a compile",
    "waited too long for a reload",
    "a remembered compile was forgotten",
    "a request of an earlier session had its time",
    "a reconnect window closed",
    "reconnected within the window",
    "lost with a call in Unity",
    "lost with a submission in Unity",
    "lost with the lane kept",
    "a late answer freed the lane",
    "a new session freed the lane",
    "a session ended because Unity was stuck",
    "a session ended without pong",
    "a newcomer took over",
    "an Editor replaced itself",
    "ten bad frames in a row",
    "garbage",
    "a second hello",
    "a stale status",
    "a frame was too large",
    "a frame came back unsent",
    "a submission timed out",
    "a question timed out",
    "a job was asked about at its limit",
    "a job succeeded",
    "a job failed",
    "a job timed out",
    "a job was cancelled",
    "Unity forgot a job",
    "a job was lost with its Editor",
    "a job ended while somebody asked about it",
    "an ended job was forgotten",
    "a lined call was taken back",
    "a running call was taken back",
    "a call that waits for its job was taken back",
    "progress was reported",
    "the server stopped",
    "healed and answered a fresh call",
    "executed and the answer was lost",
    "sent and never run",
    "an answer came for nobody",
];

impl Seen {
    pub fn mark(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(crate) fn mark_code(&mut self, code: ErrorCode) {
        self.mark(code.text());
    }

    pub(crate) fn mark_guarantee(&mut self, guarantee: Guarantee) {
        self.mark(match guarantee {
            Guarantee::NotExecuted => "a call was told not_executed",
            Guarantee::Unknown => "a call was told unknown",
            Guarantee::CompletedError => "a call was told completed_error",
        });
    }

    pub(crate) fn mark_cancel(&mut self, answer: CancelAnswer) {
        self.mark(match answer {
            CancelAnswer::Cancelled => "cancel_job answered cancelled",
            CancelAnswer::CancelRequested => "cancel_job answered cancel_requested",
            CancelAnswer::Rejected => "cancel_job answered rejected",
        });
    }

    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }

    /// What a run should have seen and has not.
    pub fn missing(&self) -> Vec<&'static str> {
        let all = MUST_BE_SEEN.into_iter().chain(ErrorCode::ALL.into_iter().map(ErrorCode::text));
        all.filter(|what| self.count(what) == 0).collect()
    }

    /// Every count, for a table.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(what, count)| (*what, *count))
    }
}
