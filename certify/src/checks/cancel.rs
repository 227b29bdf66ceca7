//! `cancel`, and questions about jobs that do not exist.

use protocol::{CancelStatus, FromUnity, JobState, RequestId, UnityJobId};
use serde_json::json;

use crate::check::{Check, Needs, Outcome, Topic, failed};
use crate::checks::run_tests::{follow, name, submit};
use crate::run::{ANSWER_WAIT, Run, expect_error, show};

const UNKNOWN_JOB: &str = "certify-unknown-job";
const UNKNOWN_REQUEST: &str = "req-certify-unknown";
const NOT_FOUND: &str = "ERR_JOB_NOT_FOUND";

pub(crate) const TOPIC: Topic = Topic {
    title: "jobs and cancel",
    checks: &[
        Check {
            name: "A cancel ends a running job by its job id",
            needs: Needs::Nothing,
            run: |run| Box::pin(by_job(run)),
        },
        Check {
            name: "A cancel ends a running job by the request that submitted it",
            needs: Needs::Nothing,
            run: |run| Box::pin(by_request(run)),
        },
        Check {
            name: "A cancel of an unknown job is answered with ERR_JOB_NOT_FOUND",
            needs: Needs::Nothing,
            run: |run| Box::pin(unknown_job(run)),
        },
        Check {
            name: "A cancel of an unknown request is answered with ERR_JOB_NOT_FOUND",
            needs: Needs::Nothing,
            run: |run| Box::pin(unknown_request(run)),
        },
        Check {
            name: "A question about an unknown job is answered with ERR_JOB_NOT_FOUND",
            needs: Needs::Nothing,
            run: |run| Box::pin(unknown_status(run)),
        },
    ],
};

async fn by_job(run: &mut Run) -> Outcome {
    let (_, job) = submit(run, json!({ "mode": "edit" })).await?;
    let id = run.plugin.send_cancel(Some(job.clone()), None)?;
    judge(run, &id, &job).await
}

async fn by_request(run: &mut Run) -> Outcome {
    let (submission, job) = submit(run, json!({ "mode": "edit" })).await?;
    let id = run.plugin.send_cancel(None, Some(submission))?;
    judge(run, &id, &job).await
}

async fn judge(run: &mut Run, cancel: &RequestId, job: &UnityJobId) -> Outcome {
    let status = match run.plugin.answer(cancel, ANSWER_WAIT).await? {
        FromUnity::CancelResult(answer) => answer.status,
        FromUnity::Error(error) => {
            return failed(format!("The cancel was answered with {}.", show(&error.error)));
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(_)
        | FromUnity::SubmitJobResult(_)
        | FromUnity::JobStatus(_) => return failed("The cancel was not answered."),
    };
    // A job that goes on would disturb the checks that follow.
    let ended = follow(run, job).await?.state();
    match (status, ended) {
        (CancelStatus::Rejected, _) => {
            Ok(format!("The plugin rejected it, and the job ended as {}.", name(ended)))
        }
        (CancelStatus::Cancelled | CancelStatus::CancelRequested, JobState::Cancelled) => {
            Ok("The job ended as cancelled.".to_owned())
        }
        (CancelStatus::Cancelled | CancelStatus::CancelRequested, _) => {
            let ended = name(ended);
            failed(format!("The plugin accepted the cancel, and the job ended as {ended}."))
        }
    }
}

async fn unknown_job(run: &mut Run) -> Outcome {
    let id = run.plugin.send_cancel(Some(UNKNOWN_JOB.into()), None)?;
    let answer = run.plugin.answer(&id, ANSWER_WAIT).await?;
    expect_error("It", answer, NOT_FOUND)
}

async fn unknown_request(run: &mut Run) -> Outcome {
    let id = run.plugin.send_cancel(None, Some(UNKNOWN_REQUEST.into()))?;
    let answer = run.plugin.answer(&id, ANSWER_WAIT).await?;
    expect_error("It", answer, NOT_FOUND)
}

async fn unknown_status(run: &mut Run) -> Outcome {
    let id = run.plugin.send_status(&UNKNOWN_JOB.into())?;
    let answer = run.plugin.answer(&id, ANSWER_WAIT).await?;
    expect_error("It", answer, NOT_FOUND)
}
