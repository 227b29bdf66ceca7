//! Answers of Unity and frames that come back unsent, and what must follow.

use coordination::{ConnectionId, ErrorCode, Guarantee};
use protocol::{
    CancelStatus, ErrorBody, ExecuteOutcome, JobState, JobStatus, RequestId, ToUnity, UnityJobId,
};

use super::refusals::can_be_cancelled;
use super::{
    Call, CallState, Expect, Fault, JobLife, Lane, Millis, Model, Owed, QueueEntry, Trip, Who,
};

/// An answer to a request, in any type of message.
pub(super) enum Answer {
    Result(ExecuteOutcome),
    Accepted(UnityJobId),
    Status(JobStatus),
    Cancel(CancelStatus),
    Error(ErrorBody),
    Broken,
}

impl Model {
    pub(super) fn holds(&self, request: &RequestId) -> bool {
        is_held(&self.lane, request)
    }

    /// A submission ends without Unity's acceptance.
    pub(super) fn abandon(&mut self, job: usize, request: RequestId) {
        if self.jobs.get(job).is_some_and(|job| !can_be_cancelled(job.tool)) {
            return;
        }
        if self.owed.contains(&Owed::Job(job)) {
            self.owed.retain(|owed| *owed != Owed::Job(job));
            self.owe(Owed::Submission(request.clone()));
        }
        self.abandoned.push(request);
    }

    /// Unity's answer to a cancel that names the submission in the lane.
    fn direct_answered(&mut self, job: usize, answer: Answer) {
        self.coverage.mark("a cancel named a submission");
        let ends = match answer {
            Answer::Cancel(CancelStatus::Cancelled) => Some((JobState::Cancelled, None)),
            Answer::Error(error) if error.code == "ERR_JOB_NOT_FOUND" => {
                Some((JobState::Failed, Some(unknown(ErrorCode::JobNotFound))))
            }
            Answer::Cancel(CancelStatus::CancelRequested) => None,
            Answer::Cancel(CancelStatus::Rejected)
            | Answer::Error(_)
            | Answer::Result(_)
            | Answer::Accepted(_)
            | Answer::Status(_)
            | Answer::Broken => {
                self.cancel_unanswered(Some(job));
                None
            }
        };
        if let Some((state, code)) = ends {
            if matches!(&self.lane, Lane::Busy { what: Trip::Submit(other), .. } if *other == job) {
                self.lane = Lane::Free;
            }
            self.ending.push((job, state, code));
        }
    }

    pub(super) fn on_answer(&mut self, request: &RequestId, answer: Answer) {
        if let Some((_, job)) = self.direct.take_if(|(id, _)| id == request) {
            if let Some(job) = job {
                self.direct_answered(job, answer);
            }
            return;
        }
        let lane = if self.holds(request) {
            std::mem::replace(&mut self.lane, Lane::Free)
        } else {
            Lane::Free
        };
        match lane {
            Lane::Busy { what, sent, .. } => match what {
                Trip::Execute(call) => self.execute_answered(call, answer),
                Trip::Submit(job) => self.submit_answered(request, job, sent, answer),
                Trip::Status(job, asker) => self.status_answered(job, sent, asker, answer),
                Trip::Cancel(job) => self.cancel_answered(job, answer),
            },
            lane @ (Lane::Kept { .. } | Lane::Free) => {
                if let Lane::Kept { .. } = lane {
                    self.coverage.mark("a late answer freed the lane");
                }
                self.owed.retain(|owed| *owed != Owed::Submission(request.clone()));
                let known = self.abandoned.len();
                self.abandoned.retain(|abandoned| abandoned != request);
                if let Answer::Accepted(unity) = answer
                    && self.abandoned.len() < known
                {
                    self.coverage.mark("a late acceptance was cancelled");
                    self.owe(Owed::Orphan(unity));
                }
            }
        }
    }

    fn execute_answered(&mut self, call: u64, answer: Answer) {
        match answer {
            Answer::Result(ExecuteOutcome::Ok(result)) if self.fits(call, &result) => {
                let tool = self.calls.get(&call).map_or("", Call::tool);
                self.answer(call, Expect::Result(tool, result));
            }
            Answer::Result(ExecuteOutcome::Error(_)) => {
                self.fails(call, ErrorCode::UnityExecution, Guarantee::CompletedError);
            }
            Answer::Error(error) => {
                let (code, guarantee) = meaning(&error);
                self.fails(call, code, guarantee);
            }
            Answer::Result(ExecuteOutcome::Ok(_))
            | Answer::Accepted(_)
            | Answer::Status(_)
            | Answer::Cancel(_)
            | Answer::Broken => self.fails(call, ErrorCode::InvalidResponse, Guarantee::Unknown),
        }
    }

    fn submit_answered(&mut self, request: &RequestId, index: usize, sent: Millis, answer: Answer) {
        match answer {
            Answer::Accepted(unity) => {
                // A job with the same name belongs to another Editor.
                self.owed.retain(|owed| !matches!(owed, Owed::Orphan(orphan) if *orphan == unity));
                let namesake = (0..self.jobs.len()).find(|job| self.unity_of(*job) == Some(&unity));
                if let Some(job) = namesake {
                    self.coverage.mark("a name of a job was given again");
                    self.ending.push((
                        job,
                        JobState::Failed,
                        Some(unknown(ErrorCode::JobNotFound)),
                    ));
                }
                if let Some(job) = self.jobs.get_mut(index) {
                    let limit = sent + job.timeout;
                    job.state = JobLife::Running { unity, limit, last_question: None };
                }
            }
            Answer::Error(error) => {
                let fault = meaning(&error);
                self.owed.retain(|owed| *owed != Owed::Job(index));
                self.abandon(index, request.clone());
                self.ending.push((index, JobState::Failed, Some(fault)));
            }
            Answer::Result(_) | Answer::Status(_) | Answer::Cancel(_) | Answer::Broken => {
                self.abandon(index, request.clone());
                self.ending.push((
                    index,
                    JobState::Failed,
                    Some(unknown(ErrorCode::InvalidResponse)),
                ));
            }
        }
    }

    fn status_answered(&mut self, job: usize, asked: Millis, asker: Option<u64>, answer: Answer) {
        if self.job_state(job).is_terminal() {
            return; // It has ended, and the call that asked is answered.
        }
        let unity = self.jobs.get(job).and_then(|job| match &job.state {
            JobLife::Running { unity, .. } => Some(unity.clone()),
            JobLife::Queued | JobLife::Submitting | JobLife::Ended(..) => None,
        });
        let failed = match answer {
            Answer::Status(status) if Some(&status.job_id) == unity.as_ref() => {
                let is_unwanted = is_unwanted(&status);
                let error = status.error.map(|error| meaning(&error));
                if status.state.is_terminal() {
                    let (state, error) = match is_unwanted {
                        true => {
                            let code = ErrorCode::UnityExecution;
                            (JobState::Failed, Some((code, Guarantee::CompletedError)))
                        }
                        false => (status.state, error),
                    };
                    self.ending.push((job, state, error));
                } else if self.is_over_limit(job, asked) {
                    let code = Some(unknown(ErrorCode::RequestTimeout));
                    self.ending.push((job, JobState::Timeout, code));
                }
                None
            }
            Answer::Error(error) if error.code == "ERR_JOB_NOT_FOUND" => {
                self.coverage.mark("Unity forgot a job");
                self.ending.push((job, JobState::Failed, Some(unknown(ErrorCode::JobNotFound))));
                None
            }
            Answer::Error(error) => Some(meaning(&error)),
            Answer::Status(_)
            | Answer::Result(_)
            | Answer::Accepted(_)
            | Answer::Cancel(_)
            | Answer::Broken => Some((ErrorCode::InvalidResponse, Guarantee::Unknown)),
        };

        match (asker, failed) {
            (Some(call), Some((code, guarantee))) => self.fails(call, code, guarantee),
            (Some(call), None) => self.expected.push((call, Expect::Job(job))),
            (None, _) => {}
        }
    }

    fn cancel_answered(&mut self, job: Option<usize>, answer: Answer) {
        let Some(index) = job.filter(|job| !self.job_state(*job).is_terminal()) else { return };
        let rejected = match answer {
            Answer::Cancel(CancelStatus::Cancelled) => {
                self.coverage.mark("Unity cancelled at once");
                self.ending.push((index, JobState::Cancelled, None));
                false
            }
            Answer::Cancel(CancelStatus::CancelRequested) => {
                self.coverage.mark("Unity will cancel");
                false
            }
            Answer::Cancel(CancelStatus::Rejected) => true,
            Answer::Error(error) => error.code != "ERR_JOB_NOT_FOUND",
            Answer::Result(_) | Answer::Accepted(_) | Answer::Status(_) | Answer::Broken => {
                self.cancel_unanswered(Some(index));
                false
            }
        };
        if rejected && let Some(job) = self.jobs.get_mut(index) {
            self.coverage.mark("Unity refused a cancel");
            job.cancel_requested = false;
        }
    }

    /// Unity may not have got the cancel: another one may be sent.
    pub(super) fn cancel_unanswered(&mut self, job: Option<usize>) {
        if let Some(job) = job.and_then(|job| self.jobs.get_mut(job)) {
            job.cancel_requested = false;
        }
    }

    /// Whether the answer to a question sent at `asked` is the last one about a job.
    fn is_over_limit(&self, job: usize, asked: Millis) -> bool {
        match self.jobs.get(job).map(|job| &job.state) {
            Some(JobLife::Running { last_question: Some(since), .. }) => asked >= *since,
            Some(_) | None => false,
        }
    }

    /// A cancel came back unsent, so it is owed again.
    fn owe_again(&mut self, target: &UnityJobId) {
        let running = |job: &usize| self.unity_of(*job) == Some(target);
        match (0..self.jobs.len()).find(running) {
            Some(index) => {
                if let Some(job) = self.jobs.get_mut(index) {
                    job.cancel_requested = true;
                }
                self.owe(Owed::Job(index));
            }
            None => self.owe(Owed::Orphan(target.clone())),
        }
    }

    /// No byte of this frame was written.
    pub(crate) fn on_not_sent(&mut self, now: Millis, on: ConnectionId, frame: &ToUnity) {
        self.coverage.mark("a frame came back unsent");
        let request = match frame {
            ToUnity::Execute(frame) => Some(&frame.request_id),
            ToUnity::SubmitJob(frame) => Some(&frame.request_id),
            ToUnity::GetJobStatus(frame) => Some(&frame.request_id),
            ToUnity::Cancel(frame) => Some(&frame.request_id),
            ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Ping(_) | ToUnity::Error(_) => {
                None
            }
        };
        let held = request.is_some_and(|request| self.holds(request));
        let direct = request.and_then(|request| self.direct.take_if(|(id, _)| id == request));
        let was_direct = direct.is_some();
        if let ToUnity::Cancel(frame) = frame {
            self.cancel_was_last = false;
            if let Some((_, Some(job))) = direct {
                self.owe(Owed::Job(job));
            } else if let Some(submission) = &frame.target_request_id {
                self.owe(Owed::Submission(submission.clone()));
            }
            frame.target_job_id.iter().for_each(|target| self.owe_again(target));
        }
        if held {
            self.give_back();
        }
        if (held || was_direct) && self.session == Some(on) {
            self.must_close.push(on);
            self.lose(now);
        }
        self.update_gate(now);
    }

    /// The request in the lane goes back to where it was.
    fn give_back(&mut self) {
        match std::mem::replace(&mut self.lane, Lane::Free) {
            Lane::Busy { what: Trip::Execute(id), .. } => {
                if let Some(call) = self.calls.get_mut(&id) {
                    call.state = CallState::Waiting;
                    let (arrival, arrived) = (call.arrival, call.arrived);
                    self.back_in_queue(QueueEntry { arrival, arrived, who: Who::Call(id) });
                }
            }
            Lane::Busy { what: Trip::Submit(index), .. } => {
                if let Some(job) = self.jobs.get_mut(index) {
                    job.state = JobLife::Queued;
                    let (arrival, arrived) = (job.arrival, job.arrived);
                    if job.cancel_requested {
                        self.ending.push((index, JobState::Cancelled, None));
                    } else {
                        self.back_in_queue(QueueEntry { arrival, arrived, who: Who::Job(index) });
                    }
                }
            }
            Lane::Busy { what: Trip::Status(job, asker), .. } => {
                self.expected.extend(asker.map(|call| (call, Expect::Job(job))));
            }
            Lane::Busy { what: Trip::Cancel(_), .. } | Lane::Free | Lane::Kept { .. } => {}
        }
    }

    fn back_in_queue(&mut self, entry: QueueEntry) {
        let index = self.queue.iter().take_while(|other| other.arrival < entry.arrival).count();
        self.queue.insert(index, entry);
    }
}

pub(super) fn is_held(lane: &Lane, request: &RequestId) -> bool {
    match lane {
        Lane::Free => false,
        Lane::Busy { request: held, .. } | Lane::Kept { request: held, .. } => held == request,
    }
}

/// What an `error` of the plugin means for its call.
fn meaning(error: &ErrorBody) -> (ErrorCode, Guarantee) {
    let code = ErrorCode::ALL.into_iter().find(|code| code.text() == error.code);
    match code {
        None => (ErrorCode::UnityExecution, Guarantee::Unknown),
        Some(ErrorCode::UnityExecution) => (ErrorCode::UnityExecution, Guarantee::CompletedError),
        Some(
            code @ (ErrorCode::InvalidParams
            | ErrorCode::UnknownCommand
            | ErrorCode::ReconfigInProgress),
        ) => (code, Guarantee::NotExecuted),
        Some(code) => (code, Guarantee::Unknown),
    }
}

/// Nobody knows whether it ran.
pub(super) fn unknown(code: ErrorCode) -> Fault {
    (code, Guarantee::Unknown)
}

/// Work that ended by itself, without an error, and not as it should: no test ran, or the scripts do not compile.
fn is_unwanted(status: &JobStatus) -> bool {
    let ended = matches!(status.state, JobState::Succeeded | JobState::Failed);
    let count = |name| {
        let result = status.result.as_ref()?;
        result.get("summary")?.get(name)?.as_u64()
    };
    let outcome = status.result.as_ref().and_then(|result| result.get("outcome"));
    let ran_nothing = count("total").is_some() && count("total") <= count("skipped");
    ended && status.error.is_none() && (ran_nothing || outcome == Some(&"failed".into()))
}
