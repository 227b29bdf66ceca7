//! What the page shows of calls and their answers.

use coordination::{Answer, Failure, Outcome, Request, ValidCall, rendering};
use page::CallOutcome;
use protocol::{Json, RequestId};

use super::record::{AgentLane, Answered, Millis};
use crate::clock::WallClock;

/// What the agent asked for.
pub(super) fn arguments(request: &ValidCall) -> String {
    match request.request() {
        Request::Execute { asked, .. } | Request::RunJob { asked, .. } => asked.to_string(),
        Request::JobStatus { job_id, .. } | Request::CancelJob { job_id } => {
            Json::from_iter([("job_id", job_id.as_str())]).to_string()
        }
        Request::EditorState => "{}".to_owned(),
    }
}

pub(super) fn result(outcome: &Outcome, clock: WallClock) -> String {
    match outcome {
        Ok(answer) => rendering::answer(answer.clone(), &|at| clock.text(at)).to_string(),
        Err(failure) => rendering::failure(failure).to_string(),
    }
}

pub(super) fn answered(
    call: RequestId,
    agent: AgentLane,
    served: Option<Millis>,
    outcome: &Outcome,
) -> Answered {
    let of_failure = |failure: &Failure| (failure.code.text(), failure.guarantee);
    let (job, replayed) = match outcome {
        Ok(Answer::JobAccepted { job, .. } | Answer::Cancel { job, .. }) => (Some(*job), false),
        Ok(Answer::Job(report)) => (Some(report.job), false),
        Ok(Answer::Replayed(answer)) => (answer.accepted_job().map(|(job, ..)| job), true),
        Ok(Answer::EditorState(_) | Answer::Unity(_)) => (None, false),
        Err(failure) => (None, failure.replayed),
    };
    let failure = outcome.as_ref().err().map(of_failure);
    let outcome = if failure.is_none() { CallOutcome::Ok } else { CallOutcome::Failed };
    Answered { call, agent, served, outcome, failure, job, replayed }
}
