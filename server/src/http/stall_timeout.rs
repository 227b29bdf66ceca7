//! StallTimeout: a stream whose peer must finish the message that it has begun in time, and must read what it
//! is sent in time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// `is_incomplete`: whether the peer still has to finish what it has begun to send.
pub(crate) struct StallTimeout<S, F> {
    stream: S,
    is_incomplete: F,
    receiving: Limit,
    sending: Limit,
}

/// How long one thing may take.
struct Limit {
    max: Duration,
    running: Option<Pin<Box<Sleep>>>,
}

impl Limit {
    fn new(max: Duration) -> Self {
        Self { max, running: None }
    }

    fn stop(&mut self) {
        self.running = None;
    }

    /// Starts to count if it has not; an error when the time is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let running = self.running.get_or_insert_with(|| Box::pin(sleep(self.max)));
        ready!(running.as_mut().poll(context));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl<S, F: Fn() -> bool> StallTimeout<S, F> {
    /// `receive_max`: from the first byte of a message to its last; `send_max`: for any byte to be read.
    pub(crate) fn new(
        stream: S,
        is_incomplete: F,
        receive_max: Duration,
        send_max: Duration,
    ) -> Self {
        let (receiving, sending) = (Limit::new(receive_max), Limit::new(send_max));
        Self { stream, is_incomplete, receiving, sending }
    }

    fn limit<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.sending.stop();
            return written;
        }
        self.sending.poll(context).map(Err)
    }
}

impl<S: AsyncRead + Unpin, F: Fn() -> bool + Unpin> AsyncRead for StallTimeout<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let had = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if !(this.is_incomplete)() {
            this.receiving.stop();
            return read;
        }
        let has_begun = this.receiving.running.is_some() || buffer.filled().len() > had;
        match read {
            Poll::Ready(read) => {
                if has_begun && let Poll::Ready(error) = this.receiving.poll(context) {
                    return Poll::Ready(Err(error));
                }
                Poll::Ready(read)
            }
            Poll::Pending if has_begun => this.receiving.poll(context).map(Err),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin, F: Fn() -> bool + Unpin> AsyncWrite for StallTimeout<S, F> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limit(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.limit(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.limit(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::IoSlice;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, sleep, timeout};

    use super::StallTimeout;

    const RECEIVE: Duration = Duration::from_secs(10);
    const SEND: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_message_that_has_begun_must_be_complete_in_time() {
        let (mut peer, ours) = duplex(64);
        let mut stream = StallTimeout::new(ours, || true, RECEIVE, SEND);
        let began = Instant::now();
        let dribble = async {
            sleep(Duration::from_secs(100)).await; // Silence is not a beginning.
            loop {
                peer.write_all(b"x").await.unwrap_or_default();
                sleep(Duration::from_secs(1)).await;
            }
        };
        let read = async {
            loop {
                if let Err(error) = stream.read_u8().await {
                    return error;
                }
            }
        };
        let error = tokio::select! { error = read => error, () = dribble => unreachable!() };
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 110);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_begins_a_message_and_falls_silent_is_dropped() {
        let (mut peer, ours) = duplex(64);
        let mut stream = StallTimeout::new(ours, || true, RECEIVE, SEND);
        let began = Instant::now();
        peer.write_all(b"x").await.unwrap();
        let error =
            timeout(RECEIVE * 2, stream.read_exact(&mut [0; 2])).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), RECEIVE);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_counted_while_no_message_is_incomplete() {
        let (mut peer, ours) = duplex(64);
        let incomplete = Cell::new(true);
        let mut stream = StallTimeout::new(ours, || incomplete.get(), RECEIVE, SEND);
        peer.write_all(b"x").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'x');
        incomplete.set(false); // That was all of it.
        sleep(RECEIVE * 2).await;
        peer.write_all(b"y").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'y');
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_written_arrives_and_then_the_end() {
        let (mut peer, ours) = duplex(64);
        let mut stream = StallTimeout::new(ours, || false, RECEIVE, SEND);
        stream.write_all(b"one ").await.unwrap();
        let parts = [IoSlice::new(b"two "), IoSlice::new(b"three")];
        let written = stream.write_vectored(&parts).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut read = String::new();
        peer.read_to_string(&mut read).await.unwrap();
        assert_eq!(read.len(), 4 + written);
        assert!("one two three".starts_with(&read) && written > 3, "{read}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_dropped_and_a_slow_one_is_not() {
        let (mut peer, ours) = duplex(1);
        let mut stream = StallTimeout::new(ours, || false, RECEIVE, SEND);
        let sip = async {
            for _ in 0..4 {
                sleep(SEND - Duration::from_secs(1)).await;
                assert_eq!(peer.read_u8().await.unwrap(), b'x');
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(b"xxxx"), sip);
        written.unwrap();
        let began = Instant::now();
        let error = stream.write_all(b"xxxx").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), SEND);
    }
}
