//! Model: what must happen by the specification, as simply as possible. It gets the same events as the core, predicts
//! every answer, and shares no code with the core. It stores no deadlines: it computes them when they are needed.

mod answers;
mod calls;
mod effects;
mod events;
mod jobs;
mod refusals;
mod replies;
mod rules;
mod runs;
mod settle;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use coordination::{Boot, CancelAnswer, ConnectionId, ErrorCode, Guarantee, Limits, Reason};
use protocol::{EditorState, FromUnity, JobState, Json, PluginHello, RequestId, UnityJobId};

use crate::judge::coverage::Coverage;
use runs::Run;

/// Milliseconds since the start of the server.
pub(crate) type Millis = u64;

pub(crate) type Checked = Result<(), String>;

pub(crate) struct Model {
    limits: Limits,
    /// Part of every id.
    boot: String,
    session: Option<ConnectionId>,
    /// Hellos by socket.
    hellos: BTreeMap<u64, Hello>,
    /// Sockets that the server has closed: their frames do not count.
    closed: BTreeSet<u64>,
    /// There is no session, so this hello must be answered in the same step.
    must_adopt: Option<ConnectionId>,
    /// Sessions the server ended: each must be closed in the same step.
    must_close: Vec<ConnectionId>,
    named: (Option<String>, Option<String>),
    lost_at: Option<Millis>,
    /// The call that Unity had when it went is held for it; the same for its jobs.
    holds_call: bool,
    holds_jobs: bool,
    /// When a session last said that it is still at work on the request in the lane.
    confirmed_at: Millis,
    /// The project that the last hello named.
    project: Option<String>,
    /// The oldest ping without a pong, or when the next is due.
    ping_at: Option<Millis>,
    ping_due: Millis,
    /// The last ping was answered, and not only dropped with a reload.
    heard: bool,
    bad_frames: u32,
    /// Since when a new socket waits for the probe of the session.
    contested_since: Millis,
    editor: Editor,
    seq: u64,
    offered: Option<Vec<String>>,
    closed_since: Option<Millis>,
    /// Since when calls need not wait, or when they last began not to.
    open_since: Option<Millis>,
    lane: Lane,
    queue: VecDeque<QueueEntry>,
    control: VecDeque<u64>,
    calls: BTreeMap<u64, Call>,
    jobs: Vec<Job>,
    /// Ended jobs, in the order in which they ended.
    ended: VecDeque<usize>,
    owed: Vec<Owed>,
    /// A cancel that was sent beside the lane, for the job whose submission holds the lane.
    direct: Option<(RequestId, Option<usize>)>,
    /// The lane was last taken by a cancel.
    cancel_was_last: bool,
    abandoned: Vec<RequestId>,
    /// Calls by `client_request_id`, the oldest first (catalogue 1.1).
    runs: Vec<Run>,
    /// The book that the plugin of the session named.
    book: Option<String>,
    /// Errors of the last compile, if it failed.
    failed_compile: Option<u64>,
    /// Answers that must come in this step.
    expected: Vec<(u64, Expect)>,
    /// Ends of jobs that must come in this step.
    ending: Vec<(usize, JobState, Option<Fault>)>,
    requests: u64,
    arrivals: u64,
    stopped: bool,
    pub(crate) coverage: Coverage,
}

/// What a socket sent before it became the session.
#[derive(Clone, Debug)]
struct Hello {
    hello: PluginHello,
    seq: u64,
    tools: Option<Vec<String>>,
    /// The answer that the lane waits for.
    answer: Option<FromUnity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Editor {
    Unknown,
    Seen(EditorState, Millis),
    Remembered(EditorState, Millis),
}

#[derive(Clone, Debug)]
enum Lane {
    Free,
    Busy { request: RequestId, on: Option<ConnectionId>, what: Trip, sent: Millis, timeout: Millis },
    Kept { request: RequestId, on: Option<ConnectionId>, sent: Millis, timeout: Millis },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trip {
    Execute(u64),
    Submit(usize),
    Status(usize, Option<u64>),
    Cancel(Option<usize>),
}

#[derive(Clone, Copy, Debug)]
struct QueueEntry {
    arrival: u64,
    arrived: Millis,
    who: Who,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Call(u64),
    Job(usize),
}

/// What an agent asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Execute { tool: &'static str },
    Job { tool: &'static str, wait: Millis },
    Status { job: String, wait: Millis },
    Cancel { job: String },
    State,
}

/// A call, as it arrives.
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    pub(crate) client: Option<String>,
    pub(crate) timeout: Millis,
    /// What the tool gets.
    pub(crate) params: Json,
}

#[derive(Clone, Debug)]
struct Call {
    ask: Ask,
    /// Its `client_request_id`, if that names a run that must happen only once.
    run: Option<String>,
    /// It repeats an earlier call.
    is_repeat: bool,
    /// Its agent has left; it goes on for the calls that repeat it.
    is_left: bool,
    client: Option<String>,
    request: u64,
    arrival: u64,
    arrived: Millis,
    timeout: Millis,
    /// The state of the job it asks about, when it arrived.
    known: Option<JobState>,
    state: CallState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    Waiting,
    InLane,
    /// It started a job, or repeats a call that did, and waits for its end.
    Parked {
        job: usize,
        until: Millis,
    },
    /// It waits for the answer to this call, which it repeats.
    Following(u64),
}

#[derive(Clone, Debug)]
struct Job {
    tool: &'static str,
    /// Number of the request of its submission.
    request: u64,
    run: Option<String>,
    client: Option<String>,
    arrival: u64,
    arrived: Millis,
    timeout: Millis,
    state: JobLife,
    cancel_requested: bool,
    /// An agent that started it has its id.
    is_known: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum JobLife {
    Queued,
    Submitting,
    Running { unity: UnityJobId, limit: Millis, last_question: Option<Millis> },
    Ended(JobState, Option<Fault>),
}

/// How a job failed.
type Fault = (ErrorCode, Guarantee);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Owed {
    Job(usize),
    Orphan(UnityJobId),
    /// A job whose acceptance has not arrived.
    Submission(RequestId),
}

#[derive(Clone, Debug, PartialEq)]
enum Expect {
    Fails(ErrorCode, Guarantee),
    /// Unity's result of this tool.
    Result(&'static str, Json),
    Accepted(usize),
    /// What a call that started this job is told now.
    Told(usize),
    /// The answer to an earlier call.
    Replayed(Box<Self>),
    Job(usize),
    Cancel(usize, CancelAnswer),
}

impl Model {
    pub(crate) fn new(limits: Limits, boot: Boot) -> Self {
        Self {
            limits,
            boot: boot.to_string(),
            session: None,
            hellos: BTreeMap::new(),
            closed: BTreeSet::new(),
            must_adopt: None,
            must_close: Vec::new(),
            named: (None, None),
            lost_at: None,
            holds_call: false,
            holds_jobs: false,
            confirmed_at: 0,
            project: None,
            ping_at: None,
            ping_due: 0,
            heard: true,
            bad_frames: 0,
            contested_since: 0,
            editor: Editor::Unknown,
            seq: 0,
            offered: None,
            closed_since: Some(0),
            open_since: None,
            lane: Lane::Free,
            queue: VecDeque::new(),
            control: VecDeque::new(),
            calls: BTreeMap::new(),
            jobs: Vec::new(),
            ended: VecDeque::new(),
            owed: Vec::new(),
            direct: None,
            cancel_was_last: false,
            abandoned: Vec::new(),
            runs: Vec::new(),
            book: None,
            failed_compile: None,
            expected: Vec::new(),
            ending: Vec::new(),
            requests: 0,
            arrivals: 0,
            stopped: false,
            coverage: Coverage::default(),
        }
    }

    fn editor_state(&self) -> Option<EditorState> {
        match self.editor {
            Editor::Unknown => None,
            Editor::Seen(state, _) | Editor::Remembered(state, _) => Some(state),
        }
    }

    fn reason(&self) -> Option<Reason> {
        match self.editor_state() {
            Some(EditorState::Compiling) => Some(Reason::Compiling),
            Some(EditorState::Reloading) => Some(Reason::Reloading),
            Some(EditorState::Ready) | None if self.session.is_none() => Some(Reason::Disconnected),
            Some(EditorState::Ready) | None => match self.lane {
                Lane::Kept { .. } => Some(Reason::Unresponsive),
                Lane::Free | Lane::Busy { .. } => None,
            },
        }
    }

    fn offers(&self, tool: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(|name| name == tool))
    }

    /// Control calls are answered when the lane is free, or when nothing can be sent.
    fn control_moves(&self) -> bool {
        match self.lane {
            Lane::Free | Lane::Kept { .. } => true,
            Lane::Busy { .. } => self.session.is_none(),
        }
    }

    /// The job with this name, if it is kept.
    fn job_named(&self, text: &str) -> Option<usize> {
        let number = text.strip_prefix(&format!("job-{}-", self.boot))?;
        let number: usize = number.parse().ok()?;
        let index = number.checked_sub(1)?;
        let job = self.jobs.get(index)?;
        let kept = !matches!(job.state, JobLife::Ended(..)) || self.ended.contains(&index);
        kept.then_some(index)
    }

    fn job_state(&self, index: usize) -> JobState {
        match self.jobs.get(index).map(|job| &job.state) {
            Some(JobLife::Queued) => JobState::Queued,
            Some(JobLife::Submitting | JobLife::Running { .. }) => JobState::Running,
            Some(JobLife::Ended(state, _)) => *state,
            None => JobState::Queued,
        }
    }

    /// A cancel of one target is owed once.
    fn owe(&mut self, cancel: Owed) {
        owe(&mut self.owed, cancel);
    }

    fn active_jobs(&self) -> usize {
        let open = self.jobs.iter().filter(|job| !matches!(job.state, JobLife::Ended(..))).count();
        open - self.ending.len() // Those have ended, although their notes have not come yet.
    }
}

fn owe(owed: &mut Vec<Owed>, cancel: Owed) {
    if !owed.contains(&cancel) {
        owed.push(cancel);
    }
}
