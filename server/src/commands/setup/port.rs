//! Which port a project gets.

use std::io::ErrorKind;
use std::path::Path;

use tokio::net::TcpListener;

use crate::budget::{SETUP_PORTS_TRIED, SETUP_USUAL_PORT};
use crate::commands::status::look;
use crate::network::Network as _;
use crate::port::holder::{Holder, identify};
use crate::project;
use crate::system::{Loopback, PATHS_IGNORE_CASE};

/// A free port and who has the usual one, if that is somebody else.
pub(super) async fn free_instead_of_usual(project: &Path) -> Option<(u16, String)> {
    let who = held_by_another(SETUP_USUAL_PORT, project).await?;
    for port in SETUP_USUAL_PORT.saturating_add(1)..=SETUP_USUAL_PORT + SETUP_PORTS_TRIED {
        if TcpListener::bind(("127.0.0.1", port)).await.is_ok() {
            return Some((port, who));
        }
    }
    None
}

/// Who has the port, unless that is nobody or the server of this project. A server that knows no project may become
/// the one of this.
pub(super) async fn held_by_another(port: u16, project: &Path) -> Option<String> {
    let refused = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    if Loopback.connect(port).await.is_err_and(|error| refused(&error)) {
        return None;
    }
    let holder = identify(&Loopback, port).await.unwrap_or(Holder::Silent);
    match &holder {
        Holder::UnityMcp { .. } => {
            let about = look::take(port).await.ok()?.about;
            let other = about.project.or_else(|| about.editor?.project_path)?;
            let is_other = !is_same(&other, project);
            is_other.then(|| format!("the server of {}", protocol::printable(&other, 300)))
        }
        Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_) => {
            Some(holder.describe())
        }
    }
}

fn is_same(one: &str, other: &Path) -> bool {
    let comparable = |path: &str| {
        let path = project::comparable(path);
        if PATHS_IGNORE_CASE { path.to_lowercase() } else { path }
    };
    comparable(one) == comparable(&other.to_string_lossy())
}
