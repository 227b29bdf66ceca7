//! Replies to agents, compared with what is true.

use std::fmt;

use coordination::{
    Answer, CompileReport, ErrorCode, Failure, Guarantee, Outcome, Timestamp, rendering,
};
use protocol::{CompileOutcome, JobState, Json, printable};

use super::{Ask, Call, CallState, Checked, Expect, JobLife, Lane, Millis, Model, Who};

impl Model {
    pub(super) fn check_reply(&mut self, now: Millis, id: u64, outcome: &Outcome) -> Checked {
        let Some(call) = self.calls.get(&id).cloned() else {
            return Err(format!("call {id} was answered though it is not open"));
        };
        let expected = self.expected.iter().position(|(call, _)| *call == id);
        let checked = match expected.map(|index| self.expected.remove(index)) {
            Some((_, expect)) => self.compare(&expect, outcome),
            None => self.check_unexpected(now, id, &call, outcome),
        };
        checked.map_err(|problem| format!("call {id} ({:?}): {problem}", call.ask))?;
        self.note_known(outcome);
        self.calls.remove(&id);
        self.control.retain(|other| *other != id);
        self.queue.retain(|entry| entry.who != Who::Call(id));
        Ok(())
    }

    fn compare(&mut self, expect: &Expect, outcome: &Outcome) -> Checked {
        let fits = match (expect, outcome) {
            // It may have been dropped since the answer was decided.
            (Expect::Replayed(expect), Err(Failure { code: ErrorCode::JobNotFound, .. })) if matches!(**expect, Expect::Told(job) if !self.is_kept(job) && !self.is_unknown(job)) => {
                true
            }
            (Expect::Replayed(expect), outcome) => {
                return match first_answer(outcome) {
                    Some(outcome) => self.compare(expect, &outcome),
                    None => Err(format!("expected {expect} again, got {}", shown(outcome))),
                };
            }
            (_, outcome) if first_answer(outcome).is_some() => false,
            (Expect::Result("read_console", given), Ok(Answer::Unity(told))) => {
                is_whole(given, told)
            }
            (Expect::Result("ping", _), Ok(Answer::Unity(told))) => {
                told.get("round_trip_ms").is_some()
            }
            (Expect::Result(..), Ok(Answer::Unity(_))) => true,
            (Expect::Accepted(job), Ok(Answer::JobAccepted { job: id, state, .. })) => {
                id.to_string() == format!("job-{}-{}", self.boot, job + 1)
                    && *state == JobState::Queued
            }
            (Expect::Fails(code, guarantee), Err(failure)) => {
                failure.code == *code && failure.guarantee == *guarantee
            }
            (Expect::Told(job), outcome) if !self.is_kept(*job) && self.is_unknown(*job) => {
                return self.compare(&self.doubt(expect), outcome);
            }
            (Expect::Told(job), outcome) => return self.check_told(*job, outcome),
            (Expect::Job(job), Ok(Answer::Job(_))) => return self.check_report(*job, outcome),
            (Expect::Cancel(job, status), Ok(Answer::Cancel { job: id, status: told })) => {
                id.to_string() == format!("job-{}-{}", self.boot, job + 1) && told == status
            }
            (
                Expect::Result(..)
                | Expect::Fails(..)
                | Expect::Accepted(_)
                | Expect::Job(_)
                | Expect::Cancel(..),
                _,
            ) => false,
        };
        if fits { Ok(()) } else { Err(format!("expected {expect}, got {}", shown(outcome))) }
    }

    /// A call that started a job, or repeats one that did.
    fn check_told(&mut self, job: usize, outcome: &Outcome) -> Checked {
        match outcome {
            Ok(Answer::JobAccepted { job: id, state, .. })
                if *state == self.job_state(job)
                    && id.to_string() == format!("job-{}-{}", self.boot, job + 1) =>
            {
                Ok(())
            }
            Ok(Answer::Job(_)) if self.job_state(job).is_terminal() => {
                self.check_report(job, outcome)
            }
            _ => Err(format!("unexpected {}", shown(outcome))),
        }
    }

    /// The agents have the id of a job that a call started.
    fn note_known(&mut self, outcome: &Outcome) {
        let outcome = first_answer(outcome).unwrap_or_else(|| outcome.clone());
        if let Ok(Answer::JobAccepted { job, .. }) = outcome
            && let Some(job) = self.job_named(&job.to_string())
            && let Some(job) = self.jobs.get_mut(job)
        {
            job.is_known = true;
        }
    }

    /// A report must say what the model knows: the state, and the code of the error.
    fn check_report(&mut self, job: usize, outcome: &Outcome) -> Checked {
        let Ok(Answer::Job(report)) = outcome else {
            return Err(format!("no report: {}", shown(outcome)));
        };
        let code = match self.jobs.get(job).map(|job| &job.state) {
            Some(JobLife::Ended(_, fault)) => fault.map(|(code, _)| code),
            Some(JobLife::Queued | JobLife::Submitting | JobLife::Running { .. }) | None => None,
        };
        let told = report.error.as_ref().map(|failure| failure.code);
        if report.state == self.job_state(job) && told == code {
            return Ok(());
        }
        let state = self.job_state(job);
        Err(format!("told {:?} {told:?} of a job that is {state:?} {code:?}", report.state))
    }

    /// Answers whose time depends on the lane.
    fn check_unexpected(
        &mut self,
        now: Millis,
        id: u64,
        call: &Call,
        outcome: &Outcome,
    ) -> Checked {
        match (&call.ask, call.state) {
            (Ask::State, _) => self.check_editor_state(outcome),
            (_, CallState::Parked { job, until }) => {
                let is_early = now < until && !self.job_state(job).is_terminal();
                match first_answer(outcome) {
                    _ if is_early => Err(format!("answered early: {}", shown(outcome))),
                    Some(outcome) if call.is_repeat => self.check_told(job, &outcome),
                    None if !call.is_repeat => self.check_told(job, outcome),
                    Some(_) | None => Err(format!("replayed or not: {}", shown(outcome))),
                }
            }
            (Ask::Execute { .. }, CallState::Waiting) if self.cannot_send(id).is_some() => {
                self.refuse_head(id);
                self.check_expected(id, outcome)
            }
            (_, CallState::Following(first)) if self.cannot_send(first).is_some() => {
                self.refuse_head(first);
                self.check_expected(id, outcome)
            }
            (Ask::Status { .. }, CallState::Waiting) if is_code(outcome, ErrorCode::QueueFull) => {
                let open =
                    self.calls.values().filter(|call| matches!(call.ask, Ask::Status { .. }));
                if open.count() > self.limits.queue_max {
                    Ok(())
                } else {
                    Err("there is room".into())
                }
            }
            (Ask::Status { job, .. }, CallState::Waiting) => match self.job_named(job) {
                None if is_code(outcome, ErrorCode::JobNotFound) => Ok(()),
                None => Err(format!("the job is not kept, but: {}", shown(outcome))),
                Some(job) => self.check_report(job, outcome),
            },
            (
                Ask::Execute { .. } | Ask::Job { .. } | Ask::Status { .. } | Ask::Cancel { .. },
                _,
            ) => Err(format!("unexpected {}", shown(outcome))),
        }
    }

    /// The first in line cannot be sent, so it and those that repeat it are refused.
    fn refuse_head(&mut self, id: u64) {
        if let Some(code) = self.cannot_send(id) {
            self.queue.pop_front();
            self.fails(id, code, Guarantee::NotExecuted);
        }
    }

    fn check_expected(&mut self, id: u64, outcome: &Outcome) -> Checked {
        let expected = self.expected.iter().position(|(call, _)| *call == id);
        match expected.map(|index| self.expected.remove(index)) {
            Some((_, expect)) => self.compare(&expect, outcome),
            None => Err(format!("unexpected {}", shown(outcome))),
        }
    }

    fn check_editor_state(&self, outcome: &Outcome) -> Checked {
        let Ok(Answer::EditorState(report)) = outcome else {
            return Err(format!("get_editor_state always has an answer, but: {}", shown(outcome)));
        };
        let seq = self.session.map(|_| self.seq);
        let right = report.connected == self.session.is_some()
            && report.editor_state == self.editor_state()
            && report.last_editor_status_seq == seq
            && report.waiting_reason == self.reason()
            && report.last_compile.is_none_or(|compile| errors_of(compile) == self.failed_compile)
            && report.queue_length == self.queue.len()
            && report.running.is_some() != matches!(self.lane, Lane::Free);
        if right || self.stopped {
            Ok(())
        } else {
            Err(format!("not true: {report:?}; queue {:?} lane {:?}", self.queue, self.lane))
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fails(code, guarantee) => write!(f, "{code} ({})", guarantee.text()),
            Self::Result(tool, given) => write!(f, "the result of {tool}: {}", brief(given)),
            Self::Told(job) => write!(f, "what is known of job {}", job + 1),
            Self::Replayed(expect) => write!(f, "again {expect}"),
            Self::Accepted(job) => write!(f, "that job {} is queued", job + 1),
            Self::Job(job) => write!(f, "a report of job {}", job + 1),
            Self::Cancel(job, status) => write!(f, "{status:?} for job {}", job + 1),
        }
    }
}

/// What an agent gets, for a person.
fn shown(outcome: &Outcome) -> String {
    match outcome {
        Ok(answer) => {
            let clock = |at: Timestamp| format!("{:?}", at.since_start());
            brief(&rendering::answer(answer.clone(), &clock))
        }
        Err(failure) => format!("{} ({})", failure.code, failure.guarantee.text()),
    }
}

fn brief(json: &Json) -> String {
    printable(&json.to_string(), 300)
}

fn is_code(outcome: &Outcome, expected: ErrorCode) -> bool {
    matches!(outcome, Err(Failure { code, guarantee: Guarantee::NotExecuted, .. }) if *code == expected)
}

/// The errors of a compile that failed.
fn errors_of(compile: Option<CompileReport>) -> Option<u64> {
    let compile = compile.filter(|compile| compile.outcome == CompileOutcome::Failed)?;
    Some(compile.errors)
}

/// What a replayed answer repeats. `None` if it is not replayed.
fn first_answer(outcome: &Outcome) -> Option<Outcome> {
    match outcome {
        Ok(Answer::Replayed(answer)) => Some(Ok((**answer).clone())),
        Err(failure) if failure.replayed => {
            let mut first = failure.clone();
            first.replayed = false;
            Some(Err(first))
        }
        Ok(_) | Err(_) => None,
    }
}

/// Whether an agent was told of every entry that Unity gave: the newest first, and as many as there are.
fn is_whole(given: &Json, told: &Json) -> bool {
    let entries = |console: &Json| -> Vec<Json> {
        console.get("entries").and_then(Json::as_array).cloned().unwrap_or_default()
    };
    let counted = |console: &Json| -> u64 {
        let number = |of: &Json, name: &str| of.get(name).and_then(Json::as_u64);
        let listed =
            entries(console).iter().map(|entry| number(entry, "count").unwrap_or(1)).sum::<u64>();
        listed + number(console, "more").unwrap_or_default()
    };
    let (given_entries, told_entries) = (entries(given), entries(told));
    let message = |entry: Option<&Json>| entry.and_then(|entry| entry.get("message")).cloned();
    counted(given) == counted(told)
        && message(given_entries.last()) == message(told_entries.first())
}
