//! Effects of the server, compared with what it may do now.

use coordination::{Catalog, ConnectionId, Effect, ErrorCode, Guarantee, Note, SessionEnd};
use protocol::{Cancel, JobState, RequestId, ToUnity};

use super::answers::unknown;
use super::refusals::{failed, not_executed};
use super::runs::TESTS;
use super::{
    Call, CallState, Checked, Editor, Hello, JobLife, Lane, Millis, Model, Owed, QueueEntry, Trip,
    Who,
};

impl Model {
    pub(crate) fn effect(&mut self, now: Millis, effect: &Effect) -> Checked {
        match effect {
            Effect::Reply { call, outcome, .. } => self.check_reply(now, call.0, outcome)?,
            Effect::Progress { call, .. } => {
                self.coverage.mark("progress was reported");
                if !self.calls.contains_key(&call.0) {
                    return Err(format!("progress for call {}, which is not open", call.0));
                }
            }
            Effect::Send { on, frame } => self.check_send(now, *on, frame)?,
            Effect::Close { on, .. } => {
                self.must_close.retain(|other| other != on);
                self.hellos.remove(&on.0);
                self.closed.insert(on.0);
                if self.session == Some(*on) && !self.stopped {
                    return Err(format!("the session on {on:?} was closed without being ended"));
                }
            }
            Effect::Note(Note::SessionEnded { on, why }) => {
                self.check_session_end(now, *on, *why)?
            }
            Effect::Note(Note::JobChanged { job, state }) => self.check_job(now, *job, *state)?,
            Effect::Note(Note::AnswerDropped { .. }) => {
                self.coverage.mark("an answer that nothing waits for");
            }
            Effect::Note(_) => {}
            Effect::Stopped => self.coverage.mark("the server stopped"),
        }
        self.update_gate(now);
        Ok(())
    }

    // Sessions.

    fn check_session_end(&mut self, now: Millis, on: ConnectionId, why: SessionEnd) -> Checked {
        if self.session != Some(on) {
            return Ok(()); // The model has ended it already.
        }
        let another = self.hellos.keys().any(|other| *other != on.0);
        let justified = match why {
            SessionEnd::NoPong { .. } => self.pong_over_at().is_some_and(|at| at <= now),
            SessionEnd::Stuck => self.stuck_at().is_some_and(|at| at <= now),
            SessionEnd::ProbeUnanswered => {
                let probe = self.limits.takeover_probe.as_millis() as Millis;
                another && now >= self.contested_since + probe
            }
            SessionEnd::Replaced => another,
            SessionEnd::BadFrames => self.bad_frames >= 10,
            // The model ended these when it got their event.
            SessionEnd::SocketClosed | SessionEnd::NotWritable => false,
        };
        if !justified {
            return Err(format!("the session was ended without reason: {why:?}"));
        }
        self.coverage.mark(match why {
            SessionEnd::NoPong { .. } => "a session ended without pong",
            SessionEnd::Stuck => "a session ended because Unity was stuck",
            SessionEnd::ProbeUnanswered => "a newcomer took over",
            SessionEnd::Replaced => "an Editor replaced itself",
            SessionEnd::BadFrames => "ten bad frames in a row",
            SessionEnd::SocketClosed | SessionEnd::NotWritable => "a session ended otherwise",
        });
        self.must_close.push(on);
        self.lose(now);
        Ok(())
    }

    fn adopt(&mut self, now: Millis, on: ConnectionId) -> Checked {
        if self.session.is_some() {
            return Err(format!("{on:?} was adopted beside another session"));
        }
        let Some(Hello { hello, seq, tools, answer }) = self.hellos.get(&on.0).cloned() else {
            return Err(format!("{on:?} was adopted without a hello"));
        };
        self.must_adopt = None;
        self.session = Some(on);
        if self.lost_at.take().is_some() {
            self.coverage.mark("reconnected within the window");
        }
        self.editor = Editor::Seen(hello.state, now);
        self.seq = seq;
        self.offered = tools;
        self.book = hello.request_book.clone();
        self.failed_compile = failed(hello.last_compile);
        self.heard = true;
        self.bad_frames = 0;
        self.rest_heartbeat(now);
        let editor = hello.editor_instance_id.map(|id| id.0);
        let session = hello.plugin_session_id.map(|id| id.0);
        let another_editor = differs(&self.named.0, &editor);
        let same_project = hello.project_path.is_some() && hello.project_path == self.project;
        self.project = hello.project_path.clone();
        let gone = another_editor || differs(&self.named.1, &session);
        self.named = (editor.or(self.named.0.take()), session.or(self.named.1.take()));
        let still_runs = hello.running_request_id.is_some_and(|id| self.holds(&id));
        match &mut self.lane {
            Lane::Kept { on: of, .. } | Lane::Busy { on: of, .. } if still_runs => {
                self.coverage.mark("Unity was still at work after a reconnect");
                self.confirmed_at = now;
                *of = Some(on);
            }
            Lane::Kept { .. } => {
                self.coverage.mark("a new session freed the lane");
                self.lane = Lane::Free;
            }
            Lane::Busy { .. } | Lane::Free => {}
        }
        if gone {
            let lane = self.lane.clone();
            self.give_up_trip(ErrorCode::UnityDisconnected);
            if let Lane::Busy { request, on, sent, timeout, .. } = lane
                && still_runs
            {
                self.lane = Lane::Kept { request, on, sent, timeout };
            }
        }
        if another_editor {
            self.lose_jobs();
        }
        if another_editor && !same_project {
            self.turn_away_waiting();
        }
        if let Some(answer) = answer {
            self.on_message(answer);
        }
        Ok(())
    }

    /// A call never moves to another project.
    fn turn_away_waiting(&mut self) {
        let code = ErrorCode::EditorNotReady;
        for entry in std::mem::take(&mut self.queue) {
            self.coverage.mark("a call was not moved to another project");
            match entry.who {
                Who::Call(call) => self.fails(call, code, Guarantee::NotExecuted),
                Who::Job(job) => {
                    self.ending.push((job, JobState::Failed, Some(not_executed(code))))
                }
            }
        }
    }

    /// Another Editor does not know the jobs.
    fn lose_jobs(&mut self) {
        self.owed.retain(|owed| matches!(owed, Owed::Job(_)));
        for job in 0..self.jobs.len() {
            let life = self.jobs.get(job).map(|job| &job.state);
            if matches!(life, Some(JobLife::Running { .. })) {
                self.coverage.mark("a job was lost with its Editor");
                self.ending.push((job, JobState::Failed, Some(unknown(ErrorCode::JobNotFound))));
            }
        }
    }

    // Frames to Unity.

    fn check_send(&mut self, now: Millis, on: ConnectionId, frame: &ToUnity) -> Checked {
        match frame {
            ToUnity::Hello(_) => return self.adopt(now, on),
            ToUnity::Ping(_) => {
                if self.session == Some(on) && self.ping_at.is_none() {
                    self.ping_at = Some(now);
                }
                return Ok(());
            }
            ToUnity::Capability(_) | ToUnity::Error(_) => return Ok(()),
            ToUnity::Execute(_)
            | ToUnity::SubmitJob(_)
            | ToUnity::GetJobStatus(_)
            | ToUnity::Cancel(_) => {}
        }
        if self.session != Some(on) {
            return Err(format!("a request was sent on {on:?}, which is not the session"));
        }
        if let ToUnity::Cancel(frame) = frame
            && self.takes_direct_cancel(on, frame)
        {
            return Ok(());
        }
        if !matches!(self.lane, Lane::Free) {
            return Err(format!("a request was sent though the lane is {:?}", self.lane));
        }
        let open = self.closed_since.is_none();
        match frame {
            ToUnity::Cancel(frame) => {
                self.requests += 1;
                let target = frame.target_job_id.as_ref();
                let found = self.owed.iter().position(|owed| match owed {
                    Owed::Orphan(unity) => Some(unity) == target,
                    Owed::Job(job) => target.is_some() && self.unity_of(*job) == target,
                    Owed::Submission(id) => frame.target_request_id.as_ref() == Some(id),
                });
                let Some(owed) = found.map(|index| self.owed.remove(index)) else {
                    return Err(format!("a cancel of {target:?} that is not owed"));
                };
                let job = match owed {
                    Owed::Job(job) => Some(job),
                    Owed::Orphan(_) | Owed::Submission(_) => None,
                };
                if self.cancel_was_last && open && !self.queue.is_empty() {
                    return Err("two cancels went in a row while a call was queued".into());
                }
                self.take_lane(&frame.request_id, Trip::Cancel(job), now, 5_000);
                Ok(())
            }
            _ if !open => Err(format!("sent while calls must wait: {frame:?}")),
            ToUnity::Execute(frame) => {
                self.check_execute(now, &frame.request_id, frame.client_request_id.as_deref())
            }
            ToUnity::SubmitJob(frame) => {
                self.check_submit(now, &frame.request_id, frame.client_request_id.as_deref())
            }
            ToUnity::GetJobStatus(frame) => {
                self.check_question(now, &frame.request_id, &frame.job_id.0)
            }
            ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Ping(_) | ToUnity::Error(_) => {
                Ok(())
            }
        }
    }

    pub(super) fn unity_of(&self, job: usize) -> Option<&protocol::UnityJobId> {
        match &self.jobs.get(job)?.state {
            JobLife::Running { unity, .. } => Some(unity),
            JobLife::Queued | JobLife::Submitting | JobLife::Ended(..) => None,
        }
    }

    /// Whether this cancel names the submission that holds the lane, which was sent on an earlier session: then it goes
    /// beside the lane.
    fn takes_direct_cancel(&mut self, on: ConnectionId, frame: &Cancel) -> bool {
        let (request, sent_on, job) = match &self.lane {
            Lane::Busy { request, on, what: Trip::Submit(job), .. } => (request, on, Some(*job)),
            Lane::Kept { request, on, .. } => (request, on, None),
            Lane::Busy { .. } | Lane::Free => return false,
        };
        let owed = job.map_or_else(|| Owed::Submission(request.clone()), Owed::Job);
        let is_of_earlier_session = *sent_on != Some(on) || self.confirmed_at > 0;
        let names_it = frame.target_request_id.as_ref() == Some(request);
        if !names_it || !is_of_earlier_session || !self.owed.contains(&owed) {
            return false;
        }
        self.requests += 1;
        self.owed.retain(|other| *other != owed);
        self.direct = Some((frame.request_id.clone(), job));
        true
    }

    fn take_lane(&mut self, request: &RequestId, what: Trip, sent: Millis, timeout: Millis) {
        let on = self.session;
        self.cancel_was_last = matches!(what, Trip::Cancel(_));
        self.confirmed_at = 0;
        self.lane = Lane::Busy { request: request.clone(), on, what, sent, timeout };
    }

    fn check_execute(&mut self, now: Millis, request: &RequestId, client: Option<&str>) -> Checked {
        let Some(QueueEntry { who: Who::Call(id), .. }) = self.queue.pop_front() else {
            return Err(format!("{request} was sent out of order"));
        };
        let offered = self.calls.get(&id).is_some_and(|call| self.offers(call.tool()));
        let may_run = self.calls.get(&id).is_some_and(|call| self.may_run(call.run.as_deref()));
        let Some(call) = self.calls.get_mut(&id) else {
            return Err("sent after its answer".into());
        };
        if call.client.as_deref() != client {
            return Err(format!("{client:?} was sent before {:?}", call.client));
        }
        if !offered {
            return Err("a tool was sent that the plugin does not offer".into());
        }
        if !may_run {
            return Err(
                "what may have run was sent again without the book of the first time".into()
            );
        }
        call.state = CallState::InLane;
        let (timeout, run) = (call.timeout, call.run.clone());
        self.run_sent(run.as_deref());
        self.take_lane(request, Trip::Execute(id), now, timeout);
        Ok(())
    }

    fn check_submit(&mut self, now: Millis, request: &RequestId, client: Option<&str>) -> Checked {
        let Some(QueueEntry { who: Who::Job(index), .. }) = self.queue.pop_front() else {
            return Err(format!("{request} was submitted out of order"));
        };
        let may_run = self.jobs.get(index).is_some_and(|job| self.may_run(job.run.as_deref()));
        let failed_compile = self.failed_compile;
        let Some(job) = self.jobs.get_mut(index) else { return Err("no such job".into()) };
        if job.client.as_deref() != client {
            return Err(format!("{client:?} was submitted before {:?}", job.client));
        }
        if !may_run {
            return Err("a job that may have run was sent again without its book".into());
        }
        if self.limits.catalog == Catalog::V1_1 && job.tool == TESTS && failed_compile.is_some() {
            return Err("tests of old code were started".into());
        }
        job.state = JobLife::Submitting;
        let (timeout, run) = (job.timeout.min(30_000), job.run.clone());
        self.run_sent(run.as_deref());
        self.take_lane(request, Trip::Submit(index), now, timeout);
        Ok(())
    }

    fn check_question(&mut self, now: Millis, request: &RequestId, unity: &str) -> Checked {
        let asked = |job: &usize| self.unity_of(*job).is_some_and(|id| id.0 == unity);
        let Some(job) = (0..self.jobs.len()).find(asked) else {
            return Err(format!("Unity was asked about {unity}, which does not run"));
        };
        let asker = self.control.iter().copied().find(|id| {
            let of = |call: &Call| request.0 == format!("req-{}-{}", self.boot, call.request);
            self.calls.get(id).is_some_and(of)
        });
        let mut timeout = 5_000;
        if let Some(id) = asker {
            self.control.retain(|other| *other != id);
            if let Some(call) = self.calls.get_mut(&id) {
                call.state = CallState::InLane;
                timeout = call.timeout;
            }
        } else {
            self.requests += 1;
        }
        self.take_lane(request, Trip::Status(job, asker), now, timeout);
        Ok(())
    }
}

fn differs(last: &Option<String>, new: &Option<String>) -> bool {
    matches!((last, new), (Some(last), Some(new)) if last != new)
}
