//! A network that makes relays wrong: a call that was lost with the holder of the port is passed on again, or a call
//! that finds nobody at the port does not wait for the next holder.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::sleep;
use unity_mcp::network::{Accepted, Listener, Network};

use super::Fault;
use super::shell::ShellFault;

/// How often a lost call is tried again, and how long it waits before each try.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(crate) struct FaultyRelays<N> {
    pub(crate) network: N,
    pub(crate) fault: Fault,
}

pub(crate) struct FaultyRelayListener<L>(L);

pub(crate) struct FaultyRelayStream<S> {
    stream: S,
    /// Only for a stream whose call is passed on again if it is lost.
    copy: Option<SentBefore>,
}

/// What a relay has written to the holder, and what it got.
struct SentBefore {
    written: Vec<u8>,
    read: Vec<u8>,
    pass_on: Box<dyn FnOnce(Vec<u8>) -> BoxFuture<'static, ()> + Send>,
}

impl<N: Network> Network for FaultyRelays<N> {
    type Stream = FaultyRelayStream<N::Stream>;
    type Listener = FaultyRelayListener<N::Listener>;

    async fn bind(&self, port: u16) -> io::Result<Self::Listener> {
        self.network.bind(port).await.map(FaultyRelayListener)
    }

    async fn connect(&self, port: u16) -> io::Result<Self::Stream> {
        let is_stranded = self.fault == Fault::Shell(ShellFault::StrandACall);
        let stream = match self.network.connect(port).await {
            Err(error) if is_stranded && error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(io::Error::other("nobody is there"));
            }
            connected => connected?,
        };
        let is_repeated = self.fault == Fault::Shell(ShellFault::RepeatALostCall);
        let network = self.network.clone();
        let copy = is_repeated.then(|| SentBefore {
            written: Vec::new(),
            read: Vec::new(),
            pass_on: Box::new(move |request| Box::pin(pass_on(network, port, request))),
        });
        Ok(FaultyRelayStream { stream, copy })
    }
}

/// Until there is a holder that takes it.
async fn pass_on<N: Network>(network: N, port: u16, request: Vec<u8>) {
    for _ in 0..TRIES {
        sleep(PAUSE).await;
        if let Ok(mut stream) = network.connect(port).await
            && stream.write_all(&request).await.is_ok()
        {
            // The holder cancels the call if this end is closed.
            stream.read_to_end(&mut Vec::new()).await.unwrap_or_default();
            return;
        }
    }
}

impl<L: Listener<Stream: Send>> Listener for FaultyRelayListener<L> {
    type Stream = FaultyRelayStream<L::Stream>;

    fn port(&self) -> u16 {
        self.0.port()
    }

    async fn accept(&mut self) -> io::Result<Accepted<Self::Stream>> {
        let Accepted { stream, same_user } = self.0.accept().await?;
        Ok(Accepted { stream: FaultyRelayStream { stream, copy: None }, same_user })
    }
}

impl SentBefore {
    /// The connection has ended. Whether a call went there and got no answer.
    fn is_lost(&self) -> bool {
        let has = |bytes: &[u8], part: &str| String::from_utf8_lossy(bytes).contains(part);
        let is_answered = has(&self.read, "\"result\"") || has(&self.read, "\"error\"");
        has(&self.written, "\"tools/call\"") && !is_answered
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FaultyRelayStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        let new = buffer.filled().get(before..).unwrap_or_default();
        let has_ended = read.is_err() || new.is_empty();
        if let Some(copy) = &mut self.copy {
            copy.read.extend_from_slice(new);
        }
        if has_ended && let Some(copy) = self.copy.take_if(|copy| copy.is_lost()) {
            drop(tokio::spawn((copy.pass_on)(copy.written)));
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FaultyRelayStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        if let (Some(copy), Ok(count)) = (&mut self.copy, &written) {
            copy.written.extend_from_slice(bytes.get(..*count).unwrap_or_default());
        }
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
