//! Starts what has become possible: accepts jobs, fills the lane, serves control calls.

use std::time::Duration;

use protocol::{EditorState, GetJobStatus, RequestId, ToUnity};

use super::{ExecutionCoordinator, Gate};
use crate::cancel_manager::Target;
use crate::event::{Note, Reason};
use crate::failure::Failure;
use crate::ids::{CallId, ConnectionId, JobId, RequestNames};
use crate::request_scheduler::{Lane, Purpose, Trip};
use crate::request_validator::Request;
use crate::stores::job::Waiter;
use crate::stores::queue::{Head, Item};
use crate::stores::request::Work;
use crate::time::Timestamp;
use crate::tool_catalog::{Catalog, Kind, Tool};

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

    /// Waits count from the moment the gate closed; another reason does not restart them.
    pub(super) fn update_gate(&mut self, now: Timestamp) {
        self.gate = match (self.gate, self.reason()) {
            // What closes and opens at the same moment was never closed.
            (Gate::Closed { since, open_before: Some(before) }, None) if since == now => {
                Gate::Open { since: before }
            }
            (Gate::Closed { .. }, None) => Gate::Open { since: now },
            (Gate::Open { since }, Some(_)) => {
                Gate::Closed { since: now, open_before: Some(since) }
            }
            (same @ Gate::Open { .. }, None) | (same @ Gate::Closed { .. }, Some(_)) => same,
        };
    }

    pub(super) fn dispatch(&mut self, now: Timestamp) {
        self.update_gate(now);
        if self.is_stopping() {
            return;
        }
        if self.is_open() {
            for call in self.scheduler.unaccepted() {
                self.accept_job(now, call);
            }
        }
        while self.take_turn(now) {}
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.gate, Gate::Open { .. })
    }

    /// A cancel that Unity is owed goes before everything else, because its job is not wanted any more; but not twice
    /// in a row while something else can go.
    fn take_turn(&mut self, now: Timestamp) -> bool {
        if self.send_direct_cancel() {
            return true;
        }
        let cancel_first = !self.cancel_had_its_turn;
        (cancel_first && self.send_cancel(now)) || self.serve_next(now) || self.send_cancel(now)
    }

    /// A `run_tests` whose Editor is ready becomes a job, without waiting for the lane.
    fn accept_job(&mut self, now: Timestamp, id: CallId) {
        let Some(call) = self.scheduler.call(id) else { return };
        let (tool, wait_until, is_left) = (call.asked.tool, call.wait_until(), call.is_left);
        if !self.link.offers(tool.name) {
            return self.reply(id, Err(Failure::tool_not_in_plugin(tool)));
        }
        if !self.jobs.has_room(&self.limits) {
            return self.reply(id, Err(Failure::too_many_jobs(self.limits.jobs_active_max)));
        }
        if let Some(failure) = self.tests_old_code(tool) {
            return self.reply(id, Err(failure));
        }
        if !self.may_run(&call.asked) {
            return self.reply(id, Err(Failure::another_editor()));
        }
        let job = self.ids.job();
        let Some(frame) = self.scheduler.exchange_for_job(id, job) else { return };
        if let Some(call) = self.scheduler.call(id) {
            let client_request_id = call.asked.client_request_id.clone();
            let request_id = call.request_id.clone();
            self.jobs.issue(now, job, call, frame);
            let names = RequestNames { request_id, client_request_id, job: Some(job) };
            self.note(Note::JobIssued { names });
        }
        self.on_run_is_job(now, id, job);
        if is_left {
            self.scheduler.remove(id); // Only those that repeat it wait for the job.
        } else if wait_until > now {
            self.park(id, job, wait_until);
        } else {
            self.reply_about(id, job);
        }
    }

    /// Catalogue 1.1: tests after a compile that failed would run old code.
    fn tests_old_code(&self, tool: &Tool) -> Option<Failure> {
        let errors = self.editor.failed_compile()?;
        let tests = tool.kind == Kind::ReadHeavy && self.limits.catalog == Catalog::V1_1;
        tests.then(|| Failure::last_compile_failed(errors))
    }

    fn park(&mut self, call: CallId, job: JobId, until: Timestamp) {
        self.scheduler.park(call, job, until);
        self.jobs.add_waiter(job, Waiter { call, for_end: self.started_job(call) });
    }

    /// A cancel needs a session, not a ready Editor.
    fn send_cancel(&mut self, now: Timestamp) -> bool {
        let (Some(on), Lane::Free) = (self.link.session(), self.scheduler.lane()) else {
            return false;
        };
        let jobs = &self.jobs;
        let Some((job, target)) = self.cancels.next(|job| jobs.unity_id(job).cloned()) else {
            return false;
        };
        let request_id = self.ids.request();
        let frame = target.cancel(request_id.clone());
        let timeout = self.limits.status_timeout;
        let trip = Trip::new(request_id, on, "cancel_job", now, timeout);
        self.start_trip(on, frame, trip, Purpose::Cancel { job });
        true
    }

    /// Unity's acceptance of a job was lost with the session that it came on. A cancel of the job cannot wait for the
    /// lane, because the submission holds it: it goes out beside the lane and names the submission.
    fn send_direct_cancel(&mut self) -> bool {
        let Some(on) = self.link.session() else { return false };
        let (trip, job) = match self.scheduler.lane() {
            Lane::Taken { trip, purpose: Purpose::Submit { job } } => (trip, Some(*job)),
            Lane::Kept { trip } => (trip, None),
            Lane::Taken { .. } | Lane::Free => return false,
        };
        let submission = trip.request_id.clone();
        let is_owed = trip.is_of_earlier_session(on)
            && match job {
                Some(job) => self.cancels.take(job),
                None => self.cancels.take_submission(&submission),
            };
        if !is_owed {
            return false;
        }
        let request_id = self.ids.request();
        self.cancels.set_direct(request_id.clone(), job);
        let names = RequestNames { request_id: request_id.clone(), client_request_id: None, job };
        self.scheduler.remember(names);
        self.send(on, Target::Submission(submission).cancel(request_id));
        true
    }

    /// Serves the first that may move now; false if none may.
    fn serve_next(&mut self, now: Timestamp) -> bool {
        let lane_free = matches!(self.scheduler.lane(), Lane::Free);
        match self.link.session() {
            Some(on) if lane_free && self.is_open() => match self.scheduler.pop_any() {
                Some(Head::Control(call)) => self.serve_control(now, call, Some(on)),
                Some(Head::Unity(Item::Call(call))) => self.start_call(now, on, call),
                Some(Head::Unity(Item::Job(job))) => self.start_job(now, on, job),
                Some(Head::Poll(job)) => self.poll(now, on, job),
                None => return false,
            },
            // A round trip is under way: the next one waits for its end.
            Some(_) if !lane_free && self.scheduler.kept().is_none() => return false,
            // Nothing can be sent: control calls are served from what is known.
            Some(_) | None => match self.scheduler.pop_control() {
                Some(call) => self.serve_control(now, call, None),
                None => return false,
            },
        }
        true
    }

    fn start_call(&mut self, now: Timestamp, on: ConnectionId, id: CallId) {
        let Some(call) = self.scheduler.call(id) else { return };
        let (tool, timeout) = (call.asked.tool, call.asked.timeout);
        let request_id = call.request_id.clone();
        let trip = Trip::new(request_id, on, tool.name, now, timeout);
        if !self.link.offers(tool.name) {
            return self.reply(id, Err(Failure::tool_not_in_plugin(tool)));
        }
        if !self.may_run(&call.asked) {
            return self.reply(id, Err(Failure::another_editor()));
        }
        let asked = call.asked.clone();
        self.on_run_sent(&asked);
        if let Some(Work::Send(frame)) = self.scheduler.take_work(now, id) {
            self.start_trip(on, frame, trip, Purpose::Execute { call: id });
        }
    }

    fn start_job(&mut self, now: Timestamp, on: ConnectionId, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let (tool, request_id) = (job.asked.tool, job.request_id.clone());
        let timeout = job.asked.timeout.min(self.limits.submit_timeout);
        let trip = Trip::new(request_id, on, tool.name, now, timeout);
        if !self.link.offers(tool.name) {
            return self.fail_job(now, id, Failure::tool_not_in_plugin(tool));
        }
        if let Some(failure) = self.tests_old_code(tool) {
            return self.fail_job(now, id, failure);
        }
        if !self.may_run(&job.asked) {
            return self.fail_job(now, id, Failure::memory_gone());
        }
        let asked = job.asked.clone();
        self.on_run_sent(&asked);
        if let Some(frame) = self.jobs.start(now, id) {
            self.start_trip(on, frame, trip, Purpose::Submit { job: id });
            self.announce(id);
        }
    }

    /// The server's own question.
    fn poll(&mut self, now: Timestamp, on: ConnectionId, job: JobId) {
        let request_id = self.ids.request();
        self.ask(now, on, job, request_id, self.limits.status_timeout, None);
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
        let trip = Trip::new(request_id, on, "get_job_status", now, timeout);
        self.start_trip(on, frame, trip, Purpose::Status { job, asker });
    }

    /// The one line between `not_executed` and `unknown`: behind it, bytes may be with Unity.
    fn start_trip(&mut self, on: ConnectionId, frame: ToUnity, trip: Trip, purpose: Purpose) {
        self.cancel_had_its_turn = matches!(purpose, Purpose::Cancel { .. });
        self.scheduler.remember(self.names_of(&trip, purpose));
        self.scheduler.take_lane(trip, purpose);
        self.send(on, frame);
    }

    fn names_of(&self, trip: &Trip, purpose: Purpose) -> RequestNames {
        let of_call = |call| self.scheduler.call(call)?.asked.client_request_id.clone();
        let (client_request_id, job) = match purpose {
            Purpose::Execute { call } => (of_call(call), None),
            Purpose::Submit { job } => {
                let asked = self.jobs.get(job).map(|job| &job.asked);
                (asked.and_then(|asked| asked.client_request_id.clone()), Some(job))
            }
            Purpose::Status { job, asker } => (asker.and_then(of_call), Some(job)),
            Purpose::Cancel { job } => (None, job),
        };
        RequestNames { request_id: trip.request_id.clone(), client_request_id, job }
    }

    // Control calls.

    /// `unity`: where Unity can be asked, if it can.
    fn serve_control(&mut self, now: Timestamp, id: CallId, unity: Option<ConnectionId>) {
        let Some(call) = self.scheduler.call(id) else { return };
        let (request, wait_until) = (call.asked.request.clone(), call.wait_until());
        let (request_id, timeout) = (call.request_id.clone(), call.asked.timeout);
        let Some(Work::Control { known }) = self.scheduler.take_work(now, id) else {
            debug_assert!(false, "only questions about jobs are in the control line");
            return;
        };
        match request {
            Request::JobStatus { job_id, .. } => match self.find_job(&job_id) {
                Err(failure) => self.reply(id, Err(failure)),
                Ok(job) if self.jobs.is_terminal(job) => self.reply_about(id, job),
                Ok(job) if wait_until > now && self.jobs.state(job) != known => {
                    self.reply_about(id, job); // It changed while the call was in line.
                }
                // Without room to wait it is answered at once, which is never wrong.
                Ok(job) if wait_until > now && self.scheduler.has_room_to_park(&self.limits) => {
                    self.park(id, job, wait_until);
                    self.poll_soon(job);
                }
                Ok(job) => match unity.filter(|_| self.jobs.unity_id(job).is_some()) {
                    Some(on) => self.ask(now, on, job, request_id, timeout, Some(id)),
                    None => self.reply_about(id, job),
                },
            },
            Request::EditorState
            | Request::CancelJob { .. }
            | Request::Execute { .. }
            | Request::RunJob { .. } => {
                debug_assert!(false, "only questions about jobs are in the control line");
            }
        }
    }

    /// Answers the oldest question about a job from what is known.
    pub(super) fn on_status_wait_over(&mut self, now: Timestamp) {
        if let Some(call) = self.scheduler.pop_control() {
            self.serve_control(now, call, None);
        }
    }

    /// The job that is kept under this id.
    pub(super) fn find_job(&self, job_id: &str) -> Result<JobId, Failure> {
        let job = self.ids.parse_job(job_id).filter(|job| self.jobs.get(*job).is_some());
        job.ok_or_else(Failure::no_such_job)
    }
}
