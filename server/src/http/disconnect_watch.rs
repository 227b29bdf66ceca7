//! DisconnectWatch: notices that a peer has disconnected while its request is being answered. hyper does not look
//! for the end of a connection as long as it has unread bytes behind the request.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::budget::HTTP_AHEAD_BYTES_MAX;

/// A stream with two users: one reads it, the other one wants to know whether it has ended.
pub(crate) struct DisconnectWatch<S>(Arc<Mutex<Ahead<S>>>);

struct Ahead<S> {
    stream: S,
    /// Read to see whether the stream has ended, and not yet passed on to the reader.
    read: Vec<u8>,
    ended: bool,
}

impl<S> Clone for DisconnectWatch<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> DisconnectWatch<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Ahead { stream, read: Vec::new(), ended: false })))
    }

    fn ahead(&self) -> MutexGuard<'_, Ahead<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncRead + Unpin> DisconnectWatch<S> {
    /// Ready when the peer has closed its end or has sent too much. Poll it after the reader, in the same task:
    /// then it takes only what the reader leaves.
    pub(crate) fn poll_disconnected(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut ahead = self.ahead();
        while !ahead.ended && ahead.read.len() < HTTP_AHEAD_BYTES_MAX {
            let mut bytes = [0; HTTP_AHEAD_BYTES_MAX];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut ahead.stream).poll_read(context, &mut buffer));
            ahead.ended = read.is_err() || buffer.filled().is_empty();
            ahead.read.extend_from_slice(buffer.filled());
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DisconnectWatch<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for DisconnectWatch<S> {
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
    use std::io::IoSlice;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::DisconnectWatch;
    use crate::budget::HTTP_AHEAD_BYTES_MAX;

    #[tokio::test]
    async fn an_end_is_seen_behind_unread_bytes_and_no_byte_is_lost() {
        let (mut peer, ours) = duplex(64);
        let mut watch = DisconnectWatch::new(ours);
        let watcher = watch.clone();
        assert!(!has_disconnected(&watcher).await);
        peer.write_all(b"next").await.unwrap();
        assert!(!has_disconnected(&watcher).await);
        peer.write_all(b" one").await.unwrap();
        drop(peer);
        assert!(has_disconnected(&watcher).await);
        let mut read = String::new();
        watch.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "next one");
    }

    #[tokio::test]
    async fn a_peer_that_sends_too_much_before_its_answer_is_dropped() {
        let (mut peer, ours) = duplex(2 * HTTP_AHEAD_BYTES_MAX);
        let watch = DisconnectWatch::new(ours);
        peer.write_all(&[b'x'; HTTP_AHEAD_BYTES_MAX - 1]).await.unwrap();
        assert!(!has_disconnected(&watch).await);
        peer.write_all(b"x").await.unwrap();
        assert!(has_disconnected(&watch).await);
    }

    #[tokio::test]
    async fn what_is_written_arrives_and_then_the_end() {
        let (mut peer, ours) = duplex(64);
        let mut watch = DisconnectWatch::new(ours);
        watch.write_all(b"one ").await.unwrap();
        let parts = [IoSlice::new(b"two "), IoSlice::new(b"three")];
        let written = watch.write_vectored(&parts).await.unwrap();
        watch.shutdown().await.unwrap();
        let mut read = String::new();
        peer.read_to_string(&mut read).await.unwrap();
        assert_eq!(read.len(), 4 + written);
        assert!("one two three".starts_with(&read) && written > 3, "{read}");
    }

    async fn has_disconnected(watch: &DisconnectWatch<tokio::io::DuplexStream>) -> bool {
        poll_fn(|context| std::task::Poll::Ready(watch.poll_disconnected(context).is_ready())).await
    }
}
