//! Whose socket is it? The kernel lists the sockets of a network with the user that made each.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;

/// A peer that the kernel does not list (any more) is nobody to serve. Without the list nobody can say.
pub(super) fn peer_is_same_user(peer: SocketAddr, ours: SocketAddr) -> bool {
    let Ok(own) = fs::metadata("/proc/self") else { return true };
    // A socket that can speak both versions is listed with version 6.
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    if tables.iter().all(Result::is_err) {
        return true;
    }
    let uid = tables.iter().flatten().find_map(|table| uid_of(table, peer, ours));
    uid == Some(own.uid())
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
    listed.strip_prefix(&format!("{:016X}{mapped}", 0)).unwrap_or(listed) == v4
}

#[cfg(test)]
mod tests {
    use super::uid_of;

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
        assert_eq!(uid_of("", at(0xC001), at(0x1F9B)), None);
    }
}
