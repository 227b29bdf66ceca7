//! UnityBridgeClient: one socket of the plugin. Texts become frames and frames texts; what they mean
//! is not known here.

use std::time::Duration;

use protocol::{DecodeError, FromUnity, JsonSize, ToUnity, codec};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

use crate::event_loop::{CoordinatorHandle, UnityPort};
use crate::unity::pre_hello_limit::Threshold;
use crate::unity::web_socket::{
    CLOSE_MAX, Ending, Outgoing, Spoken, TOO_LARGE, TooLarge, WebSocket,
};
use coordination::{ClosedBy, ConnectionId, Event};

impl Spoken for ToUnity {
    fn text(&self) -> String {
        codec::encode(self)
    }
}

/// Every frame may weigh as much: two thousand entries of a console with a dozen fields each.
const WEIGHT_MAX: usize = 200_000;
/// A larger frame may weigh more, but must not be denser than this: parsed, it takes eight times its size.
const BYTES_PER_WEIGHT: usize = 4;

/// What the core is told of a text of the plugin.
pub fn frame_of(text: &[u8]) -> Result<FromUnity, DecodeError> {
    codec::decode(text)
}

/// What takes more than a frame of its size may is over the limit too.
fn is_too_heavy(text: &[u8]) -> bool {
    JsonSize::of(text).weight > WEIGHT_MAX.max(text.len() / BYTES_PER_WEIGHT)
}

/// Sockets of each kind that are being closed.
const GOODBYES_MAX: usize = 4;

/// Places for goodbyes: a socket that is being closed still holds what it has read. Where there is no place it is
/// just closed. Sockets that never were the Editor's take none of the Editor's.
pub(crate) struct Goodbyes {
    to_editors: Semaphore,
    to_others: Semaphore,
}

impl Default for Goodbyes {
    fn default() -> Self {
        let [to_editors, to_others] = [GOODBYES_MAX; 2].map(Semaphore::new);
        Self { to_editors, to_others }
    }
}

impl Goodbyes {
    /// A place, for one that is the Editor's if it was admitted. Then whatever it still says is read away.
    fn take(&self, admitted: &CancellationToken) -> Option<SemaphorePermit<'_>> {
        let places = if admitted.is_cancelled() { &self.to_editors } else { &self.to_others };
        let place = places.try_acquire().ok()?;
        admitted.cancel();
        Some(place)
    }
}

/// Serves a socket whose upgrade is done, until it is closed.
pub(crate) async fn serve<S>(
    stream: S,
    message_max: usize,
    core: CoordinatorHandle,
    goodbyes: &Goodbyes,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let core = &core;
    let UnityPort { id, mut outbox, admitted, told_to_close, dropped } = core.unity_opened().await;
    let mut socket = WebSocket::new(Threshold::new(stream, admitted.clone()), message_max).await;
    let received = |text: Utf8Bytes| async move {
        if is_too_heavy(text.as_bytes()) {
            return Err(TooLarge);
        }
        let frame = || Event::UnityFrame { on: id, frame: frame_of(text.as_bytes()) };
        core.tell_decoded(frame).await;
        Ok(())
    };
    let mut place = None;
    let closing = async {
        told_to_close.cancelled().await;
        place = goodbyes.take(&admitted);
        if place.is_some() { CLOSE_MAX } else { Duration::ZERO }
    };
    let ending = tokio::select! {
        biased;
        () = dropped.cancelled() => Ending::Gone,
        ending = socket.exchange(received, &mut outbox, closing) => ending,
    };
    let closed = |by| core.tell(Event::UnityClosed { on: id, by });
    let give_back = give_back(&mut outbox, id, core);
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
            if let Some(_place) = place.or_else(|| goodbyes.take(&admitted)) {
                socket.say_goodbye(code, reason).await;
            }
            closed(ClosedBy::Anyone).await;
        }
        Ending::Refused { code, reason } => {
            give_back.await;
            let too_large = code == TOO_LARGE;
            let by = if too_large { ClosedBy::FrameTooLarge } else { ClosedBy::Anyone };
            closed(by).await; // Callers need not wait for the goodbye.
            if let Some(_place) = goodbyes.take(&admitted) {
                socket.say_goodbye(code, reason).await;
            }
        }
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
    use super::is_too_heavy;

    fn is_too_much(count: usize, value: &str) -> bool {
        is_too_heavy(format!("[{}]", vec![value; count].join(",")).as_bytes())
    }

    #[test]
    fn a_frame_may_have_many_values_and_a_large_one_more() {
        assert!(!is_too_much(99_000, "1"));
        assert!(is_too_much(101_000, "1"));
        assert!(!is_too_much(200_000, r#""a test that failed""#));
        assert!(!is_too_much(7_900, r#"{"a":1}"#));
        assert!(is_too_much(8_100, r#"{"a":1}"#), "a map takes more than its text");
        let fields: String = (0..12).map(|number| format!(r#""{number}":0,"#)).collect();
        assert!(!is_too_much(2_000, &format!(r#"{{{fields}"message":""}}"#)));
    }
}
