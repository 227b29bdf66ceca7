//! One look at the running server: the snapshot of its page, or `get_editor_state` if the page is off or full.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use coordination::Tool;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Response, StatusCode, body::Incoming, http};
use page::{About, CallOutcome, Editor, Event, Job, Snapshot, State};
use protocol::{ExecutionMode, Json};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use crate::budget::{STATUS_BYTES_MAX, STATUS_CALLS_MAX, STATUS_TIMEOUT};
use crate::commands::call_error::CallError;
use crate::network::Network as _;
use crate::port::holder::{Holder, identify};
use crate::port::relay::connect;
use crate::system::Loopback;

/// What the server knows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::commands) struct Look {
    pub(in crate::commands) about: About,
    pub(super) state: State,
    /// The last ones, newest first; none without the page.
    pub(super) calls: Option<Vec<Call>>,
    /// Which tool started each job, as far as that is known. In JSON it is in each job.
    #[serde(skip)]
    pub(super) job_tools: BTreeMap<String, String>,
    /// Milliseconds since the start of the server; only its page says it.
    pub(super) now: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::commands) struct Call {
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) agent: String,
    pub(super) at: u64,
    pub(super) served: Option<u64>,
    pub(super) ended: Option<u64>,
    pub(super) outcome: Option<CallOutcome>,
    pub(super) code: Option<String>,
    pub(super) guarantee: Option<String>,
    pub(super) replayed: bool,
}

pub(in crate::commands) enum NoServer {
    Nobody,
    Held(Holder),
    NoToken(String),
    /// It does not answer as it should.
    Odd(String),
}

impl NoServer {
    pub(super) fn sentence(&self, port: u16) -> String {
        match self {
            Self::Nobody => format!(
                "no server listens on port {port}; start one with unity-mcp, or name another port with --port."
            ),
            Self::Held(holder) => format!(
                "port {port} belongs to {}; name another port with --port.",
                holder.describe()
            ),
            Self::NoToken(problem) => {
                format!("the server on port {port} requires its token, and {problem}")
            }
            Self::Odd(problem) => format!("the server on port {port} gave no answer: {problem}"),
        }
    }
}

impl NoServer {
    pub(super) fn error(&self, port: u16) -> CallError {
        CallError::no_server(&self.sentence(port))
    }
}

impl From<io::Error> for NoServer {
    fn from(error: io::Error) -> Self {
        Self::Odd(error.to_string())
    }
}

impl Look {
    pub(super) fn json(&self) -> Json {
        let mut shown = serde_json::to_value(self).unwrap_or_default();
        let jobs = shown.pointer_mut("/state/jobs").and_then(Json::as_array_mut);
        for job in jobs.into_iter().flatten().filter_map(Json::as_object_mut) {
            let id = job.get("job_id").and_then(Json::as_str).unwrap_or_default();
            if let Some(tool) = self.job_tools.get(id) {
                job.insert("tool".to_owned(), json!(tool));
            }
        }
        shown
    }
}

pub(in crate::commands) async fn take(port: u16) -> Result<Look, NoServer> {
    let looked = timeout(STATUS_TIMEOUT, look(port)).await;
    looked.unwrap_or_else(|_| Err(NoServer::Odd("it took too long".to_owned())))
}

async fn look(port: u16) -> Result<Look, NoServer> {
    match Loopback.connect(port).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Err(NoServer::Nobody),
        Ok(_) | Err(_) => {} // What it is says more than an error.
    }
    let holder = identify(&Loopback, port).await.unwrap_or(Holder::Silent);
    let Holder::UnityMcp { version, pid, requires_token, .. } = holder else {
        return Err(NoServer::Held(holder));
    };
    let token = if requires_token { Some(token()?) } else { None };
    let server = Server { port, token };
    if let Some(snapshot) = server.snapshot().await? {
        return Ok(of_snapshot(snapshot));
    }
    let known = server.editor_state().await?;
    let pid = u32::try_from(pid).unwrap_or_default();
    Ok(of_editor_state(&known, About { version, pid, port, ..About::default() }))
}

fn token() -> Result<String, NoServer> {
    match token::read() {
        Ok(Some(token)) => Ok(token),
        Ok(None) => Err(NoServer::NoToken("there is no token file of this user".to_owned())),
        Err(error) => Err(NoServer::NoToken(format!("its file cannot be read: {error}"))),
    }
}

struct Server {
    port: u16,
    token: Option<String>,
}

impl Server {
    async fn connect(&self) -> io::Result<SendRequest<Full<Bytes>>> {
        connect(Loopback.connect(self.port).await?).await
    }

    async fn send(
        &self,
        request: http::request::Builder,
        body: String,
    ) -> io::Result<Response<Incoming>> {
        let mut request = request.header(HOST, format!("127.0.0.1:{}", self.port));
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(io::Error::other)?;
        self.connect().await?.send_request(request).await.map_err(io::Error::other)
    }

    /// `None` if the page is off or full.
    async fn snapshot(&self) -> Result<Option<Snapshot>, NoServer> {
        let response = self.send(http::Request::get("/events"), String::new()).await?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND | StatusCode::SERVICE_UNAVAILABLE => return Ok(None),
            other => return Err(NoServer::Odd(format!("status {}", other.as_u16()))),
        }
        let event = first_event(response.into_body()).await?;
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        let snapshot = serde_json::from_str(data.unwrap_or_default()).map_err(io::Error::other)?;
        Ok(Some(snapshot))
    }

    async fn editor_state(&self) -> Result<Json, NoServer> {
        let params = json!({ "name": "get_editor_state", "arguments": {} });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let post = http::Request::post("/mcp")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25");
        let response = self.send(post, body.to_string()).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), STATUS_BYTES_MAX).collect().await;
        let body = body.map_err(|error| NoServer::Odd(error.to_string()))?.to_bytes();
        let answer: Json = serde_json::from_slice(&body).unwrap_or_default();
        let known = answer.pointer("/result/structuredContent").cloned();
        known.ok_or_else(|| NoServer::Odd(format!("status {}", status.as_u16())))
    }
}

/// The text up to the first empty line.
async fn first_event(mut body: Incoming) -> io::Result<String> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        read.extend_from_slice(&data);
        if read.ends_with(b"\n\n") || read.windows(2).any(|two| two == b"\n\n") {
            return String::from_utf8(read).map_err(io::Error::other);
        }
        if read.len() > STATUS_BYTES_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    Err(ErrorKind::UnexpectedEof.into())
}

fn of_snapshot(snapshot: Snapshot) -> Look {
    let Snapshot { about, events, mut state, now, .. } = snapshot;
    state.jobs.iter_mut().for_each(forget_progress);
    let job_tools = job_tools(&events);
    Look { about, state, calls: Some(last_calls(events)), job_tools, now: Some(now) }
}

/// The last progress of a run that has ended says nothing of its end.
fn forget_progress(job: &mut Job) {
    if job.state != "running" {
        (job.done, job.total) = (None, None);
    }
}

/// From the answers of the calls that started them.
fn job_tools(events: &[Event]) -> BTreeMap<String, String> {
    let mut tools: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for event in events {
        match event {
            Event::CallBegan { call, tool, .. } => {
                tools.insert(call, tool);
            }
            Event::Message { what, call: Some(call), text, .. } if what == "answer" => {
                let tool = tools.get(call.as_str()).copied().unwrap_or_default();
                let starts_jobs = Tool::named(tool)
                    .is_some_and(|tool| tool.execution_mode() == ExecutionMode::Job);
                if let Some((_, job)) = text.split_once(" ok ").filter(|_| starts_jobs) {
                    found.insert(job.to_owned(), tool.to_owned());
                }
            }
            Event::Message { .. }
            | Event::Note { .. }
            | Event::State { .. }
            | Event::LaneState { .. }
            | Event::Fault { .. }
            | Event::CallServed { .. }
            | Event::CallEnded { .. } => {}
        }
    }
    found
}

fn last_calls(events: Vec<Event>) -> Vec<Call> {
    let mut order = Vec::new();
    let mut calls: BTreeMap<String, Call> = BTreeMap::new();
    for event in events {
        match event {
            Event::CallBegan { at, lane: agent, call, tool } => {
                order.push(call.clone());
                let (served, ended, outcome) = (None, None, None);
                let (code, guarantee, replayed) = (None, None, false);
                let began = Call {
                    call: call.clone(),
                    tool,
                    agent,
                    at,
                    served,
                    ended,
                    outcome,
                    code,
                    guarantee,
                    replayed,
                };
                calls.insert(call, began);
            }
            Event::CallServed { at, call } => {
                if let Some(call) = calls.get_mut(&call) {
                    call.served.get_or_insert(at);
                }
            }
            Event::CallEnded { at, call, outcome, code, guarantee, replayed } => {
                if let Some(call) = calls.get_mut(&call) {
                    (call.ended, call.outcome) = (Some(at), Some(outcome));
                    (call.code, call.guarantee, call.replayed) = (code, guarantee, replayed);
                }
            }
            Event::Message { .. }
            | Event::Note { .. }
            | Event::State { .. }
            | Event::LaneState { .. }
            | Event::Fault { .. } => {}
        }
    }
    let newest = order.iter().rev().take(STATUS_CALLS_MAX);
    newest.filter_map(|call| calls.get(call).cloned()).collect()
}

fn of_editor_state(known: &Json, about: About) -> Look {
    let text = |place: &str| known.pointer(place).and_then(Json::as_str).map(str::to_owned);
    let editor = text("/plugin_version").map(|plugin_version| Editor {
        plugin_version,
        unity_version: text("/project/unity_version"),
        project_name: text("/project/name"),
        project_path: text("/project/path"),
    });
    let known_jobs = || known.get("jobs").and_then(Json::as_array).into_iter().flatten();
    let job_tools = known_jobs().filter_map(|job| {
        let text = |name: &str| Some(job.get(name)?.as_str()?.to_owned());
        Some((text("job_id")?, text("tool_name")?))
    });
    let job_tools = job_tools.collect();
    let jobs = known_jobs().map(|job| {
        let text = |name: &str| job.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        Job { job_id: text("job_id"), state: text("state"), done: None, total: None }
    });
    let state = State {
        server: text("/server_state").unwrap_or_default(),
        editor: text("/editor_state").unwrap_or_default(),
        waits_for: text("/waiting_reason"),
        running: text("/running/tool_name"),
        queue: known.get("queue_length").and_then(Json::as_u64).unwrap_or_default(),
        refused: text("/refused/project_path"),
        jobs: jobs.collect(),
    };
    Look { about: About { editor, ..about }, state, calls: None, job_tools, now: None }
}
