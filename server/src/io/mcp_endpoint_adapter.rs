//! McpEndpointAdapter: an MCP request becomes a call, its outcome an MCP result. Knows no Unity word.
//!
//! rmcp speaks the revisions from 2024-11-05 to 2026-07-28; what it leaves to a server is here.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use protocol::Json;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode as JsonRpcErrorCode, ErrorData, Implementation, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::mpsc;
use tracing::error;

use super::event_loop::{CoordinatorHandle, News, OpenCall};
use super::relay::{PASSED_MAX, Passed, Relay};
use super::{rendering, tool_schemas};
use crate::coordination::{ErrorCode, Event, Failure, Outcome, RawCall, ValidCall, validate};

/// The list of tools never changes while a server runs.
const TOOLS_FRESH_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = "Tools for one Unity Editor. Calls wait by themselves while Unity compiles, \
reloads or reconnects: do not poll before calling. run_tests gives a job_id; pass wait_ms to it and to \
get_job_status instead of asking in a loop. Every error says in details.execution_guarantee whether the call \
ran: after not_executed repeat it if retryable; after unknown look at the Editor (read_console, \
get_job_status) before repeating.";

#[derive(Clone)]
pub struct McpEndpointAdapter {
    core: CoordinatorHandle,
    relay: Relay,
    tools: Arc<Vec<Tool>>,
}

impl McpEndpointAdapter {
    pub(crate) fn new(core: CoordinatorHandle, relay: Relay) -> Self {
        Self { core, relay, tools: Arc::new(tool_schemas::all()) }
    }

    async fn answer(
        &self,
        raw: RawCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let call = match validate(raw.clone()) {
            Ok(call) => call,
            Err(failure) if failure.code == ErrorCode::UnknownCommand => {
                return Err(protocol_error(JsonRpcErrorCode::INVALID_PARAMS, &failure));
            }
            Err(failure) => return Ok(result_of(Err(failure))),
        };
        let tool = call.tool();
        match self.pass_on(&raw, context).await {
            Passed::NotSent => Ok(self.run(call, context).await),
            Passed::Answer(answer) => answer,
            Passed::NoRoom => Ok(result_of(Err(Failure::queue_full(PASSED_MAX)))),
            Passed::Lost => Ok(result_of(Err(Failure::holder_lost().for_tool(tool)))),
            Passed::GivenUp => Ok(given_up(tool)),
        }
    }

    /// To the unity-mcp that has the port, if one has.
    async fn pass_on(&self, raw: &RawCall, context: &RequestContext<RoleServer>) -> Passed {
        let Some(port) = self.relay.holder() else { return Passed::NotSent };
        let (progress, mut lines) = mpsc::channel(1);
        let mut passed = pin!(self.relay.pass_on(port, raw, &progress));
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

    async fn run(
        &self,
        request: ValidCall,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let wants_progress = context.meta.get_progress_token().is_some();
        let tool = request.tool();
        let mut call = self.core.call(request, wants_progress).await;
        match survive(follow(&mut call, context)).await {
            Some(Some(outcome)) => result_of(outcome),
            Some(None) => {
                self.core.tell(Event::CallCancelled { call: call.id }).await;
                given_up(tool)
            }
            None => self.break_off(call).await,
        }
    }

    /// The core knows whether anything was sent, and says so.
    async fn break_off(&self, mut call: OpenCall) -> CallToolResult {
        self.core.tell(Event::CallBroke { call: call.id }).await;
        loop {
            if let News::Outcome(outcome) = call.news().await {
                return result_of(outcome);
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
async fn survive<T>(future: impl Future<Output = T>) -> Option<T> {
    let survived = AssertUnwindSafe(future).catch_unwind().await;
    survived.inspect_err(|_| error!("the adapter of a call failed")).ok()
}

impl ServerHandler for McpEndpointAdapter {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let implementation = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec())
            .with_ttl_ms(TOOLS_FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let raw = RawCall { tool: request.name.into_owned(), arguments };
        let answer = survive(self.answer(raw, &context)).await;
        // Nobody can say how far it came.
        let answer = answer.unwrap_or_else(|| Ok(result_of(Err(Failure::broken_after_sending()))));
        answer.map(CallToolResponse::Complete)
    }

    /// rmcp takes a known method with malformed parameters for an unknown one.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let known = ["initialize", "tools/call", "tools/list", "server/discover"];
        if known.contains(&request.method.as_str()) {
            let failure = Failure::malformed_request();
            return Err(protocol_error(JsonRpcErrorCode::INVALID_PARAMS, &failure));
        }
        Err(protocol_error(JsonRpcErrorCode::METHOD_NOT_FOUND, &Failure::unknown_method()))
    }

    // A server of tools alone: from 2026-07-28 on the rest does not exist, before it is empty.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        empty_for_legacy::<ListPromptsRequestMethod, _>(&context)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        empty_for_legacy::<ListResourcesRequestMethod, _>(&context)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        empty_for_legacy::<ListResourceTemplatesRequestMethod, _>(&context)
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        empty_for_legacy::<CompleteRequestMethod, _>(&context)
    }
}

fn empty_for_legacy<M: rmcp::model::ConstString, T: Default>(
    context: &RequestContext<RoleServer>,
) -> Result<T, ErrorData> {
    let version = context.protocol_version();
    if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        return Err(ErrorData::method_not_found::<M>());
    }
    Ok(T::default())
}

/// Structured and as text on success; a failure as text alone, for clients check structured content
/// against the output schema and would hide it.
fn result_of(outcome: Outcome) -> CallToolResult {
    match outcome {
        Ok(answer) => {
            let answer = rendering::answer(answer);
            let mut result = CallToolResult::success(vec![ContentBlock::text(answer.to_string())]);
            result.structured_content = Some(answer);
            result
        }
        Err(failure) => {
            let envelope: Json = json!({ "error": rendering::failure(&failure) });
            CallToolResult::error(vec![ContentBlock::text(envelope.to_string())])
        }
    }
}

fn protocol_error(code: JsonRpcErrorCode, failure: &Failure) -> ErrorData {
    ErrorData::new(code, failure.message.clone(), Some(rendering::failure(failure)))
}

/// rmcp sends it only if the conversation ends with the server: a cancelled call has no answer.
fn given_up(tool: &crate::coordination::Tool) -> CallToolResult {
    result_of(Err(Failure::stopped_while_running().for_tool(tool)))
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
    use protocol::{Map, ToUnity, codec};
    use rmcp::model::CallToolResult;
    use tokio::sync::watch;

    use super::{McpEndpointAdapter, Relay, survive};
    use crate::coordination::{
        Boot, Event, ExecutionCoordinator, Limits, RawCall, ValidCall, validate,
    };
    use crate::io::event_loop::{self, CoordinatorHandle, Outgoing, UnityPort};
    use crate::system::Loopback;

    fn adapter() -> (McpEndpointAdapter, CoordinatorHandle) {
        let (core, inbox) = event_loop::channel();
        let boot = Boot::new("t").unwrap();
        tokio::spawn(event_loop::run(
            ExecutionCoordinator::new(Limits::default(), boot, "1"),
            inbox,
        ));
        let (_, holder) = watch::channel(None);
        (McpEndpointAdapter::new(core.clone(), Relay::new(Loopback, holder)), core)
    }

    fn read_console() -> ValidCall {
        validate(RawCall { tool: "read_console".to_owned(), arguments: Map::new() }).unwrap()
    }

    /// `code guarantee` of a failed result.
    fn brief(result: &CallToolResult) -> String {
        let text = &result.content.first().unwrap().as_text().unwrap().text;
        let envelope: protocol::Json = serde_json::from_str(text).unwrap();
        let error = &envelope["error"];
        let words = [&error["code"], &error["details"]["execution_guarantee"]];
        words.map(|word| word.as_str().unwrap()).join(" ")
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
