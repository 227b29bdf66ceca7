//! Sockets come and go; one of them is the Editor.

use protocol::{
    Capability, DecodeError, ErrorBody, ErrorMessage, FromUnity, Json, Map, Ping, PluginHello,
    Problem, RequestId, ServerHello, ToUnity,
};

use super::{ExecutionCoordinator, Refused, answers};
use crate::editor_state_tracker::Observed;
use crate::event::{CloseCode, ClosedBy, Note, Reason, SessionEnd};
use crate::failure::{ErrorCode, Failure};
use crate::ids::ConnectionId;
use crate::reconnect_controller::Verdict;
use crate::request_scheduler::{Lane, Purpose};
use crate::stores::connection::{Claim, Socket};
use crate::stores::queue::Item;
use crate::stores::version::Memory;
use crate::time::Timestamp;
use crate::tool_answers;

/// Close codes of WebSocket.
const GOING_AWAY: u16 = 1001;
const SERVICE_RESTART: u16 = 1012;

/// Plugins know this very text.
const ALREADY_ACTIVE: &str = "another Unity websocket session is already active";

impl ExecutionCoordinator {
    pub(super) fn on_opened(&mut self, now: Timestamp, on: ConnectionId) {
        let evicted = self.link.open(now, on, &self.limits);
        if self.is_stopping() {
            return self.close(on, CloseCode::GoingAway, "the server is stopping");
        }
        if let Some(oldest) = evicted {
            self.close(oldest, CloseCode::Policy, "too many sockets without a hello");
        }
    }

    pub(super) fn on_closed(&mut self, now: Timestamp, on: ConnectionId, by: ClosedBy) {
        if self.link.is_session(on) {
            match by {
                ClosedBy::FrameTooLarge => self.on_answer_too_large(now),
                // A plugin that goes away says that it will be back: its domain reloads.
                ClosedBy::Plugin { code: GOING_AWAY | SERVICE_RESTART } => {
                    self.editor.on_reload_announced(now);
                }
                ClosedBy::Plugin { .. } | ClosedBy::Anyone => {}
            }
            let contender = self.lose_session(now, on, SessionEnd::SocketClosed);
            self.link.forget(on);
            self.adopt_contender(now, contender);
        } else {
            self.link.forget(on);
        }
        self.stop_if_closed();
    }

    pub(super) fn on_frame(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        frame: Result<FromUnity, DecodeError>,
    ) {
        match (self.link.socket(on), frame) {
            (Some(Socket::Session(_)), frame) => self.on_session_frame(now, on, frame),
            (Some(Socket::Pending { .. }), Ok(FromUnity::Hello(hello))) => {
                self.on_hello(now, on, hello);
            }
            (Some(Socket::Pending { .. }), Ok(_)) => {
                self.refuse(on, "the first message must be hello");
            }
            (Some(Socket::Pending { .. }), Err(error)) => self.refuse(on, &error.to_string()),
            (Some(Socket::Contender(_)), Ok(FromUnity::EditorStatus(status))) => {
                self.link.on_contender_status(on, &status);
            }
            (Some(Socket::Contender(_)), Ok(FromUnity::Capability(offered))) => {
                self.link.on_contender_tools(on, offered.tools);
            }
            // It may have come back with the answer that the lane waits for.
            (Some(Socket::Contender(_)), Ok(message))
                if answers::answered_by(&message).is_some_and(|id| self.scheduler.holds(id)) =>
            {
                self.link.on_contender_answer(on, message);
            }
            (Some(Socket::Contender(_) | Socket::Closing) | None, _) => {
                self.note(Note::FrameIgnored { on });
            }
        }
    }

    // Hello.

    fn on_hello(&mut self, now: Timestamp, on: ConnectionId, hello: PluginHello) {
        let verdict = self.judge(now, &hello);
        let claim = Claim { hello, seq: 0, tools: None, answer: None };
        match verdict {
            Verdict::Adopt => self.adopt(now, on, claim),
            Verdict::Replace { old } => {
                let contender = self.close_session(now, old, SessionEnd::Replaced);
                self.adopt(now, on, claim);
                if let Some((contender, _)) = contender {
                    // The Editor has just shown that it is alive.
                    self.refuse(contender, ALREADY_ACTIVE);
                }
            }
            Verdict::Contest { incumbent } => {
                self.note(Note::SessionContested { incumbent, newcomer: on });
                self.link.contest(on, claim, now + self.limits.takeover_probe);
                self.ping(now, incumbent);
            }
            Verdict::ReplaceContender { old } => {
                let until = self.link.probe_until().unwrap_or(now);
                self.close(old, CloseCode::Normal, "replaced by a newer connection");
                self.link.contest(on, claim, until);
            }
            Verdict::Refuse | Verdict::OtherProject => self.refuse_editor(now, on, verdict, claim),
        }
    }

    fn judge(&self, now: Timestamp, hello: &PluginHello) -> Verdict {
        self.link.judge(hello, self.editor.is_busy(now), &self.projects)
    }

    /// An Editor is turned away. Agents see for a while that one of another project was there.
    fn refuse_editor(&mut self, now: Timestamp, on: ConnectionId, verdict: Verdict, claim: Claim) {
        let project_path = claim.hello.project_path.as_deref().map(tool_answers::name);
        let (reason, problem) = match (verdict, &self.projects.own, &project_path) {
            (Verdict::OtherProject, Some(own), Some(named)) => (
                "other_project",
                format!("this server is for the project {own}, and this Editor has {named} open"),
            ),
            (_, _, _) => ("already_active", ALREADY_ACTIVE.to_owned()),
        };
        if let Some(project_path) = project_path {
            self.refused = Some(Refused { reason, project_path, at: now });
        }
        self.refuse(on, &problem);
    }

    pub(super) fn ping(&mut self, now: Timestamp, on: ConnectionId) {
        self.link.on_ping_sent(now);
        self.send(on, ToUnity::Ping(Ping {}));
    }

    fn adopt_contender(&mut self, now: Timestamp, contender: Option<(ConnectionId, Claim)>) {
        let Some((on, claim)) = contender else { return };
        match self.judge(now, &claim.hello) {
            // The Editor has left with an announced reload: its place is kept for it.
            verdict @ (Verdict::Refuse | Verdict::OtherProject) => {
                self.refuse_editor(now, on, verdict, claim);
            }
            Verdict::Adopt
            | Verdict::Replace { .. }
            | Verdict::Contest { .. }
            | Verdict::ReplaceContender { .. } => self.adopt(now, on, claim),
        }
    }

    fn adopt(&mut self, now: Timestamp, on: ConnectionId, claim: Claim) {
        let adopted = self.link.adopt(now, on, claim, &self.limits, &self.projects);
        self.editor.on_hello(now, adopted.state, adopted.seq);
        self.editor.on_hello_compile(now, adopted.last_compile);
        self.note(Note::SessionBegan { on, plugin_version: adopted.plugin_version.clone() });
        if adopted.plugin_version != self.server_version {
            let server = self.server_version.clone();
            self.note(Note::VersionsDiffer { plugin: adopted.plugin_version, server });
        }
        let server_version = self.server_version.clone();
        let max_message_bytes = u64::try_from(self.limits.message_max_bytes).ok();
        self.send(on, ToUnity::Hello(ServerHello { server_version, max_message_bytes }));
        let catalog = self.limits.catalog;
        let tools = catalog.tools().map(|tool| catalog.metadata(tool)).collect();
        self.send(on, ToUnity::Capability(Capability { tools }));
        self.resume_lane(now, on, adopted.memory, adopted.running);
        self.resume_jobs(now, adopted.memory);
        if let Some(answer) = adopted.answer {
            self.on_message(now, answer);
        }
    }

    /// What Unity was sent before goes on or ends. A session starts clean, unless it says that it is still at work.
    fn resume_lane(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        memory: Memory,
        running: Option<RequestId>,
    ) {
        let still_runs = running.is_some_and(|id| self.scheduler.holds(&id));
        if still_runs {
            self.scheduler.move_lane_to(on, now);
        } else if self.scheduler.kept().is_some() {
            self.scheduler.free_lane(); // Its caller has an answer.
        }
        match memory {
            Memory::Same => {}
            Memory::Reloaded | Memory::AnotherEditor { .. } if still_runs => {
                self.give_up_call(now, Failure::memory_gone());
            }
            Memory::Reloaded | Memory::AnotherEditor { .. } => {
                self.give_up_trip(now, Failure::memory_gone());
            }
        }
    }

    fn resume_jobs(&mut self, now: Timestamp, memory: Memory) {
        match memory {
            Memory::Same | Memory::Reloaded => {
                for job in self.jobs.running() {
                    self.poll_soon(job);
                }
            }
            Memory::AnotherEditor { same_project } => {
                self.cancels.forget_orphans();
                for job in self.jobs.running() {
                    // It is not asked: a job of its own may have the same name.
                    self.fail_job(now, job, Failure::job_of_another_editor());
                }
                if !same_project {
                    self.turn_away_waiting(now);
                }
            }
        }
    }

    /// A call never moves to another project.
    fn turn_away_waiting(&mut self, now: Timestamp) {
        // The reason of the Editor that is gone.
        let (_, _, reason) = self.noted;
        let reason = reason.map_or("busy", Reason::text);
        let failure = Failure::another_editor().after_waiting(reason);
        for place in self.scheduler.places() {
            let failure = failure.clone();
            match place.item {
                Item::Call(call) => self.reply(call, Err(failure)),
                Item::Job(job) => {
                    self.scheduler.withdraw_job(place.ticket);
                    self.fail_job(now, job, failure);
                }
            }
        }
    }

    // The session.

    fn on_session_frame(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        frame: Result<FromUnity, DecodeError>,
    ) {
        match frame {
            Ok(FromUnity::Hello(_)) => self.on_bad_frame(now, on, None, "a second hello"),
            Ok(message) => {
                self.link.on_good_frame();
                self.on_message(now, message);
                self.on_alive(now);
            }
            Err(error) => self.on_unreadable(now, on, error),
        }
    }

    fn on_unreadable(&mut self, now: Timestamp, on: ConnectionId, error: DecodeError) {
        let meant = error.about.iter().find(|id| self.scheduler.holds(id)).cloned();
        match (&error.problem, meant) {
            (Problem::UnknownType { name }, _) => {
                self.link.on_good_frame(); // Newer than us is not broken.
                let message = format!("unknown message type \"{name}\"");
                let about = error.about.into_iter().next();
                self.send_error(on, about, ErrorCode::UnknownCommand, message);
            }
            // It was to be the answer to the request in the lane, and no other will come.
            (
                Problem::BadField { .. }
                | Problem::NotJson { .. }
                | Problem::NotAnObject
                | Problem::DuplicateKey { .. }
                | Problem::MissingVersion
                | Problem::WrongVersion,
                Some(id),
            ) => {
                self.on_answer(now, id, Err(error.to_string()));
                self.count_bad_frame(now, on);
            }
            (Problem::MissingType, _)
            | (
                Problem::BadField { .. }
                | Problem::NotJson { .. }
                | Problem::NotAnObject
                | Problem::DuplicateKey { .. }
                | Problem::MissingVersion
                | Problem::WrongVersion,
                None,
            ) => {
                let problem = error.to_string();
                self.on_bad_frame(now, on, error.about.into_iter().next(), &problem);
            }
        }
    }

    /// A frame of the session shows that it lives: it answers a ping as well as a pong does.
    fn on_alive(&mut self, now: Timestamp) {
        self.link.on_heard(now, &self.limits);
        self.refuse_contender();
    }

    fn on_message(&mut self, now: Timestamp, message: FromUnity) {
        match message {
            FromUnity::Hello(_) => {} // Handled as a bad frame.
            FromUnity::Capability(offered) => self.link.record_tools(offered.tools),
            FromUnity::EditorStatus(status) => {
                let observed = self.editor.on_status(now, status.state, status.seq);
                if observed != Observed::Stale {
                    self.editor.on_status_compile(now, status.last_compile);
                }
                self.on_observed(now, observed, Some(status.seq));
            }
            FromUnity::Pong(pong) => {
                let observed = self.editor.on_pong(now, &pong);
                self.on_observed(now, observed, pong.seq);
            }
            FromUnity::Error(ErrorMessage { request_id: None, error }) => {
                let ErrorBody { code, message, .. } = tool_answers::error(error);
                self.note(Note::PluginError { code, message });
            }
            FromUnity::Result(_)
            | FromUnity::SubmitJobResult(_)
            | FromUnity::JobStatus(_)
            | FromUnity::CancelResult(_)
            | FromUnity::Error(_) => {
                if let Some(id) = answers::answered_by(&message).cloned() {
                    self.on_answer(now, id, Ok(message));
                }
            }
        }
    }

    fn on_observed(&mut self, now: Timestamp, observed: Observed, seq: Option<u64>) {
        match (observed, seq) {
            (Observed::BecameReady, _) => self.link.restart_heartbeat(now, &self.limits),
            (Observed::Stale, Some(seq)) => self.note(Note::StaleStatus { seq }),
            (Observed::Stale, None) | (Observed::Nothing, _) => {}
        }
    }

    /// Unity's answer was too large to read: the caller must ask for less.
    fn on_answer_too_large(&mut self, now: Timestamp) {
        let max = self.limits.message_max_bytes;
        match self.scheduler.lane() {
            // Asking again would end the next session, and the next.
            Lane::Taken { purpose: Purpose::Status { job, .. }, .. } => {
                let job = *job;
                self.fail_job(now, job, Failure::job_too_large(max));
                self.give_up_trip(now, Failure::job_too_large(max));
            }
            Lane::Taken { .. } => self.give_up_trip(now, Failure::answer_too_large(max)),
            Lane::Free | Lane::Kept { .. } => {}
        }
    }

    /// Returns the contender for its place.
    fn lose_session(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        why: SessionEnd,
    ) -> Option<(ConnectionId, Claim)> {
        self.note(Note::SessionEnded { on, why });
        self.last_disconnect = Some((why, now));
        let contender = self.link.lose_session(now);
        self.editor.on_session_lost();
        self.drop_question(now);
        contender
    }

    fn close_session(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        why: SessionEnd,
    ) -> Option<(ConnectionId, Claim)> {
        let contender = self.lose_session(now, on, why);
        let (code, reason) = why.close();
        self.close(on, code, reason);
        contender
    }

    /// The session is over, and a contender takes its place.
    pub(super) fn end_session(&mut self, now: Timestamp, on: ConnectionId, why: SessionEnd) {
        let contender = self.close_session(now, on, why);
        self.adopt_contender(now, contender);
    }

    // Refusals.

    fn on_bad_frame(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        about: Option<RequestId>,
        problem: &str,
    ) {
        self.note(Note::BadFrame { on, problem: problem.to_owned() });
        if !self.count_bad_frame(now, on) {
            self.send_error(on, about, ErrorCode::InvalidRequest, problem.to_owned());
        }
    }

    /// True if it was one too many, and the session is over.
    fn count_bad_frame(&mut self, now: Timestamp, on: ConnectionId) -> bool {
        let too_many = self.link.on_bad_frame() >= self.limits.bad_frames_max;
        if too_many {
            self.end_session(now, on, SessionEnd::BadFrames);
        }
        too_many
    }

    /// A socket that does not become a session gets the reason and is closed.
    pub(super) fn refuse(&mut self, on: ConnectionId, problem: &str) {
        self.note(Note::Refused { on, problem: problem.to_owned() });
        self.send_error(on, None, ErrorCode::InvalidRequest, problem.to_owned());
        self.close(on, CloseCode::Policy, "no session");
    }

    fn refuse_contender(&mut self) {
        if let Some(on) = self.link.contender() {
            self.refuse(on, ALREADY_ACTIVE);
        }
    }

    /// `about`: the request of the frame that is wrong.
    fn send_error(
        &mut self,
        on: ConnectionId,
        about: Option<RequestId>,
        code: ErrorCode,
        message: String,
    ) {
        let row = code.row();
        let mut details = Map::new();
        details.insert("execution_guarantee".to_owned(), Json::from(row.guarantee.text()));
        let error = ErrorBody {
            code: row.text.to_owned(),
            message,
            retryable: Some(row.retryable),
            details: Some(Json::Object(details)),
        };
        self.send(on, ToUnity::Error(ErrorMessage { request_id: about, error }));
    }
}
