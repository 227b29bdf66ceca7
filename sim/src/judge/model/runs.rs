//! Catalogue 1.1: calls that repeat a `client_request_id`.

use coordination::{Catalog, ErrorCode, Guarantee};
use protocol::{JobState, Json, RequestId};

use super::{Ask, Call, CallState, Expect, Fault, JobLife, Millis, Model};

pub(super) const TESTS: &str = "run_tests";
const RUN_ONCE: [&str; 3] = ["open_scene", TESTS, "script_recompile_trigger"];

/// A plugin with a book rejects an id that was used for something else.
const OTHER_USE: Expect = Expect::Fails(ErrorCode::InvalidRequest, Guarantee::Unknown);

/// What is known of the calls with one `client_request_id`.
#[derive(Clone, Debug)]
pub(super) struct Run {
    name: String,
    tool: &'static str,
    params: Json,
    life: RunLife,
    /// The book of the plugin that it was sent to last.
    book: Option<String>,
    /// The call before this one, if nobody knows whether that ran.
    before: Option<Expect>,
}

#[derive(Clone, Debug, PartialEq)]
enum RunLife {
    /// This call has no answer yet.
    Open(u64),
    Job(usize),
    Ended(Expect),
}

impl Call {
    pub(super) fn tool(&self) -> &'static str {
        match self.ask {
            Ask::Execute { tool } | Ask::Job { tool, .. } => tool,
            Ask::Status { .. } | Ask::Cancel { .. } | Ask::State => "",
        }
    }
}

impl Model {
    pub(super) fn run_name(&self, ask: &Ask, client: Option<&str>) -> Option<String> {
        let tool = match ask {
            Ask::Execute { tool } | Ask::Job { tool, .. } => *tool,
            Ask::Status { .. } | Ask::Cancel { .. } | Ask::State => return None,
        };
        let runs_once = self.limits.catalog == Catalog::V1_1 && RUN_ONCE.contains(&tool);
        client.filter(|_| runs_once).map(str::to_owned)
    }

    fn run(&mut self, name: Option<&str>) -> Option<&mut Run> {
        let name = name?;
        self.runs.iter_mut().find(|run| run.name == name)
    }

    /// It did not run. Its id means nothing any more.
    fn forget_run(&mut self, name: &str) {
        self.runs.retain(|run| run.name != name);
    }

    /// Whether this call repeats an earlier one, and what it gets then.
    pub(super) fn repeats(&mut self, now: Millis, id: u64, params: &Json) -> bool {
        let Some(call) = self.calls.get(&id) else { return false };
        let (tool, name) = (call.tool(), call.run.clone());
        let Some(run) = self.run(name.as_deref()).cloned() else { return false };
        let has_book = run.book.is_some();
        let fails = |code| Expect::Fails(code, Guarantee::NotExecuted);
        let expect = match run.life {
            _ if run.tool != tool || run.params != *params => fails(ErrorCode::InvalidRequest),
            RunLife::Open(first) => return self.follow(id, first),
            RunLife::Job(job) if self.is_unknown(job) && has_book => return false,
            RunLife::Job(job) if !self.is_kept(job) && self.is_unknown(job) => {
                replayed(self.doubt(&Expect::Told(job)))
            }
            RunLife::Job(job) if !self.is_kept(job) => {
                Expect::Fails(ErrorCode::JobNotFound, Guarantee::Unknown)
            }
            RunLife::Job(job) => {
                self.coverage.mark("a repeated call was attached to its job");
                if let Some(call) = self.calls.get_mut(&id) {
                    call.is_repeat = true;
                }
                self.attach(now, id, job);
                return true;
            }
            RunLife::Ended(Expect::Fails(_, Guarantee::Unknown)) if has_book => return false,
            RunLife::Ended(expect) => replayed(expect),
        };
        self.expected.push((id, expect));
        true
    }

    fn follow(&mut self, id: u64, first: u64) -> bool {
        let is_following = |call: &&Call| matches!(call.state, CallState::Following(_));
        if self.calls.values().filter(is_following).count() >= self.limits.queue_max {
            self.expected.push((id, Expect::Fails(ErrorCode::QueueFull, Guarantee::Unknown)));
        } else if let Some(call) = self.calls.get_mut(&id) {
            self.coverage.mark("a repeated call waited for the first");
            call.is_repeat = true;
            call.state = CallState::Following(first);
        }
        true
    }

    fn followers(&self, of: u64) -> Vec<u64> {
        let follows = |call: &Call| call.state == CallState::Following(of);
        self.calls.iter().filter(|(_, call)| follows(call)).map(|(id, _)| *id).collect()
    }

    /// A call about a job that exists waits for its end, or is told how it is.
    fn attach(&mut self, now: Millis, id: u64, job: usize) {
        let Some(call) = self.calls.get(&id) else { return };
        let wait = if let Ask::Job { wait, .. } = call.ask { wait } else { 0 };
        let until = call.arrived + wait;
        self.park(id, job, until);
        if until <= now || self.stopped || self.job_state(job).is_terminal() {
            self.answer(id, Expect::Told(job));
        }
    }

    /// It has ended, and nobody knows whether it ran.
    pub(super) fn is_unknown(&self, job: usize) -> bool {
        let life = self.jobs.get(job).map(|job| &job.state);
        matches!(life, Some(JobLife::Ended(_, Some((_, Guarantee::Unknown)))))
    }

    /// How an earlier call ended that may have run.
    pub(super) fn doubt(&self, before: &Expect) -> Expect {
        let Expect::Told(job) = before else { return before.clone() };
        match self.jobs.get(*job).map(|job| &job.state) {
            Some(JobLife::Ended(_, Some((code, guarantee)))) => Expect::Fails(*code, *guarantee),
            _ => before.clone(),
        }
    }

    /// What a call gets that is rejected when it arrives.
    pub(super) fn rejection(&self, name: Option<&str>, code: ErrorCode) -> Expect {
        let run = name.and_then(|name| self.runs.iter().find(|run| run.name == name));
        match run.map(|run| &run.life) {
            Some(RunLife::Ended(before @ Expect::Fails(_, Guarantee::Unknown))) => {
                replayed(before.clone())
            }
            Some(RunLife::Job(job)) if self.is_unknown(*job) => {
                replayed(self.doubt(&Expect::Told(*job)))
            }
            _ => Expect::Fails(code, Guarantee::NotExecuted),
        }
    }

    pub(super) fn is_kept(&self, job: usize) -> bool {
        !self.job_state(job).is_terminal() || self.ended.contains(&job)
    }

    /// A new call gets in line.
    pub(super) fn begin_run(&mut self, id: u64, params: Json) {
        let Some(call) = self.calls.get(&id) else { return };
        let (Some(name), tool) = (call.run.clone(), call.tool()) else { return };
        let old = self.run(Some(&name)).cloned();
        let (life, book) = old.map(|run| (run.life, run.book)).unzip();
        let before = match life {
            Some(RunLife::Ended(expect @ Expect::Fails(..))) => Some(expect),
            Some(RunLife::Job(job)) => {
                self.coverage.mark("a run with an unknown outcome was repeated");
                let number = self.jobs.get(job).map(|job| job.request).unwrap_or_default();
                let earlier = RequestId(format!("req-{}-{number}", self.boot));
                if self.is_kept(job) {
                    self.abandoned.retain(|request| *request != earlier);
                }
                Some(Expect::Told(job))
            }
            Some(RunLife::Ended(_) | RunLife::Open(_)) | None => None,
        };
        let (life, book) = (RunLife::Open(id), book.flatten());
        let new = Run { name, tool, params, life, book, before };
        match self.run(Some(&new.name)) {
            Some(run) => *run = new,
            None => self.runs.push(new),
        }
        self.limit_runs();
    }

    /// The oldest that have ended are forgotten first.
    fn limit_runs(&mut self) {
        while self.runs.len() > self.limits.repeats_max {
            let has_ended = |run: &Run| match &run.life {
                RunLife::Open(_) => false,
                RunLife::Job(job) => self.job_state(*job).is_terminal(),
                RunLife::Ended(_) => true,
            };
            let Some(oldest) = self.runs.iter().position(has_ended) else { return };
            self.runs.remove(oldest);
        }
    }

    /// What may have run is sent again only to a plugin that knows whether it did.
    pub(super) fn may_run(&self, name: Option<&str>) -> bool {
        let run = name.and_then(|name| self.runs.iter().find(|run| run.name == name));
        run.is_none_or(|run| run.before.is_none() || (self.book.is_some() && run.book == self.book))
    }

    pub(super) fn run_sent(&mut self, name: Option<&str>) {
        let book = self.book.clone();
        if let Some(run) = self.run(name) {
            run.book = book;
        }
    }

    pub(super) fn run_is_job(&mut self, now: Millis, first: u64, job: usize) {
        let name = self.calls.get(&first).and_then(|call| call.run.clone());
        if let Some(run) = self.run(name.as_deref()) {
            run.life = RunLife::Job(job);
        }
        for follower in self.followers(first) {
            self.attach(now, follower, job);
        }
        if self.calls.get(&first).is_some_and(|call| call.is_left) {
            self.calls.remove(&first);
        }
    }

    /// The answer of a call and of those that repeat it.
    pub(super) fn answer(&mut self, id: u64, expect: Expect) {
        let Some(call) = self.calls.get(&id).cloned() else { return };
        let expect = self.end_run(&call, expect);
        if call.is_left {
            self.calls.remove(&id);
        } else {
            let own = if call.is_repeat { replayed(expect.clone()) } else { expect.clone() };
            self.expected.push((id, own));
        }
        for follower in self.followers(id) {
            self.answer(follower, expect.clone());
        }
    }

    fn end_run(&mut self, call: &Call, expect: Expect) -> Expect {
        let name = call.run.clone();
        let is_unrun = matches!(expect, Expect::Fails(_, Guarantee::NotExecuted));
        let Some(run) = self.run(name.as_deref()) else { return expect };
        if call.is_repeat || !matches!(run.life, RunLife::Open(_)) {
            return match run.before.clone() {
                Some(before) if is_unrun => replayed(before),
                Some(_) | None => expect,
            };
        }
        let is_other_use = expect == OTHER_USE && run.book.is_some();
        match run.before.take() {
            Some(before) if is_unrun || is_other_use => {
                run.life = life_of(&before);
                if is_unrun { replayed(before) } else { expect }
            }
            Some(_) | None if is_unrun || is_other_use => {
                self.forget_run(&name.unwrap_or_default());
                expect
            }
            Some(_) | None => {
                run.life = RunLife::Ended(expect.clone());
                expect
            }
        }
    }

    /// The caller is gone. True if others repeat its call: then it goes on.
    pub(super) fn goes_on_for_others(&mut self, id: u64) -> bool {
        let goes_on = !self.followers(id).is_empty();
        if goes_on && let Some(call) = self.calls.get_mut(&id) {
            self.coverage.mark("a call went on for those that repeat it");
            call.is_left = true;
        }
        goes_on
    }

    /// The caller is gone, and nobody gets the answer.
    pub(super) fn abandon_run(&mut self, call: &Call) {
        let expect = match call.state {
            CallState::Waiting => Expect::Fails(ErrorCode::UnityExecution, Guarantee::NotExecuted),
            CallState::InLane => Expect::Fails(ErrorCode::RequestTimeout, Guarantee::Unknown),
            CallState::Parked { .. } | CallState::Following(_) => return,
        };
        self.end_run(call, expect);
    }

    pub(super) fn follower_left(&mut self, id: u64, first: u64) {
        let is_last = self.followers(first).iter().all(|other| *other == id);
        if is_last && let Some(call) = self.calls.get(&first).filter(|call| call.is_left).cloned() {
            self.calls.remove(&first);
            self.abandon_run(&call);
            self.leave(first, &call);
        }
    }

    /// Whether something of this call may be with Unity.
    pub(super) fn was_sent(&self, call: &Call) -> bool {
        match call.state {
            CallState::Waiting => false,
            CallState::InLane => true,
            CallState::Parked { job, .. } => self.job_state(job) != JobState::Queued,
            CallState::Following(first) => {
                self.calls.get(&first).is_none_or(|first| self.was_sent(first))
            }
        }
    }

    /// Somebody waits for its end or has its id, without this call.
    pub(super) fn is_wanted(&self, job: usize, without: u64) -> bool {
        let waits =
            |call: &Call| matches!(call.state, CallState::Parked { job: of, .. } if of == job);
        self.jobs.get(job).is_some_and(|job| job.is_known)
            || self.calls.iter().any(|(id, call)| *id != without && waits(call))
    }

    /// A job ends. If it did not run, its id means the call before it, or nothing. Returns what is told of its end.
    pub(super) fn end_of_run(
        &mut self,
        job: usize,
        was_sent: bool,
        fault: Option<Fault>,
    ) -> Option<Fault> {
        let is_unrun = fault.is_some_and(|(_, guarantee)| guarantee == Guarantee::NotExecuted);
        let name = self.jobs.get(job).and_then(|job| job.run.clone());
        let Some(run) = self.run(name.as_deref()) else { return fault };
        let is_other_use =
            fault == Some((ErrorCode::InvalidRequest, Guarantee::Unknown)) && run.book.is_some();
        if (!is_unrun && !is_other_use && was_sent) || run.life != RunLife::Job(job) {
            return fault;
        }
        let Some(before) = run.before.take() else {
            self.forget_run(&name.unwrap_or_default());
            return fault;
        };
        run.life = life_of(&before);
        if is_other_use {
            return fault;
        }
        self.coverage.mark("a job that did not run left its id in doubt");
        if let Expect::Fails(code, guarantee) = self.doubt(&before) {
            Some((code, guarantee))
        } else {
            fault
        }
    }

    /// Whether Unity's result is one of this tool.
    pub(super) fn fits(&self, call: u64, result: &Json) -> bool {
        let field = match self.calls.get(&call).map_or("", Call::tool) {
            "read_console" => "entries",
            "list_scenes" => "open",
            "list_assets" => "assets",
            "get_selection" => "objects",
            "open_scene" => "path",
            _ => return result.is_object(),
        };
        result.get(field).is_some()
    }
}

/// What an id means again if the last attempt says nothing of it.
fn life_of(before: &Expect) -> RunLife {
    match before {
        Expect::Told(job) => RunLife::Job(*job),
        Expect::Fails(..)
        | Expect::Result(..)
        | Expect::Accepted(_)
        | Expect::Replayed(_)
        | Expect::Job(_)
        | Expect::Cancel(..) => RunLife::Ended(before.clone()),
    }
}

pub(super) fn replayed(expect: Expect) -> Expect {
    match expect {
        Expect::Replayed(_) => expect,
        Expect::Fails(..)
        | Expect::Result(..)
        | Expect::Accepted(_)
        | Expect::Told(_)
        | Expect::Job(_)
        | Expect::Cancel(..) => Expect::Replayed(Box::new(expect)),
    }
}
