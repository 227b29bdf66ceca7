//! Presence: whether a peer is still there while its request is answered. HTTP does not look for the end of a
//! connection as long as it has bytes that come after the request, and a peer that has left is owed nothing.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a peer may say before it has its answer. Whoever says more is not waited for.
const AHEAD_MAX: usize = 4 * 1024;

/// A stream that can be looked at from two sides: by who reads it, and by who wants to know whether it has ended.
pub(crate) struct Present<S>(Arc<Mutex<Ahead<S>>>);

struct Ahead<S> {
    stream: S,
    /// Read to see whether it has ended, and not yet given to who reads it.
    read: Vec<u8>,
    ended: bool,
}

impl<S> Clone for Present<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> Present<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Ahead { stream, read: Vec::new(), ended: false })))
    }

    fn ahead(&self) -> MutexGuard<'_, Ahead<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncRead + Unpin> Present<S> {
    /// Ready when the peer has closed its end or says too much. To be polled after who reads the stream, in the same
    /// task: then it takes only what that leaves.
    pub(crate) fn poll_left(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut ahead = self.ahead();
        while !ahead.ended && ahead.read.len() < AHEAD_MAX {
            let mut bytes = [0; AHEAD_MAX];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut ahead.stream).poll_read(context, &mut buffer));
            ahead.ended = read.is_err() || buffer.filled().is_empty();
            ahead.read.extend_from_slice(buffer.filled());
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Present<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut ahead = self.ahead();
        if ahead.read.is_empty() {
            if ahead.ended {
                return Poll::Ready(Ok(()));
            }
            return Pin::new(&mut ahead.stream).poll_read(context, buffer);
        }
        let length = ahead.read.len().min(buffer.remaining());
        buffer.put_slice(&ahead.read.drain(..length).collect::<Vec<u8>>());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Present<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.ahead().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.ahead().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.ahead().stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.ahead().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.ahead().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::{AHEAD_MAX, Present};

    #[tokio::test]
    async fn an_end_is_seen_behind_bytes_that_nobody_has_read_and_no_byte_is_lost() {
        let (mut peer, ours) = duplex(64);
        let mut present = Present::new(ours);
        let watcher = present.clone();
        assert!(!has_left(&watcher).await);
        peer.write_all(b"next").await.unwrap();
        assert!(!has_left(&watcher).await);
        peer.write_all(b" one").await.unwrap();
        drop(peer);
        assert!(has_left(&watcher).await);
        let mut read = String::new();
        present.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "next one");
    }

    #[tokio::test]
    async fn who_says_too_much_before_its_answer_is_not_waited_for() {
        let (mut peer, ours) = duplex(2 * AHEAD_MAX);
        let present = Present::new(ours);
        peer.write_all(&[b'x'; AHEAD_MAX - 1]).await.unwrap();
        assert!(!has_left(&present).await);
        peer.write_all(b"x").await.unwrap();
        assert!(has_left(&present).await);
    }

    /// Whether it has left, as far as can be seen now.
    async fn has_left(present: &Present<tokio::io::DuplexStream>) -> bool {
        poll_fn(|context| std::task::Poll::Ready(present.poll_left(context).is_ready())).await
    }
}
