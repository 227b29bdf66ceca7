//! What differs between operating systems. No other module of this crate asks which system it is, except in tests. The
//! crates `token` and `setup` know themselves where a system keeps the files of a user, and their rights.
//!
//! | file | what it has |
//! |---|---|
//! | `unix`, `windows` | how a program is asked to end, the death of its parent, colours, why a port cannot be used |
//! | `linux`, `not_linux` | whose socket it is; whether anybody reads from stdout |

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpStream};
use tracing::warn;

use crate::network::{Accepted, Listener, Network};
use coordination::Boot;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod not_linux;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as sockets;
#[cfg(not(target_os = "linux"))]
use not_linux as sockets;
#[cfg(unix)]
use unix as imp;
#[cfg(windows)]
use windows as imp;

pub use imp::{StopSignals, parent_death, process_is_alive, shows_colours};

/// Upper and lower case are the same in the paths of most disks of these systems.
pub const PATHS_IGNORE_CASE: bool = cfg!(any(windows, target_os = "macos"));

/// Windows tries a port without a listener for two seconds before it refuses the connection.
pub(crate) const REFUSES_LATE: bool = cfg!(windows);

/// TCP on 127.0.0.1 only.
#[derive(Clone, Copy, Debug)]
pub struct Loopback;

impl Network for Loopback {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn bind(&self, port: u16) -> io::Result<TcpListener> {
        sockets::prepare(); // Before an attack can take the descriptors that it needs.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(imp::explain_bind)?;
        warn_of_a_namesake(Listener::port(&listener)).await;
        Ok(listener)
    }

    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let there = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect(there).await?;
        // It fails if the other end has gone, which is noticed later.
        stream.set_nodelay(true).unwrap_or_default();
        sockets::check_dialled(stream.local_addr()?, there).await?;
        Ok(stream)
    }

    async fn listener_is_same_user(&self, port: u16) -> bool {
        sockets::listener_is_same_user(port).await
    }
}

/// A client that connects to `localhost` may try IPv6 first and reach another program.
async fn warn_of_a_namesake(port: u16) {
    let taken = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await;
    if taken.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse) {
        warn!(
            "another program holds [::1]:{port}: a client that connects to localhost:{port} may reach that program; use 127.0.0.1:{port}"
        );
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    fn port(&self) -> u16 {
        self.local_addr().map_or(0, |address| address.port())
    }

    async fn accept(&mut self) -> io::Result<Accepted<TcpStream>> {
        let ours = self.local_addr()?;
        let (stream, peer) = Self::accept(self).await?;
        // Without it every answer waits 40 ms for an acknowledgement. A peer that has gone already
        // has no use for it.
        stream.set_nodelay(true).unwrap_or_default();
        let same_user = Box::pin(sockets::peer_is_same_user(peer, ours));
        Ok(Accepted { stream, same_user })
    }
}

/// Ends when stdout is closed, if the system shows that before something is written to it.
pub async fn stdout_closed() {
    sockets::stdout_closed().await;
}

/// A name for this start that cannot be guessed.
pub fn random_boot() -> io::Result<Boot> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let letters = b"abcdefghijklmnopqrstuvwxyz234567"; // 32: every byte gives five even bits.
    let name = bytes.iter().filter_map(|byte| letters.get(usize::from(byte % 32)));
    let name: String = name.map(|letter| char::from(*letter)).collect();
    Boot::new(&name).ok_or_else(|| io::Error::other("a name of the wrong form"))
}

/// A name for a call that nobody else uses.
pub fn random_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
