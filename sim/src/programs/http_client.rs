//! MCP over HTTP for the agents: rmcp's client transport with a connection of the simulated network for
//! each request.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp_client::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp_client::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio_util::task::AbortOnDropHandle;
use unity_mcp::network::Network;

#[derive(Clone)]
pub(crate) struct HttpClient<N> {
    pub(crate) network: N,
    pub(crate) port: u16,
}

/// Why a request got no answer.
#[derive(Debug)]
pub(crate) struct Lost(String);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Lost {}

fn lost(error: impl fmt::Display) -> StreamableHttpError<Lost> {
    StreamableHttpError::Client(Lost(error.to_string()))
}

impl<N: Network> HttpClient<N> {
    /// Dropping the handle closes the connection, which cancels the request.
    async fn send(
        &self,
        body: String,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(Response<Incoming>, AbortOnDropHandle<()>), StreamableHttpError<Lost>> {
        let stream = self.network.connect(self.port).await.map_err(lost)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        let connection = tokio::spawn(async move { connection.await.unwrap_or_default() });
        let connection = AbortOnDropHandle::new(connection);
        let mut request = Request::post("/mcp")
            .header(HOST, format!("127.0.0.1:{}", self.port))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        // Sorted, because the order of a hash map differs between runs.
        let headers: BTreeMap<_, _> =
            headers.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(lost)?;
        let response = sender.send_request(request).await.map_err(lost)?;
        Ok((response, connection))
    }
}

impl<N: Network> StreamableHttpClient for HttpClient<N> {
    type Error = Lost;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        _session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<Lost>> {
        let body = serde_json::to_string(&message)?;
        let (response, connection) = self.send(body, custom_headers).await?;
        if response.status() == StatusCode::ACCEPTED {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_vec());
        if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            let events = SseStream::new(response.into_body()).map(move |event| {
                let _kept = &connection;
                event
            });
            return Ok(StreamableHttpPostResponse::Sse(events.boxed(), None));
        }
        let status = response.status();
        let body = response.into_body().collect().await.map_err(lost)?.to_bytes();
        let answer: ServerJsonRpcMessage = serde_json::from_slice(&body)
            .map_err(|error| lost(format!("{status} without an answer: {error}")))?;
        Ok(StreamableHttpPostResponse::Json(answer, None))
    }

    /// The server has no sessions.
    async fn delete_session(
        &self,
        _uri: Arc<str>,
        _session_id: Arc<str>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<Lost>> {
        Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        _custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<Lost>> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}
