//! Event and Effect: everything that can happen to the server, and everything it may do.

use std::time::Duration;

use protocol::{
    CompileOutcome, DecodeError, EditorState, FromUnity, JobState, Json, Progress, RequestId,
    ToUnity,
};

use crate::failure::Failure;
use crate::ids::{CallId, ConnectionId, JobId, RequestNames};
use crate::request_validator::ValidCall;
use crate::time::{CallTimes, JobTimes, Timestamp};

/// Everything that can happen to the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The port is ours: Unity can connect.
    PortBound,
    /// The port is not ours: Unity cannot connect until `PortBound`. Agents see `holder`.
    PortHeld {
        port: u16,
        holder: String,
    },
    CallReceived {
        call: CallId,
        request: ValidCall,
        wants_progress: bool,
    },
    /// The agent has cancelled the call.
    CallCancelled {
        call: CallId,
    },
    /// The adapter of this call failed; the agent still wants an answer.
    CallBroke {
        call: CallId,
    },
    UnityOpened {
        on: ConnectionId,
    },
    UnityFrame {
        on: ConnectionId,
        frame: Result<FromUnity, DecodeError>,
    },
    /// A frame handed over by `Effect::Send` comes back: not one byte of it was written.
    UnityNotSent {
        on: ConnectionId,
        frame: ToUnity,
    },
    UnityClosed {
        on: ConnectionId,
        by: ClosedBy,
    },
    StopRequested,
    /// The core panicked and may have lost track of something. `callers`: every call that still has no answer.
    Recovered {
        callers: Vec<CallId>,
    },
    /// `next_deadline` has passed.
    DeadlineReached,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The network, or ourselves, or the plugin without a reason.
    Anyone,
    /// The plugin, with this close code.
    Plugin { code: u16 },
    /// The bridge, because a frame was over the limit.
    FrameTooLarge,
}

/// Everything the server may do to the world. The shell performs them in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The one answer to a call. `request_id` is its name on the wire and in logs.
    Reply {
        call: CallId,
        request_id: RequestId,
        times: CallTimes,
        outcome: Outcome,
    },
    Progress {
        call: CallId,
        report: ProgressReport,
    },
    Send {
        on: ConnectionId,
        frame: ToUnity,
    },
    Close {
        on: ConnectionId,
        code: CloseCode,
        reason: &'static str,
    },
    /// Nothing to do, but worth a line in the log and in every trace.
    Note(Note),
    /// Everything is answered and closed, or the time for that is over: the process may end.
    Stopped,
}

pub type Outcome = Result<Answer, Failure>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    Normal = 1000,
    GoingAway = 1001,
    Policy = 1008,
    /// A request has blocked Unity for so long that the plugin should restart its session.
    Stuck = 4408,
}

/// The answer to a call that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    EditorState(Box<EditorReport>),
    /// What Unity gave for an `execute`.
    Unity(Json),
    JobAccepted {
        job: JobId,
        state: JobState,
        times: JobTimes,
    },
    Job(Box<JobReport>),
    Cancel {
        job: JobId,
        status: CancelAnswer,
    },
    /// The answer to an earlier call with the same `client_request_id`.
    Replayed(Box<Self>),
}

impl Answer {
    /// The job that was accepted, now or for an earlier call.
    pub fn accepted_job(&self) -> Option<(JobId, JobState, JobTimes)> {
        match self {
            Self::JobAccepted { job, state, times } => Some((*job, *state, *times)),
            Self::Replayed(answer) => answer.accepted_job(),
            Self::EditorState(_) | Self::Unity(_) | Self::Job(_) | Self::Cancel { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct EditorReport {
    pub server_state: ServerState,
    /// `None` is `unknown`.
    pub editor_state: Option<EditorState>,
    pub connected: bool,
    pub last_editor_status_seq: Option<u64>,
    /// Why a call would wait now.
    pub waiting_reason: Option<Reason>,
    pub queue_length: usize,
    pub running: Option<Running>,
    pub plugin_version: Option<String>,
    pub server_version: String,
    pub project: Option<ProjectReport>,
    pub refused: Option<RefusedReport>,
    /// Catalogue 1.1: how the last compile ended, if the plugin says so.
    pub last_compile: Option<Option<CompileReport>>,
    /// Jobs that have not ended, then the last ones that ended, newest first.
    pub jobs: Vec<JobSummary>,
    /// How long server, Editor and waiting reason have been as they are. Shown by `/healthz` alone, as is the next.
    pub unchanged_for: Duration,
    /// How the last session ended, and how long ago.
    pub last_disconnect: Option<(SessionEnd, Duration)>,
}

/// One line about a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSummary {
    pub job: JobId,
    pub tool_name: &'static str,
    pub state: JobState,
    pub submitted: Timestamp,
    pub age: Duration,
}

/// How the last compile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileReport {
    pub outcome: CompileOutcome,
    pub errors: u64,
    pub ended_ago: Duration,
}

/// The project of the Editor, as far as its plugin names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectReport {
    pub path: Option<String>,
    pub name: Option<String>,
    pub unity_version: Option<String>,
}

/// An Editor of another project that was turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedReport {
    /// `other_project`: the server is for another one. `already_active`: the place was taken.
    pub reason: &'static str,
    pub project_path: String,
    pub ago: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    Booting,
    WaitingEditor,
    Ready,
    Stopping,
    Stopped,
}

/// Why calls wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    Disconnected,
    Compiling,
    Reloading,
    /// Unity has an answered request that it has not finished.
    Unresponsive,
}

impl Reason {
    pub fn text(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Compiling => "compiling",
            Self::Reloading => "reloading",
            Self::Unresponsive => "unresponsive",
        }
    }
}

/// What changes with every call, without a copy of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// `queue_length` of the report.
    pub queue_length: usize,
    /// The tool of the round trip in the lane.
    pub running: Option<&'static str>,
}

/// The round trip in the lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub request_id: RequestId,
    pub tool_name: &'static str,
    pub elapsed: Duration,
    pub overdue: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JobReport {
    pub job: JobId,
    pub state: JobState,
    pub times: JobTimes,
    pub progress: Option<Progress>,
    pub result: Option<Json>,
    pub error: Option<Failure>,
    pub cancel: Option<CancelView>,
}

/// How a job shows that its cancel was requested.
#[derive(Clone, Debug, PartialEq)]
pub enum CancelView {
    Requested,
    Rejected(Failure),
}

/// What `cancel_job` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelAnswer {
    /// It was queued and never reaches Unity.
    Cancelled,
    CancelRequested,
    /// It has ended already.
    Rejected,
}

/// The progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressReport {
    pub state: CallState,
    /// Why it waits, if it does.
    pub reason: Option<Reason>,
    /// How many calls are before it.
    pub position: Option<usize>,
    pub elapsed: Duration,
    /// The job it waits for, and the progress of that.
    pub job: Option<(JobState, Option<Progress>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    WaitingEditorReady,
    Queued,
    Running,
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    SocketClosed,
    /// The same Editor connected again.
    Replaced,
    /// It did not answer the probe, and another Editor waits.
    ProbeUnanswered,
    /// Its ping was not answered for so long.
    NoPong {
        silent: Duration,
    },
    /// A request has not been finished for too long.
    Stuck,
    BadFrames,
    /// The socket did not take a frame.
    NotWritable,
}

impl SessionEnd {
    /// The reason in one word.
    pub fn text(self) -> &'static str {
        match self {
            Self::SocketClosed => "socket_closed",
            Self::Replaced => "replaced",
            Self::ProbeUnanswered => "probe_unanswered",
            Self::NoPong { .. } => "no_pong",
            Self::Stuck => "stuck",
            Self::BadFrames => "bad_frames",
            Self::NotWritable => "not_writable",
        }
    }

    /// How its socket is closed.
    pub(crate) fn close(self) -> (CloseCode, &'static str) {
        match self {
            Self::SocketClosed => (CloseCode::Normal, "closed"),
            Self::Replaced => (CloseCode::Normal, "replaced by a newer connection"),
            Self::ProbeUnanswered => {
                (CloseCode::Normal, "did not answer while another Editor asked")
            }
            Self::NoPong { .. } => (CloseCode::Policy, "no pong in time"),
            Self::Stuck => (CloseCode::Stuck, "a request has not been finished in time"),
            Self::BadFrames => (CloseCode::Policy, "too many bad frames in a row"),
            Self::NotWritable => (CloseCode::GoingAway, "the socket does not take frames"),
        }
    }
}

/// Decisions that no other effect shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    SessionBegan {
        on: ConnectionId,
        plugin_version: String,
    },
    SessionEnded {
        on: ConnectionId,
        why: SessionEnd,
    },
    SessionContested {
        incumbent: ConnectionId,
        newcomer: ConnectionId,
    },
    /// A socket gets no session.
    Refused {
        on: ConnectionId,
        problem: String,
    },
    VersionsDiffer {
        plugin: String,
        server: String,
    },
    /// The server or the Editor is in another state, or calls wait for another reason.
    StateChanged {
        server: ServerState,
        editor: Option<EditorState>,
        waiting: Option<Reason>,
    },
    StaleStatus {
        seq: u64,
    },
    /// An answer that no request waits for: unknown, finished, or a second one.
    AnswerDropped {
        request_id: RequestId,
    },
    /// The request that kept the lane is finished in Unity.
    LaneFreed {
        request_id: RequestId,
    },
    /// An answer that makes no sense for its request.
    BadAnswer {
        request_id: RequestId,
        problem: String,
    },
    /// Unity has not answered a question of the server itself.
    QuestionUnanswered {
        request_id: RequestId,
    },
    BadFrame {
        on: ConnectionId,
        problem: String,
    },
    FrameIgnored {
        on: ConnectionId,
    },
    PluginError {
        code: String,
        message: String,
    },
    /// A call cannot be sent now.
    CallWaits {
        call: CallId,
        request_id: RequestId,
        /// `busy` if other calls are before it.
        reason: &'static str,
    },
    CallCancelled {
        call: CallId,
        names: RequestNames,
    },
    /// A call has become a job.
    JobIssued {
        names: RequestNames,
    },
    JobChanged {
        job: JobId,
        state: JobState,
    },
    /// Unity accepted a job that was given up, and it is cancelled there.
    LateAcceptance {
        request_id: RequestId,
    },
}
