//! One WebSocket: texts in, texts out, and a proper end. What the texts mean is not known here.

use std::pin::pin;
use std::time::Duration;

use futures_util::stream::{ReuniteError, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tracing::debug;

/// How long a socket may take to accept one message.
const WRITE_MAX: Duration = Duration::from_secs(5);
/// How long a peer has to close after it was told to.
pub const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Something that can be said.
pub trait Spoken {
    fn text(&self) -> String;
}

impl Spoken for String {
    fn text(&self) -> String {
        self.clone()
    }
}

/// What is to be done with a socket.
pub enum Outgoing<T> {
    Say(T),
    Close { code: u16, reason: &'static str },
}

/// Why the exchange of messages is over.
pub enum Ending<T> {
    /// The peer has closed, or the connection is lost, or it did not keep up.
    Gone,
    /// The peer is closing, and this came too late for it.
    Late(T),
    /// It was told to close.
    Told { code: u16, reason: &'static str },
    /// The peer has broken the rules of WebSocket.
    Refused { code: u16, reason: &'static str },
}

/// The peer sent a message over the limit.
pub const TOO_LARGE: u16 = 1009;
const OVER_THE_LIMIT: &str = "frame over the limit";

/// Whoever received a message finds it too large.
pub struct TooLarge;

pub struct WebSocket<S> {
    sink: SplitSink<WebSocketStream<S>, Message>,
    messages: SplitStream<WebSocketStream<S>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// On a stream whose upgrade is done.
    pub async fn new(stream: S, message_max: usize) -> Self {
        let config = WebSocketConfig::default()
            .max_message_size(Some(message_max))
            .max_frame_size(Some(message_max))
            .read_buffer_size(16 * 1024)
            .write_buffer_size(0)
            .max_write_buffer_size(2 * message_max + 4096);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let (sink, messages) = socket.split();
        Self { sink, messages }
    }

    /// Until one side has had enough. The peer is read and written to at the same time. Once `closing` is there it
    /// is not read any more, and what is in the outbox may take as long as it says: a peer that reads nothing does
    /// not keep a socket that is given up.
    pub async fn exchange<T: Spoken, R: Future<Output = Result<(), TooLarge>>>(
        &mut self,
        received: impl FnMut(Utf8Bytes) -> R,
        outbox: &mut mpsc::Receiver<Outgoing<T>>,
        closing: impl Future<Output = Duration>,
    ) -> Ending<T> {
        let mut writing = pin!(write(&mut self.sink, outbox));
        let max = tokio::select! {
            biased;
            ending = read(&mut self.messages, received) => return ending,
            max = closing => max,
            ending = writing.as_mut() => return ending,
        };
        timeout(max, writing).await.unwrap_or(Ending::Gone)
    }

    /// Says goodbye and reads on until the peer has closed too: unread bytes would turn the goodbye
    /// into a reset.
    pub async fn say_goodbye(self, code: u16, reason: &'static str) {
        let whole: Result<_, ReuniteError<_, _>> = self.sink.reunite(self.messages);
        let Ok(mut socket) = whole else { return };
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        let goodbye = async {
            socket.close(Some(frame)).await.ok()?;
            while let Some(Ok(_)) = socket.next().await {}
            let stream = socket.get_mut();
            stream.shutdown().await.ok()?;
            tokio::io::copy(stream, &mut tokio::io::sink()).await.ok()
        };
        // Whether the peer plays along or not, it is closed after this.
        timeout(CLOSE_MAX, goodbye).await.unwrap_or_default();
    }
}

async fn read<S, T, R>(
    messages: &mut SplitStream<WebSocketStream<S>>,
    mut received: impl FnMut(Utf8Bytes) -> R,
) -> Ending<T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    R: Future<Output = Result<(), TooLarge>>,
{
    while let Some(message) = messages.next().await {
        match message {
            Ok(Message::Text(text)) => {
                if let Err(TooLarge) = received(text).await {
                    return Ending::Refused { code: TOO_LARGE, reason: OVER_THE_LIMIT };
                }
                yield_now().await; // What is answered is written before more is read.
            }
            Ok(Message::Binary(_)) => {
                return Ending::Refused { code: 1003, reason: "text frames only" };
            }
            // Answered by the library; polling on brings a close to its end.
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {}
            Err(error) => return ending_of(&error),
        }
    }
    Ending::Gone
}

fn ending_of<T>(error: &Error) -> Ending<T> {
    debug!(%error, "a WebSocket failed");
    let (code, reason) = match error {
        Error::Capacity(_) => (TOO_LARGE, OVER_THE_LIMIT),
        Error::Utf8(_) => (1007, "text must be UTF-8"),
        Error::Protocol(_) | Error::AttackAttempt => (1002, "broken WebSocket frame"),
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Tls(_)
        | Error::WriteBufferFull(_)
        | Error::Url(_)
        | Error::Http(_)
        | Error::HttpFormat(_) => return Ending::Gone,
    };
    Ending::Refused { code, reason }
}

async fn write<S, T: Spoken>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    outbox: &mut mpsc::Receiver<Outgoing<T>>,
) -> Ending<T>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(outgoing) = outbox.recv().await {
        match outgoing {
            Outgoing::Say(spoken) => {
                let text = Message::Text(spoken.text().into());
                match timeout(WRITE_MAX, sink.send(text)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) if took_nothing(&error) => return Ending::Late(spoken),
                    Ok(Err(_)) | Err(_) => return Ending::Gone,
                }
            }
            Outgoing::Close { code, reason } => return Ending::Told { code, reason },
        }
    }
    Ending::Gone
}

/// The library refused the message: not a byte of it was written.
fn took_nothing(error: &Error) -> bool {
    let closing = matches!(error, Error::Protocol(ProtocolError::SendAfterClosing));
    closing || matches!(error, Error::AlreadyClosed | Error::WriteBufferFull(_))
}
