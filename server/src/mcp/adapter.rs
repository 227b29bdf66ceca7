//! McpEndpointAdapter: an MCP request becomes a call, its outcome an MCP result. It knows nothing of Unity.
//!
//! rmcp speaks the revisions from 2024-11-05 to 2026-07-28; what it leaves to a server is in `handler`.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use coordination::{
    Answer, Catalog, ErrorCode, Event, Failure, Outcome, ProgressReport, RawCall, Tool, ValidCall,
    rendering, validate_with,
};
use futures_util::FutureExt;
use hyper::header::USER_AGENT;
use hyper::http::request::Parts;
use protocol::{Json, Map, printable};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, ErrorCode as JsonRpcErrorCode, ErrorData,
    Extensions, Implementation, ProgressNotificationParam, Tool as McpTool,
};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::mpsc;
use tracing::{error, info};

use super::handler::knows_tasks;
use super::tasks::TaskView;
use super::tool_results::{self, protocol_error};
use super::tool_schemas;
use crate::budget::{PAGE_AGENT_MAX, PROGRESS_STEP};
use crate::event_loop::{CoordinatorHandle, News, OpenCall};
use crate::port::relay::{self, Progress};
use crate::port::upstream::Upstream;

#[derive(Clone)]
pub(crate) struct McpEndpointAdapter {
    core: CoordinatorHandle,
    upstream: Upstream,
    pub(super) tasks: TaskView,
    pub(super) tools: Arc<Vec<McpTool>>,
    /// Which tools there are.
    pub(super) catalog: Catalog,
    /// How its agents reach it, for the log.
    transport: &'static str,
    /// The page is on.
    shows_agents: bool,
}

/// An answer to a call that the holder of the port gave.
#[derive(Deserialize)]
#[serde(untagged)]
enum Relayed {
    Task(CreateTaskResult),
    Complete(CallToolResult),
}

impl From<Relayed> for CallToolResponse {
    fn from(relayed: Relayed) -> Self {
        match relayed {
            Relayed::Task(task) => Self::Task(task),
            Relayed::Complete(result) => Self::Complete(result),
        }
    }
}

impl McpEndpointAdapter {
    pub(crate) fn new(
        core: CoordinatorHandle,
        upstream: Upstream,
        tasks: TaskView,
        catalog: Catalog,
    ) -> Self {
        let tools = Arc::new(tool_schemas::all(catalog));
        Self { core, upstream, tasks, tools, catalog, transport: "http", shows_agents: false }
    }

    pub(crate) fn over_stdio(self) -> Self {
        Self { transport: "stdio", ..self }
    }

    pub(crate) fn showing_agents(self, shows_agents: bool) -> Self {
        Self { shows_agents, ..self }
    }

    /// An agent introduces itself.
    pub(super) fn log_agent(&self, agent: Option<&Implementation>) {
        let (client, version) = agent.map(|agent| (&*agent.name, &*agent.version)).unzip();
        info!(client, version, transport = self.transport, "agent connected");
    }

    pub(super) async fn answer(
        &self,
        raw: RawCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = raw.arguments.clone(); // The holder of the port validates them again.
        let tool = raw.tool.clone();
        let validated = validate_with(self.catalog, raw);
        if let Err(failure) = &validated {
            info!(tool, code = failure.code.text(), "call rejected");
        }
        let call = match validated {
            Ok(call) => call,
            Err(failure) if failure.code == ErrorCode::UnknownCommand => {
                return Err(protocol_error(JsonRpcErrorCode::INVALID_PARAMS, &failure));
            }
            Err(failure) => return Ok(tool_results::error(&failure).into()),
        };
        let (tool, knows_tasks) = (call.tool(), knows_tasks(context));
        if self.upstream.is_here() {
            return Ok(self.respond(self.run(call, context).await, knows_tasks));
        }
        let request = relay::Request {
            from: relay::RELAY,
            method: "tools/call",
            name: tool.name.to_owned(),
            params: json!({ "name": tool.name, "arguments": arguments }),
            client_request_id: call.client_request_id().map(str::to_owned),
            needs: self.catalog.needed_for(tool, call.client_request_id().is_some()),
            knows_tasks,
            may_wait: call.may_wait(),
        };
        let here = async { Ok(self.respond(self.run(call, context).await, knows_tasks)) };
        let ran = self.run_somewhere::<_, Relayed>(tool, request, here, context);
        Box::pin(ran).await.unwrap_or_else(|failure| Ok(tool_results::error(&failure).into()))
    }

    fn respond(&self, outcome: Outcome, knows_tasks: bool) -> CallToolResponse {
        let accepted = outcome.as_ref().ok().and_then(Answer::accepted_job);
        let is_replayed = matches!(outcome, Ok(Answer::Replayed(_)));
        match outcome {
            Ok(_) if knows_tasks && let Some((job, state, times)) = accepted => {
                CallToolResponse::Task(self.tasks.created(job, state, times, is_replayed))
            }
            outcome => tool_results::of(outcome, self.tasks.clock).into(),
        }
    }

    /// A request about a task is a call about its job. `tool` is what is called, `told` makes the result.
    pub(super) async fn ask_about_task<T: DeserializeOwned>(
        &self,
        method: &'static str,
        task_id: &str,
        tool: &str,
        context: &RequestContext<RoleServer>,
        told: impl FnOnce(Answer) -> Option<T>,
    ) -> Result<T, ErrorData> {
        let arguments = Map::from_iter([("job_id".to_owned(), Json::from(task_id))]);
        let call = validate_with(self.catalog, RawCall { tool: tool.to_owned(), arguments })
            .map_err(|failure| task_error(&failure))?;
        let tool = call.tool();
        let request = relay::Request {
            from: relay::RELAY,
            method,
            name: task_id.to_owned(),
            params: json!({ "taskId": task_id, "inputResponses": {} }),
            client_request_id: None,
            needs: Catalog::V1_0,
            knows_tasks: true,
            may_wait: call.may_wait(),
        };
        let here = async {
            let answer = self.run(call, context).await.map(told);
            answer
                .and_then(|told| told.ok_or_else(Failure::broken_after_sending))
                .map_err(|failure| task_error(&failure))
        };
        let ran = self.run_somewhere::<_, T>(tool, request, here, context);
        Box::pin(ran).await.unwrap_or_else(|failure| Err(task_error(&failure)))
    }

    /// Here or at the holder of the port, whose progress reports are passed on. Its future is large: callers box it.
    async fn run_somewhere<T, R: DeserializeOwned + Into<T>>(
        &self,
        tool: &Tool,
        request: relay::Request,
        here: impl Future<Output = Result<T, ErrorData>>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<T, ErrorData>, Failure> {
        let (progress, mut lines) = mpsc::channel(1);
        let upstream = &self.upstream;
        let mut ran = pin!(upstream.run::<T, R>(tool, request, here, &progress, &context.ct));
        let mut reports = Reports::new(context);
        loop {
            tokio::select! {
                biased;
                Some(progress) = lines.recv() => reports.send(progress).await,
                ran = ran.as_mut() => return ran,
            }
        }
    }

    async fn run(&self, request: ValidCall, context: &RequestContext<RoleServer>) -> Outcome {
        let wants_progress = context.meta.get_progress_token().is_some();
        let tool = request.tool();
        let mut call = self.core.call_by(self.agent(context), request, wants_progress).await;
        match survive(follow(&mut call, context)).await {
            Some(Some(outcome)) => outcome,
            Some(None) => {
                self.core.tell(Event::CallCancelled { call: call.id }).await;
                // rmcp sends this only if the conversation ends with the server. A cancelled call gets no answer.
                Err(Failure::stopped_while_running().for_tool(tool))
            }
            None => self.break_off(call).await,
        }
    }

    /// What the page calls the agent: the name that it gives itself, and how it reaches the server.
    fn agent(&self, context: &RequestContext<RoleServer>) -> String {
        if !self.shows_agents {
            return String::new();
        }
        // Over HTTP, rmcp puts its own name where an agent gives none.
        let client = match self.transport {
            "stdio" => context.client_info(),
            _ => context.meta.client_info(),
        };
        let named = client
            .map(|client| client.name)
            .or_else(|| Some(user_agent(&context.extensions)?.to_owned()));
        let name = named.map(|name| printable(&name, PAGE_AGENT_MAX));
        format!("{} ({})", name.as_deref().unwrap_or("agent"), self.transport)
    }

    /// The core knows whether anything was sent, and says so.
    async fn break_off(&self, mut call: OpenCall) -> Outcome {
        self.core.tell(Event::CallBroke { call: call.id }).await;
        loop {
            if let News::Outcome(outcome) = call.news().await {
                return outcome;
            }
        }
    }
}

/// Of an agent over HTTP that does not give its name in each request.
fn user_agent(extensions: &Extensions) -> Option<&str> {
    let head: &Parts = extensions.get()?;
    head.headers.get(USER_AGENT)?.to_str().ok()?.split(['/', ' ']).next()
}

/// The outcome of a call, or `None` if its agent has cancelled it.
async fn follow(call: &mut OpenCall, context: &RequestContext<RoleServer>) -> Option<Outcome> {
    let mut reports = Reports::new(context);
    loop {
        tokio::select! {
            biased; // An answer goes out even if the conversation is about to end.
            news = call.news() => match news {
                News::Progress(report) => reports.send(progress_of(&report)).await,
                News::Outcome(outcome) => return Some(outcome),
            },
            () = context.ct.cancelled() => return None,
        }
    }
}

/// `None` if it panicked: without this a client would wait for ever.
pub(super) fn survive<T>(future: impl Future<Output = T>) -> impl Future<Output = Option<T>> {
    AssertUnwindSafe(future)
        .catch_unwind()
        .map(|survived| survived.inspect_err(|_| error!("the adapter of a call failed")).ok())
}

/// A request about a task that is unknown is a mistake of the caller.
fn task_error(failure: &Failure) -> ErrorData {
    let is_unknown = matches!(failure.code, ErrorCode::JobNotFound | ErrorCode::CancelNotSupported);
    let code = if is_unknown {
        JsonRpcErrorCode::INVALID_PARAMS
    } else {
        JsonRpcErrorCode::INTERNAL_ERROR
    };
    protocol_error(code, failure)
}

/// Counted in what the job counts, tests for example.
fn progress_of(report: &ProgressReport) -> Progress {
    let counts = report.job.as_ref().and_then(|(_, progress)| progress.as_ref());
    Progress {
        message: rendering::progress(report),
        done: counts.map_or(0.0, |counts| counts.done as f64),
        total: counts.map(|counts| counts.total as f64),
    }
}

/// Progress of one request.
struct Reports<'a> {
    context: &'a RequestContext<RoleServer>,
    last: f64,
}

impl<'a> Reports<'a> {
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        Self { context, last: 0.0 }
    }

    /// A report that the agent does not take is lost: the next one, or the answer, says more.
    async fn send(&mut self, Progress { message, done, total }: Progress) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        self.last = done.max(self.last + PROGRESS_STEP);
        let report = ProgressNotificationParam::new(token, self.last).with_message(message);
        let report = total.into_iter().fold(report, ProgressNotificationParam::with_total);
        // In a box: its future is large, and few calls report.
        Box::pin(self.context.peer.notify_progress(report)).await.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::{Map, ToUnity, codec};
    use tokio::sync::watch;

    use super::{McpEndpointAdapter, TaskView, Upstream, survive};
    use crate::clock::EPOCH;
    use crate::event_loop::{self, CoordinatorHandle, Outgoing, UnityPort};
    use crate::port::upstream::PortState;
    use crate::system::Loopback;
    use coordination::{
        Boot, Catalog, Event, ExecutionCoordinator, Limits, Outcome, RawCall, ValidCall, validate,
    };

    fn adapter() -> (McpEndpointAdapter, CoordinatorHandle) {
        let (core, inbox) = event_loop::channel();
        let boot = Boot::new("t").unwrap();
        let decisions = ExecutionCoordinator::new(Limits::default(), boot, "1");
        tokio::spawn(event_loop::run(decisions, inbox, EPOCH));
        let (_, port) = watch::channel(PortState::Ours);
        let tasks = TaskView { clock: EPOCH, poll_interval: Duration::ZERO };
        (
            McpEndpointAdapter::new(
                core.clone(),
                Upstream::new(Loopback, port),
                tasks,
                Catalog::V1_0,
            ),
            core,
        )
    }

    fn read_console() -> ValidCall {
        validate(RawCall { tool: "read_console".to_owned(), arguments: Map::new() }).unwrap()
    }

    /// `code guarantee` of a failure.
    fn brief(outcome: &Outcome) -> String {
        let failure = outcome.as_ref().unwrap_err();
        format!("{} {}", failure.code, failure.guarantee.text())
    }

    async fn next_frame(port: &mut UnityPort) -> ToUnity {
        match port.outbox.recv().await {
            Some(Outgoing::Frame(frame)) => frame,
            Some(Outgoing::Close { .. }) | None => panic!("the socket is closed"),
        }
    }

    #[tokio::test]
    async fn a_panic_while_a_call_is_followed_is_survived() {
        assert_eq!(survive(async { 7 }).await, Some(7));
        assert_eq!(survive::<()>(async { panic!("a defect") }).await, None);
    }

    #[tokio::test]
    async fn a_call_that_broke_before_it_was_sent_was_not_executed() {
        let (adapter, core) = adapter();
        let call = core.call(read_console(), false).await;
        assert_eq!(brief(&adapter.break_off(call).await), "ERR_UNITY_EXECUTION not_executed");
    }

    #[tokio::test]
    async fn a_call_that_broke_after_it_was_sent_is_unknown() {
        let (adapter, core) = adapter();
        core.tell(Event::PortBound).await;
        let mut port = core.unity_opened().await;
        let hello =
            br#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready"}"#;
        core.tell(Event::UnityFrame { on: port.id, frame: codec::decode(hello) }).await;
        let call = core.call(read_console(), false).await;
        while !matches!(next_frame(&mut port).await, ToUnity::Execute(_)) {}
        assert_eq!(brief(&adapter.break_off(call).await), "ERR_INVALID_RESPONSE unknown");
    }
}
