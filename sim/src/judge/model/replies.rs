//! Replies to agents, compared with what is true.

use std::fmt;

use coordination::{Answer, ErrorCode, Failure, Guarantee, Outcome, Timestamp, rendering};
use protocol::{JobState, Json, printable};

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
        self.calls.remove(&id);
        self.control.retain(|other| *other != id);
        self.queue.retain(|entry| entry.who != Who::Call(id));
        Ok(())
    }

    fn compare(&mut self, expect: &Expect, outcome: &Outcome) -> Checked {
        let fits = match (expect, outcome) {
            (Expect::Fails(code, guarantee), Err(failure)) => {
                failure.code == *code && failure.guarantee == *guarantee
            }
            (Expect::Console(given), Ok(Answer::Unity(told))) => is_whole(given, told),
            (Expect::Accepted(job), Ok(Answer::JobAccepted { job: id, state, .. })) => {
                id.to_string() == format!("job-{}-{}", self.boot, job + 1)
                    && *state == JobState::Queued
            }
            (Expect::Job(job), Ok(Answer::Job(_))) => return self.check_report(*job, outcome),
            (Expect::Cancel(job, status), Ok(Answer::Cancel { job: id, status: told })) => {
                id.to_string() == format!("job-{}-{}", self.boot, job + 1) && told == status
            }
            (
                Expect::Console(_)
                | Expect::Fails(..)
                | Expect::Accepted(_)
                | Expect::Job(_)
                | Expect::Cancel(..),
                _,
            ) => false,
        };
        if fits { Ok(()) } else { Err(format!("expected {expect}, got {}", shown(outcome))) }
    }

    /// A report must say what the model knows: the state, and the code of the error.
    fn check_report(&mut self, job: usize, outcome: &Outcome) -> Checked {
        let Ok(Answer::Job(report)) = outcome else {
            return Err(format!("no report: {}", shown(outcome)));
        };
        let code = match self.jobs.get(job).map(|job| &job.state) {
            Some(JobLife::Ended(_, code)) => *code,
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
            (_, CallState::Parked { job, until }) => match outcome {
                Ok(Answer::JobAccepted { state, .. })
                    if now >= until && *state == self.job_state(job) =>
                {
                    Ok(())
                }
                Ok(Answer::Job(_)) if self.job_state(job).is_terminal() => {
                    self.check_report(job, outcome)
                }
                _ => Err(format!("unexpected {}", shown(outcome))),
            },
            (Ask::Console, CallState::Waiting) if is_code(outcome, ErrorCode::UnknownCommand) => {
                let head = self.queue.front().map(|entry| entry.who) == Some(Who::Call(id));
                if head && !self.offers("read_console") {
                    Ok(())
                } else {
                    Err("it is offered".into())
                }
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
            (Ask::Console | Ask::Tests { .. } | Ask::Status { .. } | Ask::Cancel { .. }, _) => {
                Err(format!("unexpected {}", shown(outcome)))
            }
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
            Self::Console(given) => write!(f, "the console of Unity: {}", brief(given)),
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
