//! How a schedule ends: all faults stop, everybody is answered, and the books are compared.

use coordination::ClosedBy;
use coordination::Core;
use protocol::EditorState;

use super::{World, named};

impl<S: Core> World<S> {
    /// All faults end: every call must be answered, and a fresh one must succeed.
    pub(super) fn heal(&mut self) -> Result<(), String> {
        self.refuse_send = false;
        self.report_unsent()?;
        self.unity.answers_pings = true;
        for _ in 0..600 {
            self.be_healthy()?;
            if self.open_calls() == 0 {
                break;
            }
            self.pass(500)?;
        }
        if self.open_calls() > 0 {
            return Err(format!(
                "{} calls are open though all faults have ended",
                self.open_calls()
            ));
        }
        let probe = self.calls + 1;
        self.call_console(10_000)?;
        for _ in 0..200 {
            self.be_healthy()?;
            if self.outcomes.is_closed(&named(probe)) {
                self.model.seen.mark("healed and answered a fresh call");
                return Ok(());
            }
            self.pass(500)?;
        }
        Err("a fresh call is not answered after all faults have ended".into())
    }

    /// By the agents' own books.
    pub(super) fn open_calls(&self) -> usize {
        self.calls as usize - self.outcomes.closed_count()
    }

    pub(super) fn be_healthy(&mut self) -> Result<(), String> {
        if let Some(on) = self.intruder.take() {
            self.closed(on, ClosedBy::Anyone)?;
        }
        self.connect(0)?;
        if self.unity.state != EditorState::Ready {
            self.report_state(EditorState::Ready)?;
        }
        self.offer(0)?;
        self.unity.finish_jobs();
        while let Some(frame) = self.unity.on.and_then(|_| self.unity.answer(3)) {
            self.say(Ok(frame))?;
        }
        Ok(())
    }

    pub(super) fn close_the_books(&self) -> Result<(), String> {
        self.outcomes.close(self.unity.books.executed.iter().map(String::as_str))
    }
}
