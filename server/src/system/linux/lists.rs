//! Reads the kernel's lists of all sockets, where it answers no questions about one. The lists are long on some machines:
//! they are read beside everything else, and once for all who wait.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Owner;

/// One that can speak both versions is listed with version 6.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Questions that wait for the lists to be read.
static WAITING: Mutex<Waiting> = Mutex::new(Waiting { questions: Vec::new(), reading: false });

struct Waiting {
    questions: Vec<Question>,
    reading: bool,
}

/// Whose is the socket with these ends?
struct Question {
    ends: String,
    own: u32,
    owner: oneshot::Sender<Owner>,
}

pub(super) fn are_there() -> bool {
    LISTS.iter().any(|list| File::open(list).is_ok())
}

pub(super) async fn owner(local: SocketAddr, remote: SocketAddr, own: u32) -> Owner {
    let Some(ends) = ends(local, remote) else { return Owner::Nobody };
    let (owner, answer) = oneshot::channel();
    {
        let mut waiting = waiting();
        waiting.questions.push(Question { ends, own, owner });
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
        for Question { ends, own, owner } in questions {
            let answer = match owners.get(&ends).copied().flatten() {
                Some(user) if user == own => Owner::ThisUser,
                Some(_) => Owner::AnotherUser,
                None if all_read => Owner::Nobody,
                None => Owner::NotKnown,
            };
            // The asker may have left.
            owner.send(answer).unwrap_or_default();
        }
    }
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

    use tokio::net::{TcpListener, TcpStream};

    use super::{Owner, ends, find_owners, owner};
    use crate::system::linux::{NO_END, own_uid};

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
    async fn the_lists_know_both_ends_of_a_connection_and_its_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        let stream = TcpStream::connect(there).await.unwrap();
        let (ours, own) = (stream.local_addr().unwrap(), own_uid().unwrap());
        assert_eq!(owner(there, NO_END, own).await, Owner::ThisUser);
        assert_eq!(owner(ours, there, own).await, Owner::ThisUser);
        assert_eq!(owner(there, ours, own).await, Owner::Nobody, "it is not accepted");
        let (_accepted, _) = listener.accept().await.unwrap();
        assert_eq!(owner(there, ours, own).await, Owner::ThisUser);
        assert_eq!(owner(there, ours, own + 1).await, Owner::AnotherUser);
    }
}
