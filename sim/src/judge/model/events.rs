//! Events of Unity's sockets, and what must follow from them.

use coordination::{ClosedBy, ConnectionId, ErrorCode, Guarantee};
use protocol::{DecodeError, EditorState, FromUnity, JobState, PluginHello, Problem, RequestId};

use super::answers::{Answer, is_held, unknown};
use super::refusals::failed;
use super::{Editor, Expect, Hello, Lane, Millis, Model, Trip};

impl Model {
    pub(crate) fn on_closed(&mut self, now: Millis, on: ConnectionId, by: ClosedBy) {
        self.hellos.remove(&on.0);
        if self.session == Some(on) {
            match by {
                ClosedBy::FrameTooLarge => self.too_large(),
                ClosedBy::Plugin { code: 1001 | 1012 } => {
                    self.coverage.mark("a plugin went away to reload");
                    self.editor = Editor::Seen(EditorState::Reloading, now);
                }
                ClosedBy::Plugin { .. } | ClosedBy::Anyone => {}
            }
            self.lose(now);
            self.update_gate(now);
        }
    }

    fn too_large(&mut self) {
        self.coverage.mark("a frame was too large");
        match std::mem::replace(&mut self.lane, Lane::Free) {
            Lane::Busy { what: Trip::Execute(call), .. } => {
                self.fails(call, ErrorCode::InvalidResponse, Guarantee::Unknown);
            }
            Lane::Busy { what: Trip::Submit(job), request, .. } => {
                self.abandon(job, request);
                self.ending.push((
                    job,
                    JobState::Failed,
                    Some(unknown(ErrorCode::InvalidResponse)),
                ));
            }
            Lane::Busy { what: Trip::Status(job, asker), .. } => {
                if !self.job_state(job).is_terminal() {
                    self.ending.push((
                        job,
                        JobState::Failed,
                        Some(unknown(ErrorCode::InvalidResponse)),
                    ));
                }
                self.expected.extend(asker.map(|call| (call, Expect::Job(job))));
            }
            Lane::Busy { what: Trip::Cancel(job), .. } => self.cancel_unanswered(job),
            lane @ (Lane::Free | Lane::Kept { .. }) => self.lane = lane,
        }
    }

    /// The session is over.
    pub(super) fn lose(&mut self, now: Millis) {
        let Some(on) = self.session.take() else { return };
        self.hellos.remove(&on.0);
        self.ping_at = None;
        self.offered = None;
        self.book = None;
        self.lost_at = Some(now);
        (self.holds_call, self.holds_jobs) = (true, true);
        if let Some((_, Some(job))) = self.direct.take() {
            self.cancel_unanswered(Some(job));
        }
        self.editor = match self.editor {
            Editor::Seen(EditorState::Ready, _) | Editor::Unknown => Editor::Unknown,
            Editor::Seen(state, at) | Editor::Remembered(state, at) => {
                Editor::Remembered(state, at)
            }
        };
        match &self.lane {
            Lane::Busy { what: Trip::Status(job, asker), .. } => {
                let (job, asker) = (*job, *asker);
                self.lane = Lane::Free;
                if let Some(call) = asker {
                    self.expected.push((call, Expect::Job(job)));
                }
            }
            Lane::Busy { what: Trip::Cancel(job), .. } => {
                let job = *job;
                self.lane = Lane::Free;
                self.cancel_unanswered(job);
            }
            Lane::Busy { what: Trip::Execute(_), .. } => {
                self.coverage.mark("lost with a call in Unity")
            }
            Lane::Busy { what: Trip::Submit(_), .. } => {
                self.coverage.mark("lost with a submission in Unity")
            }
            Lane::Kept { .. } => self.coverage.mark("lost with the lane kept"),
            Lane::Free => {}
        }
        let next = self.hellos.iter().next().map(|(on, waiting)| (*on, waiting.hello.clone()));
        if let Some((on, hello)) = next.filter(|_| !self.stopped) {
            if self.is_reserved(now, &hello) {
                self.must_close.push(ConnectionId(on));
            } else {
                self.must_adopt = Some(ConnectionId(on));
            }
        }
    }

    /// The Editor has announced a compile or reload whose time is not over.
    fn is_busy(&self, now: Millis) -> bool {
        let grace = self.limits.compile_grace.as_millis() as Millis;
        match self.editor {
            Editor::Unknown | Editor::Seen(EditorState::Ready, _) => false,
            Editor::Seen(_, at) | Editor::Remembered(_, at) => now < at + grace,
        }
    }

    /// The place of the Editor that announced a compile or reload is kept for its project.
    fn is_reserved(&mut self, now: Millis, hello: &PluginHello) -> bool {
        let editor = hello.editor_instance_id.as_ref().map(|id| id.0.clone());
        let is_same_editor = editor.is_some() && editor == self.named.0;
        let other = matches!((&self.project, &hello.project_path), (Some(a), Some(b)) if a != b);
        let one_is_missing = self.project.is_none() || hello.project_path.is_none();
        let other_name = matches!((&self.named.0, &editor), (Some(a), Some(b)) if a != b);
        let is_reserved = self.is_busy(now)
            && !is_same_editor
            && (other || (one_is_missing && other_name && self.session.is_some()));
        if is_reserved {
            self.coverage.mark("a place was reserved");
        }
        is_reserved
    }

    pub(crate) fn on_frame(
        &mut self,
        now: Millis,
        on: ConnectionId,
        frame: &Result<FromUnity, DecodeError>,
    ) {
        if self.session == Some(on) {
            self.on_session_frame(now, frame);
            self.update_gate(now);
        } else if let Ok(FromUnity::Hello(hello)) = frame {
            if !self.closed.contains(&on.0) {
                self.on_hello(now, on, hello.clone());
            }
        } else if let Some(waiting) = self.hellos.get_mut(&on.0) {
            match frame {
                Ok(FromUnity::EditorStatus(status)) if status.seq > waiting.seq => {
                    waiting.seq = status.seq;
                    waiting.hello.state = status.state;
                    waiting.hello.last_compile = status.last_compile.or(waiting.hello.last_compile);
                }
                Ok(FromUnity::Capability(offered)) => {
                    let names = offered.tools.iter().map(|tool| tool.name.clone());
                    waiting.tools = Some(names.collect());
                }
                Ok(message) if answered(message).is_some_and(|id| is_held(&self.lane, id)) => {
                    waiting.answer = Some(message.clone());
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn on_hello(&mut self, now: Millis, on: ConnectionId, hello: PluginHello) {
        let waiting = self.hellos.keys().any(|other| Some(ConnectionId(*other)) != self.session);
        if !waiting {
            self.contested_since = now;
        }
        if !self.stopped && !self.hellos.contains_key(&on.0) && self.is_reserved(now, &hello) {
            return self.must_close.push(on);
        }
        // The first hello of a socket counts.
        self.hellos.entry(on.0).or_insert(Hello { hello, seq: 0, tools: None, answer: None });
        if self.session.is_none() && !self.stopped {
            self.must_adopt = Some(on);
        }
    }

    fn on_session_frame(&mut self, now: Millis, frame: &Result<FromUnity, DecodeError>) {
        self.bad_frames = match frame {
            Ok(FromUnity::Hello(_)) => self.bad_frames + 1,
            Ok(_) | Err(DecodeError { problem: Problem::UnknownType { .. }, .. }) => 0,
            Err(_) => self.bad_frames + 1,
        };
        match frame.clone() {
            Ok(FromUnity::Hello(_)) => self.coverage.mark("a second hello"),
            Ok(FromUnity::Capability(offered)) => {
                self.offered = Some(offered.tools.into_iter().map(|tool| tool.name).collect());
            }
            Ok(FromUnity::EditorStatus(status)) => {
                if status.seq > self.seq && status.last_compile.is_some() {
                    self.failed_compile = failed(status.last_compile);
                }
                self.on_status(now, status.state, status.seq);
            }
            Ok(FromUnity::Pong(pong)) => match (pong.editor_state, pong.seq) {
                (Some(state), Some(seq)) => self.on_status(now, state, seq),
                (Some(state), None) => self.observe(now, state),
                (None, _) => {}
            },
            Ok(
                message @ (FromUnity::Result(_)
                | FromUnity::SubmitJobResult(_)
                | FromUnity::JobStatus(_)
                | FromUnity::CancelResult(_)
                | FromUnity::Error(_)),
            ) => self.on_message(message),
            Err(DecodeError { problem, about }) => {
                let is_new = matches!(problem, Problem::UnknownType { .. } | Problem::MissingType);
                match about.into_iter().find(|request| !is_new && self.holds(request)) {
                    Some(request) => self.on_answer(&request, Answer::Broken),
                    None => self.coverage.mark("garbage"),
                }
            }
        }
        // Any valid frame answers the ping before it.
        if !matches!(frame, Ok(FromUnity::Hello(_)) | Err(_))
            && let Some(sent) = self.ping_at.take()
        {
            self.heard = true;
            self.ping_due = now.max(sent + self.ping_interval());
        }
    }

    /// A message that may answer a request.
    pub(super) fn on_message(&mut self, message: FromUnity) {
        let Some(request) = answered(&message).cloned() else { return };
        let answer = match message {
            FromUnity::Result(result) => Answer::Result(result.outcome),
            FromUnity::SubmitJobResult(result) => Answer::Accepted(result.job_id),
            FromUnity::JobStatus(status) => Answer::Status(status),
            FromUnity::CancelResult(result) => Answer::Cancel(result.status),
            FromUnity::Error(message) => Answer::Error(message.error),
            FromUnity::Hello(_)
            | FromUnity::Capability(_)
            | FromUnity::EditorStatus(_)
            | FromUnity::Pong(_) => return,
        };
        self.on_answer(&request, answer);
    }

    fn on_status(&mut self, now: Millis, state: EditorState, seq: u64) {
        if seq > self.seq {
            self.seq = seq;
            self.observe(now, state);
        } else {
            self.coverage.mark("a stale status");
        }
    }

    fn observe(&mut self, now: Millis, state: EditorState) {
        if state == EditorState::Ready && self.editor_state() != Some(EditorState::Ready) {
            self.rest_heartbeat(now);
        }
        self.editor = Editor::Seen(state, now);
    }

    fn ping_interval(&self) -> Millis {
        self.limits.heartbeat_interval.as_millis() as Millis
    }

    /// The heartbeat starts again.
    pub(super) fn rest_heartbeat(&mut self, now: Millis) {
        self.heard = self.heard && self.ping_at.is_none();
        self.ping_at = None;
        self.ping_due = now + self.ping_interval();
    }
}

/// The request that a message answers.
fn answered(message: &FromUnity) -> Option<&RequestId> {
    match message {
        FromUnity::Result(message) => Some(&message.request_id),
        FromUnity::SubmitJobResult(message) => Some(&message.request_id),
        FromUnity::JobStatus(message) => Some(&message.request_id),
        FromUnity::CancelResult(message) => Some(&message.request_id),
        FromUnity::Error(message) => message.request_id.as_ref(),
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_) => None,
    }
}
