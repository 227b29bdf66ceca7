//! ConnectionStore: every socket of `/unity`, and which of them is the Editor.

use std::collections::{BTreeSet, VecDeque};

use protocol::{OfferedTool, PluginHello};

use crate::heartbeat::Heartbeat;
use crate::ids::ConnectionId;
use crate::time::Timestamp;

#[derive(Debug)]
pub(crate) struct ConnectionStore {
    /// Sockets without a hello, oldest first.
    pub(crate) pending: VecDeque<Pending>,
    pub(crate) link: Link,
    /// Sockets that were told to close and have not yet.
    closing: BTreeSet<ConnectionId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) on: ConnectionId,
    pub(crate) opened_at: Timestamp,
}

/// Whether there is an Editor.
#[derive(Debug)]
pub(crate) enum Link {
    /// It never came, or its window has closed: nothing is held for it.
    Absent,
    /// It left; what it was sent is held until the window closes.
    Lost {
        since: Timestamp,
    },
    Up(Box<Session>),
}

/// The one Editor.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) on: ConnectionId,
    pub(crate) hello: PluginHello,
    pub(crate) heartbeat: Heartbeat,
    /// In a row.
    pub(crate) bad_frames: u32,
    /// A newcomer that waits while this session is probed.
    pub(crate) contender: Option<Contender>,
}

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
    pub(crate) fn new() -> Self {
        Self { pending: VecDeque::new(), link: Link::Absent, closing: BTreeSet::new() }
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        match &self.link {
            Link::Up(session) => Some(session),
            Link::Absent | Link::Lost { .. } => None,
        }
    }

    pub(crate) fn session_mut(&mut self) -> Option<&mut Session> {
        match &mut self.link {
            Link::Up(session) => Some(session),
            Link::Absent | Link::Lost { .. } => None,
        }
    }

    pub(crate) fn contender(&self) -> Option<&Contender> {
        self.session().and_then(|session| session.contender.as_ref())
    }

    pub(crate) fn role(&self, on: ConnectionId) -> Role {
        if self.session().is_some_and(|session| session.on == on) {
            Role::Session
        } else if self.contender().is_some_and(|contender| contender.on == on) {
            Role::Contender
        } else if self.pending.iter().any(|pending| pending.on == on) {
            Role::Pending
        } else {
            Role::Gone
        }
    }

    /// Takes a socket out of its role; a session is lost instead.
    pub(crate) fn remove(&mut self, on: ConnectionId) {
        debug_assert!(self.role(on) != Role::Session, "a session is lost, not removed");
        self.pending.retain(|pending| pending.on != on);
        if let Some(session) = self.session_mut() {
            session.contender.take_if(|contender| contender.on == on);
        }
        self.closing.remove(&on);
    }

    pub(crate) fn mark_closing(&mut self, on: ConnectionId) {
        self.remove(on);
        self.closing.insert(on);
    }

    /// Every socket that has a role.
    pub(crate) fn in_use(&self) -> Vec<ConnectionId> {
        let session = self.session().map(|session| session.on);
        let contender = self.contender().map(|contender| contender.on);
        let pending = self.pending.iter().map(|pending| pending.on);
        session.into_iter().chain(contender).chain(pending).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.in_use().is_empty() && self.closing.is_empty()
    }
}
