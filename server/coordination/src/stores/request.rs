//! RequestStore: every call that has not been answered.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use protocol::{JobState, RequestId, ToUnity};

use super::queue::Ticket;
use crate::ids::{CallId, JobId};
use crate::time::Timestamp;
use crate::tool_catalog::{Kind, Tool};

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request_id: RequestId,
    pub(crate) tool: &'static Tool,
    pub(crate) ticket: Ticket,
    pub(crate) arrived: Timestamp,
    pub(crate) timeout: Duration,
    pub(crate) progress_at: Option<Timestamp>,
    pub(crate) phase: Phase,
}

#[derive(Debug)]
pub(crate) enum Phase {
    /// In line. Whether that is waiting or queued depends on the Editor alone.
    InLine(Work),
    /// Its request is with Unity. The frame is gone: it cannot be sent again.
    InLane,
    /// Waits for news of a job.
    Parked { job: JobId, until: Timestamp },
}

#[derive(Debug)]
pub(crate) enum Work {
    Execute {
        frame: ToUnity,
    },
    RunJob {
        frame: ToUnity,
        wait_until: Timestamp,
    },
    /// `known`: the state of the job when the call came; a change since then is news.
    JobStatus {
        job_id: String,
        wait_until: Timestamp,
        known: Option<JobState>,
    },
    CancelJob {
        job_id: String,
    },
}

#[derive(Debug, Default)]
pub(crate) struct RequestStore {
    calls: BTreeMap<CallId, Call>,
    parked: BTreeSet<(Timestamp, CallId)>,
    parked_control: usize,
    progress: BTreeSet<(Timestamp, CallId)>,
    /// Calls in line that become jobs as soon as the Editor is ready.
    unaccepted: usize,
}

impl RequestStore {
    pub(crate) fn insert(&mut self, id: CallId, call: Call) {
        if let Some(at) = call.progress_at {
            self.progress.insert((at, id));
        }
        self.count(id, &call.phase, call.tool, true);
        let before = self.calls.insert(id, call);
        debug_assert!(before.is_none(), "a call id is used once");
    }

    pub(crate) fn remove(&mut self, id: CallId) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        if let Some(at) = call.progress_at {
            self.progress.remove(&(at, id));
        }
        self.count(id, &call.phase, call.tool, false);
        Some(call)
    }

    pub(crate) fn get(&self, id: CallId) -> Option<&Call> {
        self.calls.get(&id)
    }

    pub(crate) fn set_phase(&mut self, id: CallId, phase: Phase) {
        if let Some(mut call) = self.remove(id) {
            call.phase = phase;
            self.insert(id, call);
        }
    }

    pub(crate) fn set_progress(&mut self, id: CallId, at: Timestamp) {
        if let Some(mut call) = self.remove(id) {
            call.progress_at = Some(at);
            self.insert(id, call);
        }
    }

    /// Takes the work out of a call in line and marks it as being with Unity.
    pub(crate) fn take_work(&mut self, id: CallId) -> Option<Work> {
        let mut call = self.remove(id)?;
        let work = match std::mem::replace(&mut call.phase, Phase::InLane) {
            Phase::InLine(work) => Some(work),
            phase @ (Phase::InLane | Phase::Parked { .. }) => {
                call.phase = phase;
                None
            }
        };
        self.insert(id, call);
        work
    }

    fn count(&mut self, id: CallId, phase: &Phase, tool: &Tool, enters: bool) {
        let step = |count: &mut usize| *count = if enters { *count + 1 } else { *count - 1 };
        match phase {
            Phase::InLine(Work::RunJob { .. }) => step(&mut self.unaccepted),
            Phase::Parked { until, .. } => {
                if enters {
                    self.parked.insert((*until, id));
                } else {
                    self.parked.remove(&(*until, id));
                }
                if tool.kind == Kind::Control {
                    step(&mut self.parked_control);
                }
            }
            Phase::InLine(
                Work::Execute { .. } | Work::JobStatus { .. } | Work::CancelJob { .. },
            )
            | Phase::InLane => {}
        }
    }

    pub(crate) fn ids(&self) -> Vec<CallId> {
        self.calls.keys().copied().collect()
    }

    pub(crate) fn unaccepted(&self) -> usize {
        self.unaccepted
    }

    pub(crate) fn parked_control(&self) -> usize {
        self.parked_control
    }

    pub(crate) fn first_parked(&self) -> Option<(Timestamp, CallId)> {
        self.parked.first().copied()
    }

    pub(crate) fn first_progress(&self) -> Option<(Timestamp, CallId)> {
        self.progress.first().copied()
    }
}
