//! RecordedStream: records the messages that pass a stream. It parses the bytes, so that it does not depend on what the
//! programs report.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::levels::closing_order::ClosingOrder;
use crate::record::log::{Crossing, Log, Wire};
use crate::record::message_parser::MessageParser;
use crate::record::trace;

/// Which end of which wire it is, and where records go.
pub(crate) struct StreamOrigin {
    pub(crate) host: Arc<str>,
    pub(crate) wire: Wire,
    pub(crate) log: Log,
    pub(crate) closing_order: ClosingOrder,
}

pub(crate) struct RecordedStream<S: Send + 'static> {
    /// `None` only while this is dropped.
    inner: Option<Inner<S>>,
}

struct Inner<S> {
    stream: S,
    read: MessageParser,
    written: MessageParser,
    origin: StreamOrigin,
    /// No check reads what passes here.
    is_silent: bool,
    ended: bool,
}

impl<S: Send + 'static> RecordedStream<S> {
    /// HTTP, which may become a WebSocket.
    pub(crate) fn http(stream: S, origin: StreamOrigin) -> Self {
        Self::new(stream, MessageParser::http, origin)
    }

    /// One JSON text in each line.
    pub(crate) fn lines(stream: S, origin: StreamOrigin) -> Self {
        Self::new(stream, MessageParser::lines, origin)
    }

    fn new(stream: S, parser: fn() -> MessageParser, origin: StreamOrigin) -> Self {
        let is_brief = origin.log.is_brief;
        let is_client = origin.host != origin.wire.server;
        let is_program = trace::is_unity(&origin.host) || trace::is_server(&origin.host);
        let is_agent = is_client && !is_program;
        let (read, written) = (parser().brief(is_brief), parser().brief(is_brief));
        let is_silent = is_brief && is_agent;
        let inner = Inner { stream, read, written, origin, is_silent, ended: false };
        inner.note(Crossing::Opened);
        Self { inner: Some(inner) }
    }
}

impl<S: Send + 'static> Drop for RecordedStream<S> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let order = inner.origin.closing_order.clone();
            order.on_drop(inner.origin.wire.clone(), inner);
        }
    }
}

impl<S> Inner<S> {
    fn note(&self, crossing: Crossing) {
        if self.is_silent {
            return;
        }
        self.origin.log.crossing(&self.origin.host, &self.origin.wire, crossing);
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.note(Crossing::Ended);
        }
    }
}

impl<S> Drop for Inner<S> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<S: AsyncRead + Unpin + Send + 'static> AsyncRead for RecordedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(Ok(())) };
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut inner.stream).poll_read(context, buffer));
        let new = buffer.filled().get(before..).unwrap_or_default();
        if read.is_err() || (new.is_empty() && buffer.remaining() > 0) {
            inner.end();
        }
        if inner.is_silent {
            return Poll::Ready(read);
        }
        for message in inner.read.feed(new) {
            inner.note(Crossing::Received(message));
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin + Send + 'static> AsyncWrite for RecordedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(Ok(0)) };
        let written = ready!(Pin::new(&mut inner.stream).poll_write(context, bytes));
        if inner.is_silent {
            return Poll::Ready(written);
        }
        let count = *written.as_ref().unwrap_or(&0);
        for message in inner.written.feed(bytes.get(..count).unwrap_or_default()) {
            inner.note(Crossing::Sent(message));
        }
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(Ok(())) };
        Pin::new(&mut inner.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(Ok(())) };
        Pin::new(&mut inner.stream).poll_shutdown(context)
    }
}
