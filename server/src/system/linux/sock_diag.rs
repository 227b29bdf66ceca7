//! Asks the kernel for one socket over netlink (`man 7 sock_diag`). That costs the same, however many sockets there are.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use super::{NO_END, Owner};

/// The bytes of a question, of the header of a message, and where the fields of an answer are.
const REQUEST_BYTES: usize = 72;
const HEADER_BYTES: usize = 16;
const STATE_AT: usize = HEADER_BYTES + 1;
const ENDS_AT: usize = HEADER_BYTES + 4;
const USER_AT: usize = HEADER_BYTES + 64;
const INODE_AT: usize = HEADER_BYTES + 68;
/// Larger than any answer about one socket.
const ANSWER_BYTES_MAX: usize = 4_096;

/// Types and flags of messages, the number of TCP, and the state of a socket that listens.
const ERROR: u16 = 2;
const BY_FAMILY: u16 = 20;
const IS_REQUEST: u16 = 1;
const TCP: u8 = 6;
const LISTEN: u8 = 10;
const EVERY_STATE: u32 = u32::MAX;

/// One descriptor for all questions: later there may be none left to ask with.
pub(super) struct SockDiag(Mutex<OwnedFd>);

impl SockDiag {
    /// `None` if this kernel does not answer: it may lack the module, or a sandbox may be in between.
    pub(super) fn open() -> Option<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, kind, flags, protocol).ok()?;
        let opened = Self(Mutex::new(socket));
        let known = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        let found = opened.user_of(known.local_addr().ok()?, NO_END).ok()?;
        found.is_some().then_some(opened)
    }

    /// Whose socket it is. The kernel has put the answer down before the question returns, so nothing waits here.
    pub(super) fn owner(&self, local: SocketAddr, remote: SocketAddr, own: u32) -> Owner {
        match self.user_of(local, remote) {
            Ok(Some(user)) if user == own => Owner::ThisUser,
            Ok(Some(_)) => Owner::AnotherUser,
            Ok(None) => Owner::Nobody,
            Err(_) => Owner::NotKnown,
        }
    }

    /// The user of the socket with these ends, or of one that listens if `remote` is `NO_END`.
    fn user_of(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
        let (IpAddr::V4(_), IpAddr::V4(_)) = (local.ip(), remote.ip()) else { return Ok(None) };
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = [0; ANSWER_BYTES_MAX];
        // What is left of an earlier question is not an answer to this one.
        while rustix::net::recv(&*socket, &mut answer, RecvFlags::empty()).is_ok() {}
        rustix::net::send(&*socket, &request(local, remote), SendFlags::empty())?;
        let (bytes, _) = rustix::net::recv(&*socket, &mut answer, RecvFlags::empty())?;
        user_in(answer.get(..bytes).unwrap_or_default(), local, remote)
    }
}

fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let mut request = Vec::with_capacity(REQUEST_BYTES);
    request.extend((REQUEST_BYTES as u32).to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(IS_REQUEST.to_ne_bytes());
    request.extend([0; 8]); // Sequence number and port: the kernel answers the socket that asks.
    request.extend([AddressFamily::INET.as_raw() as u8, TCP, 0, 0]);
    request.extend(EVERY_STATE.to_ne_bytes());
    request.extend(local.port().to_be_bytes());
    request.extend(remote.port().to_be_bytes());
    request.extend(words(local));
    request.extend(words(remote));
    request.extend([0; 4]); // Any interface.
    request.extend([0xff; 8]); // Any cookie.
    request
}

/// An address as the kernel writes it, with room for version 6.
fn words(address: SocketAddr) -> [u8; 16] {
    let mut words = [0; 16];
    if let IpAddr::V4(ip) = address.ip() {
        words[..4].copy_from_slice(&ip.octets());
    }
    words
}

/// The user in an answer. A socket that its program has closed, or not yet accepted, belongs to nobody: it has no
/// inode, and is shown with the user 0.
fn user_in(answer: &[u8], local: SocketAddr, remote: SocketAddr) -> io::Result<Option<u32>> {
    let kind = field::<2>(answer, 4).map(u16::from_ne_bytes)?;
    if kind == ERROR {
        let code = field::<4>(answer, HEADER_BYTES).map(i32::from_ne_bytes)?;
        let error = io::Error::from_raw_os_error(-code);
        return if error.kind() == ErrorKind::NotFound { Ok(None) } else { Err(error) };
    }
    // If the connection has gone, a program that listens at the same port is shown.
    let listens = field::<1>(answer, STATE_AT)? == [LISTEN];
    let ends = field::<4>(answer, ENDS_AT)?;
    let [local_port, remote_port] = [local, remote].map(|end| end.port().to_be_bytes());
    let is_it = listens == (remote == NO_END) && ends == [local_port, remote_port].concat()[..];
    let user = field::<4>(answer, USER_AT).map(u32::from_ne_bytes)?;
    let inode = field::<4>(answer, INODE_AT).map(u32::from_ne_bytes)?;
    Ok((is_it && inode != 0).then_some(user))
}

fn field<const N: usize>(answer: &[u8], at: usize) -> io::Result<[u8; N]> {
    let bytes = answer.get(at..).and_then(|rest| rest.first_chunk());
    bytes.copied().ok_or_else(|| ErrorKind::UnexpectedEof.into())
}
