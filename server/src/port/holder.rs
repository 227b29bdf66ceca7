//! Holder: which program has the port.

use coordination::Catalog;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::HOST;
use hyper::{StatusCode, http};
use serde::Deserialize;
use tokio::time::timeout;

use super::relay::connect;
use crate::budget::{RELAY_HEALTH_BYTES_MAX, RELAY_IDENTIFY_TIMEOUT};
use crate::network::Network;

/// A program that has the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    UnityMcp {
        version: String,
        pid: u64,
        requires_token: bool,
        catalog: Catalog,
    },
    Stranger,
    /// What it says does not count.
    OfAnotherUser,
    /// It does not answer.
    Silent,
    /// None: the system does not give us the port.
    System(String),
}

impl Holder {
    pub fn describe(&self) -> String {
        match self {
            Self::UnityMcp { version, pid, requires_token, .. } => {
                let token = if *requires_token { ", which requires a token" } else { "" };
                let version = protocol::printable(version, 40);
                format!("another unity-mcp (version {version}, pid {pid}{token})")
            }
            Self::OfAnotherUser => "a program of another user".to_owned(),
            Self::Stranger => "another program, which is not a unity-mcp".to_owned(),
            Self::Silent => "another program, which does not answer".to_owned(),
            Self::System(error) => format!("the system ({error})"),
        }
    }
}

/// Asks the holder of the port what it is; `None` if there is no answer in time.
pub async fn identify<N: Network>(network: &N, port: u16) -> Option<Holder> {
    timeout(RELAY_IDENTIFY_TIMEOUT, ask(network, port)).await.ok().flatten()
}

/// What the holder says of its health; `None` if it says nothing in time that can be understood.
pub(crate) async fn health<N: Network>(network: &N, port: u16) -> Option<protocol::Json> {
    let asked = timeout(RELAY_IDENTIFY_TIMEOUT, ask_health(network, port)).await.ok()?;
    serde_json::from_slice(&asked?).ok()
}

async fn ask<N: Network>(network: &N, port: u16) -> Option<Holder> {
    if !network.listener_is_same_user(port).await {
        return Some(Holder::OfAnotherUser);
    }
    let health: Option<Health> = serde_json::from_slice(&ask_health(network, port).await?).ok();
    let health = health.filter(|health| health.name == env!("CARGO_PKG_NAME"));
    Some(health.map_or(
        Holder::Stranger,
        |Health { version, pid, requires_token, catalog, .. }| {
            let catalog = Catalog::named(&catalog).unwrap_or_default();
            Holder::UnityMcp { version, pid, requires_token, catalog }
        },
    ))
}

/// The answer of the holder, whatever it is.
async fn ask_health<N: Network>(network: &N, port: u16) -> Option<Bytes> {
    let mut holder = connect(network.connect(port).await.ok()?).await.ok()?;
    let request = http::Request::get("/healthz").header(HOST, format!("127.0.0.1:{port}"));
    match holder.send_request(request.body(Full::default()).ok()?).await {
        // A unity-mcp that has stopped says this in its last moments. It is not the answer of a stranger.
        Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => None,
        Ok(response) => {
            match Limited::new(response.into_body(), RELAY_HEALTH_BYTES_MAX).collect().await {
                Ok(body) => Some(body.to_bytes()),
                Err(error) if error.is::<LengthLimitError>() => Some(Bytes::new()),
                Err(_) => None, // It ended in the middle of its answer.
            }
        }
        Err(error) if error.is_parse() => Some(Bytes::new()), // It does not speak HTTP.
        Err(_) => None,
    }
}

/// What `/healthz` says, as far as it matters here.
#[derive(Deserialize)]
struct Health {
    name: String,
    version: String,
    pid: u64,
    #[serde(default)]
    requires_token: bool,
    #[serde(default)]
    catalog: String,
}

#[cfg(test)]
mod tests {
    use coordination::Catalog;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::{Holder, ask};
    use crate::system::Loopback;

    /// What a holder is called that answers like this and closes.
    async fn holder_of(answer: &'static str) -> Option<Holder> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let holder = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let (identified, ()) = tokio::join!(ask(&Loopback, port), holder);
        identified
    }

    #[tokio::test]
    async fn a_holder_that_says_too_much_is_a_stranger() {
        let long = " ".repeat(20_000);
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 20000\r\n\r\n{long}");
        assert_eq!(holder_of(answer.leak()).await, Some(Holder::Stranger));
    }

    #[test]
    fn a_holder_is_described_as_far_as_it_is_known() {
        let ours = |requires_token| Holder::UnityMcp {
            version: "1.2".to_owned(),
            pid: 7,
            requires_token,
            catalog: Catalog::V1_0,
        };
        for (holder, described) in [
            (ours(false), "another unity-mcp (version 1.2, pid 7)"),
            (ours(true), "another unity-mcp (version 1.2, pid 7, which requires a token)"),
            (Holder::Stranger, "another program, which is not a unity-mcp"),
            (Holder::OfAnotherUser, "a program of another user"),
            (Holder::Silent, "another program, which does not answer"),
            (Holder::System("no descriptor".to_owned()), "the system (no descriptor)"),
        ] {
            assert_eq!(holder.describe(), described);
        }
    }

    #[tokio::test]
    async fn a_holder_that_ends_in_the_middle_of_its_answer_is_not_a_stranger() {
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"name\":";
        assert_eq!(holder_of(half).await, None);
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(holder_of(whole).await, Some(Holder::Stranger));
        assert_eq!(holder_of("SSH-2.0-OpenSSH\r\n").await, Some(Holder::Stranger));
    }

    #[tokio::test]
    async fn a_unity_mcp_that_is_about_to_end_is_not_a_stranger() {
        let stopped = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
                       content-length: 22\r\n\r\nthe server has stopped";
        assert_eq!(holder_of(stopped).await, None);
    }
}
