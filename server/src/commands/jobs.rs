//! A call that is followed to the end of its job, in slices that no client gives up on.

use std::cell::RefCell;

use protocol::{Json, Map};
use serde_json::json;

use super::call_error::CallError;
use super::client::Client;
use super::output::ProgressLine;
use crate::budget::COMMAND_WAIT_MS;

/// The job that a command waits for, so that it can be cancelled.
pub(super) type CurrentJob = RefCell<Option<String>>;

/// Calls the tool and waits until its job has ended. `arguments` have a `wait_ms` if the tool knows it.
pub(super) async fn run_to_end(
    client: &Client,
    tool: &str,
    arguments: &Map<String, Json>,
    progress: &mut ProgressLine,
    current: &CurrentJob,
) -> Result<Json, CallError> {
    let mut answer = client.call(tool, arguments, progress).await?;
    while let Some(job) = unfinished(&answer) {
        let ask = Map::from_iter([
            ("job_id".to_owned(), json!(job)),
            ("wait_ms".to_owned(), json!(COMMAND_WAIT_MS)),
        ]);
        current.replace(Some(job.clone()));
        let asked = client.call("get_job_status", &ask, progress).await;
        answer = asked.map_err(|error| CallError::job_lost(&job, &error))?;
    }
    current.replace(None);
    Ok(answer)
}

fn unfinished(answer: &Json) -> Option<String> {
    let state = answer.get("state")?.as_str()?;
    let job = answer.get("job_id")?.as_str()?;
    matches!(state, "queued" | "running").then(|| job.to_owned())
}

/// Somebody pressed Ctrl-C: a job that was followed is no longer wanted. Says what became of it.
pub(super) async fn cancel(client: &Client, current: &CurrentJob) -> String {
    let Some(job) = current.take() else {
        return "cancelled; what Unity had already begun may have run".to_owned();
    };
    let arguments = Map::from_iter([("job_id".to_owned(), json!(job))]);
    match client.call("cancel_job", &arguments, &mut ProgressLine::silent()).await {
        Ok(_) => format!("cancelled: Unity was asked to stop {job}"),
        Err(error) => format!("{job} may still run: {}", error.message()),
    }
}
