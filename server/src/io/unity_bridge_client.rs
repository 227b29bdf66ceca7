//! UnityBridgeClient: one socket of the plugin. Texts become frames and frames texts; what they mean
//! is not known here.

use protocol::{DecodeError, FromUnity, JsonSize, ToUnity, codec};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::digest;
use super::event_loop::{CoordinatorHandle, UnityPort};
use super::threshold::Threshold;
use super::web_socket::{Ending, Outgoing, Spoken, TOO_LARGE, WebSocket};
use crate::coordination::{ClosedBy, ConnectionId, Event};

impl Spoken for ToUnity {
    fn text(&self) -> String {
        codec::encode(self)
    }
}

/// Every frame may have so many values.
const VALUES_MAX: usize = 100_000;
/// A larger frame may have more, but not more densely than this: what is denser takes fifty times its size to read.
const BYTES_PER_VALUE: usize = 10;

/// What the core is told of a text of the plugin.
pub fn frame_of(text: &[u8]) -> Result<FromUnity, DecodeError> {
    let values_max = VALUES_MAX.max(text.len() / BYTES_PER_VALUE);
    if JsonSize::of(text).values > values_max {
        let problem = format!("a frame of this size may have {values_max} values");
        return Err(DecodeError::NotJson { problem });
    }
    codec::decode(text).map(digest::frame)
}

/// Serves a socket whose upgrade is done, until it is closed. There is room for so many goodbyes at once.
pub(super) async fn serve<S>(
    stream: S,
    message_max: usize,
    core: CoordinatorHandle,
    goodbyes: &Semaphore,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let UnityPort { id, mut outbox, admitted, dropped } = core.unity_opened().await;
    let mut socket = WebSocket::new(Threshold::new(stream, admitted), message_max).await;
    let received =
        |text: Utf8Bytes| core.tell(Event::UnityFrame { on: id, frame: frame_of(text.as_bytes()) });
    let ending = tokio::select! {
        biased;
        () = dropped.cancelled() => Ending::Gone,
        ending = socket.exchange(received, &mut outbox) => ending,
    };
    let closed = |by| core.tell(Event::UnityClosed { on: id, by });
    let give_back = give_back(&mut outbox, id, &core);
    match ending {
        Ending::Gone => {
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
            say_goodbye(socket, code, reason, goodbyes).await;
            closed(ClosedBy::Anyone).await;
        }
        Ending::Refused { code, reason } => {
            give_back.await;
            let too_large = code == TOO_LARGE;
            let by = if too_large { ClosedBy::FrameTooLarge } else { ClosedBy::Anyone };
            closed(by).await; // Callers need not wait for the goodbye.
            say_goodbye(socket, code, reason, goodbyes).await;
        }
    }
}

/// A socket that is being closed still holds what it has read: where there are too many, it is just closed.
async fn say_goodbye<S: AsyncRead + AsyncWrite + Unpin>(
    socket: WebSocket<S>,
    code: u16,
    reason: &'static str,
    goodbyes: &Semaphore,
) {
    if let Ok(_place) = goodbyes.try_acquire() {
        socket.say_goodbye(code, reason).await;
    }
}

/// Frames that were never begun belong to the core again.
async fn give_back(
    outbox: &mut mpsc::Receiver<Outgoing<ToUnity>>,
    on: ConnectionId,
    core: &CoordinatorHandle,
) {
    outbox.close();
    while let Some(outgoing) = outbox.recv().await {
        if let Outgoing::Say(frame) = outgoing {
            core.tell(Event::UnityNotSent { on, frame }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{DecodeError, FromUnity};

    use super::frame_of;

    fn pong_with(values: usize, value: &str) -> Result<FromUnity, DecodeError> {
        let junk = vec![value; values].join(",");
        frame_of(format!(r#"{{"type":"pong","protocol_version":1,"junk":[{junk}]}}"#).as_bytes())
    }

    #[test]
    fn a_frame_may_have_many_values_and_a_large_one_more() {
        assert!(pong_with(99_000, "1").is_ok());
        let refused = pong_with(101_000, "1").unwrap_err();
        assert!(refused.to_string().contains("may have 100000 values"), "{refused}");
        assert!(pong_with(200_000, r#""a test that failed""#).is_ok());
    }
}
