//! What agents do.

use coordination::Core;
use coordination::{CallId, Event, RawCall, ValidCall, validate};
use protocol::{Json, Map};

use super::{World, named};
use crate::judge::model::{Ask, Millis};

impl<S: Core> World<S> {
    pub(super) fn call_console(&mut self, timeout: Millis) -> Result<(), String> {
        self.call("read_console", Ask::Console, &[], timeout)
    }

    pub(super) fn call_tests(&mut self, timeout: Millis, wait: Millis) -> Result<(), String> {
        self.call("run_tests", Ask::Tests { wait }, &[("wait_ms", wait.into())], timeout)
    }

    pub(super) fn call_status(&mut self, job: String, wait: Millis) -> Result<(), String> {
        let arguments = [("job_id", Json::from(job.clone())), ("wait_ms", wait.into())];
        self.call("get_job_status", Ask::Status { job, wait }, &arguments, 5_000)
    }

    /// Mostly a job that was issued, sometimes one that never was.
    pub(super) fn some_job(&self, word: u64) -> String {
        format!("job-m-{}", 1 + (word >> 16) % (self.jobs + 1))
    }

    pub(super) fn call(
        &mut self,
        tool: &'static str,
        ask: Ask,
        arguments: &[(&'static str, Json)],
        timeout: Millis,
    ) -> Result<(), String> {
        self.calls += 1;
        let id = self.calls;
        let client = named(id);
        let request = valid_call(tool, arguments, timeout, &client)?;
        if matches!(ask, Ask::Console | Ask::Tests { .. }) {
            self.for_unity.insert(id);
        }
        self.meet_deadlines(self.now)?;
        self.model.on_call(self.now, id, ask, Some(client), timeout);
        let wants_progress = id.is_multiple_of(3);
        self.handle(Event::CallReceived { call: CallId(id), request, wants_progress })
    }

    pub(super) fn some_open_call(&self, word: u64) -> Option<u64> {
        let answered = |id: &u64| self.outcomes.is_closed(&named(*id));
        let open: Vec<u64> = (1..=self.calls).rev().take(40).filter(|id| !answered(id)).collect();
        let index = (word as usize).checked_rem(open.len())?;
        open.get(index).copied()
    }

    pub(super) fn take_back(&mut self, word: u64) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        let Some(id) = self.some_open_call(word) else { return Ok(()) };
        self.outcomes.taken_back(named(id));
        self.model.on_cancelled(self.now, id);
        self.handle(Event::CallCancelled { call: CallId(id) })
    }

    pub(super) fn break_adapter(&mut self, word: u64) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        let Some(id) = self.some_open_call(word) else { return Ok(()) };
        self.model.on_broke(self.now, id);
        self.handle(Event::CallBroke { call: CallId(id) })
    }
}

fn valid_call(
    tool: &str,
    arguments: &[(&'static str, Json)],
    timeout: Millis,
    client: &str,
) -> Result<ValidCall, String> {
    let mut all: Map<String, Json> =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    all.insert("timeout_ms".to_owned(), timeout.into());
    all.insert("client_request_id".to_owned(), client.into());
    validate(RawCall { tool: tool.to_owned(), arguments: all }).map_err(|failure| failure.message())
}
