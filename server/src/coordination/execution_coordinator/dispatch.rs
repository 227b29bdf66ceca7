//! Starts whatever has become possible: jobs are accepted, the lane is filled, control calls served.

use std::time::Duration;

use protocol::{Cancel, EditorState, GetJobStatus, JobState, RequestId, ToUnity};

use super::super::cancel_manager::Intent;
use super::super::event::{Answer, CancelAnswer, CancelView, Outcome, Reason};
use super::super::failure::Failure;
use super::super::ids::{CallId, ConnectionId, JobId};
use super::super::request_scheduler::{Lane, Purpose, Trip};
use super::super::stores::job::JobPhase;
use super::super::stores::queue::{Head, Item};
use super::super::stores::request::Work;
use super::super::time::Timestamp;
use super::super::tool_catalog::Tool;
use super::{ExecutionCoordinator, Gate};

impl ExecutionCoordinator {
    /// Why a call that needs Unity would wait now.
    pub(super) fn reason(&self) -> Option<Reason> {
        match (self.link.session(), self.editor.state()) {
            (_, Some(EditorState::Compiling)) => Some(Reason::Compiling),
            (_, Some(EditorState::Reloading)) => Some(Reason::Reloading),
            (None, Some(EditorState::Ready) | None) => Some(Reason::Disconnected),
            (Some(_), Some(EditorState::Ready) | None) => {
                self.scheduler.kept().map(|_| Reason::Unresponsive)
            }
        }
    }

    /// Waits count from the moment the gate closed; another reason does not start them anew.
    pub(super) fn update_gate(&mut self, now: Timestamp) {
        self.gate = match (self.gate, self.reason()) {
            (_, None) => Gate::Open,
            (Gate::Open, Some(reason)) => Gate::Closed { since: now, reason },
            (Gate::Closed { since, .. }, Some(reason)) => Gate::Closed { since, reason },
        };
    }

    pub(super) fn dispatch(&mut self, now: Timestamp) {
        self.update_gate(now);
        if self.is_stopping() {
            return;
        }
        if self.gate == Gate::Open {
            for call in self.scheduler.unaccepted() {
                self.accept_job(now, call);
            }
        }
        while self.send_cancel(now) || self.serve_next(now) {}
    }

    /// A `run_tests` whose Editor is ready becomes a job, without waiting for the lane.
    fn accept_job(&mut self, now: Timestamp, id: CallId) {
        let Some(tool) = self.scheduler.call(id).map(|call| call.tool) else { return };
        if !self.link.offers(tool.name) {
            return self.reply(id, Err(Failure::tool_not_in_plugin(tool)));
        }
        if !self.jobs.has_room(&self.limits) {
            return self.reply(id, Err(Failure::queue_full(self.limits.queue_max)));
        }
        let job = self.ids.job();
        let Some((frame, wait_until)) = self.scheduler.exchange_for_job(id, job) else { return };
        if let Some(call) = self.scheduler.call(id) {
            self.jobs.issue(job, call, frame);
        }
        if wait_until > now {
            self.park(id, job, wait_until);
        } else {
            self.reply(id, Ok(Answer::JobAccepted { job, state: JobState::Queued }));
        }
    }

    fn park(&mut self, call: CallId, job: JobId, until: Timestamp) {
        self.scheduler.park(call, job, until);
        self.jobs.add_waiter(job, call);
    }

    /// A cancel that Unity is owed goes before everything else: it was first.
    fn send_cancel(&mut self, now: Timestamp) -> bool {
        let (Some(on), Lane::Free) = (self.link.session(), self.scheduler.lane()) else {
            return false;
        };
        let jobs = &self.jobs;
        let Some((job, target)) = self.cancels.next(|job| jobs.unity_id(job).cloned()) else {
            return false;
        };
        let request_id = self.ids.request();
        let frame = ToUnity::Cancel(Cancel {
            request_id: request_id.clone(),
            target_request_id: None,
            target_job_id: Some(target),
        });
        let timeout = self.limits.status_timeout;
        let trip = Trip { request_id, tool: tool("cancel_job"), sent_at: now, timeout };
        self.start_trip(on, frame, trip, Purpose::Cancel { job });
        true
    }

    /// Serves the earliest that may move now; false if none may.
    fn serve_next(&mut self, now: Timestamp) -> bool {
        let lane_free = matches!(self.scheduler.lane(), Lane::Free);
        let unity = self.link.session().filter(|_| lane_free && self.gate == Gate::Open);
        // Where nothing can be sent, control calls are served from what is known.
        let control_moves =
            lane_free || self.scheduler.kept().is_some() || self.link.session().is_none();
        match self.scheduler.pop(unity.is_some(), control_moves) {
            None => return false,
            Some(Head::Control(call)) => self.serve_control(now, call, unity),
            Some(Head::Unity(item)) => {
                if let Some(on) = unity {
                    self.start(now, on, item);
                }
            }
            Some(Head::Poll(job)) => {
                if let Some(on) = unity {
                    let request_id = self.ids.request();
                    let timeout = self.limits.status_timeout;
                    self.ask(now, on, job, request_id, timeout, None);
                }
            }
        }
        true
    }

    fn start(&mut self, now: Timestamp, on: ConnectionId, item: Item) {
        match item {
            Item::Call(id) => self.start_call(now, on, id),
            Item::Job(id) => self.start_job(now, on, id),
        }
    }

    fn start_call(&mut self, now: Timestamp, on: ConnectionId, id: CallId) {
        let Some(call) = self.scheduler.call(id) else { return };
        let (tool, request_id) = (call.tool, call.request_id.clone());
        let trip = Trip { request_id, tool, sent_at: now, timeout: call.timeout };
        if !self.link.offers(tool.name) {
            return self.reply(id, Err(Failure::tool_not_in_plugin(tool)));
        }
        let Some(Work::Execute { frame }) = self.scheduler.take_work(id) else { return };
        self.start_trip(on, frame, trip, Purpose::Execute { call: id });
    }

    fn start_job(&mut self, now: Timestamp, on: ConnectionId, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let (tool, request_id) = (job.tool, job.request_id.clone());
        let timeout = job.timeout.min(self.limits.submit_timeout);
        if !self.link.offers(tool.name) {
            return self.fail_job(id, Failure::tool_not_in_plugin(tool));
        }
        let Some(frame) = self.jobs.start(id) else { return };
        let trip = Trip { request_id, tool, sent_at: now, timeout };
        self.start_trip(on, frame, trip, Purpose::Submit { job: id });
        self.announce(id);
    }

    /// Asks Unity how a job is.
    fn ask(
        &mut self,
        now: Timestamp,
        on: ConnectionId,
        job: JobId,
        request_id: RequestId,
        timeout: Duration,
        asker: Option<CallId>,
    ) {
        let Some(unity_id) = self.jobs.unity_id(job).cloned() else { return };
        self.jobs.on_asked(job);
        self.scheduler.withdraw_poll(job); // This question serves for it.
        let frame = ToUnity::GetJobStatus(GetJobStatus {
            request_id: request_id.clone(),
            job_id: unity_id,
        });
        let trip = Trip { request_id, tool: tool("get_job_status"), sent_at: now, timeout };
        self.start_trip(on, frame, trip, Purpose::Status { job, asker });
    }

    /// The one line between `not_executed` and `unknown`: behind it, bytes may be with Unity.
    fn start_trip(&mut self, on: ConnectionId, frame: ToUnity, trip: Trip, purpose: Purpose) {
        self.scheduler.take_lane(trip, purpose);
        self.send(on, frame);
    }

    // Control calls.

    fn serve_control(&mut self, now: Timestamp, id: CallId, unity: Option<ConnectionId>) {
        let Some(call) = self.scheduler.call(id) else { return };
        let (request_id, timeout) = (call.request_id.clone(), call.timeout);
        match self.scheduler.take_work(id) {
            Some(Work::JobStatus { job_id, wait_until }) => {
                match self.ids.parse_job(&job_id).filter(|job| self.jobs.get(*job).is_some()) {
                    None => self.reply(id, Err(Failure::no_such_job())),
                    Some(job) if self.is_terminal(job) => self.reply_report(id, job),
                    // Without room to wait it is answered at once, which is never wrong.
                    Some(job)
                        if wait_until > now && self.scheduler.has_room_to_park(&self.limits) =>
                    {
                        self.park(id, job, wait_until);
                        self.poll_soon(job);
                    }
                    Some(job) => match unity.filter(|_| self.jobs.unity_id(job).is_some()) {
                        Some(on) => self.ask(now, on, job, request_id, timeout, Some(id)),
                        None => self.reply_report(id, job),
                    },
                }
            }
            Some(Work::CancelJob { job_id }) => {
                let outcome = self.cancel_job(&job_id);
                self.reply(id, outcome);
            }
            Some(Work::Execute { .. } | Work::RunJob { .. }) | None => {}
        }
    }

    fn cancel_job(&mut self, job_id: &str) -> Outcome {
        if job_id.starts_with("req-") {
            return Err(Failure::cancel_not_supported());
        }
        let job = self.ids.parse_job(job_id).ok_or_else(Failure::no_such_job)?;
        let phase = self.jobs.get(job).map(|job| &job.phase).ok_or_else(Failure::no_such_job)?;
        let status = match phase {
            JobPhase::Queued { .. } => CancelAnswer::Cancelled,
            JobPhase::Submitting | JobPhase::Running(_) => CancelAnswer::CancelRequested,
            JobPhase::Ended(_) => CancelAnswer::Rejected,
        };
        match status {
            CancelAnswer::Cancelled => self.withdraw_job(job),
            CancelAnswer::CancelRequested => self.request_cancel(job),
            CancelAnswer::Rejected => {}
        }
        Ok(Answer::Cancel { job, status })
    }

    /// One cancel is on its way at a time; after a refusal another may be tried.
    fn request_cancel(&mut self, job: JobId) {
        let cancel = self.jobs.get(job).and_then(|job| job.cancel.as_ref());
        if cancel != Some(&CancelView::Requested) {
            self.jobs.set_cancel(job, CancelView::Requested);
            self.cancels.want(Intent::Job(job));
        }
    }

    /// Whoever waited for this job has gone without knowing its id.
    pub(super) fn cancel_unknown_job(&mut self, job: JobId) {
        match self.jobs.get(job).map(|job| &job.phase) {
            Some(JobPhase::Queued { .. }) => self.withdraw_job(job),
            Some(JobPhase::Submitting | JobPhase::Running(_)) => self.request_cancel(job),
            Some(JobPhase::Ended(_)) | None => {}
        }
    }

    fn reply_report(&mut self, call: CallId, job: JobId) {
        if let Some(report) = self.jobs.report(job) {
            self.reply(call, Ok(Answer::Job(Box::new(report))));
        }
    }

    pub(super) fn is_terminal(&self, job: JobId) -> bool {
        self.jobs.get(job).is_some_and(|job| job.state().is_terminal())
    }
}

/// A row of the catalogue that is always there.
fn tool(name: &str) -> &'static Tool {
    match Tool::named(name) {
        Some(tool) => tool,
        None => unreachable!("the catalogue has no {name}"),
    }
}
