//! The main thread: it runs one request after the other and answers each, correctly or spoilt on purpose.

use std::time::Duration;

use protocol::{
    CancelResult, CancelStatus, ErrorBody, ErrorMessage, Execute, ExecuteOutcome, ExecuteResult,
    FromUnity, RequestId, SubmitJob, SubmitJobResult, SubmitStatus, ToUnity, codec,
};

use super::request_book::{Asked, Begun};
use super::tools::{self, Run};
use super::{Answer, Later, Link, MockEditor, Output, unknown_request};
use crate::books::{Execution, Given, JobRecord};
use crate::command::Misanswer;
use crate::settings::CancelPolicy;

/// Frames before and after an answer in a flood: together more than a socket buffers.
const FLOOD: (usize, usize) = (100, 200);
/// A frame that a server rejects without closing the session.
const SHRUG: &str = "{\"type\":\"shrug\",\"protocol_version\":1}";

/// With these codes a plugin rejects a request before it runs anything.
const REJECTIONS: [&str; 3] =
    ["ERR_INVALID_PARAMS", "ERR_UNKNOWN_COMMAND", "ERR_RECONFIG_IN_PROGRESS"];

/// What the books note of a request: its id, the agent's id and the tool or message type.
pub(super) fn label(frame: &ToUnity) -> Option<(RequestId, Option<String>, String)> {
    match frame {
        ToUnity::Execute(Execute { request_id, client_request_id, tool_name, .. })
        | ToUnity::SubmitJob(SubmitJob { request_id, client_request_id, tool_name, .. }) => {
            Some((request_id.clone(), client_request_id.clone(), tool_name.clone()))
        }
        ToUnity::GetJobStatus(frame) => {
            Some((frame.request_id.clone(), None, "get_job_status".to_owned()))
        }
        ToUnity::Cancel(frame) => Some((frame.request_id.clone(), None, "cancel".to_owned())),
        ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Ping(_) | ToUnity::Error(_) => None,
    }
}

/// Whether it runs something in Unity, in contrast to a question.
pub(super) fn does_something(frame: &ToUnity) -> bool {
    matches!(frame, ToUnity::Execute(_) | ToUnity::SubmitJob(_))
}

impl MockEditor {
    /// Starts the next requests while the main thread is free.
    pub(super) fn work(&mut self, now: Duration) {
        while self.can_work() && self.working.is_none() {
            let Some(frame) = self.inbox.pop_front() else { return };
            let takes = match &frame {
                ToUnity::Execute(_) => self.settings.tool_time,
                ToUnity::SubmitJob(_) | ToUnity::GetJobStatus(_) | ToUnity::Cancel(_) => {
                    Duration::ZERO
                }
                ToUnity::Hello(_)
                | ToUnity::Capability(_)
                | ToUnity::Ping(_)
                | ToUnity::Error(_) => {
                    continue;
                }
            };
            self.working = Some((now + takes, frame));
            if takes.is_zero() {
                self.finish_work(now);
            }
        }
    }

    pub(super) fn finish_work(&mut self, now: Duration) {
        let Some((_, frame)) = self.working.take() else { return };
        let Some((request_id, client_request_id, tool_name)) = label(&frame) else { return };
        let rejection = match self.spoilt.front() {
            Some(Misanswer::Error(code)) if REJECTIONS.contains(&code.as_str()) => {
                Some(code.clone())
            }
            Some(_) | None => None,
        };
        if let Some(code) = rejection {
            self.spoilt.pop_front();
            return self.reply(&error(request_id, &code, "refused as asked for"));
        }
        let execution = Execution { at: now, request_id, client_request_id, tool_name };
        let answer = match frame {
            ToUnity::Execute(frame) => self.execute(frame, execution),
            ToUnity::SubmitJob(frame) => self.submit(now, frame, execution),
            ToUnity::GetJobStatus(frame) => {
                let lie = self.lie.take();
                let answer = self.jobs.status(frame, lie, self.frame_max);
                if let FromUnity::JobStatus(status) = &answer {
                    let request_id = status.request_id.clone();
                    self.books.given.insert(request_id, Given::Job(Box::new(status.clone())));
                }
                answer
            }
            ToUnity::Cancel(frame) => {
                let by_request =
                    frame.target_request_id.as_ref().and_then(|id| self.jobs.submitted_by(id));
                let known = frame.target_job_id.clone().filter(|job| self.jobs.knows(job));
                let known = known.or(by_request);
                match (known, self.settings.cancel) {
                    (None, _) => error(frame.request_id, "ERR_JOB_NOT_FOUND", "no such job"),
                    (Some(_), CancelPolicy::Refuse) => {
                        cancel_result(frame.request_id, CancelStatus::Rejected)
                    }
                    (Some(_), CancelPolicy::Ignore) => {
                        cancel_result(frame.request_id, CancelStatus::CancelRequested)
                    }
                    (Some(job), CancelPolicy::Honour) => {
                        let status = self.jobs.cancel(&job);
                        cancel_result(frame.request_id, status)
                    }
                }
            }
            ToUnity::Hello(_) | ToUnity::Capability(_) | ToUnity::Ping(_) | ToUnity::Error(_) => {
                return;
            }
        };
        self.answer(now, answer);
    }

    fn execute(&mut self, frame: Execute, execution: Execution) -> FromUnity {
        let Some(Run::Sync(run)) = tools::find(&frame.tool_name) else {
            return error(frame.request_id, "ERR_UNKNOWN_COMMAND", "there is no such tool");
        };
        let run_name = self.request_book.name_of(&frame.tool_name, &frame.client_request_id);
        let asked = Asked { tool: frame.tool_name, params: frame.params };
        match self.request_book.begun(run_name.as_deref(), &asked) {
            Ok(Some(Begun::Execute(outcome))) => {
                return FromUnity::Result(ExecuteResult { request_id: frame.request_id, outcome });
            }
            Ok(Some(Begun::Job(_))) | Err(()) => return reused(frame.request_id),
            Ok(None) => {}
        }
        self.books.executed.push(execution);
        let outcome = match run(self, &asked.params) {
            Ok(result) => {
                self.books.given.insert(frame.request_id.clone(), Given::Result(result.clone()));
                ExecuteOutcome::Ok(result)
            }
            Err(message) => ExecuteOutcome::Error(body("ERR_UNITY_EXECUTION", &message)),
        };
        self.request_book.note(run_name, asked, Begun::Execute(outcome.clone()));
        FromUnity::Result(ExecuteResult { request_id: frame.request_id, outcome })
    }

    fn submit(&mut self, now: Duration, frame: SubmitJob, execution: Execution) -> FromUnity {
        let Some(Run::Job(run)) = tools::find(&frame.tool_name) else {
            return error(frame.request_id, "ERR_UNKNOWN_COMMAND", "there is no such job");
        };
        let (request_id, status) = (frame.request_id, SubmitStatus::Accepted);
        let run_name = self.request_book.name_of(&frame.tool_name, &frame.client_request_id);
        let asked = Asked { tool: frame.tool_name, params: frame.params };
        match self.request_book.begun(run_name.as_deref(), &asked) {
            Ok(Some(Begun::Job(job_id))) => {
                return FromUnity::SubmitJobResult(SubmitJobResult { request_id, status, job_id });
            }
            Ok(Some(Begun::Execute(_))) | Err(()) => return reused(request_id),
            Ok(None) => {}
        }
        self.books.executed.push(execution);
        let work = run(self, &asked.params);
        self.tell(&format!("running {} {}", work.steps.len(), work.unit));
        let (has_steps, awaits_compile) = (!work.steps.is_empty(), work.awaits_compile);
        let job_id = self.jobs.start(work, &request_id);
        self.request_book.note(run_name, asked, Begun::Job(job_id.clone()));
        self.jobs.set_pace(now, self.can_work());
        self.books.jobs.push(JobRecord {
            at: now,
            request_id: request_id.clone(),
            job_id: job_id.clone(),
            ended_at: (!has_steps).then_some(now),
        });
        if awaits_compile {
            // After the acceptance: the compile blocks the main thread.
            self.arrange_compile(now);
        }
        FromUnity::SubmitJobResult(SubmitJobResult { request_id, status, job_id })
    }

    pub(super) fn finish_step(&mut self, at: Duration) {
        if let Some((job, end)) = self.jobs.finish_step(at) {
            self.books.end_jobs(at, Some(&job));
            self.tell(&end);
        }
    }

    /// Sends the answer, spoilt if a command asked for that.
    fn answer(&mut self, now: Duration, answer: FromUnity) {
        let Some(how) = self.spoilt.pop_front() else { return self.reply(&answer) };
        let to = request_id(&answer);
        let id = to.clone().unwrap_or_else(unknown_request);
        let frame = codec::encode(&answer);
        match how {
            Misanswer::Late(delay) => {
                self.later.push((now + delay, Later::Answer(Answer { to, frame })));
            }
            Misanswer::Never => {}
            Misanswer::Twice => {
                self.reply(&answer);
                self.reply(&answer);
            }
            Misanswer::Malformed => {
                let frame = format!(
                    "{{\"type\":\"result\",\"protocol_version\":1,\"request_id\":\"{id}\",\"status\":\"ok\",\"result\":7}}"
                );
                self.send_answer(Answer { to, frame });
            }
            Misanswer::Unreadable => {
                let frame = frame.replacen('{', "{\"note\":\"\\ud800\",", 1);
                self.send_answer(Answer { to, frame });
            }
            Misanswer::Oversize => {
                self.send_answer(Answer { to: None, frame: "x".repeat(self.settings.oversize) });
            }
            Misanswer::Flood => {
                (0..FLOOD.0).for_each(|_| self.send_text(SHRUG.to_owned()));
                self.reply(&answer);
                (0..FLOOD.1).for_each(|_| self.send_text(SHRUG.to_owned()));
            }
            Misanswer::WrongType => self.reply(&wrong_type(&answer, id)),
            Misanswer::Misaddressed => {
                let frame = frame.replace(&id.0, &unknown_request().0);
                self.send_answer(Answer { to: None, frame });
            }
            Misanswer::Binary => {
                if matches!(self.link, Link::Open { .. }) {
                    self.outputs.push(Output::SendBinary(frame.into_bytes()));
                }
            }
            Misanswer::Error(code) => self.reply(&error(id, &code, "failed as asked for")),
        }
    }

    fn reply(&mut self, answer: &FromUnity) {
        self.send_answer(Answer { to: request_id(answer), frame: codec::encode(answer) });
    }
}

/// A valid message that does not answer the request.
fn wrong_type(answer: &FromUnity, id: RequestId) -> FromUnity {
    match answer {
        FromUnity::CancelResult(_) => {
            let outcome = ExecuteOutcome::Ok(serde_json::json!({}));
            FromUnity::Result(ExecuteResult { request_id: id, outcome })
        }
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_)
        | FromUnity::Result(_)
        | FromUnity::SubmitJobResult(_)
        | FromUnity::JobStatus(_)
        | FromUnity::Error(_) => cancel_result(id, CancelStatus::Cancelled),
    }
}

fn request_id(answer: &FromUnity) -> Option<RequestId> {
    match answer {
        FromUnity::Result(frame) => Some(frame.request_id.clone()),
        FromUnity::SubmitJobResult(frame) => Some(frame.request_id.clone()),
        FromUnity::JobStatus(frame) => Some(frame.request_id.clone()),
        FromUnity::CancelResult(frame) => Some(frame.request_id.clone()),
        FromUnity::Error(frame) => frame.request_id.clone(),
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_) => None,
    }
}

fn cancel_result(request_id: RequestId, status: CancelStatus) -> FromUnity {
    FromUnity::CancelResult(CancelResult { request_id, status })
}

pub(super) fn error(request_id: RequestId, code: &str, message: &str) -> FromUnity {
    FromUnity::Error(ErrorMessage { request_id: Some(request_id), error: body(code, message) })
}

fn reused(request_id: RequestId) -> FromUnity {
    error(request_id, "ERR_INVALID_REQUEST", "the client_request_id was used for another call")
}

fn body(code: &str, message: &str) -> ErrorBody {
    ErrorBody { code: code.to_owned(), message: message.to_owned(), retryable: None, details: None }
}
