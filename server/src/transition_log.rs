//! One line of log per transition, with the ids that tie lines together: `call` and `session` are numbers of this
//! server, `request_id`, `client_request_id` and `job_id` are the ids of the protocol. `info` is what a user would
//! notice, `warn` what is unusual but handled, `debug` every transition, `trace` every frame.
//!
//! Text of peers is logged as it is: the logger escapes every line.

use std::time::Duration;

use coordination::{
    Answer, CallTimes, ConnectionId, Core, Effect, Event, Failure, JobId, Note, Outcome,
    ProgressReport, Reason, RequestNames, SessionEnd, Timestamp, rendering,
};
use protocol::{FromUnity, RequestId, ToUnity};
use tracing::{Level, debug, enabled, info, trace, warn};

use crate::clock::WallClock;
use crate::event_loop::CallLabel;

pub(crate) struct TransitionLog {
    pub(crate) clock: WallClock,
}

impl TransitionLog {
    pub(crate) fn event(&self, event: &Event, core: &impl Core) {
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
            Event::CallCancelled { call } => trace!(call = call.0, "call cancelled by its agent"),
            Event::CallBroke { call } => debug!(call = call.0, "the adapter of a call failed"),
            Event::UnityOpened { on } => debug!(session = on.0, "unity socket opened"),
            Event::UnityFrame { on, frame } => {
                // For a frame that could not be decoded there is a note of the core.
                if let Ok(frame) = frame {
                    from_unity(*on, frame, core);
                }
            }
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

    /// After the core has decided. `caller` is the one that a reply goes to.
    pub(crate) fn effect(
        &self,
        now: Timestamp,
        effect: &Effect,
        caller: Option<&CallLabel>,
        core: &impl Core,
    ) {
        match effect {
            Effect::Reply { call, request_id, times, outcome } => {
                let tool = caller.map(|caller| caller.tool);
                let client_request_id = caller.and_then(|caller| caller.client_request_id());
                let (job_id, failure) = of_outcome(outcome);
                let CallTimes { arrived, served } = *times;
                let call = call.0;
                let waited_ms = millis(served.unwrap_or(now).since(arrived));
                let elapsed_ms = millis(now.since(arrived));
                let submitted_at = self.clock.text(arrived);
                let replayed = is_replayed(outcome).then_some(true);
                match failure {
                    None => info!(
                        call, %request_id, client_request_id, job_id, tool, submitted_at,
                        waited_ms, elapsed_ms, replayed, "call succeeded"
                    ),
                    Some(Failure { code, guarantee, waiting, .. }) => info!(
                        call, %request_id, client_request_id, job_id, tool, submitted_at,
                        waited_ms, elapsed_ms, code = code.text(), guarantee = guarantee.text(),
                        waiting_reason = waiting, replayed, "call failed"
                    ),
                }
            }
            Effect::Progress { call, report: ProgressReport { reason, .. } } => {
                let waiting_reason = reason.map(Reason::text);
                trace!(call = call.0, waiting_reason, "call progress");
            }
            Effect::Send { on, frame } => to_unity(*on, frame, core),
            Effect::Close { on, code, reason } => {
                debug!(session = on.0, code = *code as u16, reason, "closing unity socket");
            }
            Effect::Note(note) => of_note(note, core),
            Effect::Stopped => info!("stopped"),
        }
    }
}

fn of_outcome(outcome: &Outcome) -> (Option<String>, Option<&Failure>) {
    match outcome {
        Ok(Answer::JobAccepted { job, .. } | Answer::Cancel { job, .. }) => {
            (Some(job.to_string()), None)
        }
        Ok(Answer::Job(report)) => (Some(report.job.to_string()), None),
        Ok(Answer::Replayed(answer)) => {
            (answer.accepted_job().map(|(job, ..)| job.to_string()), None)
        }
        Ok(Answer::EditorState(_) | Answer::Unity(_)) => (None, None),
        Err(failure) => (None, Some(failure)),
    }
}

/// It is the answer to an earlier call with the same `client_request_id`.
fn is_replayed(outcome: &Outcome) -> bool {
    match outcome {
        Ok(answer) => matches!(answer, Answer::Replayed(_)),
        Err(failure) => failure.replayed,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// `client_request_id` and `job_id` of a request that was sent to Unity.
fn names_of(core: &impl Core, request_id: &RequestId) -> (Option<String>, Option<String>) {
    core.names(request_id).map(shown).unwrap_or_default()
}

fn shown(names: &RequestNames) -> (Option<String>, Option<String>) {
    (names.client_request_id.clone(), names.job.as_ref().map(JobId::to_string))
}

fn from_unity(on: ConnectionId, frame: &FromUnity, core: &impl Core) {
    let (what, request_id) = match frame {
        FromUnity::Result(frame) => ("unity sent result", &frame.request_id),
        FromUnity::SubmitJobResult(frame) => ("unity sent submit_job_result", &frame.request_id),
        FromUnity::JobStatus(frame) => ("unity sent job_status", &frame.request_id),
        FromUnity::CancelResult(frame) => ("unity sent cancel_result", &frame.request_id),
        FromUnity::Error(frame) => match &frame.request_id {
            Some(request_id) => ("unity sent error", request_id),
            None => return debug!(session = on.0, "unity sent error"),
        },
        FromUnity::EditorStatus(frame) => {
            let state = rendering::editor_state(Some(frame.state));
            return debug!(session = on.0, state, seq = frame.seq, "unity sent editor_status");
        }
        FromUnity::Hello(_) => return debug!(session = on.0, "unity sent hello"),
        FromUnity::Capability(_) => return debug!(session = on.0, "unity sent capability"),
        FromUnity::Pong(_) => return trace!(session = on.0, "unity sent pong"),
    };
    about_request(on, what, None, request_id, core);
}

fn to_unity(on: ConnectionId, frame: &ToUnity, core: &impl Core) {
    let (what, tool, request_id) = match frame {
        ToUnity::Execute(frame) => {
            ("execute sent to unity", Some(frame.tool_name.as_str()), &frame.request_id)
        }
        ToUnity::SubmitJob(frame) => {
            ("submit_job sent to unity", Some(frame.tool_name.as_str()), &frame.request_id)
        }
        ToUnity::GetJobStatus(frame) => ("get_job_status sent to unity", None, &frame.request_id),
        ToUnity::Cancel(frame) => ("cancel sent to unity", None, &frame.request_id),
        ToUnity::Error(frame) => {
            let request_id = frame.request_id.as_ref().map(tracing::field::display);
            let code = frame.error.code.as_str();
            return debug!(session = on.0, request_id, code, "error sent to unity");
        }
        ToUnity::Ping(_) => return trace!(session = on.0, "ping sent to unity"),
        ToUnity::Hello(_) => return debug!(session = on.0, "hello sent to unity"),
        ToUnity::Capability(_) => return debug!(session = on.0, "capability sent to unity"),
    };
    about_request(on, what, tool, request_id, core);
}

fn about_request(
    on: ConnectionId,
    what: &'static str,
    tool: Option<&str>,
    request_id: &RequestId,
    core: &impl Core,
) {
    if enabled!(Level::DEBUG) {
        let (client_request_id, job_id) = names_of(core, request_id);
        debug!(session = on.0, %request_id, client_request_id, job_id, tool, "{what}");
    }
}

fn of_note(note: &Note, core: &impl Core) {
    match note {
        Note::SessionBegan { on, plugin_version } => {
            info!(session = on.0, plugin_version, "unity connected");
        }
        Note::SessionEnded { on, why } => session_ended(*on, *why),
        Note::SessionContested { incumbent, newcomer } => {
            warn!(session = incumbent.0, newcomer = newcomer.0, "a second Editor has connected");
        }
        Note::Refused { on, problem } => {
            warn!(session = on.0, problem, "refused a socket of unity");
        }
        Note::VersionsDiffer { plugin, server } => {
            warn!(plugin, server, "plugin and server have different versions");
        }
        Note::StateChanged { server, editor, waiting } => info!(
            server_state = rendering::server_state(*server),
            editor_state = rendering::editor_state(*editor),
            waiting_reason = waiting.map(Reason::text),
            "state changed"
        ),
        Note::StaleStatus { seq } => debug!(seq, "dropped a stale editor status"),
        Note::AnswerDropped { request_id } => {
            let (client_request_id, job_id) = names_of(core, request_id);
            warn!(%request_id, client_request_id, job_id, "dropped an answer that no call waits for");
        }
        Note::LaneFreed { request_id } => {
            let (client_request_id, job_id) = names_of(core, request_id);
            info!(%request_id, client_request_id, job_id, "an overdue request no longer blocks unity");
        }
        Note::BadAnswer { request_id, problem } => {
            let (client_request_id, job_id) = names_of(core, request_id);
            warn!(%request_id, client_request_id, job_id, problem, "unity's answer could not be understood");
        }
        Note::QuestionUnanswered { request_id } => {
            let (client_request_id, job_id) = names_of(core, request_id);
            warn!(%request_id, client_request_id, job_id, "unity did not answer a question about a job");
        }
        Note::LateAcceptance { request_id } => {
            let (client_request_id, job_id) = names_of(core, request_id);
            info!(%request_id, client_request_id, job_id, "unity accepted a job too late: it is cancelled there");
        }
        Note::BadFrame { on, problem } => warn!(session = on.0, problem, "bad frame from unity"),
        Note::FrameIgnored { on } => debug!(session = on.0, "ignored a frame of a closing socket"),
        Note::PluginError { code, message } => {
            warn!(code, text = message, "unity reports an error");
        }
        Note::CallWaits { call, request_id, reason } => {
            debug!(call = call.0, %request_id, waiting_reason = reason, "call waits");
        }
        Note::CallCancelled { call, names } => {
            let (client_request_id, job_id) = shown(names);
            let request_id = &names.request_id;
            info!(call = call.0, %request_id, client_request_id, job_id, "call cancelled");
        }
        Note::JobIssued { names } => {
            let (client_request_id, job_id) = shown(names);
            info!(request_id = %names.request_id, client_request_id, job_id, "job submitted");
        }
        Note::JobChanged { job, state } => {
            info!(job_id = %job, state = rendering::job_state(*state), "job changed");
        }
    }
}

/// A closed socket is usual: Unity closes it at every domain reload.
fn session_ended(on: ConnectionId, why: SessionEnd) {
    let (session, reason) = (on.0, why.text());
    match why {
        SessionEnd::SocketClosed | SessionEnd::Replaced => {
            info!(session, reason, "unity disconnected");
        }
        SessionEnd::NoPong { silent } => {
            warn!(session, reason, silent_ms = millis(silent), "unity disconnected");
        }
        SessionEnd::ProbeUnanswered
        | SessionEnd::Stuck
        | SessionEnd::BadFrames
        | SessionEnd::NotWritable => warn!(session, reason, "unity disconnected"),
    }
}
