//! Unity's turns: while a job runs, Unity is asked about it in time; a promised cancel is sent in its turn. A turn comes
//! when there is a session and Unity has no other request. For a question the Editor must be ready as well.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mock_unity::JobRecord;
use protocol::Json;

use super::editors::Place;
use super::{Rules, text};
use crate::record::log::Wire;

/// How late the server may be.
const SLACK: Duration = Duration::from_millis(50);
/// Unity has at least so long to answer a question.
const QUESTION_MIN: Duration = Duration::from_millis(4_900);
/// A question that is not answered by then blocks nothing any more.
const QUESTION_MAX: Duration = Duration::from_secs(10);
/// How long Unity's acceptance of a job may be on its way.
const ACCEPTANCE: Duration = Duration::from_millis(500);
/// What Unity answers about a job that it has forgotten.
const NOT_FOUND: &str = "ERR_JOB_NOT_FOUND";

/// The turns of one server.
#[derive(Default)]
pub(super) struct Turns {
    rules: Rules,
    session: Option<Session>,
    lost_at: Option<Duration>,
    /// The request to run something that Unity answered last, and when.
    answered: Option<(Duration, String, Sent)>,
    /// A request whose answer came together with the end of its session: the server may still wait for it.
    doubtful: Option<String>,
    /// Requests that Unity has, by their id.
    at_unity: BTreeMap<String, Sent>,
    /// What Unity ran when a frame over the limit ended its session: the next session may still run it.
    given_up: BTreeMap<String, Sent>,
    /// Since when there is a session and Unity has no request.
    free_since: Option<Duration>,
    /// Since when the Editor is ready as well.
    idle_since: Option<Duration>,
    /// By the id of the submission.
    jobs: BTreeMap<String, Job>,
}

struct Session {
    wire: Wire,
    began: Duration,
    is_ready: bool,
    seq: u64,
    not_ready_since: Duration,
}

#[derive(Clone)]
struct Sent {
    at: Duration,
    on: Arc<str>,
    number: u16,
    timeout: Duration,
    kind: Kind,
    /// The submission of the job that it is about.
    job: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Unity runs something.
    Work,
    Status,
    Cancel,
}

/// A job that was sent to Unity.
struct Job {
    label: String,
    sent_at: Duration,
    on: Wire,
    /// Unity's name for it, once Unity has accepted it.
    unity_id: Option<String>,
    /// When Unity must be asked about it; `None` while it is asked, or if nobody has to ask.
    ask_by: Option<Duration>,
    /// The server need not ask any more.
    until: Duration,
    /// Since when a cancel is owed that was promised to an agent.
    cancel_owed: Option<Duration>,
    cancel_sent: bool,
    /// Its acceptance came together with the end of its session: the server may not know it.
    is_doubtful: bool,
}

impl Turns {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// What should have been done before this moment.
    pub(super) fn check(
        &mut self,
        now: Duration,
        running_since: impl Fn(&str) -> Option<Duration>,
    ) -> Result<(), String> {
        if self.jobs.is_empty() {
            return Ok(());
        }
        self.expire(now);
        let is_late = |by: Duration| now > by + SLACK;
        for (submission, job) in self.jobs.iter_mut().filter(|(_, job)| !job.is_doubtful) {
            if let (Some(by), Some(idle)) = (job.ask_by, self.idle_since)
                && is_late(by.max(idle))
                && by.max(idle) + SLACK < job.until
            {
                job.ask_by = None;
                return Err(format!("Unity was not asked about {} at {:?}", job.label, by));
            }
            let Some(owed) = job.cancel_owed else { continue };
            let turn = match (&job.unity_id, &self.session) {
                (Some(_), _) => self.free_since,
                // It concerns the very request that Unity has, so it needs no turn on a new session.
                (None, Some(session)) if session.wire != job.on => {
                    running_since(submission).map(|since| since.max(session.began) + ACCEPTANCE)
                }
                (None, _) => None,
            };
            if turn.is_some_and(|turn| is_late(owed.max(turn))) {
                job.cancel_owed = None;
                return Err(format!("the cancel of {} was promised and not sent", job.label));
            }
        }
        Ok(())
    }

    /// What has blocked Unity long enough.
    fn expire(&mut self, now: Duration) {
        let session = self.session.as_ref().map(|session| &session.wire);
        let is_over = |sent: &Sent| {
            let is_old =
                session.is_some_and(|wire| wire.client != sent.on || wire.number != sent.number);
            let is_question = sent.kind != Kind::Work;
            let ends = if is_question { QUESTION_MAX } else { sent.timeout };
            now >= sent.at + ends && (is_question || is_old)
        };
        let over: Vec<Sent> =
            self.at_unity.extract_if(.., |_, sent| is_over(sent)).map(|(_, sent)| sent).collect();
        over.iter().for_each(|sent| self.on_question_over(now, sent));
        self.update(now);
    }

    fn on_question_over(&mut self, now: Duration, sent: &Sent) {
        let asked = sent.job.as_ref().filter(|_| sent.kind == Kind::Status);
        if let Some(job) = asked.and_then(|job| self.jobs.get_mut(job)) {
            job.ask_by = Some(now + self.rules.poll_interval);
        }
    }

    fn update(&mut self, now: Duration) {
        let is_free = self.session.is_some() && self.at_unity.is_empty();
        let is_ready = self.session.as_ref().is_some_and(|session| session.is_ready);
        self.free_since = self.free_since.or(Some(now)).filter(|_| is_free);
        self.idle_since = self.idle_since.or(Some(now)).filter(|_| is_free && is_ready);
    }

    // The session.

    pub(super) fn on_session(&mut self, now: Duration, wire: &Wire, place: &Place, is_other: bool) {
        let away = self.lost_at.take().map(|lost| now.saturating_sub(lost)).unwrap_or_default();
        if is_other {
            self.jobs.clear();
            self.at_unity.clear();
        }
        let Rules { reconnect_wait, compile_grace, .. } = self.rules;
        for job in self.jobs.values_mut() {
            job.ask_by = job.unity_id.as_ref().map(|_| now + self.rules.poll_interval);
            // A submission that Unity had is given up like a call.
            let kept = if job.unity_id.is_some() { compile_grace } else { reconnect_wait };
            if away + SLACK >= kept {
                job.until = Duration::ZERO;
            }
        }
        let given_up = std::mem::take(&mut self.given_up).remove(&place.still_runs);
        let still_runs = self.at_unity.remove(&place.still_runs).or(given_up);
        if let Some(sent) = still_runs {
            let (on, number) = (wire.client.clone(), wire.number); // It goes on here.
            self.at_unity.insert(place.still_runs.clone(), Sent { on, number, ..sent });
        }
        let (wire, is_ready) = (wire.clone(), place.is_ready);
        self.session = Some(Session { wire, began: now, is_ready, seq: 0, not_ready_since: now });
        (self.free_since, self.idle_since) = (None, None);
        self.update(now);
    }

    pub(super) fn on_lost(&mut self, now: Duration, wire: &Wire) {
        if self.session.as_ref().is_some_and(|session| session.wire == *wire) {
            self.session = None;
            self.lost_at = Some(now);
            self.at_unity.retain(|_, sent| sent.kind == Kind::Work);
            if let Some((at, id, sent)) = self.answered.take()
                && at == now
            {
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.is_doubtful = true;
                }
                self.doubtful = Some(id.clone());
                self.at_unity.insert(id, sent);
            }
            self.update(now);
        }
    }

    /// A frame over the limit ends what Unity was asked, and the job that it was about.
    pub(super) fn on_too_large(&mut self, now: Duration) {
        for (id, sent) in std::mem::take(&mut self.at_unity) {
            match sent.kind {
                Kind::Work => {
                    self.jobs.remove(&id);
                    self.given_up.insert(id, sent);
                }
                // The question may have been given up before: then the job goes on.
                Kind::Status if now > sent.at + QUESTION_MIN => {
                    let job = sent.job.and_then(|job| self.jobs.get_mut(&job));
                    job.into_iter().for_each(|job| job.until = Duration::ZERO);
                }
                Kind::Status => drop(sent.job.and_then(|job| self.jobs.remove(&job))),
                Kind::Cancel => {}
            }
        }
    }

    pub(super) fn on_status(&mut self, now: Duration, wire: &Wire, status: &Json) {
        let Some(session) = self.session.as_mut().filter(|session| session.wire == *wire) else {
            return;
        };
        let seq = status.get("seq").and_then(Json::as_u64).unwrap_or_default();
        let is_ready = text(status, "state") == "ready";
        if seq <= session.seq {
            return;
        }
        session.seq = seq;
        if session.is_ready && !is_ready {
            session.not_ready_since = now;
        }
        let waited = now.saturating_sub(session.not_ready_since);
        if is_ready && !session.is_ready && waited + SLACK >= self.rules.compile_grace {
            self.jobs.values_mut().for_each(|job| job.until = Duration::ZERO);
        }
        session.is_ready = is_ready;
        self.update(now);
    }

    // Requests and answers.

    /// True if it is a cancel that was promised to an agent.
    pub(super) fn on_sent(&mut self, now: Duration, wire: &Wire, frame: &Json) -> bool {
        let mut was_owed = false;
        let (kind, id) = (text(frame, "type"), text(frame, "request_id"));
        let timeout = frame.get("timeout_ms").and_then(Json::as_u64).unwrap_or_default();
        let timeout = Duration::from_millis(timeout);
        let (sent_kind, about) = match kind.as_str() {
            "submit_job" => {
                let job = Job {
                    label: text(frame, "client_request_id"),
                    sent_at: now,
                    on: wire.clone(),
                    unity_id: None,
                    ask_by: None,
                    until: now + timeout,
                    cancel_owed: None,
                    cancel_sent: false,
                    is_doubtful: false,
                };
                self.jobs.insert(id.clone(), job);
                (Kind::Work, None)
            }
            "get_job_status" => {
                let asked = self.with_unity_id(&text(frame, "job_id"));
                if let Some(job) = asked.as_ref().and_then(|job| self.jobs.get_mut(job)) {
                    job.ask_by = None;
                }
                (Kind::Status, asked)
            }
            "cancel" => {
                let by_request = Some(text(frame, "target_request_id")).filter(|id| !id.is_empty());
                let target = by_request.or(self.with_unity_id(&text(frame, "target_job_id")));
                if let Some(job) = target.as_ref().and_then(|job| self.jobs.get_mut(job)) {
                    was_owed = job.cancel_owed.take().is_some();
                    job.cancel_sent = true;
                }
                (Kind::Cancel, target)
            }
            _ => (Kind::Work, None),
        };
        // The server sends nothing else while it waits. Only the cancel of a submission needs no turn.
        if sent_kind != Kind::Cancel
            && let Some(id) = self.doubtful.take()
        {
            self.at_unity.remove(&id);
        }
        let (on, number) = (wire.client.clone(), wire.number);
        let sent = Sent { at: now, on, number, timeout, kind: sent_kind, job: about };
        self.at_unity.insert(id, sent);
        self.update(now);
        was_owed
    }

    /// The request that Unity has and that this text names.
    pub(super) fn named_in(&self, text: &str) -> Option<String> {
        self.at_unity.keys().find(|id| text.contains(&format!("\"{id}\""))).cloned()
    }

    fn with_unity_id(&self, unity_id: &str) -> Option<String> {
        let is_it = |job: &Job| job.unity_id.as_deref() == Some(unity_id);
        self.jobs.iter().find(|(_, job)| is_it(job)).map(|(id, _)| id.clone())
    }

    /// A frame of the session that names a request. If it reports on a job: the call of the job, and whether it came
    /// in time for sure.
    pub(super) fn on_answer(
        &mut self,
        now: Duration,
        wire: &Wire,
        frame: &Json,
    ) -> Option<(String, bool)> {
        let id = text(frame, "request_id");
        let session = self.session.as_ref().filter(|session| session.wire == *wire)?;
        let Some(sent) = self.at_unity.remove(&id) else {
            // The submission was given up: the server cancels the job under the name that it learns now.
            if text(frame, "type") == "submit_job_result"
                && let Some(job) = self.jobs.get_mut(&id)
            {
                job.unity_id = Some(text(frame, "job_id"));
                job.until = Duration::ZERO;
            }
            return None;
        };
        let is_same = sent.number == session.wire.number;
        if sent.kind == Kind::Work {
            self.answered = Some((now, id.clone(), sent.clone()));
        }
        self.update(now);
        self.on_question_over(now, &sent);
        let is_unknown = || frame.pointer("/error/code").and_then(Json::as_str) == Some(NOT_FOUND);
        match (sent.kind, text(frame, "type").as_str()) {
            (Kind::Work, "submit_job_result") => {
                self.on_accepted(now, &id, &text(frame, "job_id"));
            }
            // The submission was refused.
            (Kind::Work, _) => drop(self.jobs.remove(&id)),
            (Kind::Status, "job_status") if is_same => {
                let job = sent.job?;
                let label = self.jobs.get(&job)?.label.clone();
                let is_late = now > sent.at + QUESTION_MIN;
                let has_ended = !matches!(text(frame, "state").as_str(), "queued" | "running");
                if is_late && let Some(job) = self.jobs.get_mut(&job) {
                    job.until = Duration::ZERO; // The server may take it or not.
                    job.cancel_owed.take_if(|_| has_ended);
                } else if has_ended {
                    self.jobs.remove(&job);
                }
                return Some((label, !is_late));
            }
            (Kind::Status, "error") if is_unknown() => drop(self.jobs.remove(&sent.job?)),
            (Kind::Cancel, "cancel_result") if text(frame, "status") == "cancelled" => {
                self.jobs.remove(&sent.job?);
            }
            (Kind::Status | Kind::Cancel, _) => {}
        }
        None
    }

    /// A job that Unity accepts too late has ended here.
    fn on_accepted(&mut self, now: Duration, submission: &str, unity_id: &str) {
        let by = now + self.rules.poll_interval;
        let Some(job) = self.jobs.get_mut(submission) else { return };
        job.unity_id = Some(unity_id.to_owned());
        if now < job.until.min(job.sent_at + super::editors::SUBMISSION) {
            job.ask_by = Some(by);
        } else {
            job.until = Duration::ZERO;
        }
    }

    // Agents.

    pub(super) fn on_cancel_promised(&mut self, now: Duration, label: &str) {
        let owes = |job: &&mut Job| job.label == label && !job.cancel_sent;
        for job in self.jobs.values_mut().filter(owes) {
            job.cancel_owed = job.cancel_owed.or(Some(now));
        }
    }

    /// An agent was told that the job has ended.
    pub(super) fn on_told_end(&mut self, label: &str) {
        for job in self.jobs.values_mut().filter(|job| job.label == label) {
            job.until = Duration::ZERO;
        }
    }
}

/// Since when a job has run in Unity, if its books say that it runs now.
pub(super) fn running_since(job: &JobRecord, starts: Duration, now: Duration) -> Option<Duration> {
    let since = starts + job.at;
    let has_ended = job.ended_at.is_some_and(|ended| starts + ended <= now);
    (since <= now && !has_ended).then_some(since)
}
