//! The connection with the server: connecting, frames in, frames out.

use std::time::Duration;

use protocol::{
    EditorState, EditorStatus, FromUnity, OfferedTool, OfferedTools, PluginHello, Pong, RequestId,
    ToUnity, codec,
};

use super::{Activity, Answer, Later, Link, MockEditor, Output, answers};
use crate::backoff;
use crate::books::Arrival;
use crate::settings::{PongPolicy, PongSeq, Reconnect};

/// How long a plugin stays away after the server rejected it because another Editor is connected.
const REFUSED_WAIT: Duration = Duration::from_secs(10);
/// The largest frame in bytes for a server whose hello gives no limit.
pub(super) const FRAME_MAX: usize = 1_048_576;
const REFUSED: &str = "another Unity websocket session is already active";
/// The reason of a close that says that the same Editor has connected again.
pub(super) const REPLACED: &str = "replaced by a newer connection";

/// What the mock says it is.
const UNITY_VERSION: &str = "6000.0.0f1";

/// The last part of a path, with slashes of any system.
fn name_of(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default()
}

impl MockEditor {
    pub(super) fn on_connected(&mut self, now: Duration) {
        self.heard_at = now;
        self.link = Link::Open { welcome: false };
        self.counts.attempts += 1;
        self.counts.seq = 0;
        let Some(version) = self.settings.protocol_version else { return };
        let names = self.settings.names_itself;
        let seed = self.settings.seed;
        let project = self.settings.project.clone();
        let hello = codec::encode(&FromUnity::Hello(PluginHello {
            plugin_version: self.settings.plugin_version.clone(),
            state: self.state(),
            editor_instance_id: names
                .then(|| format!("mock-{seed}-{}", self.counts.editors).as_str().into()),
            plugin_session_id: names
                .then(|| format!("session-{seed}-{}", self.counts.sessions).as_str().into()),
            connect_attempt_seq: names.then_some(self.counts.attempts),
            project_path: project.clone(),
            project_name: project.as_deref().map(|path| name_of(path).to_owned()),
            unity_version: project.as_ref().map(|_| UNITY_VERSION.to_owned()),
            running_request_id: self.running_request().filter(|_| names),
            request_book: names.then(|| format!("book-{seed}-{}", self.counts.editors)),
            last_compile: self.project.last_compile(now),
        }));
        let field = "\"protocol_version\":";
        self.send_text(hello.replace(&format!("{field}1"), &format!("{field}{version}")));
        if let Some(tools) = self.settings.tools.clone() {
            let tools = tools.into_iter().map(|name| OfferedTool { name }).collect();
            self.say(&FromUnity::Capability(OfferedTools { tools }));
        }
    }

    /// What the main thread is at, or will do next: the server must send nothing else until then.
    fn running_request(&self) -> Option<RequestId> {
        let mut frames = self.working.iter().map(|(_, frame)| frame).chain(&self.inbox);
        let (id, _, _) = answers::label(frames.find(|frame| answers::does_something(frame))?)?;
        Some(id)
    }

    /// The connection is lost or failed. Plans the next attempt, with a longer wait after every failure.
    pub(super) fn on_away(&mut self, now: Duration, at_least: Option<Duration>) {
        self.lose_connection();
        let failed = self.counts.failed_dials;
        let wait = backoff::wait(failed, &mut self.chance).max(at_least.unwrap_or_default());
        self.counts.failed_dials += 1;
        self.link = match self.settings.reconnect {
            Reconnect::Times(max) if failed >= max => {
                self.outputs.push(Output::GiveUp);
                Link::GivenUp
            }
            Reconnect::Times(_) | Reconnect::Forever => Link::Away { dial_at: now + wait },
        };
    }

    pub(super) fn on_frame(&mut self, now: Duration, text: &str) {
        self.heard_at = now;
        let Ok(frame) = codec::decode::<ToUnity>(text.as_bytes()) else {
            self.books.not_understood += 1;
            self.tell("the plugin does not understand a frame");
            return;
        };
        match frame {
            ToUnity::Hello(hello) => {
                let max = hello.max_message_bytes.map(usize::try_from);
                self.frame_max = max.and_then(Result::ok).unwrap_or(FRAME_MAX);
                self.link = Link::Open { welcome: true };
                self.counts.failed_dials = 0;
                for answer in std::mem::take(&mut self.unsent) {
                    self.send_answer(answer);
                }
            }
            ToUnity::Capability(capability) => self.request_book.on_capability(&capability),
            ToUnity::Ping(_) => self.on_ping(now),
            ToUnity::Error(message) => {
                if message.error.message == REFUSED {
                    self.tell("rejected: another Editor is connected");
                    self.outputs.push(Output::Close { code: 1000 });
                    self.on_away(now, Some(REFUSED_WAIT));
                }
            }
            ToUnity::Execute(_)
            | ToUnity::SubmitJob(_)
            | ToUnity::GetJobStatus(_)
            | ToUnity::Cancel(_) => self.take_in(now, frame),
        }
    }

    /// Pongs do not need the main thread, so they prove nothing about it.
    pub(super) fn on_ping(&mut self, now: Duration) {
        match self.settings.pong {
            PongPolicy::Never => {}
            PongPolicy::After(Duration::ZERO) => self.say_pong(),
            PongPolicy::After(delay) => self.later.push((now + delay, Later::Pong)),
        }
    }

    pub(super) fn say_pong(&mut self) {
        if self.settings.pong_seq == PongSeq::New {
            self.counts.seq += 1;
        }
        let seq = Some(self.counts.seq).filter(|_| self.settings.pong_seq != PongSeq::None);
        let pong = Pong { editor_state: Some(self.state()), seq };
        self.say(&FromUnity::Pong(pong));
    }

    pub(super) fn take_in(&mut self, now: Duration, frame: ToUnity) {
        if let Some((request_id, client_request_id, what)) = answers::label(&frame) {
            if self.unanswered.values().any(|does_something| *does_something) {
                self.books.overlapping.push(request_id.clone());
            }
            let does_something = answers::does_something(&frame);
            if does_something && let Some(earlier) = self.has_from_earlier() {
                self.books.overlapping_sessions.push((earlier, request_id.clone()));
            }
            self.unanswered.insert(request_id.clone(), does_something);
            let arrival = Arrival { at: now, request_id, client_request_id, what };
            self.books.arrived.push(arrival);
        }
        self.inbox.push_back(frame);
        self.books.unanswered_max = self.books.unanswered_max.max(self.unanswered.len());
    }

    /// A request of an earlier connection that has not been done. Those of this connection are in `unanswered`.
    fn has_from_earlier(&self) -> Option<RequestId> {
        let working = self.working.as_ref().map(|(_, frame)| frame);
        let all = working.into_iter().chain(&self.inbox);
        let ids = all.filter(|frame| answers::does_something(frame)).filter_map(answers::label);
        ids.map(|(id, ..)| id).find(|id| !self.unanswered.contains_key(id))
    }

    pub(super) fn state(&self) -> EditorState {
        match self.activity {
            Activity::Ready | Activity::Ended { .. } => EditorState::Ready,
            Activity::Compiling { .. } => EditorState::Compiling,
            Activity::Reloading { .. } => EditorState::Reloading,
        }
    }

    pub(super) fn has_a_plugin(&self) -> bool {
        matches!(self.activity, Activity::Ready | Activity::Compiling { .. })
    }

    /// Whether the main thread runs requests and jobs.
    pub(super) fn can_work(&self) -> bool {
        self.activity == Activity::Ready && self.stuck.is_none()
    }

    pub(super) fn say_status(&mut self, now: Duration) {
        self.counts.seq += 1;
        let (state, seq) = (self.state(), self.counts.seq);
        let status = EditorStatus { state, seq, last_compile: self.project.last_compile(now) };
        self.say(&FromUnity::EditorStatus(status));
    }

    pub(super) fn say_stale_status(&mut self) {
        let seq = self.counts.seq.saturating_sub(1);
        self.say(&FromUnity::EditorStatus(EditorStatus {
            state: EditorState::Compiling,
            seq,
            last_compile: None,
        }));
    }

    pub(super) fn say(&mut self, message: &FromUnity) {
        self.send_text(codec::encode(message));
    }

    /// Sends a frame on the open socket. Without one, the frame is dropped.
    pub(super) fn send_text(&mut self, frame: String) {
        if matches!(self.link, Link::Open { .. }) {
            self.write(frame);
        }
    }

    /// Every text frame is written here.
    fn write(&mut self, frame: String) {
        let frame = self.settings.writes.write(frame, self.frame_max);
        self.outputs.push(Output::Send(frame));
    }

    /// Sends an answer on a connection that the server has accepted, now or on the next one.
    pub(super) fn send_answer(&mut self, answer: Answer) {
        if self.link == (Link::Open { welcome: true }) {
            if let Some(id) = &answer.to {
                self.unanswered.remove(id);
            }
            self.write(answer.frame);
        } else {
            self.unsent.push(answer);
        }
    }

    pub(super) fn tell(&mut self, what: &str) {
        self.outputs.push(Output::Tell(what.to_owned()));
    }
}
