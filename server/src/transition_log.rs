//! One line of log per transition, with the ids that tie lines together. `info` is what a user would
//! notice, `warn` what is unusual but handled, `debug` every transition, `trace` every frame.
//!
//! Text of peers is logged as it is: the logger escapes every line.

use protocol::{FromUnity, ToUnity};
use tracing::{debug, info, trace, warn};

use crate::event_loop::CallLabel;
use coordination::{Answer, ConnectionId, Effect, Event, Failure, Note, Outcome, ProgressReport};

pub(crate) fn event(event: &Event) {
    match event {
        Event::PortBound => debug!("port bound"),
        Event::PortHeld { port, holder } => {
            warn!(port, holder, "another program holds the port: Unity cannot connect");
        }
        Event::CallReceived { call, request, wants_progress } => debug!(
            call = call.0,
            tool = request.tool().name,
            client_request_id = request.client_request_id(),
            wants_progress,
            "call received"
        ),
        Event::CallCancelled { call } => debug!(call = call.0, "call cancelled by its agent"),
        Event::CallBroke { call } => debug!(call = call.0, "the adapter of a call failed"),
        Event::UnityOpened { on } => debug!(session = on.0, "unity socket opened"),
        Event::UnityFrame { on, frame } => unity_frame(*on, frame.as_ref().ok()),
        Event::UnityNotSent { on, .. } => {
            debug!(session = on.0, "a frame could not be sent to unity")
        }
        Event::UnityClosed { on, by } => debug!(session = on.0, ?by, "unity socket closed"),
        Event::StopRequested => info!("stopping"),
        Event::Recovered { callers } => {
            debug!(calls = callers.len(), "looking for calls that a failure left behind");
        }
        Event::DeadlineReached => trace!("deadline reached"),
    }
}

/// For a frame that could not be decoded there is a note of the core.
fn unity_frame(on: ConnectionId, frame: Option<&FromUnity>) {
    let session = on.0;
    match frame {
        Some(FromUnity::Result(frame)) => {
            debug!(session, request_id = %frame.request_id, "unity sent result");
        }
        Some(FromUnity::SubmitJobResult(frame)) => {
            debug!(session, request_id = %frame.request_id, "unity sent submit_job_result");
        }
        Some(FromUnity::JobStatus(frame)) => {
            debug!(session, request_id = %frame.request_id, "unity sent job_status");
        }
        Some(FromUnity::CancelResult(frame)) => {
            debug!(session, request_id = %frame.request_id, "unity sent cancel_result");
        }
        Some(FromUnity::EditorStatus(frame)) => {
            info!(session, state = ?frame.state, seq = frame.seq, "editor status");
        }
        Some(FromUnity::Pong(_)) => trace!(session, "unity sent pong"),
        Some(FromUnity::Hello(_)) => debug!(session, "unity sent hello"),
        Some(FromUnity::Capability(_)) => debug!(session, "unity sent capability"),
        Some(FromUnity::Error(_)) => debug!(session, "unity sent error"),
        None => {}
    }
}

pub(crate) fn effect(effect: &Effect, caller: Option<&CallLabel>) {
    match effect {
        Effect::Reply { call, request_id, outcome } => {
            let tool = caller.map(|caller| caller.tool);
            let client_request_id = caller.and_then(|caller| caller.client_request_id.as_deref());
            let call = call.0;
            let (job_id, failure) = of_outcome(outcome);
            match failure {
                None => info!(call, %request_id, client_request_id, job_id, tool, "call succeeded"),
                Some(failure) => info!(
                    call, %request_id, client_request_id, job_id, tool,
                    code = failure.code.text(),
                    guarantee = failure.guarantee.text(),
                    "call failed"
                ),
            }
        }
        Effect::Progress { call, report: ProgressReport { state, reason, .. } } => {
            trace!(call = call.0, ?state, ?reason, "call progress");
        }
        Effect::Send { on, frame } => to_unity(*on, frame),
        Effect::Close { on, code, reason } => {
            debug!(session = on.0, code = *code as u16, reason, "closing unity socket");
        }
        Effect::Note(note) => of_note(note),
        Effect::Stopped => info!("stopped"),
    }
}

fn of_outcome(outcome: &Outcome) -> (Option<String>, Option<&Failure>) {
    match outcome {
        Ok(Answer::JobAccepted { job, .. } | Answer::Cancel { job, .. }) => {
            (Some(job.to_string()), None)
        }
        Ok(Answer::Job(report)) => (Some(report.job.to_string()), None),
        Ok(Answer::EditorState(_) | Answer::Unity(_)) => (None, None),
        Err(failure) => (None, Some(failure)),
    }
}

fn to_unity(on: ConnectionId, frame: &ToUnity) {
    let session = on.0;
    match frame {
        ToUnity::Execute(frame) => {
            let client_request_id = frame.client_request_id.as_deref();
            debug!(session, request_id = %frame.request_id, client_request_id, tool = frame.tool_name, "execute sent to unity");
        }
        ToUnity::SubmitJob(frame) => {
            let client_request_id = frame.client_request_id.as_deref();
            debug!(session, request_id = %frame.request_id, client_request_id, tool = frame.tool_name, "submit_job sent to unity");
        }
        ToUnity::GetJobStatus(frame) => {
            debug!(session, request_id = %frame.request_id, "get_job_status sent to unity");
        }
        ToUnity::Cancel(frame) => {
            debug!(session, request_id = %frame.request_id, "cancel sent to unity");
        }
        ToUnity::Error(frame) => {
            debug!(session, code = frame.error.code, "error sent to unity");
        }
        ToUnity::Ping(_) => trace!(session, "ping sent to unity"),
        ToUnity::Hello(_) => debug!(session, "hello sent to unity"),
        ToUnity::Capability(_) => debug!(session, "capability sent to unity"),
    }
}

fn of_note(note: &Note) {
    match note {
        Note::SessionBegan { on, plugin_version } => {
            info!(session = on.0, plugin_version, "unity connected");
        }
        Note::SessionEnded { on, why } => info!(session = on.0, ?why, "unity disconnected"),
        Note::SessionContested { incumbent, newcomer } => {
            warn!(session = incumbent.0, newcomer = newcomer.0, "a second Editor has connected");
        }
        Note::Refused { on, problem } => {
            warn!(session = on.0, problem, "refused a socket of unity");
        }
        Note::VersionsDiffer { plugin, server } => {
            warn!(plugin, server, "plugin and server have different versions");
        }
        Note::StaleStatus { seq } => debug!(seq, "dropped a stale editor status"),
        Note::AnswerDropped { request_id } => {
            warn!(%request_id, "dropped an answer that no call waits for");
        }
        Note::LaneFreed { request_id } => {
            info!(%request_id, "an overdue request no longer blocks unity")
        }
        Note::BadAnswer { request_id, problem } => {
            warn!(%request_id, problem, "unity's answer could not be understood");
        }
        Note::QuestionUnanswered { request_id } => {
            warn!(%request_id, "unity did not answer a question about a job");
        }
        Note::BadFrame { on, problem } => warn!(session = on.0, problem, "bad frame from unity"),
        Note::FrameIgnored { on } => debug!(session = on.0, "ignored a frame of a closing socket"),
        Note::PluginError { code, message } => {
            warn!(code, text = message, "unity reports an error");
        }
        Note::CallCancelled { call } => info!(call = call.0, "call cancelled"),
        Note::JobChanged { job, state } => info!(job_id = %job, ?state, "job changed"),
        Note::LateAcceptance { request_id } => {
            info!(%request_id, "unity accepted a job too late: it is cancelled there");
        }
    }
}
