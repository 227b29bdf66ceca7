//! The floor of the benchmark: the smallest bridge from an MCP call to a WebSocket and back, with one tool. It has
//! rmcp on one side and tungstenite on the other, and none of the promises of unity-mcp. A call waits up to 30 s for Unity.
//!
//! `floor pipes|http PORT`: Unity connects to PORT. Over HTTP agents connect to the next one. RUNTIME=current_thread
//! uses one thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::serve::ListenerExt as _;
use futures_util::{SinkExt, StreamExt};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_tungstenite::tungstenite::Message;

type Requests = mpsc::UnboundedSender<String>;

/// The way to Unity, if it is connected, and the calls that wait for its answers.
struct Unity {
    requests: watch::Sender<Option<Requests>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<String>>>,
    last_id: AtomicU64,
}

#[derive(serde::Deserialize)]
struct Answer<'a> {
    id: u64,
    #[serde(borrow)]
    result: &'a RawValue,
}

impl Unity {
    fn new() -> Self {
        let requests = watch::Sender::new(None);
        Self { requests, waiting: Mutex::default(), last_id: AtomicU64::new(0) }
    }

    async fn call(&self) -> Result<String, String> {
        let mut connected = self.requests.subscribe();
        let answered = async {
            loop {
                let requests = connected.borrow_and_update().clone();
                if let Some(requests) = requests {
                    let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
                    let (answer, answered) = oneshot::channel();
                    self.waiting.lock().unwrap().insert(id, answer);
                    let request = format!(
                        r#"{{"id":{id},"method":"read_console","params":{{"max_entries":50}}}}"#
                    );
                    if requests.send(request).is_ok() {
                        return answered.await.map_err(|_| "Unity has disconnected".to_owned());
                    }
                    self.waiting.lock().unwrap().remove(&id);
                }
                connected.changed().await.map_err(|error| error.to_string())?;
            }
        };
        let limit = Duration::from_secs(30);
        tokio::time::timeout(limit, answered).await.map_err(|_| "no answer".to_owned())?
    }

    async fn accept(self: Arc<Self>, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let Ok(socket) = tokio_tungstenite::accept_async(stream).await else { return };
        let (mut sink, mut messages) = socket.split();
        let (requests, mut to_send) = mpsc::unbounded_channel::<String>();
        self.requests.send_replace(Some(requests));
        let writing = tokio::spawn(async move {
            while let Some(request) = to_send.recv().await {
                if sink.send(Message::text(request)).await.is_err() {
                    return;
                }
            }
        });
        while let Some(Ok(message)) = messages.next().await {
            let Message::Text(text) = message else { continue };
            let Ok(Answer { id, result }) = serde_json::from_str(text.as_str()) else { continue };
            if let Some(answer) = self.waiting.lock().unwrap().remove(&id) {
                drop(answer.send(result.get().to_owned()));
            }
        }
        writing.abort();
        self.requests.send_replace(None);
        self.waiting.lock().unwrap().clear(); // The calls that wait fail.
    }
}

#[derive(Clone)]
struct Bridge {
    unity: Arc<Unity>,
    #[expect(dead_code, reason = "the macros of rmcp want it")]
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Bridge {
    fn new(unity: Arc<Unity>) -> Self {
        Self { unity, tool_router: Self::tool_router() }
    }

    #[tool(description = "Read the Unity console")]
    async fn read_console(&self) -> Result<String, String> {
        self.unity.call().await
    }
}

#[tool_handler]
impl ServerHandler for Bridge {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

async fn listen(port: u16) -> TcpListener {
    TcpListener::bind(("127.0.0.1", port)).await.unwrap()
}

async fn serve(over: &str, port: u16) {
    let unity = Arc::new(Unity::new());
    let listener = listen(port).await;
    let accepting = unity.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(accepting.clone().accept(stream));
        }
    });
    if over == "pipes" {
        let agent = Bridge::new(unity).serve(rmcp::transport::stdio_pipes()).await.unwrap();
        agent.waiting().await.unwrap();
        return;
    }
    let config = StreamableHttpServerConfig::default();
    let config = config.with_legacy_session_mode(false).with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let mcp = StreamableHttpService::new(move || Ok(Bridge::new(unity.clone())), sessions, config);
    let listener = listen(port + 1).await.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, axum::Router::new().nest_service("/mcp", mcp)).await.unwrap();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let port = arguments[2].parse().unwrap();
    let mut builder = match std::env::var("RUNTIME").as_deref() {
        Ok("current_thread") => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.enable_all().build().unwrap().block_on(serve(&arguments[1], port));
    std::process::exit(0); // A thread may wait for stdin.
}
