//! ConnectionStore: every socket of `/unity`, and which of them is the Editor.

use std::collections::{BTreeSet, VecDeque};

use protocol::{OfferedTool, PluginHello};

use super::super::heartbeat::Heartbeat;
use super::super::ids::ConnectionId;
use super::super::time::Timestamp;

#[derive(Debug, Default)]
pub(crate) struct ConnectionStore {
    /// Sockets without a hello, oldest first.
    pub(crate) pending: VecDeque<Pending>,
    pub(crate) session: Option<Session>,
    pub(crate) contender: Option<Contender>,
    /// Sockets that were told to close and have not yet.
    closing: BTreeSet<ConnectionId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) on: ConnectionId,
    pub(crate) opened_at: Timestamp,
}

/// The one Editor.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) on: ConnectionId,
    pub(crate) hello: PluginHello,
    pub(crate) heartbeat: Heartbeat,
    /// In a row.
    pub(crate) bad_frames: u32,
}

/// A newcomer that waits while the session is probed.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) on: ConnectionId,
    pub(crate) hello: PluginHello,
    /// Of its own statuses since the hello.
    pub(crate) seq: u64,
    pub(crate) tools: Option<Vec<OfferedTool>>,
    pub(crate) probe_until: Timestamp,
}

/// What a socket is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Pending,
    Session,
    Contender,
    /// Told to close, or never seen.
    Gone,
}

impl ConnectionStore {
    pub(crate) fn role(&self, on: ConnectionId) -> Role {
        if self.session.as_ref().is_some_and(|session| session.on == on) {
            Role::Session
        } else if self.contender.as_ref().is_some_and(|contender| contender.on == on) {
            Role::Contender
        } else if self.pending.iter().any(|pending| pending.on == on) {
            Role::Pending
        } else {
            Role::Gone
        }
    }

    /// Takes a socket out of whatever role it has.
    pub(crate) fn remove(&mut self, on: ConnectionId) {
        self.pending.retain(|pending| pending.on != on);
        self.session.take_if(|session| session.on == on);
        self.contender.take_if(|contender| contender.on == on);
        self.closing.remove(&on);
    }

    pub(crate) fn mark_closing(&mut self, on: ConnectionId) {
        self.remove(on);
        self.closing.insert(on);
    }

    /// Every socket that has a role.
    pub(crate) fn in_use(&self) -> Vec<ConnectionId> {
        let session = self.session.iter().map(|session| session.on);
        let contender = self.contender.iter().map(|contender| contender.on);
        session.chain(contender).chain(self.pending.iter().map(|pending| pending.on)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.in_use().is_empty() && self.closing.is_empty()
    }
}
