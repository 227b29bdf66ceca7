//! A stream with limited patience: a peer that begins to say something says it in time, and one that is told
//! something takes it in time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Whether the peer is expected to finish what it has begun.
pub(crate) trait Expecting: Unpin {
    fn expects_more(&self) -> bool;
}

pub(crate) struct Patient<S, E> {
    stream: S,
    expecting: E,
    speech: Limit,
    reading: Limit,
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

    /// Begins to count, if it has not; an error when the time is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let running = self.running.get_or_insert_with(|| Box::pin(sleep(self.max)));
        ready!(running.as_mut().poll(context));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl<S, E: Expecting> Patient<S, E> {
    /// `speech_max`: from the first byte of what is expected to its last; `reading_max`: for any byte to be taken.
    pub(crate) fn new(
        stream: S,
        expecting: E,
        speech_max: Duration,
        reading_max: Duration,
    ) -> Self {
        Self { stream, expecting, speech: Limit::new(speech_max), reading: Limit::new(reading_max) }
    }

    /// What a write came to, with the limit kept.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.reading.stop();
            return written;
        }
        self.reading.poll(context).map(Err)
    }
}

impl<S: AsyncRead + Unpin, E: Expecting> AsyncRead for Patient<S, E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let had = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if !this.expecting.expects_more() {
            this.speech.stop();
            return read;
        }
        let has_begun = this.speech.running.is_some() || buffer.filled().len() > had;
        match read {
            Poll::Ready(read) => {
                if has_begun && let Poll::Ready(error) = this.speech.poll(context) {
                    return Poll::Ready(Err(error));
                }
                Poll::Ready(read)
            }
            Poll::Pending if has_begun => this.speech.poll(context).map(Err),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin, E: Expecting> AsyncWrite for Patient<S, E> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, sleep};

    use super::{Expecting, Patient};

    impl Expecting for Rc<Cell<bool>> {
        fn expects_more(&self) -> bool {
            self.get()
        }
    }

    const SPEECH: Duration = Duration::from_secs(10);
    const READING: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn who_begins_must_end_in_time_however_slowly_it_goes_on() {
        let (mut peer, ours) = duplex(64);
        let mut patient = Patient::new(ours, Rc::new(Cell::new(true)), SPEECH, READING);
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
                if let Err(error) = patient.read_u8().await {
                    return error;
                }
            }
        };
        let error = tokio::select! { error = read => error, () = dribble => unreachable!() };
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 110);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_counted_while_nothing_is_expected() {
        let (mut peer, ours) = duplex(64);
        let expecting = Rc::new(Cell::new(true));
        let mut patient = Patient::new(ours, expecting.clone(), SPEECH, READING);
        peer.write_all(b"x").await.unwrap();
        assert_eq!(patient.read_u8().await.unwrap(), b'x');
        expecting.set(false); // That was all of it.
        sleep(SPEECH * 2).await;
        peer.write_all(b"y").await.unwrap();
        assert_eq!(patient.read_u8().await.unwrap(), b'y');
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_given_up_and_who_takes_little_is_not() {
        let (mut peer, ours) = duplex(1);
        let mut patient = Patient::new(ours, Rc::new(Cell::new(false)), SPEECH, READING);
        let sip = async {
            for _ in 0..4 {
                sleep(READING - Duration::from_secs(1)).await;
                assert_eq!(peer.read_u8().await.unwrap(), b'x');
            }
        };
        let (written, ()) = tokio::join!(patient.write_all(b"xxxx"), sip);
        written.unwrap();
        let began = Instant::now();
        let error = patient.write_all(b"xxxx").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), READING);
    }
}
