//! Answers and failures as the JSON that agents read.

use std::time::Duration;

use protocol::{EditorState, JobState, Json, Progress, json};

use crate::event::{
    Answer, CallState, CancelAnswer, CancelView, CompileReport, EditorReport, JobReport,
    ProgressReport, Reason, RefusedReport, ServerState,
};
use crate::failure::Failure;
use crate::time::Timestamp;

/// A moment as text (RFC 3339): the core has no clock.
pub type Clock<'a> = &'a dyn Fn(Timestamp) -> String;

pub fn answer(given: Answer, clock: Clock<'_>) -> Json {
    match given {
        Answer::EditorState(report) => editor_report(&report, clock),
        Answer::Unity(told) => told,
        Answer::JobAccepted { job, state, times } => json!({
            "state": state,
            "job_id": job.to_string(),
            "submitted_at": clock(times.submitted),
        }),
        Answer::Job(report) => job_report(*report, clock),
        Answer::Cancel { job, status } => {
            json!({ "status": cancel_answer(status), "job_id": job.to_string() })
        }
        Answer::Replayed(replayed) => with(answer(*replayed, clock), "replayed", json!(true)),
    }
}

fn editor_report(report: &EditorReport, clock: Clock<'_>) -> Json {
    let running = report.running.as_ref().map(|running| {
        json!({
            "request_id": running.request_id.0,
            "tool_name": running.tool_name,
            "elapsed_ms": millis(running.elapsed),
            "overdue": running.overdue,
        })
    });
    let shown = json!({
        "server_state": server_state(report.server_state),
        "editor_state": editor_state(report.editor_state),
        "connected": report.connected,
        "last_editor_status_seq": report.last_editor_status_seq,
        "waiting_reason": report.waiting_reason.map(Reason::text),
        "queue_length": report.queue_length,
        "running": running,
        "plugin_version": report.plugin_version,
        "server_version": report.server_version,
        "project": report.project.as_ref().map(|project| json!({
            "path": project.path,
            "name": project.name,
            "unity_version": project.unity_version,
        })),
        "jobs": report.jobs.iter().map(|job| json!({
            "job_id": job.job.to_string(),
            "tool_name": job.tool_name,
            "state": job.state,
            "submitted_at": clock(job.submitted),
            "age_ms": millis(job.age),
        })).collect::<Json>(),
    });
    let shown = match &report.last_compile {
        None => shown,
        Some(compile) => with(shown, "last_compile", json!(compile.as_ref().map(last_compile))),
    };
    match &report.refused {
        None => shown,
        Some(RefusedReport { reason, project_path, ago }) => {
            let refused = json!({
                "reason": reason, "project_path": project_path, "ms_ago": millis(*ago),
            });
            with(shown, "refused", refused)
        }
    }
}

fn last_compile(compile: &CompileReport) -> Json {
    json!({
        "outcome": compile.outcome,
        "errors": compile.errors,
        "ended_ms_ago": millis(compile.ended_ago),
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub fn job_report(report: JobReport, clock: Clock<'_>) -> Json {
    let (cancel, cancel_error) = match &report.cancel {
        None => (None, None),
        Some(CancelView::Requested) => (Some("requested"), None),
        Some(CancelView::Rejected(error)) => (Some("rejected"), Some(failure(error))),
    };
    let mut shown = json!({ "state": report.state, "job_id": report.job.to_string() });
    // The verdict first, and nothing that is empty.
    for (name, value) in [
        ("error", report.error.as_ref().map(failure)),
        ("cancel", cancel.map(Json::from)),
        ("cancel_error", cancel_error),
        ("progress", report.progress.map(|progress| json!(progress))),
        ("submitted_at", Some(json!(clock(report.times.submitted)))),
        ("result", report.result),
    ] {
        if let Some(value) = value {
            shown = with(shown, name, value);
        }
    }
    shown
}

/// `object` with one more field.
pub fn with(mut object: Json, name: &str, value: Json) -> Json {
    if let Json::Object(fields) = &mut object {
        fields.insert(name.to_owned(), value);
    }
    object
}

/// The error object: the same shape everywhere.
pub fn failure(failure: &Failure) -> Json {
    let mut details = json!({
        "execution_guarantee": failure.guarantee.text(),
        "recovery_action": failure.recovery.text(),
    });
    if let Some(waiting) = failure.waiting {
        details = with(details, "waiting_reason", json!(waiting));
    }
    if let Some(overdue) = &failure.overdue {
        details = with(details, "overdue_request_id", json!(overdue.0));
    }
    if failure.replayed {
        details = with(details, "replayed", json!(true));
    }
    if let Some(unity) = &failure.unity {
        details = with(details, "unity", json!(unity));
    }
    json!({
        "code": failure.code.text(),
        "message": failure.message(),
        "retryable": failure.retryable,
        "details": details,
    })
}

/// The progress of a call in one line.
pub fn progress(report: &ProgressReport) -> String {
    let mut line = match (report.state, report.reason, &report.job) {
        (CallState::WaitingEditorReady, Some(Reason::Disconnected), _) => {
            "waiting for the Unity Editor to connect".to_owned()
        }
        (CallState::WaitingEditorReady, Some(Reason::Unresponsive), _) => {
            "waiting for Unity to finish another request".to_owned()
        }
        (CallState::WaitingEditorReady, Some(why @ (Reason::Compiling | Reason::Reloading)), _) => {
            format!("waiting: Unity is {}", why.text())
        }
        (CallState::WaitingEditorReady, None, _) => "waiting for Unity".to_owned(),
        (CallState::Queued, _, _) => "queued".to_owned(),
        (CallState::Running, _, None) => "running in Unity".to_owned(),
        (CallState::Running, _, Some((state, progress))) => job_line(*state, progress.as_ref()),
    };
    if let Some(position @ 1..) = report.position {
        line.push_str(&format!(", {position} before it"));
    }
    format!("{line}, {} so far", seconds(report.elapsed))
}

/// The progress of a job that has not ended.
pub fn job_line(state: JobState, progress: Option<&Progress>) -> String {
    match (state, progress) {
        (JobState::Queued, _) => "the job is queued".to_owned(),
        (_, None) => "the job runs in Unity".to_owned(),
        (_, Some(Progress { done, total, current })) => {
            let current = current.as_deref().map(|name| protocol::printable(name, 200));
            let current = current.map(|name| format!(", now {name}")).unwrap_or_default();
            format!("{done} of {total} done{current}")
        }
    }
}

fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} s", time.as_secs())
    }
}

pub fn server_state(state: ServerState) -> &'static str {
    match state {
        ServerState::Booting => "booting",
        ServerState::WaitingEditor => "waiting_editor",
        ServerState::Ready => "ready",
        ServerState::Stopping => "stopping",
        ServerState::Stopped => "stopped",
    }
}

pub fn editor_state(state: Option<EditorState>) -> &'static str {
    match state {
        None => "unknown",
        Some(EditorState::Ready) => "ready",
        Some(EditorState::Compiling) => "compiling",
        Some(EditorState::Reloading) => "reloading",
    }
}

pub fn job_state(state: JobState) -> &'static str {
    match state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Succeeded => "succeeded",
        JobState::Failed => "failed",
        JobState::Timeout => "timeout",
        JobState::Cancelled => "cancelled",
    }
}

fn cancel_answer(answer: CancelAnswer) -> &'static str {
    match answer {
        CancelAnswer::Cancelled => "cancelled",
        CancelAnswer::CancelRequested => "cancel_requested",
        CancelAnswer::Rejected => "rejected",
    }
}
