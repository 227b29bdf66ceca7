//! Whose socket is it, and does anybody read from a pipe? Linux tells through /proc.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

/// Questions that wait for the lists to be read. The lists are long on some machines: they are read
/// beside everything else, and once for all who wait.
static WAITING: Mutex<Waiting> = Mutex::new(Waiting { questions: Vec::new(), reading: false });

struct Waiting {
    questions: Vec<Question>,
    reading: bool,
}

/// Whose is the socket that is connected like this? A listener is connected with nobody.
struct Question {
    local: SocketAddr,
    remote: SocketAddr,
    /// `None` if the kernel does not list it.
    same_user: oneshot::Sender<Option<bool>>,
}

/// A peer that the kernel does not list (any more) is nobody to serve. Without the lists nobody can say.
pub(super) async fn peer_is_same_user(peer: SocketAddr, ours: SocketAddr) -> bool {
    ask(peer, ours).await.ok().flatten().unwrap_or(false)
}

/// A program that listens on every address has this one too. One that is not listed may have gone.
pub(super) async fn listener_is_same_user(port: u16) -> bool {
    let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    for address in [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED] {
        if let Ok(Some(same)) = ask(SocketAddr::from((address, port)), nobody).await {
            return same;
        }
    }
    true
}

fn ask(local: SocketAddr, remote: SocketAddr) -> oneshot::Receiver<Option<bool>> {
    let (same_user, answer) = oneshot::channel();
    let mut waiting = waiting();
    waiting.questions.push(Question { local, remote, same_user });
    if !std::mem::replace(&mut waiting.reading, true) {
        tokio::task::spawn_blocking(answer_all);
    }
    answer
}

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until nobody waits any more.
fn answer_all() {
    loop {
        let mut waiting = waiting();
        let questions = std::mem::take(&mut waiting.questions);
        waiting.reading = !questions.is_empty();
        drop(waiting);
        if questions.is_empty() {
            return;
        }
        // A socket that can speak both versions is listed with version 6.
        let lists = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        let own = own_uid().filter(|_| lists.iter().any(Result::is_ok));
        for Question { local, remote, same_user } in questions {
            let uid = lists.iter().flatten().find_map(|list| uid_of(list, local, remote));
            // Whoever asked may have left.
            let same = if own.is_none() { Some(true) } else { uid.map(|uid| Some(uid) == own) };
            same_user.send(same).unwrap_or_default();
        }
    }
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

/// The user of the socket at `local` that is connected with `remote`.
fn uid_of(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let rows = table.lines().skip(1).map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let mut rows = rows.filter_map(|fields| match fields.as_slice() {
        [_, from, to, _, _, _, _, uid, ..] if is(from, local) && is(to, remote) => uid.parse().ok(),
        _ => None,
    });
    rows.next()
}

/// Addresses are listed as hexadecimal words in the byte order of the machine.
fn is(listed: &str, address: SocketAddr) -> bool {
    let IpAddr::V4(ip) = address.ip() else { return false };
    let v4 = format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port());
    let mapped = format!("{:08X}", u32::from_ne_bytes([0, 0, 0xFF, 0xFF]));
    if ip.is_unspecified() && listed == format!("{:032X}:{:04X}", 0, address.port()) {
        return true; // Every address of both versions.
    }
    listed.strip_prefix(&format!("{:016X}{mapped}", 0)).unwrap_or(listed) == v4
}

#[cfg(test)]
mod tests {
    use super::{own_uid, uid_of};

    #[test]
    #[cfg(target_endian = "little")]
    fn the_user_of_a_socket_is_read_from_the_list_of_the_kernel() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F9B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:1F9B 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0
   2: 0100007F:C001 0100007F:1F9B 01 00000000:00000000 00:00000000 00000000 65534        0 3 1 0
   3: 0000000000000000FFFF00000100007F:C002 0000000000000000FFFF00000100007F:1F9B 01 00000000:00000000 00:00000000 00000000   501        0 4 1 0
";
        let at = |port: u16| ([127, 0, 0, 1], port).into();
        assert_eq!(uid_of(table, at(0xC001), at(0x1F9B)), Some(65534));
        assert_eq!(uid_of(table, at(0xC002), at(0x1F9B)), Some(501));
        assert_eq!(uid_of(table, at(0xC003), at(0x1F9B)), None);
        assert_eq!(uid_of(table, at(0xC001), at(0x1F9C)), None);
        let nobody = ([0, 0, 0, 0], 0).into();
        assert_eq!(uid_of(table, at(0x1F9B), nobody), Some(0), "the listener");
        assert_eq!(uid_of("", at(0xC001), at(0x1F9B)), None);
    }

    #[test]
    fn the_own_user_is_known() {
        assert!(own_uid().is_some());
    }
}
