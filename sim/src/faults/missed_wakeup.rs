//! Drowsy: a network whose streams can miss a wake-up. What has arrived has left the wire, but whoever
//! reads is not woken for it until something else wakes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use unity_mcp::network::{Accepted, Listener, Network};

/// Every so many reads of a stream one is missed.
const AWAKE: u32 = 5;
const BUFFER: usize = 16 * 1024;

#[derive(Clone)]
pub(crate) struct Drowsy<N> {
    pub(crate) network: N,
    pub(crate) is_drowsy: bool,
}

pub(crate) struct DrowsyDoor<L> {
    door: L,
    is_drowsy: bool,
}

pub(crate) struct DrowsyStream<S> {
    stream: S,
    is_drowsy: bool,
    reads: u32,
    /// What was read while nobody was woken.
    missed: Vec<u8>,
}

impl<S> DrowsyStream<S> {
    pub(crate) fn new(stream: S, is_drowsy: bool) -> Self {
        Self { stream, is_drowsy, reads: 0, missed: Vec::new() }
    }
}

impl<N: Network> Network for Drowsy<N> {
    type Stream = DrowsyStream<N::Stream>;
    type Listener = DrowsyDoor<N::Listener>;

    async fn bind(&self, port: u16) -> io::Result<Self::Listener> {
        let door = self.network.bind(port).await?;
        Ok(DrowsyDoor { door, is_drowsy: self.is_drowsy })
    }

    async fn connect(&self, port: u16) -> io::Result<Self::Stream> {
        let stream = self.network.connect(port).await?;
        Ok(DrowsyStream::new(stream, self.is_drowsy))
    }
}

impl<L: Listener<Stream: Send>> Listener for DrowsyDoor<L> {
    type Stream = DrowsyStream<L::Stream>;

    fn port(&self) -> u16 {
        self.door.port()
    }

    async fn accept(&mut self) -> io::Result<Accepted<Self::Stream>> {
        let Accepted { stream, same_user } = self.door.accept().await?;
        Ok(Accepted { stream: DrowsyStream::new(stream, self.is_drowsy), same_user })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for DrowsyStream<S> {
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
        if !self.is_drowsy {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let mut bytes = vec![0; BUFFER.min(buffer.remaining())];
        let mut read = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut read))?;
        self.reads += 1;
        if self.reads.is_multiple_of(AWAKE) && !read.filled().is_empty() {
            self.missed = read.filled().to_vec();
            return Poll::Pending; // And nobody is going to wake the reader.
        }
        buffer.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for DrowsyStream<S> {
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
