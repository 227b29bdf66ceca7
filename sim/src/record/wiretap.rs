//! Wiretap: a stream that writes down what passes. It reads the bytes themselves, so it shows what
//! crossed the wire, whatever the programs at its ends believe.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::levels::closing_order::ClosingOrder;
use crate::record::log::{Crossing, Log, Wire};
use crate::record::sniffer::Sniffer;
use crate::record::trace;

/// Where a tap is and where it writes.
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) wire: Wire,
    pub(crate) log: Log,
    pub(crate) closing_order: ClosingOrder,
}

pub(crate) struct Wiretap<S: Send + 'static> {
    /// There until this is dropped.
    tapped: Option<Tapped<S>>,
}

struct Tapped<S> {
    stream: S,
    read: Sniffer,
    written: Sniffer,
    place: Place,
    /// Nobody wants to know what passes here.
    is_deaf: bool,
    ended: bool,
}

impl<S: Send + 'static> Wiretap<S> {
    /// HTTP, which may become a WebSocket.
    pub(crate) fn http(stream: S, place: Place) -> Self {
        Self::new(stream, Sniffer::http, place)
    }

    /// One JSON text in each line.
    pub(crate) fn lines(stream: S, place: Place) -> Self {
        Self::new(stream, Sniffer::lines, place)
    }

    fn new(stream: S, sniffer: fn() -> Sniffer, place: Place) -> Self {
        let is_brief = place.log.is_brief;
        let is_agent = place.host != place.wire.server && !trace::is_unity(&place.host);
        let (read, written) = (sniffer().brief(is_brief), sniffer().brief(is_brief));
        let is_deaf = is_brief && is_agent;
        let tapped = Tapped { stream, read, written, place, is_deaf, ended: false };
        tapped.note(Crossing::Opened);
        Self { tapped: Some(tapped) }
    }
}

impl<S: Send + 'static> Drop for Wiretap<S> {
    fn drop(&mut self) {
        if let Some(tapped) = self.tapped.take() {
            let order = tapped.place.closing_order.clone();
            order.let_go(tapped.place.wire.clone(), tapped);
        }
    }
}

impl<S> Tapped<S> {
    fn note(&self, crossing: Crossing) {
        if self.is_deaf {
            return;
        }
        self.place.log.crossing(&self.place.host, &self.place.wire, crossing);
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.note(Crossing::Ended);
        }
    }
}

impl<S> Drop for Tapped<S> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<S: AsyncRead + Unpin + Send + 'static> AsyncRead for Wiretap<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(tapped) = &mut self.tapped else { return Poll::Ready(Ok(())) };
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut tapped.stream).poll_read(context, buffer));
        let new = buffer.filled().get(before..).unwrap_or_default();
        if read.is_err() || (new.is_empty() && buffer.remaining() > 0) {
            tapped.end();
        }
        if tapped.is_deaf {
            return Poll::Ready(read);
        }
        for message in tapped.read.feed(new) {
            tapped.note(Crossing::Received(message));
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin + Send + 'static> AsyncWrite for Wiretap<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(tapped) = &mut self.tapped else { return Poll::Ready(Ok(0)) };
        let written = ready!(Pin::new(&mut tapped.stream).poll_write(context, bytes));
        if tapped.is_deaf {
            return Poll::Ready(written);
        }
        let count = *written.as_ref().unwrap_or(&0);
        for message in tapped.written.feed(bytes.get(..count).unwrap_or_default()) {
            tapped.note(Crossing::Sent(message));
        }
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(tapped) = &mut self.tapped else { return Poll::Ready(Ok(())) };
        Pin::new(&mut tapped.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(tapped) = &mut self.tapped else { return Poll::Ready(Ok(())) };
        Pin::new(&mut tapped.stream).poll_shutdown(context)
    }
}
