//! The threshold of `/unity`: whoever is not the Editor yet is heard for so many bytes, and then waits. A socket
//! without a hello takes little, whatever it sends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// More than any hello has, with what a plugin may say right behind it.
const HEARD_MAX: usize = 128 * 1024;
/// Bytes that are read at once before the threshold.
const SIP: usize = 8 * 1024;

pub(crate) struct Threshold<S> {
    stream: S,
    /// `None` once it is over it.
    before: Option<Before>,
}

struct Before {
    left: usize,
    admitted: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S> Threshold<S> {
    /// `admitted` is cancelled when it may pass.
    pub(crate) fn new(stream: S, admitted: CancellationToken) -> Self {
        let admitted = Box::pin(admitted.cancelled_owned());
        Self { stream, before: Some(Before { left: HEARD_MAX, admitted }) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Threshold<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, before } = &mut *self;
        before.take_if(|before| before.admitted.as_mut().poll(context).is_ready());
        let Some(before) = before else { return Pin::new(stream).poll_read(context, buffer) };
        if before.left == 0 {
            return Poll::Pending; // Its admission wakes it.
        }
        let mut bytes = [0; SIP];
        let (sip, _) = bytes.split_at_mut(SIP.min(before.left).min(buffer.remaining()));
        let mut sip = ReadBuf::new(sip);
        ready!(Pin::new(stream).poll_read(context, &mut sip))?;
        before.left -= sip.filled().len();
        buffer.put_slice(sip.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Threshold<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::timeout;
    use tokio_util::sync::CancellationToken;

    use super::{HEARD_MAX, Threshold};

    #[tokio::test(start_paused = true)]
    async fn who_is_not_admitted_is_heard_for_so_long_and_goes_on_when_it_is() {
        let (mut peer, ours) = duplex(2 * HEARD_MAX);
        let admitted = CancellationToken::new();
        let mut threshold = Threshold::new(ours, admitted.clone());
        peer.write_all(&vec![7; HEARD_MAX + 100]).await.unwrap();
        let mut heard = vec![0; HEARD_MAX];
        threshold.read_exact(&mut heard).await.unwrap();
        assert!(heard.iter().all(|byte| *byte == 7));
        let more = timeout(Duration::from_secs(3_600), threshold.read_u8()).await;
        assert!(more.is_err(), "it waits");
        threshold.write_all(b"hello").await.unwrap();
        let enter = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            admitted.cancel();
        };
        let mut rest = [0; 100];
        let (read, ()) = tokio::join!(threshold.read_exact(&mut rest), enter);
        read.unwrap();
        assert_eq!(rest, [7; 100]);
    }
}
