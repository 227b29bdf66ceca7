//! Whose socket is it, and does anybody read from a pipe? Linux tells.

mod lists;
mod sock_diag;

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;

use tokio::io::Interest;
use tokio::net::unix::pipe;

use sock_diag::SockDiag;

/// The other end of a socket that listens.
const NO_END: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The user of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    ThisUser,
    AnotherUser,
    /// The kernel lists no such socket that belongs to anybody: its program has gone.
    Nobody,
    /// It cannot be found out now: no descriptor is left, for example.
    NotKnown,
}

/// `None` if the peer has gone, or if it cannot be known.
pub(super) async fn peer_is_same_user(peer: SocketAddr, ours: SocketAddr) -> Option<bool> {
    match ask(peer, ours).await {
        Owner::ThisUser => Some(true),
        Owner::AnotherUser => Some(false),
        Owner::Nobody | Owner::NotKnown => None,
    }
}

/// An error if what we have dialled is not ours. As long as it has not accepted, the connection belongs to nobody and
/// ends with its listener: in this order, so that it is the listener that was looked up.
pub(super) async fn check_dialled(ours: SocketAddr, there: SocketAddr) -> io::Result<()> {
    let listener = ask_listener(there.port()).await;
    let accepted = ask(there, ours).await;
    match if accepted == Owner::Nobody { listener } else { accepted } {
        Owner::ThisUser => Ok(()),
        Owner::AnotherUser => Err(ErrorKind::PermissionDenied.into()),
        Owner::Nobody => Err(ErrorKind::ConnectionRefused.into()), // It has just ended.
        Owner::NotKnown => Err(io::Error::other("the owner of the socket could not be found out")),
    }
}

/// One that is not listed may have gone.
pub(super) async fn listener_is_same_user(port: u16) -> bool {
    ask_listener(port).await != Owner::AnotherUser
}

/// A program that listens on every address has this one too.
async fn ask_listener(port: u16) -> Owner {
    for address in [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED] {
        let owner = ask(SocketAddr::from((address, port)), NO_END).await;
        if owner != Owner::Nobody {
            return owner;
        }
    }
    Owner::Nobody
}

async fn ask(local: SocketAddr, remote: SocketAddr) -> Owner {
    match source() {
        Source::Questions { kernel, own } => kernel.owner(local, remote, *own),
        Source::Lists { own } => lists::owner(local, remote, *own).await,
        Source::None => Owner::ThisUser, // It can never be known.
    }
}

/// Where the kernel tells the owner of a socket.
enum Source {
    Questions { kernel: SockDiag, own: u32 },
    Lists { own: u32 },
    None,
}

/// Looked up once, before the first connection: later there may be no descriptor left for it, and that must not make
/// every user acceptable.
fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| match (own_uid(), SockDiag::open()) {
        (Some(own), Some(kernel)) => Source::Questions { kernel, own },
        (Some(own), None) if lists::are_there() => Source::Lists { own },
        (Some(_) | None, _) => Source::None,
    })
}

/// Before the first connection.
pub(super) fn prepare() {
    source();
}

/// The effective user: real, effective, saved and file system user are listed in this order.
fn own_uid() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    uids.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A pipe without a reader is in error. What is not a pipe is noticed at the next write.
pub(super) async fn stdout_closed() {
    if let Ok(stdout) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
        // Readiness with no closed end is somebody else's wake-up.
        while stdout.ready(Interest::ERROR).await.is_ok_and(|ready| !ready.is_error()) {}
        return;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    use super::{Owner, Source, ask_listener, check_dialled, own_uid, peer_is_same_user, source};

    #[tokio::test]
    async fn a_listener_is_found_on_its_address_and_on_all_addresses() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            assert_eq!(ask_listener(port).await, Owner::ThisUser, "{address}");
        }
    }

    #[tokio::test]
    async fn a_port_without_a_listener_is_nobodys() {
        let taken = TcpSocket::new_v4().unwrap(); // Nobody else gets it, but it does not listen.
        taken.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let there = taken.local_addr().unwrap();
        assert_eq!(ask_listener(there.port()).await, Owner::Nobody);
        let gone = check_dialled(there, there).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn what_was_dialled_is_ours_before_and_after_it_has_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let stream = TcpStream::connect(there).await.unwrap();
        let ours = stream.local_addr().unwrap();
        check_dialled(ours, there).await.unwrap();
        let (accepted, peer) = listener.accept().await.unwrap();
        assert_eq!(peer_is_same_user(peer, there).await, Some(true));
        drop(listener);
        check_dialled(ours, there).await.unwrap();
        drop((accepted, stream));
        assert_eq!(peer_is_same_user(peer, there).await, None, "it has gone");
    }

    #[tokio::test]
    async fn a_socket_that_can_speak_both_versions_is_found() {
        let listener = TcpListener::bind("[::]:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let there = ([127, 0, 0, 1], port).into();
        let stream = TcpStream::connect(there).await.unwrap();
        let (_accepted, _) = listener.accept().await.unwrap();
        check_dialled(stream.local_addr().unwrap(), there).await.unwrap();
        assert_eq!(ask_listener(port).await, Owner::ThisUser);
    }

    #[tokio::test]
    async fn a_listener_is_not_taken_for_a_connection_that_has_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ours = listener.local_addr().unwrap();
        let gone = ([127, 0, 0, 1], 9).into();
        assert_eq!(peer_is_same_user(ours, gone).await, None);
    }

    #[test]
    fn the_kernel_answers_questions_here() {
        assert!(own_uid().is_some());
        assert!(matches!(source(), Source::Questions { .. }));
    }
}
