//! What the server needs of a network. Production gives it TCP on the loopback, simulations theirs.

use std::future::Future;
use std::io;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

pub trait Network: Clone + Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    type Listener: Listener<Stream = Self::Stream>;

    /// Listens on the loopback; port 0 takes a free one.
    fn bind(&self, port: u16) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// Dials a port of the loopback; an error if another user is found there, as far as can be known.
    fn connect(&self, port: u16) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Whether whoever listens there is the user this process runs as, as far as can be known.
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
    /// Whether the other end belongs to the user this process runs as, as far as can be known; `None` if it has
    /// gone.
    pub same_user: BoxFuture<'static, Option<bool>>,
}
