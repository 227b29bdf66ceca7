//! How a schedule ends: all faults stop, everybody is answered, and the books are compared.

use protocol::EditorState;
use unity_mcp::coordination::ClosedBy;

use super::{Subject, World};

impl<S: Subject> World<S> {
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
            if self.answered.contains(&probe) {
                self.model.seen.mark("healed and answered a fresh call");
                return Ok(());
            }
            self.pass(500)?;
        }
        Err("a fresh call is not answered after all faults have ended".into())
    }

    /// By the agents' own books.
    pub(super) fn open_calls(&self) -> usize {
        self.calls as usize - self.answered.union(&self.taken_back).count()
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

    /// Whatever was promised not to have run must not have run, now that all is over.
    pub(super) fn close_the_books(&self) -> Result<(), String> {
        let books = &self.unity.books;
        if let Some(client) = self.promised.iter().find(|client| books.ran(client) > 0) {
            return Err(format!("{client} ran after all, but was promised not to"));
        }
        let mut names: Vec<&String> =
            books.executed.iter().filter(|name| !name.is_empty()).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(format!("{pair:?} ran twice"));
        }
        Ok(())
    }
}
