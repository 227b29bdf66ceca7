//! UnityBridgeClient: one socket of the plugin. Bytes become frames and frames bytes; what they mean
//! is not known here.

use std::time::Duration;

use futures_util::stream::{ReuniteError, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use protocol::{ToUnity, codec};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode as WebSocketCloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use tracing::debug;

use super::event_loop::{CoordinatorHandle, Outgoing, UnityPort};
use crate::coordination::{ClosedBy, ConnectionId, Event};

/// How long a socket may take to accept one frame.
const WRITE_MAX: Duration = Duration::from_secs(5);
/// How long a peer has to close after it was told to.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Why the exchange of frames is over.
enum Ending {
    /// The peer has closed, or the connection is lost.
    Gone,
    /// The peer did not keep up.
    Dropped,
    /// The peer is closing, and a frame came too late for it.
    Late(ToUnity),
    /// The core wants it closed.
    Told { code: u16, reason: &'static str },
    /// The peer has broken the rules of WebSocket.
    Refused { code: u16, reason: &'static str, by: ClosedBy },
}

/// Serves a socket whose upgrade is done, until it is closed.
pub(super) async fn serve<S>(stream: S, message_max: usize, core: CoordinatorHandle)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = WebSocketConfig::default()
        .max_message_size(Some(message_max))
        .max_frame_size(Some(message_max))
        .read_buffer_size(16 * 1024)
        .write_buffer_size(0)
        .max_write_buffer_size(2 * message_max + 4096);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let UnityPort { id, mut outbox, dropped } = core.unity_opened().await;
    let (mut sink, mut frames) = socket.split();
    let ending = tokio::select! {
        biased;
        () = dropped.cancelled() => Ending::Dropped,
        ending = read(&mut frames, id, &core) => ending,
        ending = write(&mut sink, &mut outbox) => ending,
    };
    let closed = |by| core.tell(Event::UnityClosed { on: id, by });
    let give_back = give_back(&mut outbox, id, &core);
    match ending {
        Ending::Gone | Ending::Dropped => {
            give_back.await;
            closed(ClosedBy::Anyone).await;
        }
        Ending::Late(frame) => {
            core.tell(Event::UnityNotSent { on: id, frame }).await;
            give_back.await;
            closed(ClosedBy::Anyone).await;
        }
        Ending::Told { code, reason } => {
            give_back.await;
            say_goodbye(sink.reunite(frames), code, reason).await;
            closed(ClosedBy::Anyone).await;
        }
        Ending::Refused { code, reason, by } => {
            give_back.await;
            closed(by).await; // Callers need not wait for the goodbye.
            say_goodbye(sink.reunite(frames), code, reason).await;
        }
    }
}

async fn read<S>(
    frames: &mut SplitStream<WebSocketStream<S>>,
    on: ConnectionId,
    core: &CoordinatorHandle,
) -> Ending
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = frames.next().await {
        match message {
            Ok(Message::Text(text)) => {
                core.tell(Event::UnityFrame { on, frame: codec::decode(text.as_bytes()) }).await;
                yield_now().await; // What the core answers is written before more is read.
            }
            Ok(Message::Binary(_)) => return refusal(1003, "text frames only"),
            // Answered by the library; polling on brings a close to its end.
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {}
            Err(error) => return ending_of(&error),
        }
    }
    Ending::Gone
}

fn ending_of(error: &Error) -> Ending {
    debug!(%error, "unity socket failed");
    match error {
        Error::Capacity(_) => {
            let reason = "frame over the limit";
            Ending::Refused { code: 1009, reason, by: ClosedBy::FrameTooLarge }
        }
        Error::Utf8(_) => refusal(1007, "text must be UTF-8"),
        Error::Protocol(_) | Error::AttackAttempt => refusal(1002, "broken WebSocket frame"),
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Tls(_)
        | Error::WriteBufferFull(_)
        | Error::Url(_)
        | Error::Http(_)
        | Error::HttpFormat(_) => Ending::Gone,
    }
}

fn refusal(code: u16, reason: &'static str) -> Ending {
    Ending::Refused { code, reason, by: ClosedBy::Anyone }
}

async fn write<S>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    outbox: &mut mpsc::Receiver<Outgoing>,
) -> Ending
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(outgoing) = outbox.recv().await {
        match outgoing {
            Outgoing::Frame(frame) => {
                let text = Utf8Bytes::from(codec::encode(&frame));
                match timeout(WRITE_MAX, sink.send(Message::Text(text))).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) if took_nothing(&error) => return Ending::Late(frame),
                    Ok(Err(_)) => return Ending::Gone,
                    Err(_) => return Ending::Dropped,
                }
            }
            Outgoing::Close { code, reason } => {
                return Ending::Told { code: code as u16, reason };
            }
        }
    }
    Ending::Gone
}

/// The library refused the frame: not a byte of it was written.
fn took_nothing(error: &Error) -> bool {
    let closing = matches!(error, Error::Protocol(ProtocolError::SendAfterClosing));
    closing || matches!(error, Error::AlreadyClosed | Error::WriteBufferFull(_))
}

/// Frames that were never begun belong to the core again.
async fn give_back(
    outbox: &mut mpsc::Receiver<Outgoing>,
    on: ConnectionId,
    core: &CoordinatorHandle,
) {
    outbox.close();
    while let Some(outgoing) = outbox.recv().await {
        if let Outgoing::Frame(frame) = outgoing {
            core.tell(Event::UnityNotSent { on, frame }).await;
        }
    }
}

/// Says goodbye and reads on until the peer has closed too: unread bytes would turn the goodbye
/// into a reset.
async fn say_goodbye<S>(
    socket: Result<WebSocketStream<S>, ReuniteError<WebSocketStream<S>, Message>>,
    code: u16,
    reason: &'static str,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Ok(mut socket) = socket else { return };
    let frame = CloseFrame { code: WebSocketCloseCode::from(code), reason: reason.into() };
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
