//! Echoes what comes over a WebSocket, with the code that serves the plugin, for Autobahn's fuzzing client
//! (`tests/autobahn/run`): `echo PORT`.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use unity_mcp::event_loop::Outgoing;
use unity_mcp::unity::web_socket::{Ending, WebSocket};

/// The largest that can be configured.
const MESSAGE_MAX: usize = 16 * 1024 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("echo PORT")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service_fn(upgrade))
            .with_upgrades();
        tokio::spawn(async move { connection.await.unwrap_or_default() });
    }
}

async fn upgrade(mut request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    let upgraded = hyper::upgrade::on(&mut request);
    let Ok(response) = create_response_with_body(&request, Empty::new) else {
        let mut refusal = Response::new(Empty::new());
        *refusal.status_mut() = StatusCode::UPGRADE_REQUIRED;
        return Ok(refusal);
    };
    tokio::spawn(async move {
        if let Ok(stream) = upgraded.await {
            echo(WebSocket::new(TokioIo::new(stream), MESSAGE_MAX).await).await;
        }
    });
    Ok(response)
}

async fn echo<S>(mut socket: WebSocket<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (answers, mut outbox) = mpsc::channel(64);
    let answers = &answers;
    let received = |text: Utf8Bytes| async move {
        let answer = Outgoing::Frame(text.as_str().to_owned());
        answers.send(answer).await.unwrap_or_default();
        Ok(())
    };
    match socket.exchange(received, &mut outbox, String::clone, pending()).await {
        Ending::Gone | Ending::NotSent(_) => {}
        Ending::Closed { code, reason } | Ending::Violated { code, reason } => {
            socket.close(code, reason).await;
        }
    }
}
