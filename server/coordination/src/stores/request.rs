//! RequestStore: every call that has not been answered.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{JobState, RequestId, ToUnity};

use super::queue::Ticket;
use crate::ids::{CallId, JobId};
use crate::request_validator::{Request, ValidCall};
use crate::time::{CallTimes, Timestamp};

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request_id: RequestId,
    pub(crate) asked: ValidCall,
    pub(crate) ticket: Ticket,
    pub(crate) times: CallTimes,
    pub(crate) progress_at: Option<Timestamp>,
    pub(crate) phase: Phase,
    /// Its `client_request_id` was used by an earlier call, whose outcome it gets.
    pub(crate) is_repeated: bool,
    /// Its caller is gone. It goes on for the calls that follow it.
    pub(crate) is_left: bool,
}

#[derive(Debug)]
pub(crate) enum Phase {
    /// In line. The Editor alone decides whether that means waiting or queued.
    InLine(Work),
    /// Its request is with Unity. The frame is gone: it cannot be sent again.
    InLane,
    /// Waits for news of a job.
    Parked { job: JobId, until: Timestamp },
    /// Waits for the outcome of another call.
    Following { first: CallId },
}

/// What is left to do for a call in line.
#[derive(Debug)]
pub(crate) enum Work {
    /// Send this frame. It moves out when it is sent, so it cannot be sent twice.
    Send(ToUnity),
    /// Look at a job. `known` was its state when the call came; a change since then is news.
    Control { known: Option<JobState> },
}

impl Call {
    /// Its caller started a job, and waits for the end of it.
    pub(crate) fn starts_job(&self) -> bool {
        matches!(self.asked.request, Request::RunJob { .. })
    }

    /// The job it waits for.
    pub(crate) fn job(&self) -> Option<JobId> {
        match self.phase {
            Phase::Parked { job, .. } => Some(job),
            Phase::InLine(_) | Phase::InLane | Phase::Following { .. } => None,
        }
    }

    /// Until when its caller wants to wait for a job.
    pub(crate) fn wait_until(&self) -> Timestamp {
        match self.asked.request {
            Request::RunJob { wait, .. } | Request::JobStatus { wait, .. } => {
                self.times.arrived + wait
            }
            Request::EditorState | Request::Execute { .. } | Request::CancelJob { .. } => {
                self.times.arrived
            }
        }
    }

    /// It becomes a job as soon as the Editor is ready.
    fn is_unaccepted(&self) -> bool {
        self.starts_job() && matches!(self.phase, Phase::InLine(_))
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestStore {
    calls: BTreeMap<CallId, Call>,
    parked: BTreeSet<(Timestamp, CallId)>,
    parked_control: usize,
    progress: BTreeSet<(Timestamp, CallId)>,
    unaccepted: usize,
}

impl RequestStore {
    pub(crate) fn insert(&mut self, id: CallId, call: Call) {
        self.count(id, &call, true);
        let before = self.calls.insert(id, call);
        debug_assert!(before.is_none(), "a call id is used once");
    }

    pub(crate) fn remove(&mut self, id: CallId) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        self.count(id, &call, false);
        Some(call)
    }

    pub(crate) fn get(&self, id: CallId) -> Option<&Call> {
        self.calls.get(&id)
    }

    pub(crate) fn set_phase(&mut self, id: CallId, phase: Phase) {
        self.update(id, |call| call.phase = phase);
    }

    pub(crate) fn set_served(&mut self, id: CallId, at: Option<Timestamp>) {
        self.update(id, |call| call.times.served = at);
    }

    pub(crate) fn set_progress(&mut self, id: CallId, at: Timestamp) {
        self.update(id, |call| call.progress_at = Some(at));
    }

    /// Takes the work out of a call in line and marks it as being with Unity.
    pub(crate) fn take_work(&mut self, id: CallId) -> Option<Work> {
        self.update(id, |call| match std::mem::replace(&mut call.phase, Phase::InLane) {
            Phase::InLine(work) => Some(work),
            phase @ (Phase::InLane | Phase::Parked { .. } | Phase::Following { .. }) => {
                call.phase = phase;
                None
            }
        })?
    }

    fn update<T>(&mut self, id: CallId, change: impl FnOnce(&mut Call) -> T) -> Option<T> {
        let mut call = self.remove(id)?;
        let changed = change(&mut call);
        self.insert(id, call);
        Some(changed)
    }

    /// Keeps what is derived from the calls.
    fn count(&mut self, id: CallId, call: &Call, enters: bool) {
        let step = |count: &mut usize| *count = if enters { *count + 1 } else { *count - 1 };
        let note = |set: &mut BTreeSet<_>, at| match enters {
            true => set.insert((at, id)),
            false => set.remove(&(at, id)),
        };
        if let Some(at) = call.progress_at {
            note(&mut self.progress, at);
        }
        if call.is_unaccepted() {
            step(&mut self.unaccepted);
        }
        if let Phase::Parked { until, .. } = call.phase {
            note(&mut self.parked, until);
            if !call.asked.request.needs_unity() {
                step(&mut self.parked_control);
            }
        }
    }

    /// Those that wait for the outcome of this call, in order of their arrival.
    pub(crate) fn followers(&self, of: CallId) -> Vec<CallId> {
        let follows = |call: &Call| matches!(call.phase, Phase::Following { first } if first == of);
        self.calls.iter().filter(|(_, call)| follows(call)).map(|(id, _)| *id).collect()
    }

    pub(crate) fn following(&self) -> usize {
        let follows = |call: &&Call| matches!(call.phase, Phase::Following { .. });
        self.calls.values().filter(follows).count()
    }

    pub(crate) fn set_left(&mut self, id: CallId) {
        self.update(id, |call| {
            call.is_left = true;
            call.progress_at = None;
        });
    }

    pub(crate) fn ids(&self) -> Vec<CallId> {
        self.calls.keys().copied().collect()
    }

    /// Those of `ids` that become jobs as soon as the Editor is ready.
    pub(crate) fn unaccepted(&self, ids: impl Iterator<Item = CallId>) -> Vec<CallId> {
        if self.unaccepted == 0 {
            return Vec::new();
        }
        ids.filter(|id| self.get(*id).is_some_and(Call::is_unaccepted)).collect()
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
