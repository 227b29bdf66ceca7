//! FakeUnity: a Unity that does what it is told, well or badly, and keeps its own books. What the
//! server believes is no evidence; what stands in these books is.

use std::collections::VecDeque;

use coordination::ConnectionId;
use protocol::{
    CancelResult, CancelStatus, EditorState, ErrorBody, ErrorMessage, ExecuteOutcome,
    ExecuteResult, FromUnity, JobState, JobStatus, Json, Map, PluginHello, Progress, RequestId,
    SubmitJobResult, SubmitStatus, ToUnity, UnityJobId,
};

/// A request that arrived and has not been answered.
#[derive(Clone, Debug)]
pub struct Inbound {
    pub request_id: RequestId,
    pub kind: Kind,
    pub client: Option<String>,
    pub target: Option<UnityJobId>,
    /// On which socket it came, and when.
    pub on: ConnectionId,
    pub at: u64,
    pub executed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Execute,
    Submit,
    Status,
    Cancel,
}

#[derive(Clone, Debug)]
struct Job {
    id: UnityJobId,
    state: JobState,
    done: u64,
}

/// What Unity itself knows to have happened.
#[derive(Debug, Default)]
pub struct Books {
    /// Every request that ever arrived, with the agent's name for it.
    pub arrived: Vec<(RequestId, Option<String>)>,
    /// Agents' names of what ran.
    pub executed: Vec<String>,
}

impl Books {
    pub fn ran(&self, client: &str) -> usize {
        self.executed.iter().filter(|name| *name == client).count()
    }

    pub fn got(&self, client: &str) -> bool {
        self.arrived.iter().any(|(_, name)| name.as_deref() == Some(client))
    }
}

#[derive(Debug)]
pub struct FakeUnity {
    pub on: Option<ConnectionId>,
    pub state: EditorState,
    pub answers_pings: bool,
    pub inbox: VecDeque<Inbound>,
    pub books: Books,
    jobs: Vec<Job>,
    jobs_made: u64,
    seq: u64,
    editor: u64,
    session: u64,
    attempt: u64,
}

impl FakeUnity {
    pub fn new() -> Self {
        Self {
            on: None,
            state: EditorState::Ready,
            answers_pings: true,
            inbox: VecDeque::new(),
            books: Books::default(),
            jobs: Vec::new(),
            jobs_made: 0,
            seq: 0,
            editor: 1,
            session: 1,
            attempt: 0,
        }
    }

    /// `names`: which of its optional names this Editor says in its hello.
    pub fn hello(&mut self, on: ConnectionId, state: EditorState, names: u64) -> FromUnity {
        self.on = Some(on);
        self.state = state;
        self.seq = 0;
        self.attempt += 1;
        FromUnity::Hello(PluginHello {
            plugin_version: "1.0.0".to_owned(),
            state,
            editor_instance_id: (names & 1 == 0)
                .then(|| format!("e{}", self.editor).as_str().into()),
            plugin_session_id: (names & 2 == 0)
                .then(|| format!("s{}", self.session).as_str().into()),
            connect_attempt_seq: (names & 4 == 0).then_some(self.attempt),
        })
    }

    /// A hello where none belongs.
    pub fn hello_again(&self) -> FromUnity {
        FromUnity::Hello(PluginHello {
            plugin_version: "1.0.0".to_owned(),
            state: self.state,
            editor_instance_id: None,
            plugin_session_id: None,
            connect_attempt_seq: None,
        })
    }

    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The domain is reloaded: requests are forgotten, jobs are kept.
    pub fn reload(&mut self) {
        self.on = None;
        self.session += 1;
        self.inbox.clear();
    }

    /// Another process: nothing is kept.
    pub fn restart(&mut self) {
        self.reload();
        self.editor += 1;
        self.jobs.clear();
    }

    /// Takes a frame in; `Err` if Unity sees that the server breaks its promise.
    pub fn receive(&mut self, on: ConnectionId, frame: &ToUnity, now: u64) -> Result<(), String> {
        let (request_id, kind, client, target) = match frame {
            ToUnity::Execute(frame) => {
                (&frame.request_id, Kind::Execute, frame.client_request_id.clone(), None)
            }
            ToUnity::SubmitJob(frame) => {
                (&frame.request_id, Kind::Submit, frame.client_request_id.clone(), None)
            }
            ToUnity::GetJobStatus(frame) => {
                (&frame.request_id, Kind::Status, None, Some(frame.job_id.clone()))
            }
            ToUnity::Cancel(frame) => {
                (&frame.request_id, Kind::Cancel, None, frame.target_job_id.clone())
            }
            ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Ping(_) | ToUnity::Error(_) => {
                return Ok(());
            }
        };
        if self.books.arrived.iter().any(|(known, _)| known == request_id) {
            return Err(format!("{request_id} was sent twice"));
        }
        if let Some(name) = &client
            && self.books.got(name)
        {
            return Err(format!("the call {name} was sent twice"));
        }
        // One round trip at a time: on this socket nothing may be unanswered but old questions.
        let busy = self.inbox.iter().find(|other| {
            let question = matches!(other.kind, Kind::Status | Kind::Cancel);
            other.on == on && !(question && now >= other.at + 5_000)
        });
        if let Some(other) = busy {
            return Err(format!("{request_id} was sent while {} was unanswered", other.request_id));
        }
        self.books.arrived.push((request_id.clone(), client.clone()));
        let executed = matches!(kind, Kind::Status | Kind::Cancel);
        let request_id = request_id.clone();
        self.inbox.push_back(Inbound { request_id, kind, client, target, on, at: now, executed });
        Ok(())
    }

    /// Runs the oldest request that has not run.
    pub fn execute(&mut self) {
        if let Some(inbound) = self.inbox.iter_mut().find(|inbound| !inbound.executed) {
            inbound.executed = true;
            let client = inbound.client.clone().unwrap_or_default();
            self.books.executed.push(client);
        }
    }

    /// Answers the oldest request as it should be answered.
    pub fn answer(&mut self, word: u64) -> Option<FromUnity> {
        let inbound = self.inbox.pop_front()?;
        if !inbound.executed {
            self.books.executed.push(inbound.client.clone().unwrap_or_default());
        }
        let request_id = inbound.request_id.clone();
        Some(match inbound.kind {
            Kind::Execute => result(request_id, ExecuteOutcome::Ok(console())),
            Kind::Submit => {
                self.jobs_made += 1;
                let id = UnityJobId(format!("u{}", self.jobs_made));
                self.jobs.push(Job { id: id.clone(), state: JobState::Running, done: 0 });
                let status = SubmitStatus::Accepted;
                FromUnity::SubmitJobResult(SubmitJobResult { request_id, status, job_id: id })
            }
            Kind::Status => self.status(request_id, inbound.target.as_ref()),
            Kind::Cancel => self.cancel(request_id, inbound.target.as_ref(), word),
        })
    }

    fn status(&mut self, request_id: RequestId, target: Option<&UnityJobId>) -> FromUnity {
        let Some(job) = self.jobs.iter().find(|job| Some(&job.id) == target) else {
            return error(Some(request_id), "ERR_JOB_NOT_FOUND");
        };
        let progress = Some(Progress { done: job.done, total: 20, current: None });
        let (job_id, state) = (job.id.clone(), job.state);
        let result = matches!(state, JobState::Succeeded).then(test_run);
        // A run that could not take place, with whatever code; after acceptance none says "not run".
        let failed = matches!(state, JobState::Failed) && job.done.is_multiple_of(2);
        let error = failed.then(|| body("ERR_INVALID_PARAMS"));
        FromUnity::JobStatus(JobStatus { request_id, job_id, state, progress, result, error })
    }

    fn cancel(
        &mut self,
        request_id: RequestId,
        target: Option<&UnityJobId>,
        word: u64,
    ) -> FromUnity {
        let Some(job) = self.jobs.iter_mut().find(|job| Some(&job.id) == target) else {
            return error(Some(request_id), "ERR_JOB_NOT_FOUND");
        };
        let status = match word % 4 {
            0 => CancelStatus::Rejected,
            1 => CancelStatus::CancelRequested,
            _ if job.state.is_terminal() => CancelStatus::Rejected,
            2 => {
                job.state = JobState::Cancelled;
                CancelStatus::CancelRequested
            }
            _ => {
                job.state = JobState::Cancelled;
                CancelStatus::Cancelled
            }
        };
        FromUnity::CancelResult(CancelResult { request_id, status })
    }

    /// Answers the oldest request otherwise than it should be.
    pub fn misanswer(&mut self, word: u64) -> Option<FromUnity> {
        let inbound = self.inbox.pop_front()?;
        let request_id = inbound.request_id;
        let refuses = |code: &str| {
            matches!(
                code,
                "ERR_INVALID_PARAMS" | "ERR_UNKNOWN_COMMAND" | "ERR_RECONFIG_IN_PROGRESS"
            )
        };
        const CODES: [&str; 9] = [
            "ERR_INVALID_REQUEST",
            "ERR_INVALID_PARAMS",
            "ERR_UNKNOWN_COMMAND",
            "ERR_RECONFIG_IN_PROGRESS",
            "ERR_EDITOR_NOT_READY",
            "ERR_QUEUE_FULL",
            "ERR_UNITY_EXECUTION",
            "ERR_JOB_NOT_FOUND",
            "OWN_CODE",
        ];
        let code = CODES.get(word as usize % 9).copied().unwrap_or("OWN_CODE");
        let frame = match (word >> 8) % 5 {
            // A refusal before running is made before running.
            0 | 1 if !inbound.executed || !refuses(code) => error(Some(request_id), code),
            2 => {
                let outcome = ExecuteOutcome::Error(body(code));
                result(request_id, outcome)
            }
            3 => result(request_id, ExecuteOutcome::Ok(Json::Object(Map::new()))),
            _ => {
                let status = CancelStatus::Cancelled;
                FromUnity::CancelResult(CancelResult { request_id, status })
            }
        };
        if !matches!(&frame, FromUnity::Error(message) if refuses(&message.error.code))
            && !inbound.executed
            && word & 0x10000 == 0
        {
            self.books.executed.push(inbound.client.unwrap_or_default());
        }
        Some(frame)
    }

    /// One of Unity's jobs goes on by itself.
    pub fn move_job(&mut self, word: u64) {
        if self.jobs.is_empty() {
            return;
        }
        let index = word as usize % self.jobs.len();
        if (word >> 16).is_multiple_of(16) {
            self.jobs.remove(index);
        } else if let Some(job) = self.jobs.get_mut(index)
            && !job.state.is_terminal()
        {
            job.done += 1;
            job.state = match (word >> 24) % 6 {
                0 => JobState::Succeeded,
                1 => JobState::Failed,
                2 => JobState::Queued,
                _ => JobState::Running,
            };
        }
    }

    pub fn finish_jobs(&mut self) {
        for job in self.jobs.iter_mut().filter(|job| !job.state.is_terminal()) {
            job.state = JobState::Succeeded;
        }
    }
}

impl Default for FakeUnity {
    fn default() -> Self {
        Self::new()
    }
}

pub fn result(request_id: RequestId, outcome: ExecuteOutcome) -> FromUnity {
    FromUnity::Result(ExecuteResult { request_id, outcome })
}

pub fn error(request_id: Option<RequestId>, code: &str) -> FromUnity {
    FromUnity::Error(ErrorMessage { request_id, error: body(code) })
}

fn body(code: &str) -> ErrorBody {
    ErrorBody { code: code.to_owned(), message: "m".to_owned(), retryable: None, details: None }
}

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    Json::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

pub fn console() -> Json {
    object([("entries", Json::Array(Vec::new())), ("count", 0.into()), ("truncated", false.into())])
}

fn test_run() -> Json {
    let summary = object([
        ("total", 1.into()),
        ("passed", 1.into()),
        ("failed", 0.into()),
        ("skipped", 0.into()),
        ("duration_ms", 5.into()),
    ]);
    object([("summary", summary), ("failed_tests", Json::Array(Vec::new()))])
}
