//! McpEndpointAdapter: an MCP request becomes a call, its outcome an MCP result. Knows no Unity word.
//!
//! rmcp speaks the revisions from 2024-11-05 to 2026-07-28; what it leaves to a server is here.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use protocol::{Json, Map};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, ErrorCode as JsonRpcErrorCode, ErrorData,
    ProgressNotificationParam, Tool,
};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::mpsc;
use tracing::error;

use crate::event_loop::{CoordinatorHandle, News, OpenCall};
use crate::mcp::handler::knows_tasks;
use crate::mcp::tasks::TaskView;
use crate::mcp::tool_results::{self, protocol_error};
use crate::mcp::{rendering, tool_schemas};
use crate::port::relay::{self, Passed, Relay};
use coordination::{Answer, ErrorCode, Event, Failure, Outcome, RawCall, ValidCall, validate};

#[derive(Clone)]
pub struct McpEndpointAdapter {
    core: CoordinatorHandle,
    relay: Relay,
    pub(crate) tasks: TaskView,
    pub(crate) tools: Arc<Vec<Tool>>,
}

/// An answer to a call that the holder of the port gave.
#[derive(Deserialize)]
#[serde(untagged)]
enum Relayed {
    Task(CreateTaskResult),
    Complete(CallToolResult),
}

impl McpEndpointAdapter {
    pub(crate) fn new(core: CoordinatorHandle, relay: Relay, tasks: TaskView) -> Self {
        Self { core, relay, tasks, tools: Arc::new(tool_schemas::all()) }
    }

    pub(crate) async fn answer(
        &self,
        raw: RawCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = match validate(raw.clone()) {
            Ok(call) => call,
            Err(failure) if failure.code == ErrorCode::UnknownCommand => {
                return Err(protocol_error(JsonRpcErrorCode::INVALID_PARAMS, &failure));
            }
            Err(failure) => return Ok(tool_results::error(&failure).into()),
        };
        let (tool, knows_tasks) = (call.tool(), knows_tasks(context));
        let request = relay::Request {
            method: "tools/call",
            name: &raw.tool,
            params: json!({ "name": raw.tool, "arguments": raw.arguments }),
            knows_tasks,
        };
        let failure = match self.pass_on(request, context).await {
            Passed::NotSent => {
                let outcome = self.run(call, context).await;
                return Ok(self.respond(outcome, knows_tasks));
            }
            Passed::Answer(answer) => {
                return answer.map(|answer| match answer {
                    Relayed::Task(task) => CallToolResponse::Task(task),
                    Relayed::Complete(result) => CallToolResponse::Complete(result),
                });
            }
            Passed::NoRoom => Failure::too_much_unanswered(),
            Passed::Lost => Failure::holder_lost().for_tool(tool),
            Passed::GivenUp => Failure::stopped_while_running().for_tool(tool),
        };
        Ok(tool_results::error(&failure).into())
    }

    fn respond(&self, outcome: Outcome, knows_tasks: bool) -> CallToolResponse {
        match outcome {
            Ok(Answer::JobAccepted { job, state, times }) if knows_tasks => {
                CallToolResponse::Task(self.tasks.created(job, state, times))
            }
            outcome => tool_results::of(outcome).into(),
        }
    }

    /// A request about a task is a call about its job. `tool` is what is called, `told` makes the result.
    pub(crate) async fn ask_about_task<T: DeserializeOwned>(
        &self,
        method: &'static str,
        task_id: &str,
        tool: &str,
        context: &RequestContext<RoleServer>,
        told: impl FnOnce(Answer) -> Option<T>,
    ) -> Result<T, ErrorData> {
        let params = json!({ "taskId": task_id, "inputResponses": {} });
        let request = relay::Request { method, name: task_id, params, knows_tasks: true };
        let failure = match self.pass_on(request, context).await {
            Passed::NotSent => {
                let arguments = Map::from_iter([("job_id".to_owned(), Json::from(task_id))]);
                let outcome = match validate(RawCall { tool: tool.to_owned(), arguments }) {
                    Ok(call) => self.run(call, context).await,
                    Err(failure) => Err(failure),
                };
                match outcome.map(told) {
                    Ok(Some(told)) => return Ok(told),
                    Ok(None) => Failure::broken_after_sending(),
                    Err(failure) => failure,
                }
            }
            Passed::Answer(answer) => return answer,
            Passed::NoRoom => Failure::too_much_unanswered(),
            Passed::Lost => Failure::holder_lost(),
            Passed::GivenUp => Failure::stopped_while_running(),
        };
        let is_unknown =
            matches!(failure.code, ErrorCode::JobNotFound | ErrorCode::CancelNotSupported);
        let code = if is_unknown {
            JsonRpcErrorCode::INVALID_PARAMS
        } else {
            JsonRpcErrorCode::INTERNAL_ERROR
        };
        Err(protocol_error(code, &failure))
    }

    /// To the unity-mcp that has the port, if one has.
    async fn pass_on<T: DeserializeOwned>(
        &self,
        request: relay::Request<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Passed<T> {
        let Some(to) = self.relay.holder() else { return Passed::NotSent };
        let (progress, mut lines) = mpsc::channel(1);
        let mut passed = pin!(self.relay.pass_on(to, request, &progress));
        let mut reports = Reports::new(context);
        loop {
            tokio::select! {
                biased;
                Some(line) = lines.recv() => reports.send(line).await,
                passed = passed.as_mut() => return passed,
                () = context.ct.cancelled() => return Passed::GivenUp,
            }
        }
    }

    async fn run(&self, request: ValidCall, context: &RequestContext<RoleServer>) -> Outcome {
        let wants_progress = context.meta.get_progress_token().is_some();
        let tool = request.tool();
        let mut call = self.core.call(request, wants_progress).await;
        match survive(follow(&mut call, context)).await {
            Some(Some(outcome)) => outcome,
            Some(None) => {
                self.core.tell(Event::CallCancelled { call: call.id }).await;
                // rmcp sends it only if the conversation ends with the server: a cancelled call has no answer.
                Err(Failure::stopped_while_running().for_tool(tool))
            }
            None => self.break_off(call).await,
        }
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

/// The outcome of a call, or `None` if its agent does not want it any more.
async fn follow(call: &mut OpenCall, context: &RequestContext<RoleServer>) -> Option<Outcome> {
    let mut reports = Reports::new(context);
    loop {
        tokio::select! {
            biased; // What is there is told, also when the conversation is about to end.
            news = call.news() => match news {
                News::Progress(report) => reports.send(rendering::progress(&report)).await,
                News::Outcome(outcome) => return Some(outcome),
            },
            () = context.ct.cancelled() => return None,
        }
    }
}

/// `None` if it panicked: without this a client would wait for ever.
pub(crate) async fn survive<T>(future: impl Future<Output = T>) -> Option<T> {
    let survived = AssertUnwindSafe(future).catch_unwind().await;
    survived.inspect_err(|_| error!("the adapter of a call failed")).ok()
}

/// Progress of one request, numbered so that it strictly grows.
struct Reports<'a> {
    context: &'a RequestContext<RoleServer>,
    sent: u32,
}

impl<'a> Reports<'a> {
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        Self { context, sent: 0 }
    }

    /// An agent that does not take a report is told more by the next, or by its answer.
    async fn send(&mut self, line: String) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        self.sent += 1;
        let report = ProgressNotificationParam::new(token, f64::from(self.sent)).with_message(line);
        self.context.peer.notify_progress(report).await.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use protocol::{Map, ToUnity, codec};
    use tokio::sync::watch;

    use super::{McpEndpointAdapter, Relay, TaskView, survive};
    use crate::event_loop::{self, CoordinatorHandle, UnityPort};
    use crate::system::Loopback;
    use crate::unity::web_socket::Outgoing;
    use coordination::{
        Boot, Event, ExecutionCoordinator, Limits, Outcome, RawCall, ValidCall, validate,
    };

    fn adapter() -> (McpEndpointAdapter, CoordinatorHandle) {
        let (core, inbox) = event_loop::channel();
        let boot = Boot::new("t").unwrap();
        tokio::spawn(event_loop::run(
            ExecutionCoordinator::new(Limits::default(), boot, "1"),
            inbox,
        ));
        let (_, holder) = watch::channel(None);
        let tasks = TaskView { started: SystemTime::UNIX_EPOCH, poll_interval: Duration::ZERO };
        (McpEndpointAdapter::new(core.clone(), Relay::new(Loopback, holder), tasks), core)
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
            Some(Outgoing::Say(frame)) => frame,
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
