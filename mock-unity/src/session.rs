//! Drives a [`MockEditor`] over any network and clock of tokio's.

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
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::command::Command;
use crate::editor::{Input, MockEditor, Output};

/// How long the network may take for one thing.
const PATIENCE: Duration = Duration::from_secs(5);
/// Frames of the server are small, and simulations open many sockets.
const READ_BUFFER: usize = 8 * 1024;
/// How long a close may take.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// What whoever runs the session wants.
#[derive(Debug)]
pub enum Order {
    Do(Command),
    /// How things are: comes back through the tap.
    Describe,
    Quit,
}

/// What passes, as the tap sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing<'a> {
    ToServer(&'a str),
    FromServer(&'a str),
    Binary(usize),
    Connected,
    /// The socket is gone.
    Gone,
    DialFailed(&'a str),
    Tell(&'a str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Quit,
    /// The server is gone and the attempts are used up.
    GaveUp,
}

/// Plays until told to quit. `dial` opens a connection to the server, which listens at `port`.
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
                    session.close().await;
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
    /// Until when a socket that the server has closed may take to end.
    closing: Option<Instant>,
}

/// The next frame of the socket; `None` when it has ended. May be dropped at any time.
async fn receive<S>(
    socket: &mut Option<WebSocketStream<S>>,
    closing: &mut Option<Instant>,
) -> Option<String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        let message = tokio::select! {
            biased;
            message = socket.next() => message,
            () = until(*closing) => None,
        };
        match message {
            Some(Ok(Message::Text(text))) => return Some(text.as_str().to_owned()),
            Some(Ok(Message::Close(_))) => *closing = Some(Instant::now() + CLOSE_MAX),
            // Pings are answered by the library.
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
                self.tell(Passing::Gone);
                Input::Closed
            }
        }
    }

    /// What the Editor does about it, and about what follows from doing it. True if it gives up.
    async fn play(&mut self, input: Input) -> bool {
        let mut outputs = VecDeque::from(self.editor.handle(self.started.elapsed(), input));
        while let Some(output) = outputs.pop_front() {
            let follows = match output {
                // An attempt that is called off before it began is not made.
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
                        self.tell(Passing::Gone);
                    }
                    None
                }
                Output::Close => {
                    self.close().await;
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
        let attempt = timeout(PATIENCE, self.open_with_token()).await;
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

    /// The token of this user is given to a server that asks for it, and to no other.
    async fn open_with_token(&self) -> Result<WebSocketStream<S>, String> {
        let opened = match self.open(None).await {
            Err(Error::Http(response)) if response.status() == 401 => {
                let token = token::read().map_err(|error| error.to_string())?;
                let token = token.ok_or("the server requires a token, and there is none here")?;
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

    /// A socket that takes nothing any more is gone.
    async fn send(&mut self, message: Message, passing: Passing<'_>) -> Option<Input> {
        let socket = self.socket.as_mut()?;
        match timeout(PATIENCE, socket.send(message)).await {
            Ok(Ok(())) => {
                self.tell(passing);
                None
            }
            Ok(Err(_)) | Err(_) => {
                self.socket = None;
                self.tell(Passing::Gone);
                Some(Input::Closed)
            }
        }
    }

    async fn close(&mut self) {
        if let Some(mut socket) = self.socket.take() {
            let goodbye = async {
                socket.close(None).await.unwrap_or_default();
                while let Some(Ok(_)) = socket.next().await {}
            };
            // It is closed whether the server answers or not.
            timeout(CLOSE_MAX, goodbye).await.unwrap_or_default();
            self.tell(Passing::Gone);
        }
    }
}
