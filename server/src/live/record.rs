//! Record: something that happened, as small as possible. `drawing` makes the texts when somebody looks.

use std::borrow::Cow;
use std::sync::Arc;

use coordination::{Guarantee, JobId, Reason, ServerState};
use page::CallOutcome;
use protocol::{EditorState, JobState, RequestId};

/// Milliseconds since the start of the server.
pub(super) type Millis = u64;

/// The number of an agent's lane.
pub(super) type AgentLane = usize;

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) at: Millis,
    pub(super) what: What,
    /// Arguments, a result or a whole frame, if they may be shown.
    pub(super) body: Option<Box<str>>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// An agent called a tool.
    Called {
        call: RequestId,
        agent: AgentLane,
        tool: &'static str,
        client_request_id: Option<Box<str>>,
    },
    /// The agent took its call back.
    Cancelled {
        call: RequestId,
        agent: AgentLane,
    },
    Progress {
        call: RequestId,
        agent: AgentLane,
        text: String,
    },
    Answered(Box<Answered>),
    /// A frame to or from the plugin.
    Frame(Box<Frame>),
    /// Something on the lane of the server.
    Note {
        text: Cow<'static, str>,
        call: Option<RequestId>,
    },
    /// What the lane of the Editor shows from here on.
    Unity(UnityLane),
    /// What the server knows from here on.
    Knows(Known),
}

/// A mark on the lane of the Editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnityLane {
    /// It is ready, or none has connected.
    Plain,
    Busy(EditorState),
    /// There was a session, and there will be another: why it is gone.
    Away(&'static str),
}

#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) call: RequestId,
    pub(super) agent: AgentLane,
    /// When it stopped to wait, if no frame shows that.
    pub(super) served: Option<Millis>,
    pub(super) outcome: CallOutcome,
    pub(super) failure: Option<(&'static str, Guarantee)>,
    pub(super) job: Option<JobId>,
    pub(super) replayed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) to_unity: bool,
    /// The type of the message.
    pub(super) what: &'static str,
    pub(super) request_id: Option<RequestId>,
    /// Its most important fields.
    pub(super) text: Cow<'static, str>,
    /// The call it belongs to.
    pub(super) call: Option<RequestId>,
    /// With it the call stopped to wait.
    pub(super) serves: bool,
    pub(super) is_error: bool,
}

/// The boxes above the lanes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) server: ServerState,
    pub(super) editor: Option<EditorState>,
    pub(super) waiting: Option<Reason>,
    pub(super) running: Option<&'static str>,
    pub(super) queue: usize,
    /// The project of an Editor that was turned away.
    pub(super) refused: Option<Arc<str>>,
    /// Shared by all records until a job changes.
    pub(super) jobs: Arc<[KnownJob]>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownJob {
    pub(super) job: JobId,
    /// The call that started it.
    pub(super) call: RequestId,
    pub(super) state: JobState,
    pub(super) progress: Option<(u64, u64)>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            server: ServerState::Booting,
            editor: None,
            waiting: Some(Reason::Disconnected),
            running: None,
            queue: 0,
            refused: None,
            jobs: Arc::default(),
        }
    }
}

impl Record {
    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        let own = match &self.what {
            What::Called { call, client_request_id, .. } => {
                call.0.len() + client_request_id.as_ref().map_or(0, |id| id.len())
            }
            What::Cancelled { call, .. } => call.0.len(),
            What::Progress { call, text, .. } => call.0.len() + text.len(),
            What::Answered(answered) => size_of::<Answered>() + answered.call.0.len(),
            What::Frame(frame) => {
                let ids = [&frame.request_id, &frame.call];
                let ids = ids.into_iter().flatten().map(|id| id.0.len()).sum::<usize>();
                size_of::<Frame>() + frame.text.len() + ids
            }
            What::Note { text, call } => text.len() + call.as_ref().map_or(0, |call| call.0.len()),
            What::Unity(_) => 0,
            // Counted as if each had its own list of jobs.
            What::Knows(known) => known.jobs.len() * size_of::<KnownJob>(),
        };
        size_of::<Self>() + own + self.body.as_ref().map_or(0, |body| body.len())
    }
}
