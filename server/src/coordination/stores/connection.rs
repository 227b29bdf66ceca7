//! ConnectionStore: every socket of `/unity`, and which of them is the Editor.

use std::collections::{BTreeSet, VecDeque};

use protocol::PluginHello;

use super::super::heartbeat::Heartbeat;
use super::super::ids::ConnectionId;
use super::super::time::Timestamp;

#[derive(Debug, Default)]
pub(in super::super) struct ConnectionStore {
    /// Sockets without a hello, oldest first.
    pub(in super::super) pending: VecDeque<Pending>,
    pub(in super::super) session: Option<Session>,
    pub(in super::super) contender: Option<Contender>,
    /// Sockets that were told to close and have not yet.
    closing: BTreeSet<ConnectionId>,
}

#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Pending {
    pub(in super::super) on: ConnectionId,
    pub(in super::super) opened_at: Timestamp,
}

/// The one Editor.
#[derive(Debug)]
pub(in super::super) struct Session {
    pub(in super::super) on: ConnectionId,
    pub(in super::super) hello: PluginHello,
    pub(in super::super) heartbeat: Heartbeat,
    /// In a row.
    pub(in super::super) bad_frames: u32,
}

/// A newcomer that waits while the session is probed.
#[derive(Debug)]
pub(in super::super) struct Contender {
    pub(in super::super) on: ConnectionId,
    pub(in super::super) hello: PluginHello,
    /// Of its own statuses since the hello.
    pub(in super::super) seq: u64,
    pub(in super::super) probe_until: Timestamp,
}

/// What a socket is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Role {
    Pending,
    Session,
    Contender,
    /// Told to close, or never seen.
    Gone,
}

impl ConnectionStore {
    pub(in super::super) fn role(&self, on: ConnectionId) -> Role {
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
    pub(in super::super) fn remove(&mut self, on: ConnectionId) {
        self.pending.retain(|pending| pending.on != on);
        self.session.take_if(|session| session.on == on);
        self.contender.take_if(|contender| contender.on == on);
        self.closing.remove(&on);
    }

    pub(in super::super) fn mark_closing(&mut self, on: ConnectionId) {
        self.remove(on);
        self.closing.insert(on);
    }

    /// Every socket that has a role.
    pub(in super::super) fn in_use(&self) -> Vec<ConnectionId> {
        let session = self.session.iter().map(|session| session.on);
        let contender = self.contender.iter().map(|contender| contender.on);
        session.chain(contender).chain(self.pending.iter().map(|pending| pending.on)).collect()
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.in_use().is_empty() && self.closing.is_empty()
    }
}
