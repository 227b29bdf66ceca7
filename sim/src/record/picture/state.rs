//! What the server knows at each moment, for the boxes above the lanes.

use page::{Event, Job, State};
use protocol::Json;

use crate::record::trace::{Outcome, outcome_of};

#[derive(Default)]
pub(super) struct Known {
    state: State,
    told: State,
    /// The request that Unity is working on.
    request: Option<String>,
}

impl Known {
    /// A line such as `ready editor=compiling waits_for=compiling`.
    pub(super) fn turn(&mut self, fields: &str) {
        let field = |name: &str| fields.split(' ').find_map(|word| word.strip_prefix(name));
        self.state.server = fields.split(' ').next().unwrap_or_default().to_owned();
        self.state.editor = field("editor=").unwrap_or_default().to_owned();
        self.state.waits_for =
            field("waits_for=").filter(|reason| *reason != "nothing").map(str::to_owned);
    }

    /// Why calls would wait.
    pub(super) fn waits_for(&self) -> Option<&str> {
        self.state.waits_for.as_deref()
    }

    pub(super) fn end(&mut self) {
        self.state = State { server: "stopped".to_owned(), ..State::default() };
        self.request = None;
    }

    pub(super) fn sent(&mut self, frame: &Json) {
        let text = |name: &str| frame.get(name).and_then(Json::as_str).unwrap_or_default();
        if matches!(text("type"), "execute" | "submit_job") {
            self.request = Some(text("request_id").to_owned());
            let running = format!("{} {}", text("tool_name"), text("client_request_id"));
            self.state.running = Some(running.trim().to_owned());
        }
    }

    pub(super) fn received(&mut self, frame: &Json) {
        let request = frame.get("request_id").and_then(Json::as_str);
        if request.is_some() && request == self.request.as_deref() {
            self.request = None;
            self.state.running = None;
        }
    }

    /// The server answers an agent; the answer may tell of a job.
    pub(super) fn answered(&mut self, answer: &Json) {
        let Outcome::Ok(result) = outcome_of(answer) else { return };
        let text = |name: &str| result.get(name).and_then(Json::as_str).map(str::to_owned);
        let (Some(job_id), Some(state)) = (text("job_id"), text("state")) else { return };
        let count = |pointer: &str| result.pointer(pointer).and_then(Json::as_u64);
        let job =
            Job { job_id, state, done: count("/progress/done"), total: count("/progress/total") };
        match self.state.jobs.iter_mut().find(|known| known.job_id == job.job_id) {
            Some(known) => *known = job,
            None => self.state.jobs.push(job),
        }
    }

    /// The state, if it is another than the last that was told.
    pub(super) fn tell(&mut self, at: u64, queue: u64) -> Option<Event> {
        self.state.queue = queue;
        (self.state != self.told).then(|| {
            self.told = self.state.clone();
            Event::State { at, state: self.state.clone() }
        })
    }
}
