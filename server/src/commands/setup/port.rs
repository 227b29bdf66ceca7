//! Which port a project gets.

use std::io::ErrorKind;
use std::path::Path;

use coordination::Catalog;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::budget::{SETUP_PORTS_TRIED, SETUP_USUAL_PORT};
use crate::network::Network as _;
use crate::port::holder::{Holder, identify};
use crate::port::relay::{Passed, Relay, Request, Target};
use crate::project;
use crate::system::{Loopback, PATHS_IGNORE_CASE};

/// A free port and who has the usual one, if that is somebody else. A server without an Editor may be the one of
/// this project, so it changes nothing.
pub(super) async fn free_instead_of_usual(project: &Path) -> Option<(u16, String)> {
    let refused = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    if Loopback.connect(SETUP_USUAL_PORT).await.is_err_and(|error| refused(&error)) {
        return None;
    }
    let holder = identify(&Loopback, SETUP_USUAL_PORT).await.unwrap_or(Holder::Silent);
    let who = match &holder {
        Holder::UnityMcp { requires_token, .. } => {
            let other = project_served(*requires_token).await?;
            if is_same(&other, project) {
                return None;
            }
            format!("the server of {}", protocol::printable(&other, 300))
        }
        Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_) => {
            holder.describe()
        }
    };
    for port in SETUP_USUAL_PORT.saturating_add(1)..=SETUP_USUAL_PORT + SETUP_PORTS_TRIED {
        if TcpListener::bind(("127.0.0.1", port)).await.is_ok() {
            return Some((port, who));
        }
    }
    None
}

fn is_same(one: &str, other: &Path) -> bool {
    let comparable = |path: &str| {
        let path = project::comparable(path);
        if PATHS_IGNORE_CASE { path.to_lowercase() } else { path }
    };
    comparable(one) == comparable(&other.to_string_lossy())
}

/// The project whose Editor the holder of the usual port serves now.
async fn project_served(requires_token: bool) -> Option<String> {
    let token = if requires_token { token::read().ok().flatten() } else { None };
    let request = Request {
        from: "unity-mcp command",
        method: "tools/call",
        name: "get_editor_state".to_owned(),
        params: json!({ "name": "get_editor_state", "arguments": {} }),
        client_request_id: None,
        needs: Catalog::V1_0,
        knows_tasks: false,
        may_wait: false,
    };
    let target = Target { port: SETUP_USUAL_PORT, token, catalog: Catalog::V1_0 };
    let dialled = Relay::new(Loopback).dial(&target, &request).await.ok()?;
    let (reports, _not_read) = mpsc::channel(1);
    let Passed::Answer(Ok(result)) = dialled.send(&reports).await else { return None };
    let path = result.pointer("/structuredContent/project/path").and_then(Value::as_str);
    path.map(str::to_owned)
}
