//! Whose socket is it, and does anybody read from a pipe? Linux tells through /proc.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

/// Where the kernel lists sockets. One that can speak both versions is listed with version 6.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Questions that wait for the lists to be read. The lists are long on some machines: they are read
/// beside everything else, and once for all who wait.
static WAITING: Mutex<Waiting> = Mutex::new(Waiting { questions: Vec::new(), reading: false });

struct Waiting {
    questions: Vec<Question>,
    reading: bool,
}

/// Whose is the socket with these ends?
struct Question {
    ends: String,
    owner: oneshot::Sender<Owner>,
}

/// The user of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    ThisUser,
    AnotherUser,
    /// The kernel lists no such socket that belongs to anybody: its program has gone.
    Nobody,
    /// The lists cannot be read now: no descriptor is left, for example.
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
        Owner::NotKnown => Err(io::Error::other("the lists of sockets could not be read")),
    }
}

/// One that is not listed may have gone.
pub(super) async fn listener_is_same_user(port: u16) -> bool {
    ask_listener(port).await != Owner::AnotherUser
}

/// A program that listens on every address has this one too.
async fn ask_listener(port: u16) -> Owner {
    let none = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    for address in [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED] {
        let owner = ask(SocketAddr::from((address, port)), none).await;
        if owner != Owner::Nobody {
            return owner;
        }
    }
    Owner::Nobody
}

async fn ask(local: SocketAddr, remote: SocketAddr) -> Owner {
    let Some(ends) = ends(local, remote) else { return Owner::Nobody };
    let (owner, answer) = oneshot::channel();
    {
        let mut waiting = waiting();
        waiting.questions.push(Question { ends, owner });
        if !std::mem::replace(&mut waiting.reading, true) {
            tokio::task::spawn_blocking(answer_all);
        }
    }
    answer.await.unwrap_or(Owner::NotKnown)
}

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until no question is left.
fn answer_all() {
    loop {
        let mut waiting = waiting();
        let questions = std::mem::take(&mut waiting.questions);
        waiting.reading = !questions.is_empty();
        drop(waiting);
        if questions.is_empty() {
            return;
        }
        let mut owners = questions.iter().map(|asked| (asked.ends.clone(), None)).collect();
        let mut all_read = true;
        for list in LISTS {
            let read =
                File::open(list).and_then(|list| find_owners(BufReader::new(list), &mut owners));
            // A machine without version 6 has no list of it.
            all_read &= read.map_or_else(|error| error.kind() == ErrorKind::NotFound, |()| true);
        }
        for Question { ends, owner } in questions {
            let answer = match (own_user(), owners.get(&ends).copied().flatten()) {
                (None, _) => Owner::ThisUser, // It can never be known.
                (Some(own), Some(uid)) if uid == own => Owner::ThisUser,
                (Some(_), Some(_)) => Owner::AnotherUser,
                (Some(_), None) if all_read => Owner::Nobody,
                (Some(_), None) => Owner::NotKnown,
            };
            // The asker may have left.
            owner.send(answer).unwrap_or_default();
        }
    }
}

/// Our user; `None` where the kernel does not show the owner of a socket. Looked up once, before the first connection:
/// later there may be no descriptor left to read it, and that must not make every user acceptable.
pub(super) fn own_user() -> Option<u32> {
    static OWN_USER: OnceLock<Option<u32>> = OnceLock::new();
    *OWN_USER
        .get_or_init(|| own_uid().filter(|_| LISTS.iter().any(|list| File::open(list).is_ok())))
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

/// Fills in whose the sockets with these ends are. Row by row: other users can make the list very long.
fn find_owners(
    mut list: impl BufRead,
    owners: &mut HashMap<String, Option<u32>>,
) -> io::Result<()> {
    let mut row = String::new();
    while list.read_line(&mut row)? > 0 {
        if let Some((ends, uid)) = owner_in(&row)
            && let Some(owner) = owners.get_mut(&ends)
        {
            owner.get_or_insert(uid);
        }
        row.clear();
    }
    Ok(())
}

/// The ends of a socket and its user. One that its program has closed, or not yet accepted, belongs to nobody: it
/// has no inode, and is listed with the user 0.
fn owner_in(row: &str) -> Option<(String, u32)> {
    let mut fields = row.split_ascii_whitespace();
    let (local, remote) = (fields.nth(1)?, fields.next()?);
    let (uid, inode) = (fields.nth(4)?, fields.nth(1)?);
    if inode == "0" {
        return None;
    }
    Some((format!("{} {}", version_4(local), version_4(remote)), uid.parse().ok()?))
}

/// An address of version 4 as version 6 lists it, and every address of version 6.
fn version_4(listed: &str) -> &str {
    #[cfg(target_endian = "little")]
    let mapped = "0000000000000000FFFF0000";
    #[cfg(target_endian = "big")]
    let mapped = "00000000000000000000FFFF";
    let every = "000000000000000000000000";
    let short = listed.strip_prefix(mapped);
    short
        .or_else(|| listed.strip_prefix(every).filter(|rest| rest.starts_with("00000000:")))
        .unwrap_or(listed)
}

/// Addresses are listed as hexadecimal words in the byte order of the machine.
fn ends(local: SocketAddr, remote: SocketAddr) -> Option<String> {
    let end = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => {
            Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port()))
        }
        IpAddr::V6(_) => None,
    };
    Some(format!("{} {}", end(local)?, end(remote)?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::ErrorKind;

    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    use super::{
        Owner, ask_listener, check_dialled, ends, find_owners, own_uid, peer_is_same_user,
    };

    #[test]
    #[cfg(target_endian = "little")]
    fn the_user_of_a_socket_is_read_from_the_list_of_the_kernel() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F9B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1 1 0
   1: 0100007F:1F9B 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0
   2: 0100007F:C001 0100007F:1F9B 01 00000000:00000000 00:00000000 00000000 65534        0 3 1 0
   3: 0000000000000000FFFF00000100007F:C002 0000000000000000FFFF00000100007F:1F9B 01 00000000:00000000 00:00000000 00000000   501        0 4 1 0
   4: 0100007F:C004 0100007F:1F9B 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0
   5: 0100007F:C005 0100007F:1F9B 06 00000000:00000000 03:00000F9C 00000000     0        0 0 3 0
   6: 00000000000000000000000000000000:1F9C 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     8        0 5 1 0
";
        let at = |port: u16| ([127, 0, 0, 1], port).into();
        let (server, none) = (at(0x1F9B), ([0, 0, 0, 0], 0).into());
        for (local, remote, owner) in [
            (at(0xC001), server, Some(65534)),
            (at(0xC002), server, Some(501)),
            (at(0xC003), server, None),
            (at(0xC001), at(0x1F9C), None),
            (at(0xC004), server, None), // Closed by its program, and 0 is nobody's name then.
            (at(0xC005), server, None),
            (server, none, Some(7)), // The listener.
            (([0, 0, 0, 0], 0x1F9C).into(), none, Some(8)),
        ] {
            let ends = ends(local, remote).unwrap();
            let mut owners = HashMap::from([(ends.clone(), None)]);
            find_owners(table.as_bytes(), &mut owners).unwrap();
            assert_eq!(owners[&ends], owner, "{ends}");
        }
    }

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

    #[test]
    fn the_own_user_is_known() {
        assert!(own_uid().is_some());
    }
}
