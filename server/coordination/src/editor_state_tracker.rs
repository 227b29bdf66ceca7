//! EditorStateTracker: the last observation of the Editor's state. Decides nothing.

use std::time::Duration;

use protocol::{CompileOutcome, EditorState, LastCompile, Pong};

use crate::event::CompileReport;
use crate::time::{Deadline, Timestamp, Why};

#[derive(Debug)]
pub(crate) struct EditorStateTracker {
    view: View,
    compile_grace: Duration,
    /// What the plugin said last about a compile, and when.
    compile: Option<(LastCompile, Timestamp)>,
}

#[derive(Debug)]
enum View {
    /// No session, and no compile or reload that would explain it.
    Unknown,
    /// What the session has said.
    Seen { state: EditorState, seq: u64, observed_at: Timestamp },
    /// No session, but it was compiling or reloading when it went.
    Remembered { state: EditorState, observed_at: Timestamp },
}

/// What an observation changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Observed {
    Nothing,
    /// Its seq is not larger than the last.
    Stale,
    BecameReady,
}

impl EditorStateTracker {
    pub(crate) fn new(compile_grace: Duration) -> Self {
        Self { view: View::Unknown, compile_grace, compile: None }
    }

    /// A session began: its seq starts again.
    pub(crate) fn on_hello(&mut self, now: Timestamp, state: EditorState, seq: u64) {
        self.view = View::Seen { state, seq, observed_at: now };
    }

    pub(crate) fn on_status(&mut self, now: Timestamp, new: EditorState, new_seq: u64) -> Observed {
        let View::Seen { seq, .. } = self.view else { return Observed::Nothing };
        if new_seq <= seq {
            return Observed::Stale;
        }
        self.observe(now, new, new_seq)
    }

    /// A pong may repeat the state. Without a seq it is as new as the socket's order makes it.
    pub(crate) fn on_pong(&mut self, now: Timestamp, pong: &Pong) -> Observed {
        let (Some(state), View::Seen { seq, .. }) = (pong.editor_state, &self.view) else {
            return Observed::Nothing;
        };
        let seq = *seq;
        match pong.seq {
            Some(new_seq) => self.on_status(now, state, new_seq),
            None => self.observe(now, state, seq),
        }
    }

    fn observe(&mut self, now: Timestamp, new: EditorState, seq: u64) -> Observed {
        let before = self.state();
        self.view = View::Seen { state: new, seq, observed_at: now };
        if new == EditorState::Ready && before != Some(EditorState::Ready) {
            Observed::BecameReady
        } else {
            Observed::Nothing
        }
    }

    /// The session ends because the domain reloads.
    pub(crate) fn on_reload_announced(&mut self, now: Timestamp) {
        self.view = View::Remembered { state: EditorState::Reloading, observed_at: now };
    }

    pub(crate) fn on_session_lost(&mut self) {
        self.view = match self.view {
            View::Seen { state: EditorState::Ready, .. } | View::Unknown => View::Unknown,
            View::Seen { state, observed_at, .. } | View::Remembered { state, observed_at } => {
                View::Remembered { state, observed_at }
            }
        };
    }

    /// A compile or reload was announced, and its time is not over.
    pub(crate) fn is_busy(&self, now: Timestamp) -> bool {
        match self.view {
            View::Unknown | View::Seen { state: EditorState::Ready, .. } => false,
            View::Seen { observed_at, .. } | View::Remembered { observed_at, .. } => {
                now < observed_at + self.compile_grace
            }
        }
    }

    /// A session that says nothing about it knows nothing about it.
    pub(crate) fn on_hello_compile(&mut self, now: Timestamp, compile: Option<LastCompile>) {
        self.compile = compile.map(|compile| (compile, now));
    }

    /// A status that says nothing about it changes nothing.
    pub(crate) fn on_status_compile(&mut self, now: Timestamp, compile: Option<LastCompile>) {
        self.compile = compile.map(|compile| (compile, now)).or(self.compile);
    }

    /// The number of errors of the last compile, if it failed.
    pub(crate) fn failed_compile(&self) -> Option<u64> {
        let (compile, _) = self.compile?;
        (compile.outcome == CompileOutcome::Failed).then_some(compile.errors)
    }

    pub(crate) fn last_compile(&self, now: Timestamp) -> Option<CompileReport> {
        let (LastCompile { outcome, errors, ended_ms_ago, .. }, at) = self.compile?;
        let ended_ago = Duration::from_millis(ended_ms_ago).saturating_add(now.since(at));
        Some(CompileReport { outcome, errors, ended_ago })
    }

    pub(crate) fn forget(&mut self) {
        self.view = View::Unknown;
    }

    /// The state, seen or remembered.
    pub(crate) fn state(&self) -> Option<EditorState> {
        match self.view {
            View::Unknown => None,
            View::Seen { state, .. } | View::Remembered { state, .. } => Some(state),
        }
    }

    /// Of the present session.
    pub(crate) fn seq(&self) -> Option<u64> {
        match self.view {
            View::Seen { seq, .. } => Some(seq),
            View::Unknown | View::Remembered { .. } => None,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        match self.view {
            View::Remembered { observed_at, .. } => {
                Some(Deadline { at: observed_at + self.compile_grace, why: Why::CompileForgotten })
            }
            View::Unknown | View::Seen { .. } => None,
        }
    }
}
