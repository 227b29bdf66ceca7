//! Whether agents get what Unity's books hold: the console, the state, the progress and the result of a job.

use std::time::Duration;

use mock_unity::Given;
use protocol::{JobState, JobStatus, Json};

use super::{Came, PromiseChecker, text};
use crate::judge::promises::agents::{Kind, OpenRequest};
use crate::record::log::Wire;

/// Entries that are listed if the agent does not say how many.
const ENTRIES: u64 = 50;
/// Failed tests that are listed at least, if there are so many.
const FAILED_TESTS: usize = 50;
/// A list may end early if it has so many bytes.
const LIST_BYTES: usize = 16 * 1024;
/// The default times of a job, and of its submission.
const FIVE_MINUTES: Duration = Duration::from_secs(300);
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

/// What an agent was told about a job.
pub(super) struct ToldJob {
    at: Duration,
    job: String,
    kind: Kind,
    report: Json,
    /// How long news take to the server that told it.
    settles: Duration,
    /// The server that told it was about to end.
    is_ending: bool,
}

/// What Unity has reported about a job.
#[derive(Clone, Copy)]
pub(super) struct Report<'a> {
    /// When it reached the server.
    at: Duration,
    /// Whether it came in time for sure.
    is_sure: bool,
    status: &'a JobStatus,
}

impl Report<'_> {
    /// The server knew it then.
    fn is_known(&self, told: &ToldJob) -> bool {
        self.is_sure && self.at + told.settles < told.at
    }
}

impl PromiseChecker<'_> {
    /// A call with a result has run. Returns what Unity answered.
    pub(super) fn check_ran(&self, label: &str) -> Result<&Came, String> {
        if !self.ran.iter().any(|ran| ran == label) {
            return Err(format!("{label} was answered, but never ran"));
        }
        let came = self.results.get(label);
        came.ok_or_else(|| format!("{label} got what Unity did not answer for it"))
    }

    /// The agent must get the console that Unity gave for this call.
    pub(super) fn check_console(
        &self,
        request: &OpenRequest,
        label: &str,
        told: &Json,
    ) -> Result<(), String> {
        let came = self.check_ran(label)?;
        // Without an entry in the books Unity was made to say it.
        let in_books = self.given.get(came.request.as_str());
        let given = match in_books {
            Some(Given::Result(given)) => given,
            Some(Given::Job(_)) | None => &came.result,
        };
        let problem = console_problem(given, told, &request.asked);
        problem.map_or(Ok(()), |problem| Err(format!("{label}: {problem}")))
    }

    /// A report that answers a question of the server. The books say what is in it.
    pub(super) fn on_report(&mut self, at: Duration, label: &str, request: &str, is_sure: bool) {
        if let Some(Given::Job(status)) = self.given.get(request) {
            let report = Report { at, is_sure, status };
            self.reports.entry(label.to_owned()).or_default().push(report);
        }
    }

    /// A report that arrives together with the end of a session may be too late.
    pub(super) fn doubt_reports(&mut self, at: Duration) {
        let together = self.reports.values_mut().flatten().filter(|report| report.at == at);
        together.for_each(|report| report.is_sure = false);
    }

    /// It is judged in the end: the call that started the job may be answered later.
    pub(super) fn on_told_job(
        &mut self,
        at: Duration,
        wire: &Wire,
        request: &OpenRequest,
        report: &Json,
    ) {
        let (job, kind) = (text(report, "job_id"), request.kind);
        if !job.is_empty() && report.get("state").is_some() {
            let label = request.label.as_deref().unwrap_or_default();
            let (settles, is_ending) = (self.settles(label), self.servers.are_ending(wire, label));
            let report = report.clone();
            self.told_jobs.push(ToldJob { at, job, kind, report, settles, is_ending });
        }
    }

    pub(super) fn check_told_jobs(&mut self) -> Vec<String> {
        let told = std::mem::take(&mut self.told_jobs);
        let check = |told: &ToldJob| {
            let problem = self.check_told_job(told).err()?;
            Some(format!("at {:?}: {} {problem}", told.at, told.job))
        };
        told.iter().filter_map(check).collect()
    }

    fn check_told_job(&mut self, told: &ToldJob) -> Result<(), String> {
        let Some(label) = self.jobs.get(&told.job).cloned() else { return Ok(()) };
        if let Some(error) = told.report.get("error").filter(|error| !error.is_null()) {
            let since = self.arrived.get(&label).copied().unwrap_or_default();
            if !told.is_ending && !self.editors.has_changed_since(since) {
                self.check_waited(told.at, since, error)?;
            }
        }
        let ends_at = self.ends_at.get(&label).copied().unwrap_or(Duration::MAX);
        let submitted_at = self.submitted_at.get(&label).copied().unwrap_or_default();
        let time = ends_at.saturating_sub(submitted_at);
        let code = told.report.pointer("/error/code").and_then(Json::as_str).unwrap_or_default();
        match (text(&told.report, "state").as_str(), code) {
            ("timeout", _) if time == FIVE_MINUTES => {
                self.coverage.mark("a job had its five minutes");
            }
            ("failed", "ERR_REQUEST_TIMEOUT") if time > HALF_A_MINUTE => {
                self.coverage.mark("a submission had its half minute");
            }
            _ => {}
        }
        if self.rules.is_forged {
            return Ok(());
        }
        let none = Vec::new();
        let reports = self.reports.get(&label).unwrap_or(&none);
        let seen = reports.iter().filter(|report| report.at <= told.at).copied();
        let ended = seen.clone().find(|report| report.status.state.is_terminal());
        let (state, error) = (text(&told.report, "state"), told.report.pointer("/error/code"));
        let is_open = matches!(state.as_str(), "queued" | "running");
        match ended {
            Some(Report { at, .. }) if at >= ends_at && !is_open => Ok(()), // Its time was over.
            Some(end) if !end.is_known(told) => Ok(()),
            Some(Report { at, .. }) if is_open => {
                Err(format!("is {state}, but Unity has reported its end at {at:?}"))
            }
            Some(Report { status, .. }) => end_problem(status, &told.report),
            None if matches!(state.as_str(), "succeeded" | "failed") && error.is_none() => {
                Err(format!("is {state}, but Unity has reported no end"))
            }
            None if is_open && told.kind == Kind::Status => progress_problem(seen, told),
            None => Ok(()),
        }
    }
}

/// What is wrong with what an agent was told of the end of a job.
fn end_problem(given: &JobStatus, told: &Json) -> Result<(), String> {
    let state = text(told, "state");
    let right = word(given.state) == state;
    let total = given.result.as_ref().and_then(|result| result.pointer("/summary/total"));
    let ran_nothing = total.and_then(Json::as_u64).unwrap_or_default() == 0;
    if !right && ran_nothing && state == "failed" && told.get("error").is_some() {
        return Ok(()); // No test was executed, whatever Unity calls it.
    }
    if !right {
        return Err(format!("is {state}, but Unity has reported {}", word(given.state)));
    }
    let told = told.get("result").filter(|result| !result.is_null());
    match (&given.result, told) {
        (Some(given), Some(told)) => tests_problem(given, told),
        (Some(_), None) => Err("has no result, but Unity gave one".to_owned()),
        (None, Some(_)) => Err("has a result that Unity did not give".to_owned()),
        (None, None) => Ok(()),
    }
}

/// The last progress that Unity has reported, or one that came just now.
fn progress_problem<'a>(
    seen: impl Iterator<Item = Report<'a>> + Clone,
    told: &ToldJob,
) -> Result<(), String> {
    let Some(Report { at: last, .. }) = seen.clone().filter(|report| report.is_known(told)).last()
    else {
        return Ok(());
    };
    let shown = told.report.get("progress").filter(|progress| !progress.is_null());
    let fits = |report: Report<'_>| {
        let given = report.status.progress.as_ref();
        let given = given.map(|given| serde_json::to_value(given).unwrap_or_default());
        given.as_ref() == shown
    };
    if seen.filter(|report| report.at >= last).any(fits) {
        return Ok(());
    }
    Err(format!("shows progress {shown:?}, which is not what Unity reported at {last:?}"))
}

/// What is wrong with a console that an agent got: newest first, without gaps, and nothing left out without a reason.
fn console_problem(given: &Json, told: &Json, asked: &Json) -> Option<String> {
    let types = asked.get("types").and_then(Json::as_array);
    let part = text(asked, "contains").to_lowercase();
    let is_asked = |(kind, message): &Said<'_>| {
        types.is_none_or(|types| types.iter().any(|known| known.as_str() == Some(kind)))
            && (part.is_empty() || message.to_lowercase().contains(&part))
    };
    let mut expected = entries(given);
    expected.retain(is_asked);
    expected.reverse();
    let shown = entries(told);
    let same =
        |(given, told): (&Said<'_>, &Said<'_>)| given.0 == told.0 && is_text(given.1, told.1);
    if shown.len() > expected.len() || !expected.iter().zip(&shown).all(same) {
        return Some(format!("got {shown:?}, which Unity did not answer for it: {expected:?}"));
    }
    let rows = told.get("entries").and_then(Json::as_array).map_or(0, Vec::len);
    if told.get("count").is_some_and(|count| count.as_u64() != Some(rows as u64)) {
        return Some("its count is not the number of its entries".to_owned());
    }
    let missing = expected.len() - shown.len();
    let was_whole = given.get("truncated") == Some(&Json::Bool(false));
    if told.get("truncated") != Some(&Json::Bool(missing > 0 || !was_whole)) {
        return Some("truncated says whether something was left out, and is wrong".to_owned());
    }
    let max = asked.get("max_entries").and_then(Json::as_u64).unwrap_or(ENTRIES);
    let is_long = told.get("entries").is_some_and(|all| all.to_string().len() >= LIST_BYTES);
    if missing > 0 && (rows as u64) < max && !is_long {
        return Some(format!("{missing} entries are missing without a reason"));
    }
    None
}

/// Type and message of an entry, or name and message of a test.
type Said<'a> = (&'a str, &'a str);

fn said<'a>(row: &'a Json, name: &str) -> Said<'a> {
    let of = |name: &str| row.get(name).and_then(Json::as_str).unwrap_or_default();
    (of(name), of("message"))
}

/// Each entry as often as it was logged.
fn entries(console: &Json) -> Vec<Said<'_>> {
    let rows = console.get("entries").and_then(Json::as_array).into_iter().flatten();
    let times = |row: &Json| row.get("count").and_then(Json::as_u64).unwrap_or(1);
    rows.flat_map(|row| (0..times(row)).map(|_| said(row, "type"))).collect()
}

/// A long text may be cut, with a mark.
fn is_text(given: &str, told: &str) -> bool {
    let beginning = told.split_once('…').map(|(beginning, _)| beginning);
    given == told || beginning.is_some_and(|part| !part.is_empty() && given.starts_with(part))
}

/// What is wrong with the result of a test run.
fn tests_problem(given: &Json, told: &Json) -> Result<(), String> {
    for count in ["total", "passed", "failed", "skipped", "duration_ms"] {
        let of = |result: &Json| result.pointer(&format!("/summary/{count}")).cloned();
        if of(given) != of(told) {
            return Err(format!("has {:?} {count}, but Unity gave {:?}", of(told), of(given)));
        }
    }
    let (given, shown) = (tests(given), tests(told));
    let same = |(given, told): (&Said<'_>, &Said<'_>)| {
        is_text(given.0, told.0) && is_text(given.1, told.1)
    };
    let is_long = told.get("failed_tests").is_some_and(|all| all.to_string().len() >= LIST_BYTES);
    let is_enough = shown.len() >= given.len().min(FAILED_TESTS) || is_long;
    if shown.len() > given.len() || !is_enough || !given.iter().zip(&shown).all(same) {
        return Err(format!("lists {shown:?}, but Unity gave {given:?}"));
    }
    Ok(())
}

fn tests(result: &Json) -> Vec<Said<'_>> {
    let all = result.get("failed_tests").and_then(Json::as_array).into_iter().flatten();
    all.map(|test| said(test, "name")).collect()
}

/// The word of a state on the wires.
fn word(state: JobState) -> &'static str {
    match state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Succeeded => "succeeded",
        JobState::Failed => "failed",
        JobState::Timeout => "timeout",
        JobState::Cancelled => "cancelled",
    }
}
