//! UnityBridgeClient: one socket of the plugin. Texts become frames and frames become texts. It does not know what
//! they mean.

use std::time::Duration;

use coordination::{ClosedBy, ConnectionId, Event};
use protocol::{DecodeError, FromUnity, JsonSize, ToUnity, codec};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

use crate::budget::{UNITY_CLOSE_TIMEOUT, UNITY_CLOSING_MAX, UNITY_FRAME_TOKENS_MAX};
use crate::event_loop::{CoordinatorHandle, Outgoing, UnityPort};
use crate::project;
use crate::unity::pre_hello_limit::PreHelloLimit;
use crate::unity::web_socket::{Ending, TOO_LARGE, TooLarge, WebSocket};

/// The sockets that get a close handshake. Each of them still holds what it has read, so there is a limit; a
/// socket over the limit is just dropped.
pub(crate) struct ClosingSlots(Semaphore);

impl Default for ClosingSlots {
    fn default() -> Self {
        Self(Semaphore::new(UNITY_CLOSING_MAX))
    }
}

impl ClosingSlots {
    /// What the peer still sends is read without a limit from then on, so that it sees the close.
    fn take(&self, admitted: &CancellationToken) -> Option<SemaphorePermit<'_>> {
        let slot = self.0.try_acquire().ok()?;
        admitted.cancel();
        Some(slot)
    }
}

/// Serves a socket whose upgrade is done, until it is closed.
pub(crate) async fn serve<S>(
    stream: S,
    message_max: usize,
    core: CoordinatorHandle,
    slots: &ClosingSlots,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let core = &core;
    let UnityPort { id, mut outbox, admitted, told_to_close, dropped } = core.unity_opened().await;
    let limited = PreHelloLimit::new(stream, admitted.clone());
    let mut socket = WebSocket::new(limited, message_max).await;
    let received = |text: Utf8Bytes| async move {
        if JsonSize::of(text.as_bytes()).tokens > UNITY_FRAME_TOKENS_MAX {
            return Err(TooLarge);
        }
        let frame = || Event::UnityFrame { on: id, frame: decode(text.as_bytes()) };
        core.tell_decoded(frame).await;
        Ok(())
    };
    let mut slot = None;
    let closing = async {
        told_to_close.cancelled().await;
        slot = slots.take(&admitted);
        if slot.is_some() { UNITY_CLOSE_TIMEOUT } else { Duration::ZERO }
    };
    let ending = tokio::select! {
        biased;
        () = dropped.cancelled() => Ending::Gone,
        ending = socket.exchange(received, &mut outbox, codec::encode, closing) => ending,
    };
    let closed = |by| core.tell(Event::UnityClosed { on: id, by });
    let by_peer = socket.closed_with().map_or(ClosedBy::Anyone, |code| ClosedBy::Plugin { code });
    let give_back = give_back(&mut outbox, id, core);
    match ending {
        Ending::Gone => {
            give_back.await;
            closed(by_peer).await;
        }
        Ending::NotSent(frame) => {
            core.tell(Event::UnityNotSent { on: id, frame }).await;
            give_back.await;
            closed(by_peer).await;
        }
        Ending::Closed { code, reason } => {
            give_back.await;
            if let Some(_slot) = slot.or_else(|| slots.take(&admitted)) {
                socket.close(code, reason).await;
            }
            closed(ClosedBy::Anyone).await;
        }
        Ending::Violated { code, reason } => {
            give_back.await;
            let too_large = code == TOO_LARGE;
            // Callers need not wait for the close handshake.
            closed(if too_large { ClosedBy::FrameTooLarge } else { ClosedBy::Anyone }).await;
            if let Some(_slot) = slots.take(&admitted) {
                socket.close(code, reason).await;
            }
        }
    }
}

/// The path of a project comes in the form in which paths are compared.
fn decode(text: &[u8]) -> Result<FromUnity, DecodeError> {
    let mut frame = codec::decode(text);
    if let Ok(FromUnity::Hello(hello)) = &mut frame {
        hello.project_path = hello.project_path.as_deref().map(project::comparable);
    }
    frame
}

/// Frames that were never begun belong to the core again.
async fn give_back(
    outbox: &mut mpsc::Receiver<Outgoing<ToUnity>>,
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
