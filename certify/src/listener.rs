//! Listener: the sockets of the plugin. It upgrades them and passes on what happens; it does not know what a text
//! means.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async_with_config};

/// Larger than any limit of a server, so that a frame over the limit can be shown instead of breaking the socket.
const READ_MAX: usize = 20 * 1024 * 1024;
/// Events that wait for the checks. A plugin that is faster has to wait.
const EVENTS_MAX: usize = 256;
/// Orders that wait for a socket.
const ORDERS_MAX: usize = 256;
/// After a failure of the system, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the plugin has to answer a close before the socket is dropped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Something that happened on a socket.
pub(crate) struct Arrived {
    /// Sockets are numbered from 1.
    pub(crate) socket: u64,
    pub(crate) at: Instant,
    pub(crate) event: Event,
}

pub(crate) enum Event {
    /// The upgrade is done.
    Opened {
        orders: mpsc::Sender<Order>,
    },
    /// The upgrade was refused, and why.
    Refused(String),
    Text(String),
    /// A binary frame of this many bytes.
    Binary(usize),
    /// The plugin broke the WebSocket protocol; the socket is dropped.
    Broken(String),
    /// The plugin has closed the socket, or it is lost. `code`: of the plugin's close frame.
    Ended {
        code: Option<u16>,
        reason: String,
    },
}

/// What a socket can be told to do.
pub(crate) enum Order {
    Send(String),
    Close {
        code: u16,
        reason: &'static str,
    },
    /// Drop the socket without a close frame.
    Drop,
}

/// Listens on 127.0.0.1. Returns the port and the stream of events.
pub(crate) async fn start(port: u16) -> io::Result<(u16, mpsc::Receiver<Arrived>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let port = listener.local_addr()?.port();
    let (events, arriving) = mpsc::channel(EVENTS_MAX);
    tokio::spawn(async move {
        for socket in 1.. {
            let Ok((stream, _)) = listener.accept().await else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            // A socket that has gone already needs no option.
            stream.set_nodelay(true).unwrap_or_default();
            tokio::spawn(serve(stream, Events { socket, events: events.clone() }));
        }
    });
    Ok((port, arriving))
}

/// Where a socket reports.
struct Events {
    socket: u64,
    events: mpsc::Sender<Arrived>,
}

impl Events {
    async fn tell(&self, event: Event) {
        let arrived = Arrived { socket: self.socket, at: Instant::now(), event };
        // Without a receiver the run is over.
        self.events.send(arrived).await.unwrap_or_default();
    }
}

async fn serve(stream: TcpStream, events: Events) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(READ_MAX))
        .max_frame_size(Some(READ_MAX))
        .write_buffer_size(0);
    let mut refusal = None;
    #[expect(clippy::result_large_err, reason = "the library has this type")]
    let look = |request: &Request, response: Response| match refuse(request) {
        None => Ok(response),
        Some((status, why)) => {
            refusal = Some(why);
            let mut response = ErrorResponse::new(None);
            *response.status_mut() = status;
            Err(response)
        }
    };
    let upgrade = accept_hdr_async_with_config(stream, look, Some(config));
    match timeout(UPGRADE_TIMEOUT, upgrade).await {
        Ok(Ok(socket)) => exchange(socket, &events).await,
        Ok(Err(error)) => {
            let why = refusal.unwrap_or_else(|| format!("The WebSocket upgrade failed: {error}."));
            events.tell(Event::Refused(why)).await;
        }
        Err(_) => {
            let why = "A socket was opened, and no WebSocket upgrade came within 5 s.".to_owned();
            events.tell(Event::Refused(why)).await;
        }
    }
}

/// What the real server rejects too.
fn refuse(request: &Request) -> Option<(StatusCode, String)> {
    let path = request.uri().path();
    if path != "/unity" {
        let path = protocol::printable(path, 100);
        return Some((
            StatusCode::NOT_FOUND,
            format!("The plugin asked for {path}; the path is /unity."),
        ));
    }
    let is_of_a_browser = |name: &str| name == "origin" || name.starts_with("sec-fetch-");
    let name = request.headers().keys().find(|name| is_of_a_browser(name.as_str()))?;
    let why = format!("The upgrade has the header {name}; the server rejects that.");
    Some((StatusCode::FORBIDDEN, why))
}

async fn exchange(mut socket: WebSocketStream<TcpStream>, events: &Events) {
    let (orders, mut received) = mpsc::channel(ORDERS_MAX);
    events.tell(Event::Opened { orders }).await;
    let mut give_up_at: Option<Instant> = None;
    let mut closed_with = None;
    loop {
        let message = tokio::select! {
            biased;
            order = received.recv() => match order {
                Some(Order::Send(text)) => {
                    // A lost socket is noticed when it is read.
                    socket.send(Message::text(text)).await.unwrap_or_default();
                    continue;
                }
                Some(Order::Close { code, reason }) => {
                    let frame = CloseFrame { code: code.into(), reason: reason.into() };
                    socket.close(Some(frame)).await.unwrap_or_default();
                    give_up_at = Some(Instant::now() + CLOSE_TIMEOUT);
                    continue;
                }
                Some(Order::Drop) | None => return,
            },
            message = socket.next() => message,
            () = sleep_until(give_up_at.unwrap_or_else(Instant::now)), if give_up_at.is_some() => None,
        };
        match message {
            Some(Ok(Message::Text(text))) => {
                events.tell(Event::Text(text.as_str().to_owned())).await;
            }
            Some(Ok(Message::Binary(bytes))) => events.tell(Event::Binary(bytes.len())).await,
            Some(Ok(Message::Close(frame))) => {
                closed_with =
                    frame.map(|frame| (frame.code.into(), frame.reason.as_str().to_owned()));
            }
            // The library answers these.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Err(error)) => {
                if let Some(why) = violation(&error) {
                    events.tell(Event::Broken(why)).await;
                }
                break;
            }
            None => break,
        }
    }
    let (code, reason) =
        closed_with.map_or((None, String::new()), |(code, reason)| (Some(code), reason));
    events.tell(Event::Ended { code, reason }).await;
}

/// `None` for a connection that just ended.
fn violation(error: &Error) -> Option<String> {
    match error {
        Error::Capacity(_) => Some("The plugin sent a message over 20 MiB.".to_owned()),
        Error::Utf8(_) => Some("The plugin sent a text frame that is not UTF-8.".to_owned()),
        Error::Protocol(
            tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
        ) => None,
        Error::Protocol(problem) => {
            Some(format!("The plugin broke the WebSocket protocol: {problem}."))
        }
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Tls(_)
        | Error::WriteBufferFull(_)
        | Error::Url(_)
        | Error::Http(_)
        | Error::HttpFormat(_)
        | Error::AttackAttempt => None,
    }
}
