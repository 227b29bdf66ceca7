//! PreHelloLimit: a socket of `/unity` is read only up to a limit until the core accepts its hello. A socket without
//! a hello takes little memory, whatever it sends.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::budget::{UNITY_PRE_HELLO_BYTES_MAX, UNITY_PRE_HELLO_READ_BYTES};

pub(crate) struct PreHelloLimit<S> {
    stream: S,
    /// `None` once the hello is accepted.
    before: Option<Before>,
}

struct Before {
    left: usize,
    admitted: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S> PreHelloLimit<S> {
    /// `admitted` is cancelled when the limit ends.
    pub(crate) fn new(stream: S, admitted: CancellationToken) -> Self {
        let admitted = Box::pin(admitted.cancelled_owned());
        Self { stream, before: Some(Before { left: UNITY_PRE_HELLO_BYTES_MAX, admitted }) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PreHelloLimit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, before } = &mut *self;
        before.take_if(|before| before.admitted.as_mut().poll(context).is_ready());
        let Some(before) = before else { return Pin::new(stream).poll_read(context, buffer) };
        if before.left == 0 {
            return Poll::Pending; // The admission wakes it.
        }
        let mut bytes = [0; UNITY_PRE_HELLO_READ_BYTES];
        let max = bytes.len().min(before.left).min(buffer.remaining());
        let (part, _) = bytes.split_at_mut(max);
        let mut part = ReadBuf::new(part);
        ready!(Pin::new(stream).poll_read(context, &mut part))?;
        before.left -= part.filled().len();
        buffer.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PreHelloLimit<S> {
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

    use super::{PreHelloLimit, UNITY_PRE_HELLO_BYTES_MAX};

    #[tokio::test(start_paused = true)]
    async fn a_socket_is_read_up_to_the_limit_and_goes_on_when_it_is_admitted() {
        let (mut peer, ours) = duplex(2 * UNITY_PRE_HELLO_BYTES_MAX);
        let admitted = CancellationToken::new();
        let mut limited = PreHelloLimit::new(ours, admitted.clone());
        peer.write_all(&vec![7; UNITY_PRE_HELLO_BYTES_MAX + 100]).await.unwrap();
        let mut read = vec![0; UNITY_PRE_HELLO_BYTES_MAX];
        limited.read_exact(&mut read).await.unwrap();
        assert!(read.iter().all(|byte| *byte == 7));
        let more = timeout(Duration::from_secs(3_600), limited.read_u8()).await;
        assert!(more.is_err(), "it waits");
        limited.write_all(b"hello").await.unwrap();
        let enter = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            admitted.cancel();
        };
        let mut rest = [0; 100];
        let (read, ()) = tokio::join!(limited.read_exact(&mut rest), enter);
        read.unwrap();
        assert_eq!(rest, [7; 100]);
        limited.shutdown().await.unwrap();
        let mut written = String::new();
        peer.read_to_string(&mut written).await.unwrap();
        assert_eq!(written, "hello");
    }
}
