//! The methods of the server, as rmcp calls them, and what each revision of MCP expects of them.

use coordination::{Answer, Catalog, Failure, RawCall};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
    UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::IgnoredAny;

use super::adapter::{McpEndpointAdapter, survive};
use super::tool_results::{self, protocol_error};
use crate::budget::TOOLS_FRESH_MS;

const INSTRUCTIONS: &str = "Tools for one Unity Editor. Calls wait while Unity compiles, reloads or \
reconnects, so don't poll. run_tests returns a job_id; pass wait_ms to it and to get_job_status instead of asking \
repeatedly. read_console returns a cursor; pass it as since to read only new entries. Every error says what to do. \
details.execution_guarantee says whether the call ran: after not_executed, repeat the call if retryable is true; \
after unknown, check the Editor (read_console, get_job_status) before you repeat it.";

/// Catalogue 1.1.
const LOOP: &str = " After you have edited scripts: call script_recompile_trigger with wait_ms, fix the errors that it \
returns, then call run_tests. A call of open_scene, run_tests or script_recompile_trigger that repeats a \
client_request_id gets the answer of the first one and never runs twice: after unknown, repeat it with the same \
client_request_id to find out how it ended.";

impl ServerHandler for McpEndpointAdapter {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        let implementation = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(
            match self.catalog {
                Catalog::V1_0 => INSTRUCTIONS.to_owned(),
                Catalog::V1_1 => INSTRUCTIONS.to_owned() + LOOP,
            },
        )
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.log_agent(Some(&request.client_info));
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.log_agent(context.client_info().as_ref());
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(malformed()); // There is one page, so there is no cursor.
        }
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
        // It is unknown how far it came.
        let broken = || tool_results::error(&Failure::broken_after_sending()).into();
        answer.unwrap_or_else(|| Ok(broken()))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let told = |answer| match answer {
            Answer::Job(report) => Some(self.tasks.shown(*report)),
            Answer::EditorState(_)
            | Answer::Unity(_)
            | Answer::JobAccepted { .. }
            | Answer::Cancel { .. }
            | Answer::Replayed(_) => None,
        };
        let id = &request.task_id;
        self.ask_about_task("tasks/get", id, "get_job_status", &context, told).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The task shows what came of the cancel.
        let told = |_| Some(IgnoredAny);
        let id = &request.task_id;
        let told = self.ask_about_task("tasks/cancel", id, "cancel_job", &context, told).await;
        told.map(|IgnoredAny| ())
    }

    /// No task of ours asks for input, so there is nothing to do with it.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let told = |_| Some(IgnoredAny);
        let id = &request.task_id;
        let told = self.ask_about_task("tasks/update", id, "get_job_status", &context, told).await;
        told.map(|IgnoredAny| ())
    }

    /// rmcp takes a known method with malformed parameters for an unknown one.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if is_known(&request.method, &context) {
            return Err(malformed());
        }
        Err(unknown_method())
    }

    // This server has tools only. From 2026-07-28 on the rest does not exist; before that it is empty.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        empty_for_legacy(&context)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        empty_for_legacy(&context)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        empty_for_legacy(&context)
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        empty_for_legacy(&context)
    }

    async fn get_prompt(
        &self,
        _request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(unknown_method())
    }

    async fn read_resource(
        &self,
        _request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Err(unknown_method())
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Some clients declare tasks in a legacy `initialize` but do not understand one.
pub(super) fn knows_tasks(context: &RequestContext<RoleServer>) -> bool {
    let declared = || context.client_capabilities().is_some_and(|client| client.supports_tasks());
    is_modern(context) && declared()
}

const METHODS: [&str; 6] =
    ["server/discover", "tools/list", "tools/call", "tasks/get", "tasks/update", "tasks/cancel"];
const LEGACY_METHODS: [&str; 7] = [
    "initialize",
    "tools/list",
    "tools/call",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "completion/complete",
];

fn is_known(method: &str, context: &RequestContext<RoleServer>) -> bool {
    if is_modern(context) { METHODS.contains(&method) } else { LEGACY_METHODS.contains(&method) }
}

fn malformed() -> ErrorData {
    protocol_error(ErrorCode::INVALID_PARAMS, &Failure::malformed_request())
}

fn unknown_method() -> ErrorData {
    protocol_error(ErrorCode::METHOD_NOT_FOUND, &Failure::unknown_method())
}

fn empty_for_legacy<T: Default>(context: &RequestContext<RoleServer>) -> Result<T, ErrorData> {
    if is_modern(context) { Err(unknown_method()) } else { Ok(T::default()) }
}
