//! Faults of the shell: the core decides right, and the shell does something else.

use std::collections::VecDeque;

use coordination::Core;
use coordination::{CallId, ConnectionId, Deadline, EditorReport, Effect, Event, Note, Timestamp};
use protocol::ToUnity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellFault {
    MissAWakeup,
    SendOnTheOldSocket,
    AnswerTheWrongAgent,
    IgnoreTheOverflow,
    RepeatALostCall,
    StrandACall,
}

impl ShellFault {
    pub const ALL: [Self; 6] = [
        Self::MissAWakeup,
        Self::SendOnTheOldSocket,
        Self::AnswerTheWrongAgent,
        Self::IgnoreTheOverflow,
        Self::RepeatALostCall,
        Self::StrandACall,
    ];

    pub(super) fn is_in_network(self) -> bool {
        matches!(self, Self::MissAWakeup | Self::RepeatALostCall | Self::StrandACall)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::MissAWakeup => "a socket is not woken for what has arrived",
            Self::SendOnTheOldSocket => {
                "the first request of a session is sent on the socket before"
            }
            Self::AnswerTheWrongAgent => "an answer goes to another call",
            Self::IgnoreTheOverflow => "a frame that no socket took is forgotten",
            Self::RepeatALostCall => "a relay passes a lost call on again",
            Self::StrandACall => "a call that finds nobody at the port does not follow it",
        }
    }
}

/// A core whose events and effects are changed on their way.
pub(crate) struct FaultyShell<C> {
    fault: ShellFault,
    core: C,
    session: Option<ConnectionId>,
    /// The previous session, until something was sent there.
    before: Option<ConnectionId>,
    /// Calls without an answer, in order.
    open: VecDeque<CallId>,
}

impl<C: Core> FaultyShell<C> {
    pub(crate) fn new(fault: ShellFault, core: C) -> Self {
        Self { fault, core, session: None, before: None, open: VecDeque::new() }
    }

    fn change(&mut self, effect: Effect) -> Effect {
        if let Effect::Note(Note::SessionBegan { on, .. }) = &effect {
            self.before = self.session.replace(*on);
        }
        match (self.fault, effect) {
            (ShellFault::SendOnTheOldSocket, Effect::Send { on, frame }) => {
                let is_request = matches!(frame, ToUnity::Execute(_) | ToUnity::SubmitJob(_));
                let before = if is_request { self.before.take() } else { None };
                Effect::Send { on: before.unwrap_or(on), frame }
            }
            (
                ShellFault::AnswerTheWrongAgent,
                Effect::Reply { call, request_id, times, outcome },
            ) => {
                let other = self.open.iter().find(|other| **other != call).copied();
                let to = other.unwrap_or(call);
                self.open.retain(|open| *open != to);
                Effect::Reply { call: to, request_id, times, outcome }
            }
            (
                ShellFault::MissAWakeup
                | ShellFault::SendOnTheOldSocket
                | ShellFault::AnswerTheWrongAgent
                | ShellFault::IgnoreTheOverflow
                | ShellFault::RepeatALostCall
                | ShellFault::StrandACall,
                effect,
            ) => effect,
        }
    }
}

impl<C: Core> Core for FaultyShell<C> {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if let Event::UnityNotSent { on, .. } = &event {
            // Such a shell does not notice that the old socket is closed.
            let is_old = self.session != Some(*on);
            if self.fault == ShellFault::IgnoreTheOverflow
                || (self.fault == ShellFault::SendOnTheOldSocket && is_old)
            {
                return Vec::new();
            }
        }
        if let Event::CallReceived { call, .. } = &event {
            self.open.push_back(*call);
        }
        if let Event::CallCancelled { call } = &event {
            self.open.retain(|open| open != call);
        }
        let effects = self.core.handle(now, event);
        effects.into_iter().map(|effect| self.change(effect)).collect()
    }

    fn next_deadline(&self) -> Option<Deadline> {
        self.core.next_deadline()
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        self.core.editor_report(now)
    }
}
