//! Work that must not start, and why.

use coordination::{Catalog, ErrorCode, Guarantee};
use protocol::{CompileOutcome, LastCompile};

use super::runs::TESTS;
use super::{Fault, Lane, Model, Who};

impl Model {
    pub(super) fn tests_old_code(&self, tool: &str) -> bool {
        let is_old = self.limits.catalog == Catalog::V1_1 && self.failed_compile.is_some();
        is_old && tool == TESTS
    }

    /// Why a job at the head of the queue fails instead of being sent.
    pub(super) fn cannot_start(&self, job: usize) -> Option<Fault> {
        let job = self.jobs.get(job)?;
        if !self.offers(job.tool) {
            Some(not_executed(ErrorCode::UnknownCommand))
        } else if self.tests_old_code(job.tool) {
            Some(not_executed(ErrorCode::EditorNotReady))
        } else if !self.may_run(job.run.as_deref()) {
            Some((ErrorCode::UnityDisconnected, Guarantee::Unknown))
        } else {
            None
        }
    }

    /// Why a call at the head of the queue fails instead of being sent.
    pub(super) fn cannot_send(&self, id: u64) -> Option<ErrorCode> {
        let at_head = self.queue.front().map(|entry| entry.who) == Some(Who::Call(id));
        let is_free = matches!(self.lane, Lane::Free) && self.closed_since.is_none();
        let call = self.calls.get(&id).filter(|_| at_head && is_free)?;
        if !self.offers(call.tool()) {
            Some(ErrorCode::UnknownCommand)
        } else if !self.may_run(call.run.as_deref()) {
            Some(ErrorCode::EditorNotReady)
        } else {
            None
        }
    }
}

pub(super) fn not_executed(code: ErrorCode) -> Fault {
    (code, Guarantee::NotExecuted)
}

pub(super) fn can_be_cancelled(tool: &str) -> bool {
    tool != "script_recompile_trigger"
}

/// Errors of a compile that failed.
pub(super) fn failed(compile: Option<LastCompile>) -> Option<u64> {
    compile
        .filter(|compile| compile.outcome == CompileOutcome::Failed)
        .map(|compile| compile.errors)
}
