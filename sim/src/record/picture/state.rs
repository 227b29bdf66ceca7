//! What the server knows at each moment, for the boxes above the lanes.

use std::collections::BTreeMap;

use page::{Event, Job, State};
use protocol::Json;

#[derive(Default)]
pub(super) struct Known {
    state: State,
    told: State,
    /// The request that Unity is working on.
    request: Option<String>,
    /// The call of each request to start a job, and the request of each job.
    calls: BTreeMap<String, String>,
    requests: BTreeMap<String, String>,
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

    /// The server sends a frame to Unity; `call` is the call it is about.
    pub(super) fn sent(&mut self, frame: &Json, call: Option<&str>) {
        let text = |name: &str| frame.get(name).and_then(Json::as_str).unwrap_or_default();
        if matches!(text("type"), "execute" | "submit_job") {
            let request = text("request_id").to_owned();
            let running = format!("{} {}", text("tool_name"), text("client_request_id"));
            self.state.running = Some(running.trim().to_owned());
            self.calls.extend(call.map(|call| (request.clone(), call.to_owned())));
            self.request = Some(request);
        }
    }

    /// A frame of Unity arrives at the server. It may tell how far a job is.
    pub(super) fn received(&mut self, frame: &Json, call: Option<&str>) {
        let text = |name: &str| frame.get(name).and_then(Json::as_str);
        if text("request_id").is_some() && text("request_id") == self.request.as_deref() {
            self.request = None;
            self.state.running = None;
        }
        let count = |pointer: &str| frame.pointer(pointer).and_then(Json::as_u64);
        if let (Some("job_status"), Some(call)) = (text("type"), call)
            && let (Some(done), Some(total)) = (count("/progress/done"), count("/progress/total"))
        {
            let (calls, requests) = (&self.calls, &self.requests);
            let is_it = |job: &&mut Job| {
                let request = requests.get(&job.job_id);
                request.and_then(|request| calls.get(request)).is_some_and(|of| of == call)
            };
            if let Some(job) = self.state.jobs.iter_mut().find(is_it) {
                (job.done, job.total) = (Some(done), Some(total));
            }
        }
    }

    /// A line such as `job-s1-1 queued req-s1-1` or `job-s1-1 running`.
    pub(super) fn job(&mut self, fields: &str) {
        let mut words = fields.split(' ').map(str::to_owned);
        let (Some(job_id), Some(state)) = (words.next(), words.next()) else { return };
        self.requests.extend(words.next().map(|request| (job_id.clone(), request)));
        match self.state.jobs.iter_mut().find(|known| known.job_id == job_id) {
            Some(known) => known.state = state,
            None => self.state.jobs.push(Job { job_id, state, done: None, total: None }),
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
