//! The frames to and from the plugin, without their arguments and results.

use std::borrow::Cow;

use coordination::{Core, rendering};
use protocol::{
    ErrorMessage, ExecuteOutcome, FromUnity, JobStatus, PluginHello, RequestId, ToUnity,
    UnityJobId, printable,
};

use super::record::Frame;
use crate::budget::PAGE_TEXT_MAX;

/// `None` for a heartbeat, which says nothing.
pub(super) fn to_unity(frame: &ToUnity) -> Option<Frame> {
    let (what, request_id, text) = match frame {
        ToUnity::Execute(frame) => ("execute", Some(&frame.request_id), name(&frame.tool_name)),
        ToUnity::SubmitJob(frame) => {
            ("submit_job", Some(&frame.request_id), name(&frame.tool_name))
        }
        ToUnity::GetJobStatus(frame) => {
            ("get_job_status", Some(&frame.request_id), unity_job(&frame.job_id))
        }
        ToUnity::Cancel(frame) => {
            let of_job = frame.target_job_id.as_ref().map(unity_job);
            ("cancel", Some(&frame.request_id), of_job.unwrap_or_default())
        }
        ToUnity::Hello(frame) => ("hello", None, format!("server={}", frame.server_version).into()),
        ToUnity::Capability(frame) => {
            ("capability", None, format!("{} tools", frame.tools.len()).into())
        }
        ToUnity::Error(frame) => ("error", frame.request_id.as_ref(), code(frame)),
        ToUnity::Ping(_) => return None,
    };
    let serves = matches!(frame, ToUnity::Execute(_) | ToUnity::SubmitJob(_));
    let is_error = matches!(frame, ToUnity::Error(_));
    let request_id = request_id.cloned();
    Some(Frame { to_unity: true, what, request_id, text, call: None, serves, is_error })
}

/// `None` for a heartbeat.
pub(super) fn from_unity(frame: &FromUnity) -> Option<Frame> {
    let mut is_error = matches!(frame, FromUnity::Error(_));
    let (what, request_id, text) = match frame {
        FromUnity::Result(frame) => {
            let text = match &frame.outcome {
                ExecuteOutcome::Ok(_) => Cow::Borrowed("ok"),
                ExecuteOutcome::Error(error) => {
                    is_error = true;
                    name(&error.code)
                }
            };
            ("result", Some(&frame.request_id), text)
        }
        FromUnity::SubmitJobResult(frame) => {
            ("submit_job_result", Some(&frame.request_id), unity_job(&frame.job_id))
        }
        FromUnity::JobStatus(frame) => ("job_status", Some(&frame.request_id), of_job(frame)),
        FromUnity::CancelResult(frame) => {
            let status = match frame.status {
                protocol::CancelStatus::Cancelled => "cancelled",
                protocol::CancelStatus::CancelRequested => "cancel_requested",
                protocol::CancelStatus::Rejected => "rejected",
            };
            ("cancel_result", Some(&frame.request_id), status.into())
        }
        FromUnity::Error(frame) => ("error", frame.request_id.as_ref(), code(frame)),
        FromUnity::EditorStatus(frame) => {
            let state = rendering::editor_state(Some(frame.state));
            ("editor_status", None, format!("{state} seq={}", frame.seq).into())
        }
        FromUnity::Hello(frame) => ("hello", None, of_hello(frame)),
        FromUnity::Capability(frame) => {
            ("capability", None, format!("{} tools", frame.tools.len()).into())
        }
        FromUnity::Pong(_) => return None,
    };
    let request_id = request_id.cloned();
    Some(Frame { to_unity: false, what, request_id, text, call: None, serves: false, is_error })
}

/// A close of the plugin's socket.
pub(super) fn close(to_unity: bool, code: u16, reason: &str) -> Frame {
    let text = format!("{code} {reason}").trim_end().to_owned().into();
    let (call, request_id) = (None, None);
    Frame { to_unity, what: "close", request_id, text, call, serves: false, is_error: true }
}

/// The call that a request belongs to: of a question about a job, the call that started the job.
pub(super) fn call_of(
    request_id: &RequestId,
    core: &impl Core,
    started: impl Fn(coordination::JobId) -> Option<RequestId>,
) -> RequestId {
    let job = core.names(request_id).and_then(|names| names.job);
    job.and_then(started).unwrap_or_else(|| request_id.clone())
}

fn of_job(frame: &JobStatus) -> Cow<'static, str> {
    let state = rendering::job_state(frame.state);
    match &frame.progress {
        None => state.into(),
        Some(progress) => format!("{state} {} of {}", progress.done, progress.total).into(),
    }
}

fn of_hello(hello: &PluginHello) -> Cow<'static, str> {
    let state = rendering::editor_state(Some(hello.state));
    let project = hello.project_name.as_deref();
    let project = project.map(|project| format!(" project={}", name(project))).unwrap_or_default();
    format!("{state} plugin={}{project}", name(&hello.plugin_version)).into()
}

fn code(frame: &ErrorMessage) -> Cow<'static, str> {
    name(&frame.error.code)
}

fn unity_job(id: &UnityJobId) -> Cow<'static, str> {
    name(&id.0)
}

/// A name that a peer chose.
pub(super) fn name(text: &str) -> Cow<'static, str> {
    printable(text, PAGE_TEXT_MAX).into()
}
