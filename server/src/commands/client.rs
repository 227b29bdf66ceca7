//! Client: one agent over HTTP, at the unity-mcp that holds the port. It uses the connection of a relay.

use std::io::ErrorKind;
use std::pin::pin;

use coordination::{Catalog, Failure};
use protocol::{Json, Map};
use serde_json::json;
use tokio::sync::mpsc;

use super::call_error::CallError;
use super::output::ProgressLine;
use super::tool_list::ListedTool;
use crate::budget::REPORTS_MAX;
use crate::network::Network as _;
use crate::port::holder::{Holder, health, identify};
use crate::port::relay::{Passed, Relay, Request, Target};
use crate::system::Loopback;

pub(super) struct Client {
    relay: Relay,
    target: Target,
    pub(super) version: String,
    pub(super) pid: u64,
}

/// Why there is no server to call.
pub(super) enum NoServer {
    /// Nobody listens on the port.
    Nobody,
    /// It is not one that this user can call.
    Held(Holder),
    /// It requires a token, and there is none.
    NoToken(String),
}

impl Client {
    /// The server on this port.
    pub(super) async fn find(port: u16) -> Result<Self, NoServer> {
        match Loopback.connect(port).await {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                return Err(NoServer::Nobody);
            }
            Ok(_) | Err(_) => {}
        }
        let holder = identify(&Loopback, port).await.unwrap_or(Holder::Silent);
        let (version, pid, requires_token, catalog) = match holder {
            Holder::UnityMcp { version, pid, requires_token, catalog } => {
                (version, pid, requires_token, catalog)
            }
            Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_) => {
                return Err(NoServer::Held(holder));
            }
        };
        let token = if requires_token { Some(token()?) } else { None };
        Ok(Self {
            relay: Relay::new(Loopback),
            target: Target { port, token, catalog },
            version,
            pid,
        })
    }

    /// What `/healthz` says.
    pub(super) async fn health(&self) -> Option<Json> {
        health(&Loopback, self.target.port).await
    }

    pub(super) async fn tools(&self) -> Result<Vec<ListedTool>, CallError> {
        let params = json!({});
        let listed = self.request("tools/list", "", params, &mut ProgressLine::silent()).await?;
        let tools = listed.get("tools").and_then(Json::as_array);
        Ok(tools.into_iter().flatten().cloned().filter_map(ListedTool::new).collect())
    }

    /// The structured content of the answer. Dropping this cancels the call.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Json>,
        progress: &mut ProgressLine,
    ) -> Result<Json, CallError> {
        let params = json!({ "name": tool, "arguments": arguments });
        let result = self.request("tools/call", tool, params, progress).await?;
        let content = match result.get("structuredContent") {
            Some(content) => Some(content.clone()),
            None => result
                .pointer("/content/0/text")
                .and_then(Json::as_str)
                .and_then(|text| serde_json::from_str(text).ok()),
        };
        let content = content.ok_or_else(|| CallError::from(Failure::holder_lost()))?;
        match content.get("error") {
            Some(error) if result.get("isError") == Some(&json!(true)) => {
                Err(CallError(error.clone()))
            }
            Some(_) | None => Ok(content),
        }
    }

    async fn request(
        &self,
        method: &'static str,
        name: &str,
        params: Json,
        progress: &mut ProgressLine,
    ) -> Result<Json, CallError> {
        let request = Request {
            from: "unity-mcp command",
            method,
            name: name.to_owned(),
            params,
            client_request_id: None,
            needs: Catalog::V1_0,
            knows_tasks: false,
            may_wait: false,
        };
        let passed = match self.relay.dial(&self.target, &request).await {
            Ok(dialled) => {
                let (reports, mut shown) = mpsc::channel(REPORTS_MAX);
                let mut sent = pin!(dialled.send(&reports));
                loop {
                    tokio::select! {
                        biased;
                        Some(report) = shown.recv() => progress.show(&report.message),
                        passed = &mut sent => break passed,
                    }
                }
            }
            Err(passed) => passed,
        };
        progress.clear();
        match passed {
            Passed::Answer(Ok(result)) => Ok(result),
            Passed::Answer(Err(error)) => Err(CallError::of_protocol(error)),
            Passed::NobodyThere => Err(nobody(self.target.port)),
            Passed::Unreachable(why) => Err(Failure::holder_unreachable(&why).into()),
            Passed::NotWritable => Err(Failure::malformed_request().into()),
            Passed::NoRoom => Err(Failure::too_much_unanswered().into()),
            Passed::Lost => Err(Failure::holder_lost().into()),
        }
    }
}

fn token() -> Result<String, NoServer> {
    let missing = || {
        let file = token::file().unwrap_or_default();
        NoServer::NoToken(format!("there is no token in {}", file.display()))
    };
    let read = token::read().map_err(|error| NoServer::NoToken(error.to_string()))?;
    read.ok_or_else(missing)
}

pub(super) fn nobody(port: u16) -> CallError {
    CallError::no_server(&format!(
        "No unity-mcp listens on port {port}, so nothing ran; start one with unity-mcp, or add --start, or choose another port with --port."
    ))
}

impl NoServer {
    pub(super) fn error(self, port: u16) -> CallError {
        match self {
            Self::Nobody => nobody(port),
            Self::Held(holder) => CallError::no_server(&format!(
                "Nothing ran, because port {port} is held by {}; stop it, or choose another port with --port.",
                holder.describe()
            )),
            Self::NoToken(problem) => CallError::no_server(&format!(
                "Nothing ran, because the server on port {port} requires a token, and {problem}."
            )),
        }
    }
}
