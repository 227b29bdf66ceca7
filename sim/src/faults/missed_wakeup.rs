//! A network whose streams miss wake-ups: bytes have arrived, but the reader is not woken until something else wakes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use unity_mcp::network::{Accepted, Listener, Network};

/// One of so many reads of a stream is missed.
const MISSED_EVERY: u32 = 5;
const BUFFER: usize = 16 * 1024;

#[derive(Clone)]
pub(crate) struct MissedWakeups<N> {
    pub(crate) network: N,
    pub(crate) misses_wakeups: bool,
}

pub(crate) struct MissedWakeupListener<L> {
    listener: L,
    misses_wakeups: bool,
}

pub(crate) struct MissedWakeupStream<S> {
    stream: S,
    misses_wakeups: bool,
    reads: u32,
    /// Bytes that the reader was not woken for.
    missed: Vec<u8>,
}

impl<S> MissedWakeupStream<S> {
    pub(crate) fn new(stream: S, misses_wakeups: bool) -> Self {
        Self { stream, misses_wakeups, reads: 0, missed: Vec::new() }
    }
}

impl<N: Network> Network for MissedWakeups<N> {
    type Stream = MissedWakeupStream<N::Stream>;
    type Listener = MissedWakeupListener<N::Listener>;

    async fn bind(&self, port: u16) -> io::Result<Self::Listener> {
        let listener = self.network.bind(port).await?;
        Ok(MissedWakeupListener { listener, misses_wakeups: self.misses_wakeups })
    }

    async fn connect(&self, port: u16) -> io::Result<Self::Stream> {
        let stream = self.network.connect(port).await?;
        Ok(MissedWakeupStream::new(stream, self.misses_wakeups))
    }
}

impl<L: Listener<Stream: Send>> Listener for MissedWakeupListener<L> {
    type Stream = MissedWakeupStream<L::Stream>;

    fn port(&self) -> u16 {
        self.listener.port()
    }

    async fn accept(&mut self) -> io::Result<Accepted<Self::Stream>> {
        let Accepted { stream, same_user } = self.listener.accept().await?;
        Ok(Accepted { stream: MissedWakeupStream::new(stream, self.misses_wakeups), same_user })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MissedWakeupStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.missed.is_empty() {
            let count = self.missed.len().min(buffer.remaining());
            let bytes: Vec<u8> = self.missed.drain(..count).collect();
            buffer.put_slice(&bytes);
            return Poll::Ready(Ok(()));
        }
        if !self.misses_wakeups {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let mut bytes = vec![0; BUFFER.min(buffer.remaining())];
        let mut read = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
        self.reads += 1;
        if self.reads.is_multiple_of(MISSED_EVERY) && !read.filled().is_empty() {
            self.missed = read.filled().to_vec();
            return Poll::Pending; // The inner stream will not wake the reader again.
        }
        buffer.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MissedWakeupStream<S> {
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
