//! One WebSocket: texts in, texts out, and a proper close. It does not know what the texts mean.

use std::pin::pin;
use std::time::Duration;

use futures_util::stream::{ReuniteError, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tracing::debug;

use crate::budget::{UNITY_CLOSE_TIMEOUT, UNITY_READ_BUFFER_BYTES, UNITY_WRITE_TIMEOUT};
use crate::event_loop::Outgoing;

/// Why the exchange of messages is over.
pub enum Ending<T> {
    /// The peer has closed, or the connection is lost, or it was too slow.
    Gone,
    /// The peer is closing. Not a byte of this was written.
    NotSent(T),
    /// The server closes it.
    Closed { code: u16, reason: &'static str },
    /// The peer has broken the rules of WebSocket.
    Violated { code: u16, reason: &'static str },
}

/// The code that closes a socket whose message was over the limit.
pub const TOO_LARGE: u16 = 1009;
const OVER_THE_LIMIT: &str = "frame over the limit";

/// The receiver of a message finds it too large.
pub struct TooLarge;

pub struct WebSocket<S> {
    sink: SplitSink<WebSocketStream<S>, Message>,
    messages: SplitStream<WebSocketStream<S>>,
    closed_with: Option<u16>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocket<S> {
    /// On a stream whose upgrade is done.
    pub async fn new(stream: S, message_max: usize) -> Self {
        let config = WebSocketConfig::default()
            .max_message_size(Some(message_max))
            .max_frame_size(Some(message_max))
            .read_buffer_size(UNITY_READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_write_buffer_size(2 * message_max + 4096);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let (sink, messages) = socket.split();
        Self { sink, messages, closed_with: None }
    }

    /// The code of the peer's close, if it has closed with one.
    pub fn closed_with(&self) -> Option<u16> {
        self.closed_with
    }

    /// Reads and writes until one side ends it. After `closing` the peer is not read any more, and has as long as
    /// `closing` says to read what is in the outbox: a peer that reads nothing does not keep the socket.
    pub async fn exchange<T, R: Future<Output = Result<(), TooLarge>>>(
        &mut self,
        received: impl FnMut(Utf8Bytes) -> R,
        outbox: &mut mpsc::Receiver<Outgoing<T>>,
        encode: fn(&T) -> String,
        closing: impl Future<Output = Duration>,
    ) -> Ending<T> {
        let mut writing = pin!(write(&mut self.sink, outbox, encode));
        let max = tokio::select! {
            biased;
            ending = read(&mut self.messages, received, &mut self.closed_with) => return ending,
            max = closing => max,
            ending = writing.as_mut() => return ending,
        };
        timeout(max, writing).await.unwrap_or(Ending::Gone)
    }

    /// Sends the close and reads on until the peer has closed too: unread bytes would turn the close into a reset.
    pub async fn close(self, code: u16, reason: &'static str) {
        let whole: Result<_, ReuniteError<_, _>> = self.sink.reunite(self.messages);
        let Ok(mut socket) = whole else { return };
        let frame = CloseFrame { code: CloseCode::from(code), reason: reason.into() };
        let handshake = async {
            socket.close(Some(frame)).await.ok()?;
            while let Some(Ok(_)) = socket.next().await {}
            let stream = socket.get_mut();
            stream.shutdown().await.ok()?;
            tokio::io::copy(stream, &mut tokio::io::sink()).await.ok()
        };
        // The socket is closed after this, whatever the peer does.
        timeout(UNITY_CLOSE_TIMEOUT, handshake).await.unwrap_or_default();
    }
}

async fn read<S, T, R>(
    messages: &mut SplitStream<WebSocketStream<S>>,
    mut received: impl FnMut(Utf8Bytes) -> R,
    closed_with: &mut Option<u16>,
) -> Ending<T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    R: Future<Output = Result<(), TooLarge>>,
{
    while let Some(message) = messages.next().await {
        match message {
            Ok(Message::Text(text)) => {
                if let Err(TooLarge) = received(text).await {
                    return Ending::Violated { code: TOO_LARGE, reason: OVER_THE_LIMIT };
                }
            }
            Ok(Message::Binary(_)) => {
                return Ending::Violated { code: 1003, reason: "text frames only" };
            }
            // Answered by the library, as are the others; polling on brings the close to its end.
            Ok(Message::Close(frame)) => *closed_with = frame.map(|frame| frame.code.into()),
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
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
    Ending::Violated { code, reason }
}

async fn write<S, T>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    outbox: &mut mpsc::Receiver<Outgoing<T>>,
    encode: fn(&T) -> String,
) -> Ending<T>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(outgoing) = outbox.recv().await {
        match outgoing {
            Outgoing::Frame(frame) => {
                let text = Message::Text(encode(&frame).into());
                match timeout(UNITY_WRITE_TIMEOUT, sink.send(text)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) if took_nothing(&error) => return Ending::NotSent(frame),
                    Ok(Err(_)) | Err(_) => return Ending::Gone,
                }
            }
            Outgoing::Close { code, reason } => return Ending::Closed { code, reason },
        }
    }
    Ending::Gone
}

/// The library refused the message: not a byte of it was written.
fn took_nothing(error: &Error) -> bool {
    let closing = matches!(error, Error::Protocol(ProtocolError::SendAfterClosing));
    closing || matches!(error, Error::AlreadyClosed | Error::WriteBufferFull(_))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{ReadBuf, duplex};
    use tokio::time::sleep;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    /// How an exchange ends while `meanwhile` happens.
    async fn ending<S>(
        stream: S,
        outbox: &mut mpsc::Receiver<Outgoing<&'static str>>,
        meanwhile: impl Future<Output = ()>,
    ) -> Ending<&'static str>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut socket = WebSocket::new(stream, 1_024).await;
        let received = |_| std::future::ready(Ok(()));
        let never = std::future::pending();
        let exchange =
            socket.exchange(received, outbox, |text: &&'static str| (*text).to_owned(), never);
        let (ending, ()) = tokio::join!(timeout(HOUR, exchange), meanwhile);
        ending.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_library_refuses_to_send_after_a_close_comes_back() {
        let (peer, ours) = duplex(10);
        let (outgoing, mut outbox) = mpsc::channel(1);
        let meanwhile = async {
            let mut peer = WebSocketStream::from_raw_socket(peer, Role::Client, None).await;
            // It fills the pipe, so that the answer to the close waits.
            outgoing.send(Outgoing::Frame("12345678")).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            peer.close(None).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            outgoing.send(Outgoing::Frame("second")).await.unwrap();
            sleep(Duration::from_secs(1)).await;
        };
        assert!(matches!(ending(ours, &mut outbox, meanwhile).await, Ending::NotSent("second")));
    }

    /// Nothing comes, and nothing can be sent.
    struct Broken;

    impl AsyncRead for Broken {
        fn poll_read(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            _buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Broken {
        fn poll_write(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            _bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_broken_connection_may_have_taken_does_not_come_back() {
        let (outgoing, mut outbox) = mpsc::channel(1);
        outgoing.send(Outgoing::Frame("first")).await.unwrap();
        assert!(matches!(ending(Broken, &mut outbox, async {}).await, Ending::Gone));
    }
}
