//! Jobs as MCP tasks (the extension of 2026-07-28).

use std::time::Duration;

use protocol::{JobState, Json};
use rmcp::model::{
    CreateTaskResult, DetailedTask, GetTaskResult, JsonObject, Task, TaskPayload, TaskStatus,
};

use super::tool_results;
use crate::clock::WallClock;
use coordination::{Answer, JobId, JobReport, JobTimes, rendering};

#[derive(Clone)]
pub(crate) struct TaskView {
    pub(crate) clock: WallClock,
    pub(crate) poll_interval: Duration,
}

impl TaskView {
    pub(crate) fn created(
        &self,
        job: JobId,
        state: JobState,
        times: JobTimes,
        is_replayed: bool,
    ) -> CreateTaskResult {
        let mut line = rendering::job_line(state, None);
        if is_replayed {
            line += "; replayed: an earlier call with this client_request_id started it";
        }
        CreateTaskResult::new(self.task(job, times).with_status_message(line))
    }

    pub(crate) fn shown(&self, report: JobReport) -> GetTaskResult {
        let task = self.task(report.job, report.times);
        let (task, payload) = match report.state {
            JobState::Queued | JobState::Running => {
                let line = rendering::job_line(report.state, report.progress.as_ref());
                (task.with_status_message(line), TaskPayload::Working)
            }
            JobState::Cancelled => (task, TaskPayload::Cancelled),
            JobState::Succeeded | JobState::Failed | JobState::Timeout => {
                (task, TaskPayload::Completed { result: self.result_of(report) })
            }
        };
        GetTaskResult::new(DetailedTask::new(task, payload))
    }

    /// It is kept until enough others have ended after it, so no time to live is given.
    fn task(&self, job: JobId, times: JobTimes) -> Task {
        let (issued, changed) = (self.clock.text(times.issued), self.clock.text(times.changed));
        let poll_ms = u64::try_from(self.poll_interval.as_millis()).unwrap_or(u64::MAX);
        Task::new(job.to_string(), TaskStatus::Working, issued, changed)
            .with_poll_interval_ms(poll_ms)
    }

    /// The answer that the call would have got if it had waited. A job without a result is an error.
    fn result_of(&self, report: JobReport) -> JsonObject {
        let result = match &report.error {
            Some(failure) if report.result.is_none() => tool_results::error(failure),
            Some(_) | None => tool_results::of(Ok(Answer::Job(Box::new(report))), self.clock),
        };
        match serde_json::to_value(result) {
            Ok(Json::Object(result)) => result,
            Ok(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_))
            | Err(_) => JsonObject::default(),
        }
    }
}
