//! `run_tests`: a job from its submission to its result.

use std::time::{Duration, Instant};

use coordination::{Route, Tool};
use protocol::{FromUnity, JobState, JobStatus, Json, RequestId, UnityJobId};
use serde_json::json;

use crate::check::{Check, Needs, Outcome, Stop, Topic, failed, not_tried};
use crate::run::{ANSWER_WAIT, Run, show};

const POLL: Duration = Duration::from_millis(100);
/// No test has this in its name.
const NO_TEST: &str = "certify-no-test-has-this-name";

pub(crate) const TOPIC: Topic = Topic {
    title: "run_tests",
    checks: &[
        Check {
            name: "run_tests is accepted and ends with a result",
            needs: Needs::Nothing,
            run: |run| Box::pin(result(run)),
        },
        Check {
            name: "run_tests reports progress that only grows",
            needs: Needs::Nothing,
            run: |run| Box::pin(progress(run)),
        },
        Check {
            name: "run_tests ends in a state that agrees with its summary",
            needs: Needs::Nothing,
            run: |run| Box::pin(state(run)),
        },
        Check {
            name: "run_tests does not succeed if no test matches the filter",
            needs: Needs::Nothing,
            run: |run| Box::pin(no_match(run)),
        },
    ],
};

/// A test run that has ended, as its reports show it.
pub(crate) struct TestRun {
    reports: Vec<JobStatus>,
    last: JobStatus,
    /// The part of the record that shows it.
    frames: std::ops::Range<usize>,
}

async fn result(run: &mut Run) -> Outcome {
    let ended = observed(run).await?;
    let (state, reports) = (ended.last.state, ended.reports.len());
    let problem = match &ended.last {
        JobStatus {
            state: JobState::Succeeded | JobState::Failed, result: Some(result), ..
        } => shape_problem(result),
        JobStatus { state: JobState::Failed, result: None, error: Some(error), .. } => {
            return not_tried(format!("The test run could not take place: {}.", show(error)));
        }
        JobStatus { .. } => Some("it is missing".to_owned()),
    };
    match problem {
        None => Ok(format!("It ended as {} after {reports} reports.", name(state))),
        Some(problem) => failed(format!("It ended as {}, but result: {problem}.", name(state))),
    }
}

fn shape_problem(result: &Json) -> Option<String> {
    match Tool::named("run_tests").map(|tool| &tool.route) {
        Some(Route::SubmitJob(answer)) => answer.given.check(result).err(),
        Some(Route::EditorState | Route::Execute(_) | Route::JobStatus | Route::CancelJob)
        | None => None,
    }
}

async fn progress(run: &mut Run) -> Outcome {
    let ended = observed(run).await?;
    let reported = ended.reports.iter().filter_map(|report| report.progress.as_ref());
    let reported: Vec<_> = reported.map(|progress| (progress.done, progress.total)).collect();
    if let Some((done, total)) = reported.iter().find(|(done, total)| done > total) {
        return failed(format!("{done} of {total} tests are done."));
    }
    if !reported.is_sorted_by_key(|(done, _)| *done) {
        return failed("The number of tests that are done went back.");
    }
    match reported.last() {
        Some((done, total)) => Ok(format!("The last report had {done} of {total} tests.")),
        None => not_tried("No report had progress. Agents then see no progress either."),
    }
}

async fn state(run: &mut Run) -> Outcome {
    if !run.has_driver() {
        let ended = observed(run).await?;
        return agrees(&ended.last);
    }
    run.type_and_wait("tests fail 1").await;
    let with_failure = submit_and_follow(run, json!({ "mode": "edit" })).await?;
    agrees(&with_failure.last)?;
    run.type_and_wait("tests pass").await;
    let without = submit_and_follow(run, json!({ "mode": "edit" })).await?;
    agrees(&without.last)?;
    let (one, other) = (name(with_failure.last.state), name(without.last.state));
    if (with_failure.last.state, without.last.state) != (JobState::Failed, JobState::Succeeded) {
        return failed(format!("With a failing test it was {one}, without it {other}."));
    }
    Ok(format!("With a failing test it was {one}, without it {other}."))
}

fn agrees(last: &JobStatus) -> Outcome {
    let Some(summary) = last.result.as_ref().and_then(|result| result.get("summary")) else {
        return match (&last.error, last.state) {
            (Some(error), _) => not_tried(format!("There is no summary: {}.", show(error))),
            (None, state) => failed(format!("It ended as {} without a summary.", name(state))),
        };
    };
    let count = |name: &str| summary.get(name).and_then(Json::as_u64).unwrap_or_default();
    let expected = match (count("passed"), count("failed")) {
        (0, 0) | (_, 1..) => JobState::Failed,
        (1.., 0) => JobState::Succeeded,
    };
    let (passed, broken, state) = (count("passed"), count("failed"), name(last.state));
    let what = format!("{passed} tests passed, {broken} failed, and the state is {state}");
    if last.state == expected { Ok(format!("{what}.")) } else { failed(format!("{what}.")) }
}

async fn no_match(run: &mut Run) -> Outcome {
    run.needs_tool("run_tests")?;
    let id = run.plugin.send_submit("run_tests", json!({ "mode": "edit", "filter": NO_TEST }))?;
    let job = match run.plugin.answer(&id, ANSWER_WAIT).await? {
        FromUnity::SubmitJobResult(accepted) => accepted.job_id,
        FromUnity::Error(error) => {
            return Ok(format!("It was rejected with {}.", show(&error.error)));
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(_)
        | FromUnity::JobStatus(_)
        | FromUnity::CancelResult(_) => return failed("submit_job was not accepted."),
    };
    let last = follow(run, &job).await?.last;
    if last.state == JobState::Succeeded {
        return failed("It succeeded without a test. A green run of nothing hides mistakes.");
    }
    Ok(format!("It ended as {}.", name(last.state)))
}

/// The first test run of this session. The checks before this one may have made it.
async fn observed(run: &mut Run) -> Result<&TestRun, Stop> {
    if run.test_run.is_none() {
        run.test_run = Some(submit_and_follow(run, json!({ "mode": "edit" })).await?);
    }
    let Some(ended) = run.test_run.as_ref() else { return failed("There was no test run.") };
    run.evidence = Some(ended.frames.clone());
    Ok(ended)
}

async fn submit_and_follow(run: &mut Run, params: Json) -> Result<TestRun, Stop> {
    let mark = run.plugin.mark();
    let (_, job) = submit(run, params).await?;
    let mut ended = follow(run, &job).await?;
    ended.frames = mark..run.plugin.mark();
    Ok(ended)
}

/// Submits a test run that must be accepted.
pub(super) async fn submit(run: &mut Run, params: Json) -> Result<(RequestId, UnityJobId), Stop> {
    run.needs_tool("run_tests")?;
    let id = run.plugin.send_submit("run_tests", params)?;
    match run.plugin.answer(&id, ANSWER_WAIT).await? {
        FromUnity::SubmitJobResult(accepted) => Ok((id, accepted.job_id)),
        FromUnity::Error(error) => {
            failed(format!("run_tests was rejected with {}.", show(&error.error)))
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(_)
        | FromUnity::JobStatus(_)
        | FromUnity::CancelResult(_) => failed("submit_job was not accepted."),
    }
}

/// Asks about a job until it has ended.
pub(super) async fn follow(run: &mut Run, job: &UnityJobId) -> Result<TestRun, Stop> {
    let mark = run.plugin.mark();
    let until = Instant::now() + run.wait;
    let mut reports = Vec::new();
    loop {
        let report = report_of(run, job).await?;
        reports.push(report.clone());
        if report.state.is_terminal() {
            return Ok(TestRun { reports, last: report, frames: mark..run.plugin.mark() });
        }
        if Instant::now() > until {
            let seconds = run.wait.as_secs();
            return not_tried(format!("The test run took more than {seconds} s. Use --wait."));
        }
        run.plugin.pause(POLL).await;
    }
}

/// One report about a job that the plugin must know.
pub(super) async fn report_of(run: &mut Run, job: &UnityJobId) -> Result<JobStatus, Stop> {
    let id = run.plugin.send_status(job)?;
    match run.plugin.answer(&id, ANSWER_WAIT).await? {
        FromUnity::JobStatus(report) if report.job_id == *job => Ok(report),
        FromUnity::JobStatus(report) => {
            let other = protocol::printable(&report.job_id.0, 80);
            failed(format!("Asked about {job}, the plugin reported about {other}."))
        }
        FromUnity::Error(error) => {
            failed(format!("Asked about a job, the plugin answered {}.", show(&error.error)))
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(_)
        | FromUnity::SubmitJobResult(_)
        | FromUnity::CancelResult(_) => failed("get_job_status was not answered."),
    }
}

impl TestRun {
    pub(super) fn state(&self) -> JobState {
        self.last.state
    }
}

pub(super) fn name(state: JobState) -> &'static str {
    match state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Succeeded => "succeeded",
        JobState::Failed => "failed",
        JobState::Timeout => "timeout",
        JobState::Cancelled => "cancelled",
    }
}
