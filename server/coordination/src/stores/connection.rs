//! ConnectionStore: every socket of `/unity`, and what each of them is.

use std::collections::BTreeMap;

use protocol::{FromUnity, OfferedTool, PluginHello};

use crate::heartbeat::Heartbeat;
use crate::ids::ConnectionId;
use crate::time::Timestamp;

/// The life of a socket: `Pending`, then `Session` (perhaps as a `Contender` first), then `Closing`.
#[derive(Debug)]
pub(crate) enum Socket {
    /// It has not said hello.
    Pending { opened_at: Timestamp },
    /// It has said hello, and waits while the session is probed.
    Contender(Box<Contender>),
    /// It is the Editor. There is at most one.
    Session(Box<Session>),
    /// It was told to close. What it still sends is ignored.
    Closing,
}

/// What a socket has said since it was opened.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) hello: PluginHello,
    /// Of its last status.
    pub(crate) seq: u64,
    pub(crate) tools: Option<Vec<OfferedTool>>,
    /// The answer to the request in the lane, if it has sent that.
    pub(crate) answer: Option<FromUnity>,
}

#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) claim: Claim,
    pub(crate) probe_until: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) hello: PluginHello,
    pub(crate) heartbeat: Heartbeat,
    /// In a row.
    pub(crate) bad_frames: u32,
}

/// The shell limits how many sockets there are; the core limits the pending ones.
#[derive(Debug, Default)]
pub(crate) struct ConnectionStore {
    sockets: BTreeMap<ConnectionId, Socket>,
    loss: Option<Loss>,
}

/// The Editor is away, and something is held for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub(crate) since: Timestamp,
    /// The call that it had is held.
    pub(crate) holds_call: bool,
    /// Its running jobs are held.
    pub(crate) holds_jobs: bool,
}

impl ConnectionStore {
    pub(crate) fn get(&self, on: ConnectionId) -> Option<&Socket> {
        self.sockets.get(&on)
    }

    pub(crate) fn set(&mut self, on: ConnectionId, socket: Socket) {
        self.sockets.insert(on, socket);
    }

    pub(crate) fn remove(&mut self, on: ConnectionId) {
        self.sockets.remove(&on);
    }

    pub(crate) fn session(&self) -> Option<(ConnectionId, &Session)> {
        self.sockets.iter().find_map(|(on, socket)| match socket {
            Socket::Session(session) => Some((*on, session.as_ref())),
            Socket::Pending { .. } | Socket::Contender(_) | Socket::Closing => None,
        })
    }

    pub(crate) fn update_session<T>(
        &mut self,
        change: impl FnOnce(&mut Session) -> T,
    ) -> Option<T> {
        self.sockets
            .values_mut()
            .find_map(|socket| match socket {
                Socket::Session(session) => Some(session.as_mut()),
                Socket::Pending { .. } | Socket::Contender(_) | Socket::Closing => None,
            })
            .map(change)
    }

    pub(crate) fn contender(&self) -> Option<(ConnectionId, &Contender)> {
        self.sockets.iter().find_map(|(on, socket)| match socket {
            Socket::Contender(contender) => Some((*on, contender.as_ref())),
            Socket::Pending { .. } | Socket::Session(_) | Socket::Closing => None,
        })
    }

    pub(crate) fn update_claim(&mut self, on: ConnectionId, change: impl FnOnce(&mut Claim)) {
        if let Some(Socket::Contender(contender)) = self.sockets.get_mut(&on) {
            change(&mut contender.claim);
        }
    }

    /// The contender leaves its place, with what it has said.
    pub(crate) fn take_contender(&mut self) -> Option<(ConnectionId, Claim)> {
        let on = self.contender().map(|(on, _)| on)?;
        match self.sockets.remove(&on) {
            Some(Socket::Contender(contender)) => Some((on, contender.claim)),
            Some(Socket::Pending { .. } | Socket::Session(_) | Socket::Closing) | None => None,
        }
    }

    /// How many are pending, and the oldest of them.
    pub(crate) fn pending(&self) -> (usize, Option<(ConnectionId, Timestamp)>) {
        let pending = self.sockets.iter().filter_map(|(on, socket)| match socket {
            Socket::Pending { opened_at } => Some((*on, *opened_at)),
            Socket::Contender(_) | Socket::Session(_) | Socket::Closing => None,
        });
        (pending.clone().count(), pending.min_by_key(|(_, opened_at)| *opened_at))
    }

    /// Every socket that was not told to close.
    pub(crate) fn in_use(&self) -> Vec<ConnectionId> {
        let is_open = |socket: &Socket| !matches!(socket, Socket::Closing);
        self.sockets.iter().filter(|(_, socket)| is_open(socket)).map(|(on, _)| *on).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    pub(crate) fn loss(&self) -> Option<Loss> {
        self.loss
    }

    pub(crate) fn set_loss(&mut self, loss: Option<Loss>) {
        self.loss = loss;
    }
}
