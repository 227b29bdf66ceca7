//! Network: what the server needs of a network. The program uses TCP on the loopback, simulations use their own.

use std::future::Future;
use std::io;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

pub trait Network: Clone + Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    type Listener: Listener<Stream = Self::Stream>;

    /// Listens on the loopback; port 0 takes a free one.
    fn bind(&self, port: u16) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// Connects to a port of the loopback; an error if the other end is known to belong to another user.
    fn connect(&self, port: u16) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Whether the listener belongs to the user of this process, as far as can be known.
    fn listener_is_same_user(&self, _port: u16) -> impl Future<Output = bool> + Send {
        std::future::ready(true)
    }
}

pub trait Listener: Send + 'static {
    type Stream;

    fn port(&self) -> u16;

    fn accept(&mut self) -> impl Future<Output = io::Result<Accepted<Self::Stream>>> + Send;
}

pub struct Accepted<S> {
    pub stream: S,
    /// Whether the other end belongs to the user of this process, as far as can be known; `None` if it has gone.
    pub same_user: BoxFuture<'static, Option<bool>>,
}
