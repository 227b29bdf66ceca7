//! Drives a [`MockEditor`] over a network, real or simulated, with the clock of tokio.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::command::Command;
use crate::editor::{Input, MockEditor, Output};

/// How long to wait for one operation of the network.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(5);
/// Frames of the server are small, and simulations open many sockets.
const READ_BUFFER: usize = 8 * 1024;
/// How long to wait for the end of a close handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Stands for a close frame without a code (RFC 6455).
const NO_CODE: u16 = 1005;

/// What the caller of [`run`] can ask for.
#[derive(Debug)]
pub enum Order {
    /// Give the Editor a command.
    Do(Command),
    /// Describe the Editor in one line. The line comes as [`Passing::Tell`].
    Describe,
    /// Close the socket and return.
    Quit,
}

/// What happens in a session, as the tap of [`run`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing<'a> {
    /// A text frame was sent.
    ToServer(&'a str),
    /// A text frame arrived.
    FromServer(&'a str),
    /// A binary frame of this many bytes was sent.
    Binary(usize),
    /// A socket is open.
    Connected,
    /// The socket is closed or dropped.
    Gone(Option<Closed<'a>>),
    /// A socket could not be opened, and why.
    DialFailed(&'a str),
    /// A line for a person.
    Tell(&'a str),
}

/// The close frame of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed<'a> {
    /// For example 1008.
    pub code: u16,
    /// May be empty.
    pub reason: &'a str,
}

/// Why a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// [`Order::Quit`].
    Quit,
    /// The limit of [`Settings::reconnect`](crate::Settings::reconnect) is reached.
    GaveUp,
}

/// Plays the plugin until [`Order::Quit`] or until the Editor gives up.
///
/// `dial` opens a connection to the server on 127.0.0.1 and `port`. `tap` sees everything that happens, with
/// the time since the start. If the sender of `orders` is dropped, the session runs on without orders. If the
/// server requires a token, the session sends the token of this user.
pub async fn run<D, F, S, T>(
    editor: &mut MockEditor,
    port: u16,
    dial: D,
    mut orders: mpsc::Receiver<Order>,
    tap: T,
) -> End
where
    D: Fn() -> F,
    F: Future<Output = io::Result<S>>,
    S: AsyncRead + AsyncWrite + Unpin,
    T: FnMut(Duration, Passing<'_>),
{
    let mut session =
        Session { editor, port, dial, tap, started: Instant::now(), socket: None, closing: None };
    let mut input = Input::Tick;
    loop {
        if session.play(input).await {
            return End::GaveUp;
        }
        let deadline = session.editor.next_deadline().map(|at| session.started + at);
        input = tokio::select! {
            biased;
            order = orders.recv(), if !orders.is_closed() || !orders.is_empty() => match order {
                Some(Order::Do(command)) => Input::Do(command),
                Some(Order::Describe) => {
                    let line = session.editor.describe();
                    session.tell(Passing::Tell(&line));
                    Input::Tick
                }
                Some(Order::Quit) => {
                    session.close(1000).await; // The Editor quits.
                    return End::Quit;
                }
                None => Input::Tick,
            },
            received = receive(&mut session.socket, &mut session.closing) => {
                session.on_received(received)
            }
            () = until(deadline) => Input::Tick,
        };
    }
}

struct Session<'a, D, S, T> {
    editor: &'a mut MockEditor,
    port: u16,
    dial: D,
    tap: T,
    started: Instant,
    socket: Option<WebSocketStream<S>>,
    closing: Option<Closing>,
}

/// The server has closed the socket.
struct Closing {
    /// Until when to wait for the end of the socket.
    until: Instant,
    code: u16,
    reason: String,
}

/// The next frame of the socket; `None` when it has ended. It is safe to drop this future at any time.
async fn receive<S>(
    socket: &mut Option<WebSocketStream<S>>,
    closing: &mut Option<Closing>,
) -> Option<String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        let message = tokio::select! {
            biased;
            message = socket.next() => message,
            () = until(closing.as_ref().map(|closing| closing.until)) => None,
        };
        match message {
            Some(Ok(Message::Text(text))) => return Some(text.as_str().to_owned()),
            Some(Ok(Message::Close(frame))) => {
                let until = Instant::now() + CLOSE_TIMEOUT;
                let (code, reason) = frame.map_or((NO_CODE, String::new()), |frame| {
                    (frame.code.into(), frame.reason.as_str().to_owned())
                });
                *closing = Some(Closing { until, code, reason });
            }
            // The library answers pings.
            Some(Ok(
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_),
            )) => {}
            Some(Err(_)) | None => return None,
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl<D, F, S, T> Session<'_, D, S, T>
where
    D: Fn() -> F,
    F: Future<Output = io::Result<S>>,
    S: AsyncRead + AsyncWrite + Unpin,
    T: FnMut(Duration, Passing<'_>),
{
    fn tell(&mut self, passing: Passing<'_>) {
        (self.tap)(self.started.elapsed(), passing);
    }

    fn on_received(&mut self, received: Option<String>) -> Input {
        match received {
            Some(text) => {
                self.tell(Passing::FromServer(&text));
                Input::Frame(text)
            }
            None => {
                self.socket = None;
                let closing = self.closing.take();
                self.tell(Passing::Gone(
                    closing
                        .as_ref()
                        .map(|Closing { code, reason, .. }| Closed { code: *code, reason }),
                ));
                Input::Closed { reason: closing.map(|closing| closing.reason).unwrap_or_default() }
            }
        }
    }

    /// Passes an input to the Editor and does what it returns, until nothing is left. True if it gives up.
    async fn play(&mut self, input: Input) -> bool {
        let mut outputs = VecDeque::from(self.editor.handle(self.started.elapsed(), input));
        while let Some(output) = outputs.pop_front() {
            let follows = match output {
                // A later `Cut` abandons this attempt.
                Output::Dial if outputs.iter().any(|later| *later == Output::Cut) => None,
                Output::Dial => Some(self.connect().await),
                Output::Send(text) => {
                    let passing = text.clone();
                    self.send(Message::text(text), Passing::ToServer(&passing)).await
                }
                Output::SendBinary(bytes) => {
                    let passing = Passing::Binary(bytes.len());
                    self.send(Message::binary(bytes), passing).await
                }
                Output::Cut => {
                    if self.socket.take().is_some() {
                        self.tell(Passing::Gone(None));
                    }
                    None
                }
                Output::Close { code } => {
                    self.close(code).await;
                    None
                }
                Output::Tell(line) => {
                    self.tell(Passing::Tell(&line));
                    None
                }
                Output::GiveUp => return true,
            };
            if let Some(input) = follows {
                outputs.extend(self.editor.handle(self.started.elapsed(), input));
            }
        }
        false
    }

    async fn connect(&mut self) -> Input {
        let attempt = timeout(NETWORK_TIMEOUT, self.open_with_token()).await;
        match attempt.unwrap_or_else(|_| Err("no answer".to_owned())) {
            Ok(socket) => {
                (self.socket, self.closing) = (Some(socket), None);
                self.tell(Passing::Connected);
                Input::Connected
            }
            Err(error) => {
                self.tell(Passing::DialFailed(&error));
                Input::DialFailed
            }
        }
    }

    /// Sends the token of this user only to a server that asks for it.
    async fn open_with_token(&self) -> Result<WebSocketStream<S>, String> {
        let opened = match self.open(None).await {
            Err(Error::Http(response)) if response.status() == 401 => {
                let token = token::read().map_err(|error| error.to_string())?;
                let token = token.ok_or("the server requires a token, and this user has none")?;
                self.open(Some(&token)).await
            }
            opened => opened,
        };
        opened.map_err(|error| error.to_string())
    }

    async fn open(&self, token: Option<&str>) -> Result<WebSocketStream<S>, Error> {
        let mut request = format!("ws://127.0.0.1:{}/unity", self.port).into_client_request()?;
        if let Some(token) = token {
            let bearer = HeaderValue::from_str(&format!("Bearer {token}"))?;
            request.headers_mut().insert(AUTHORIZATION, bearer);
        }
        let config = WebSocketConfig::default().read_buffer_size(READ_BUFFER);
        let stream = (self.dial)().await?;
        let (socket, _) = client_async_with_config(request, stream, Some(config)).await?;
        Ok(socket)
    }

    /// A socket that does not accept a frame in time counts as closed.
    async fn send(&mut self, message: Message, passing: Passing<'_>) -> Option<Input> {
        let socket = self.socket.as_mut()?;
        match timeout(NETWORK_TIMEOUT, socket.send(message)).await {
            Ok(Ok(())) => {
                self.tell(passing);
                None
            }
            Ok(Err(_)) | Err(_) => {
                self.socket = None;
                self.tell(Passing::Gone(None));
                Some(Input::Closed { reason: String::new() })
            }
        }
    }

    async fn close(&mut self, code: u16) {
        if let Some(mut socket) = self.socket.take() {
            let handshake = async {
                let frame = CloseFrame { code: code.into(), reason: "".into() };
                socket.close(Some(frame)).await.unwrap_or_default();
                while let Some(Ok(_)) = socket.next().await {}
            };
            // The socket is dropped even if the server does not answer.
            timeout(CLOSE_TIMEOUT, handshake).await.unwrap_or_default();
            self.tell(Passing::Gone(None));
        }
    }
}
