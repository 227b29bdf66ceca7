//! Agents: real MCP clients that do what a scenario says and record the answer of each call.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::Json;
use rmcp_client::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskParams, CancelTaskRequest,
    ClientCapabilities, ClientConfig, ClientRequest, GetTaskParams, GetTaskRequest, Implementation,
    ProtocolVersion, ServerResult,
};
use rmcp_client::service::{PeerRequestOptions, RequestHandle, RunningService, ServiceError};
use rmcp_client::transport::StreamableHttpClientTransport;
use rmcp_client::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp_client::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::levels::clock;
use crate::levels::hosts::HostNetwork;
use crate::programs::http_client::HttpClient;
use crate::record::calls::{CallRecords, CallResult};
use crate::scenario::{Call, Speaks, Via};

/// How often an agent tries again to connect, and how long it waits before each try.
const JOIN_ATTEMPTS: u32 = 10;
const JOIN_PAUSE: Duration = Duration::from_millis(50);

type Client = RunningService<RoleClient, ClientConfig>;

/// What one agent does.
#[derive(Clone, Debug)]
pub(crate) struct AgentScript {
    pub(crate) joins: Duration,
    pub(crate) via: Via,
    pub(crate) speaks: Speaks,
    /// The host of its server, whose pipes it holds.
    pub(crate) server: String,
    pub(crate) port: u16,
    /// In order of time.
    pub(crate) steps: Vec<(Duration, AgentStep)>,
}

#[derive(Clone, Debug)]
pub(crate) enum AgentStep {
    Call(Box<Call>),
    Cancel {
        label: String,
    },
    /// Its server was started again.
    JoinAgain,
    Leave,
}

/// Runs until the end of the simulation.
pub(crate) async fn run<M: HostNetwork>(script: AgentScript, network: M, calls: CallRecords) {
    let started = Instant::now();
    sleep_until(started + script.joins).await;
    let mut joined = join(&script, &network).await;
    if let Err(problem) = &joined {
        calls.not_joined(problem.clone());
    }
    let mut back: BTreeMap<String, CancellationToken> = BTreeMap::new();
    for (at, step) in script.steps.clone() {
        sleep_until(started + at).await;
        match step {
            AgentStep::Call(call) => {
                calls.write(&call.label, |record| record.called_at = Some(clock::now()));
                let client = match &joined {
                    Ok(client) => client,
                    Err(problem) => {
                        calls.told(&call.label, CallResult::Lost(problem.clone()));
                        continue;
                    }
                };
                let token = back.entry(call.label.clone()).or_default().clone();
                match ask(client, &call).await {
                    Ok(handle) => {
                        drop(tokio::spawn(wait(call.label, handle, token, calls.clone())))
                    }
                    Err(error) => calls.told(&call.label, CallResult::Lost(error.to_string())),
                }
            }
            AgentStep::Cancel { label } => back.entry(label).or_default().cancel(),
            AgentStep::JoinAgain => {
                let is_joined =
                    joined.as_ref().is_ok_and(|client| !client.peer().is_transport_closed());
                if !is_joined {
                    joined = join(&script, &network).await;
                }
            }
            AgentStep::Leave => {
                let left = Err("the agent has left".to_owned());
                if let Ok(client) = std::mem::replace(&mut joined, left) {
                    client.cancellation_token().cancel();
                }
            }
        }
    }
    std::future::pending().await
}

async fn join<M: HostNetwork>(script: &AgentScript, network: &M) -> Result<Client, String> {
    let mut joined = try_to_join(script, network).await;
    for _ in 0..JOIN_ATTEMPTS {
        if joined.is_err() {
            tokio::time::sleep(JOIN_PAUSE).await; // Its server may still be starting.
            joined = try_to_join(script, network).await;
        }
    }
    joined
}

async fn try_to_join<M: HostNetwork>(script: &AgentScript, network: &M) -> Result<Client, String> {
    let mut capabilities = ClientCapabilities::default();
    if script.speaks == Speaks::Tasks {
        capabilities = ClientCapabilities::builder().enable_tasks().build();
    }
    let client = ClientConfig::new(capabilities, Implementation::new("agent", "1"));
    let lifecycle = match script.speaks {
        Speaks::Modern | Speaks::Tasks => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        Speaks::Legacy => ClientLifecycleMode::Initialize,
    };
    let joined = match script.via {
        Via::Http => {
            let http = HttpClient { network: network.clone(), port: script.port };
            let config = StreamableHttpClientTransportConfig::with_uri("http://127.0.0.1/mcp");
            let transport = StreamableHttpClientTransport::with_client(http, config);
            client.serve_with_lifecycle(transport, lifecycle).await
        }
        Via::Stdio | Via::OwnServer => {
            let pipes =
                network.pipes_of(&script.server).await.map_err(|error| error.to_string())?;
            client.serve_with_lifecycle(tokio::io::split(pipes), lifecycle).await
        }
    };
    joined.map_err(|error| format!("the agent could not join: {error}"))
}

async fn ask(client: &Client, call: &Call) -> Result<RequestHandle<RoleClient>, ServiceError> {
    let task = || call.arguments.get("taskId").and_then(Json::as_str).unwrap_or_default();
    let request = match call.tool.as_str() {
        "tasks/get" => {
            ClientRequest::GetTaskRequest(GetTaskRequest::new(GetTaskParams::new(task())))
        }
        "tasks/cancel" => {
            ClientRequest::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(task())))
        }
        tool => {
            let params = CallToolRequestParams::new(tool.to_owned());
            let params = params.with_arguments(call.arguments.clone());
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        }
    };
    client.send_cancellable_request(request, PeerRequestOptions::no_options()).await
}

async fn wait(
    label: String,
    mut handle: RequestHandle<RoleClient>,
    back: CancellationToken,
    calls: CallRecords,
) {
    tokio::select! {
        biased;
        () = back.cancelled() => {
            calls.write(&label, |record| record.cancelled_at = Some(clock::now()));
            // If this fails, the server has ended, and the call with it.
            handle.cancel(None).await.unwrap_or_default();
        }
        answer = &mut handle.rx => {
            let told = match answer {
                Ok(Ok(ServerResult::CallToolResult(result))) => told(result),
                Ok(Err(ServiceError::McpError(error))) => {
                    CallResult::Failed { code: error.code.0.to_string(), guarantee: None }
                }
                // About a task.
                Ok(Ok(result)) => CallResult::Ok(serde_json::to_value(result).unwrap_or_default()),
                Ok(Err(error)) => CallResult::Lost(error.to_string()),
                Err(_) => CallResult::Lost("the connection ended".to_owned()),
            };
            calls.told(&label, told);
        }
    }
}

fn told(result: CallToolResult) -> CallResult {
    if result.is_error != Some(true) {
        return CallResult::Ok(result.structured_content.unwrap_or_default());
    }
    let text = result.content.first().and_then(|content| content.as_text());
    let error: Option<Json> = text.and_then(|text| serde_json::from_str(&text.text).ok());
    let text = |pointer: &str| {
        let value = error.as_ref().and_then(|error| error.pointer(pointer));
        value.and_then(Json::as_str).map(str::to_owned)
    };
    CallResult::Failed {
        code: text("/error/code").unwrap_or_default(),
        guarantee: text("/error/details/execution_guarantee"),
    }
}
