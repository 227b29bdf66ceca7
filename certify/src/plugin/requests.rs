//! Requests to the plugin and their answers.

use std::time::Duration;

use protocol::{
    Cancel, DecodeError, Execute, FromUnity, GetJobStatus, Json, PluginHello, RequestId, SubmitJob,
    ToUnity, UnityJobId, printable,
};

use super::Plugin;
use super::incoming::sentence;
use crate::check::{Stop, failed};
use crate::rules::Rule;

/// The `timeout_ms` of a request. Checks wait for less.
const TIMEOUT_MS: u64 = 10_000;
const JOB_TIMEOUT_MS: u64 = 300_000;
/// Bytes that the id of a job may have.
const JOB_ID_MAX: usize = 256;

/// A request that was sent.
pub(super) struct Asked {
    kind: RequestKind,
    /// The frame in the record.
    sent: usize,
    /// The first answer.
    answer: Option<Answer>,
    /// The frame in the record in which the plugin said that it has forgotten this request.
    forgotten: Option<usize>,
}

/// What the plugin answered first.
#[derive(Clone)]
pub(crate) struct Answer {
    /// The frame in the record.
    pub(crate) index: usize,
    /// `Err` says what is wrong with the frame.
    pub(crate) message: Result<FromUnity, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Execute,
    SubmitJob,
    GetJobStatus,
    Cancel,
}

impl RequestKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::SubmitJob => "submit_job",
            Self::GetJobStatus => "get_job_status",
            Self::Cancel => "cancel",
        }
    }

    /// The type of the answer, besides `error`.
    fn answered_by(self) -> &'static str {
        match self {
            Self::Execute => "result",
            Self::SubmitJob => "submit_job_result",
            Self::GetJobStatus => "job_status",
            Self::Cancel => "cancel_result",
        }
    }
}

/// The type of an answer and its request.
fn label(message: &FromUnity) -> Option<(&'static str, &RequestId)> {
    match message {
        FromUnity::Result(answer) => Some(("result", &answer.request_id)),
        FromUnity::SubmitJobResult(answer) => Some(("submit_job_result", &answer.request_id)),
        FromUnity::JobStatus(answer) => Some(("job_status", &answer.request_id)),
        FromUnity::CancelResult(answer) => Some(("cancel_result", &answer.request_id)),
        FromUnity::Error(answer) => answer.request_id.as_ref().map(|id| ("error", id)),
        FromUnity::Hello(_)
        | FromUnity::Capability(_)
        | FromUnity::EditorStatus(_)
        | FromUnity::Pong(_) => None,
    }
}

impl Plugin {
    /// How many requests of this kind were sent.
    pub(crate) fn sent_count(&self, kind: Option<RequestKind>) -> usize {
        self.requests.values().filter(|asked| kind.is_none_or(|kind| asked.kind == kind)).count()
    }

    fn request_id(&self) -> RequestId {
        RequestId(format!("req-{}-{}", self.boot, self.requests.len() + 1))
    }

    fn send(&mut self, kind: RequestKind, id: &RequestId, message: &ToUnity) -> Result<(), Stop> {
        let Some(socket) = self.session_socket() else {
            return failed(format!("The session ended before {} could be sent.", kind.name()));
        };
        let sent = self.send_on(socket, message);
        self.requests.insert(id.clone(), Asked { kind, sent, answer: None, forgotten: None });
        Ok(())
    }

    pub(crate) fn send_execute(&mut self, tool: &str, params: Json) -> Result<RequestId, Stop> {
        let id = self.request_id();
        let frame = Execute {
            request_id: id.clone(),
            client_request_id: None,
            tool_name: tool.to_owned(),
            params,
            timeout_ms: TIMEOUT_MS,
        };
        self.send(RequestKind::Execute, &id, &ToUnity::Execute(frame))?;
        Ok(id)
    }

    pub(crate) fn send_submit(&mut self, tool: &str, params: Json) -> Result<RequestId, Stop> {
        let id = self.request_id();
        let frame = SubmitJob {
            request_id: id.clone(),
            client_request_id: None,
            tool_name: tool.to_owned(),
            params,
            timeout_ms: JOB_TIMEOUT_MS,
        };
        self.send(RequestKind::SubmitJob, &id, &ToUnity::SubmitJob(frame))?;
        Ok(id)
    }

    pub(crate) fn send_status(&mut self, job_id: &UnityJobId) -> Result<RequestId, Stop> {
        let id = self.request_id();
        let frame = GetJobStatus { request_id: id.clone(), job_id: job_id.clone() };
        self.send(RequestKind::GetJobStatus, &id, &ToUnity::GetJobStatus(frame))?;
        Ok(id)
    }

    pub(crate) fn send_cancel(
        &mut self,
        target_job_id: Option<UnityJobId>,
        target_request_id: Option<RequestId>,
    ) -> Result<RequestId, Stop> {
        let id = self.request_id();
        let frame = Cancel { request_id: id.clone(), target_request_id, target_job_id };
        self.send(RequestKind::Cancel, &id, &ToUnity::Cancel(frame))?;
        Ok(id)
    }

    /// The first answer to a request, if it has come.
    pub(crate) fn answer_to(&self, id: &RequestId) -> Option<&Answer> {
        self.requests.get(id)?.answer.as_ref()
    }

    /// Waits for the answer. It may come on a later session.
    pub(crate) async fn answer(
        &mut self,
        id: &RequestId,
        limit: Duration,
    ) -> Result<FromUnity, Stop> {
        let answer = self.wait(limit, |plugin| plugin.answer_to(id).cloned()).await;
        let kind = self.requests.get(id).map_or("the request", |asked| asked.kind.name());
        let expected = self.requests.get(id).map_or("", |asked| asked.kind.answered_by());
        match answer {
            Some(Answer { message: Ok(message), .. }) => match label(&message) {
                Some((name, _)) if name == expected || name == "error" => Ok(message),
                Some((name, _)) => failed(format!("{kind} was answered with {name}.")),
                None => failed(format!("{kind} was not answered with {expected}.")),
            },
            Some(Answer { message: Err(problem), .. }) => {
                failed(format!("The answer to {kind} is invalid: {problem}."))
            }
            None => failed(format!("{kind} was not answered within {} s.", limit.as_secs_f32())),
        }
    }

    pub(super) fn on_answer(&mut self, socket: u64, index: usize, message: FromUnity) {
        let Some((name, id)) = label(&message) else { return };
        let id = id.clone();
        let Some(asked) = self.requests.get_mut(&id) else {
            let what = format!(
                "{name} on socket {socket} answers {}, which was never sent.",
                printable(&id.0, 80)
            );
            return self.break_rule(Rule::Known, sentence_of(&what), vec![index]);
        };
        let (kind, sent) = (asked.kind, asked.sent);
        if let Some(forgotten) = asked.forgotten {
            let what = format!("{id} was answered although plugin_session_id had changed.");
            return self.break_rule(Rule::Forgotten, what, vec![sent, forgotten, index]);
        }
        if let Some(first) = &asked.answer {
            let (what, first) = (format!("{id} was answered twice."), first.index);
            return self.break_rule(Rule::Once, what, vec![sent, first, index]);
        }
        if let FromUnity::SubmitJobResult(accepted) = &message {
            let job = accepted.job_id.clone();
            asked.answer = Some(Answer { index, message: Ok(message) });
            self.check_job_id(index, job);
        } else {
            asked.answer = Some(Answer { index, message: Ok(message) });
        }
        if name != kind.answered_by() && name != "error" {
            let what = format!("{} was answered with {name}.", kind.name());
            self.break_rule(Rule::Type, sentence_of(&what), vec![sent, index]);
        }
    }

    fn check_job_id(&mut self, index: usize, job: UnityJobId) {
        if let Some((_, first)) = self.job_ids.iter().find(|(known, _)| *known == job) {
            let what = format!("Two submissions got the job id {}.", printable(&job.0, 80));
            self.break_rule(Rule::JobId, what, vec![*first, index]);
        }
        if job.0.is_empty() || job.0.len() > JOB_ID_MAX {
            let what =
                format!("A job id has {} bytes; 1 to {JOB_ID_MAX} are allowed.", job.0.len());
            self.break_rule(Rule::JobId, what, vec![index]);
        }
        self.job_ids.push((job, index));
    }

    /// A frame that is not a message, but names a request.
    pub(super) fn on_broken_answer(&mut self, id: &RequestId, index: usize, error: &DecodeError) {
        if let Some(asked) = self.requests.get_mut(id).filter(|asked| asked.answer.is_none()) {
            asked.answer = Some(Answer { index, message: Err(error.to_string()) });
        }
    }

    /// The plugin has a new `plugin_session_id`, so it must not answer older requests.
    pub(super) fn forget_open_requests(&mut self, hello: usize) {
        for asked in self.requests.values_mut().filter(|asked| asked.answer.is_none()) {
            asked.forgotten = asked.forgotten.or(Some(hello));
        }
    }

    pub(crate) fn is_forgotten(&self, id: &RequestId) -> bool {
        self.requests.get(id).is_some_and(|asked| asked.forgotten.is_some())
    }

    /// The first hello that was accepted after `mark`.
    pub(crate) fn hello_since(&self, mark: usize) -> Option<PluginHello> {
        let on = self.record.received_since(mark).find_map(|(entry, message)| {
            let known = self.hellos.iter().find(|hello| hello.socket == entry.socket);
            known.filter(|_| matches!(message, FromUnity::Hello(_)))
        });
        on.map(|accepted| accepted.hello.clone())
    }
}

/// For a text that ends with a full stop already.
fn sentence_of(text: &str) -> String {
    sentence(text.trim_end_matches('.'))
}
