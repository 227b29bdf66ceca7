//! A connection as two queues of bytes. The link of each queue says how long bytes take and whether they arrive.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep_until};

/// The most bytes in transit; a writer waits at this limit.
const IN_TRANSIT_MAX: usize = 16 * 1024;

/// One direction between two hosts.
#[derive(Clone)]
pub(crate) struct Link(Arc<Mutex<LinkState>>);

struct LinkState {
    latency: Duration,
    lossy: bool,
    held: bool,
    released: Arc<Notify>,
    /// The queues to wake when it holds nothing back any more.
    queues: Vec<Weak<Mutex<Queue>>>,
}

impl Link {
    pub(crate) fn new(latency: Duration) -> Self {
        let (released, queues) = (Arc::default(), Vec::new());
        let state = LinkState { latency, lossy: false, held: false, released, queues };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn takes(&self, latency: Duration) {
        lock(&self.0).latency = latency;
    }

    pub(crate) fn loses(&self, lossy: bool) {
        lock(&self.0).lossy = lossy;
    }

    pub(crate) fn holds(&self, held: bool) {
        let mut state = lock(&self.0);
        state.held = held;
        if held {
            return;
        }
        state.released.notify_waiters();
        let queues: Vec<_> = state.queues.iter().filter_map(Weak::upgrade).collect();
        drop(state);
        queues.iter().for_each(|queue| lock(queue).release());
    }

    pub(crate) fn latency(&self) -> Duration {
        lock(&self.0).latency
    }

    pub(crate) fn is_lossy(&self) -> bool {
        lock(&self.0).lossy
    }

    /// Waits until the link holds nothing back.
    pub(crate) async fn released(&self) {
        loop {
            let notify = {
                let state = lock(&self.0);
                if !state.held {
                    return;
                }
                state.released.clone()
            };
            notify.notified().await;
        }
    }

    fn attach(&self, queue: &Arc<Mutex<Queue>>) {
        let mut state = lock(&self.0);
        state.queues.retain(|queue| queue.strong_count() > 0);
        state.queues.push(Arc::downgrade(queue));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes in one direction of a connection.
struct Queue {
    link: Link,
    /// Each with its time of arrival, which is `None` while the link holds it. No bytes mean the end.
    packets: VecDeque<(Option<Instant>, Option<Vec<u8>>)>,
    in_transit: usize,
    /// Bytes were lost: nothing after them arrives.
    broken: bool,
    /// The writer has shut down its side.
    finished: bool,
    /// The reader has dropped its end. A writer does not see this here.
    reader_gone: bool,
    /// The reader's host was killed.
    cut: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Queue {
    fn new(link: Link) -> Arc<Mutex<Self>> {
        let queue = Arc::new(Mutex::new(Self {
            link: link.clone(),
            packets: VecDeque::new(),
            in_transit: 0,
            broken: false,
            finished: false,
            reader_gone: false,
            cut: false,
            reader: None,
            writer: None,
        }));
        link.attach(&queue);
        queue
    }

    fn post(&mut self, bytes: Option<Vec<u8>>) {
        let link = lock(&self.link.0);
        self.broken |= link.lossy;
        if self.broken {
            return;
        }
        let arrives = Instant::now() + link.latency;
        let last = self.packets.back().and_then(|(at, _)| *at); // Bytes keep their order.
        let at = (!link.held).then(|| last.map_or(arrives, |last| arrives.max(last)));
        drop(link);
        self.in_transit += bytes.as_ref().map_or(0, Vec::len);
        self.packets.push_back((at, bytes));
        self.wake_reader();
    }

    fn finish(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            self.post(None);
        }
    }

    fn close_reader(&mut self) {
        self.reader_gone = true;
        self.packets.clear();
        self.in_transit = 0;
        self.wake_writer();
    }

    fn release(&mut self) {
        let now = Instant::now();
        for (at, _) in &mut self.packets {
            at.get_or_insert(now);
        }
        self.wake_reader();
    }

    fn wake_reader(&mut self) {
        self.reader.take().into_iter().for_each(Waker::wake);
    }

    fn wake_writer(&mut self) {
        self.writer.take().into_iter().for_each(Waker::wake);
    }
}

/// One end of a connection; closed when it is dropped.
pub(crate) struct ByteStream {
    handle: Handle,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Closes an end from outside.
#[derive(Clone)]
pub(crate) struct Handle {
    read: Arc<Mutex<Queue>>,
    written: Arc<Mutex<Queue>>,
}

/// The two ends of a connection: what the first writes goes `there`, what it reads comes `back`.
pub(crate) fn pair(there: Link, back: Link) -> (ByteStream, ByteStream) {
    let (there, back) = (Queue::new(there), Queue::new(back));
    let near = Handle { read: back.clone(), written: there.clone() };
    let far = Handle { read: there, written: back };
    (ByteStream { handle: near, timer: None }, ByteStream { handle: far, timer: None })
}

impl Handle {
    /// Its host is killed: the system closes it, and reads and writes fail.
    pub(crate) fn cut(&self) {
        lock(&self.written).finish();
        let mut read = lock(&self.read);
        read.cut = true;
        read.close_reader();
        read.wake_reader();
    }

    pub(crate) fn is_open(&self) -> bool {
        !lock(&self.written).finished || !lock(&self.read).reader_gone
    }
}

impl ByteStream {
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }
}

impl Drop for ByteStream {
    fn drop(&mut self) {
        lock(&self.handle.written).finish();
        lock(&self.handle.read).close_reader();
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { handle, timer } = &mut *self;
        let mut queue = lock(&handle.read);
        if queue.cut {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let now = Instant::now();
        let before = buffer.filled().len();
        while buffer.remaining() > 0
            && let Some((Some(at), Some(bytes))) = queue.packets.front_mut()
            && *at <= now
        {
            let count = bytes.len().min(buffer.remaining());
            buffer.put_slice(bytes.get(..count).unwrap_or_default());
            bytes.drain(..count);
            let is_empty = bytes.is_empty();
            queue.in_transit -= count;
            if is_empty {
                queue.packets.pop_front();
            }
        }
        if buffer.filled().len() > before {
            queue.wake_writer();
            return Poll::Ready(Ok(()));
        }
        queue.reader = Some(context.waker().clone());
        match queue.packets.front() {
            Some((Some(at), None)) if *at <= now => Poll::Ready(Ok(())),
            Some((Some(at), _)) => {
                let at = *at;
                drop(queue);
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
                timer.as_mut().reset(at);
                // The time came between the two looks at the clock: poll again.
                if timer.as_mut().poll(context).is_ready() {
                    context.waker().wake_by_ref();
                }
                Poll::Pending
            }
            Some((None, _)) | None => Poll::Pending,
        }
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut queue = lock(&self.handle.written);
        if queue.finished {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if queue.reader_gone {
            return Poll::Ready(Ok(bytes.len()));
        }
        let room = IN_TRANSIT_MAX.saturating_sub(queue.in_transit);
        if room == 0 {
            queue.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let count = bytes.len().min(room);
        queue.post(bytes.get(..count).map(<[u8]>::to_vec));
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.handle.written).finish();
        Poll::Ready(Ok(()))
    }
}
