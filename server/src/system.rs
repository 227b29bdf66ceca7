//! What differs between operating systems: signals, the death of the parent, the owner of the other end of a
//! socket. No other module depends on the system.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpStream};
use tracing::warn;

use crate::network::{Accepted, Listener, Network};
use coordination::Boot;

/// Upper and lower case are the same in the paths of most disks of these systems.
pub const PATHS_IGNORE_CASE: bool = cfg!(any(windows, target_os = "macos"));

/// TCP on 127.0.0.1 only.
#[derive(Clone, Copy, Debug)]
pub struct Loopback;

impl Network for Loopback {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn bind(&self, port: u16) -> io::Result<TcpListener> {
        #[cfg(target_os = "linux")]
        linux::own_user(); // Before an attack can take the descriptors that it needs.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        warn_of_a_namesake(Listener::port(&listener)).await;
        Ok(listener)
    }

    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let there = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect(there).await?;
        // It fails if the other end has gone, which is noticed later.
        stream.set_nodelay(true).unwrap_or_default();
        #[cfg(target_os = "linux")]
        linux::check_dialled(stream.local_addr()?, there).await?;
        Ok(stream)
    }

    async fn listener_is_same_user(&self, port: u16) -> bool {
        #[cfg(target_os = "linux")]
        return linux::listener_is_same_user(port).await;
        #[cfg(not(target_os = "linux"))]
        return true;
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
        let same_user = Box::pin(peer_is_same_user(peer, ours));
        Ok(Accepted { stream, same_user })
    }
}

pub use imp::{StopSignals, parent_death};

/// Ends when stdout is closed, if the system shows that before something is written to it.
pub async fn stdout_closed() {
    #[cfg(target_os = "linux")]
    linux::stdout_closed().await;
    #[cfg(not(target_os = "linux"))]
    std::future::pending::<()>().await;
}

#[cfg(target_os = "linux")]
mod linux;

#[cfg(unix)]
mod imp {
    use std::os::unix::process::parent_id;

    use tokio::signal::unix::{Signal, SignalKind, signal};
    use tokio::time::sleep;

    use crate::budget::PARENT_CHECK;

    /// SIGINT, SIGTERM and SIGHUP: from here on they do not end the process themselves.
    pub struct StopSignals([Option<Signal>; 3]);

    impl StopSignals {
        /// A signal that cannot be caught keeps what the system does with it.
        pub fn catch() -> Self {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            Self(kinds.map(|kind| signal(kind).ok()))
        }

        pub async fn next(&mut self) {
            let [interrupt, terminate, hangup] = &mut self.0;
            tokio::select! {
                () = next(interrupt) => {}
                () = next(terminate) => {}
                () = next(hangup) => {}
            }
        }
    }

    async fn next(signal: &mut Option<Signal>) {
        match signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }

    /// Ends when the process that started this one is gone: another one adopts its children.
    pub async fn parent_death() {
        let parent = parent_id();
        while parent_id() == parent {
            sleep(PARENT_CHECK).await;
        }
    }
}

#[cfg(windows)]
mod imp {
    use std::io;

    use tokio::signal::windows::{
        CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
    };

    /// Ctrl-C, Ctrl-Break, the console closing and the system shutting down.
    pub struct StopSignals(Option<(CtrlC, CtrlBreak, CtrlClose, CtrlShutdown)>);

    impl StopSignals {
        /// A signal that cannot be caught keeps what the system does with it.
        pub fn catch() -> Self {
            let all =
                || io::Result::Ok((ctrl_c()?, ctrl_break()?, ctrl_close()?, ctrl_shutdown()?));
            Self(all().ok())
        }

        pub async fn next(&mut self) {
            let Some((c, break_, close, shutdown)) = &mut self.0 else {
                return std::future::pending().await;
            };
            tokio::select! {
                _ = c.recv() => {}
                _ = break_.recv() => {}
                _ = close.recv() => {}
                _ = shutdown.recv() => {}
            }
        }
    }

    /// Windows adopts no orphans; the pipe of a parent that dies is closed, which stdin shows.
    pub async fn parent_death() {
        std::future::pending().await
    }
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

/// Whether the other end of a connection belongs to the user this process runs as; `None` if it has gone.
#[cfg(target_os = "linux")]
async fn peer_is_same_user(peer: SocketAddr, ours: SocketAddr) -> Option<bool> {
    linux::peer_is_same_user(peer, ours).await
}

/// Only Linux shows without special rights who owns a socket. Elsewhere every local user is accepted.
#[cfg(not(target_os = "linux"))]
async fn peer_is_same_user(_peer: SocketAddr, _ours: SocketAddr) -> Option<bool> {
    Some(true)
}
