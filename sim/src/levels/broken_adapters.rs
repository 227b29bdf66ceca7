//! BrokenAdapters: the code that waits for an answer panics at the time a `break` step says. The adapters of a
//! running server cannot be made to panic from outside, so this tells the core what they would tell it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use coordination::Core;
use coordination::{CallId, Deadline, EditorReport, Effect, Event, Load, Timestamp, Why};
use protocol::RequestId;

use crate::levels::clock;

/// When the adapter of which call breaks, in order of time.
pub(crate) type Breaks = VecDeque<(Duration, String)>;

pub(crate) struct BrokenAdapters<C> {
    core: C,
    /// Deadlines of a core count from the start of its server.
    started: Duration,
    breaks: Breaks,
    /// The calls that will break, by `client_request_id`.
    calls: BTreeMap<String, CallId>,
}

impl<C: Core> BrokenAdapters<C> {
    pub(crate) fn new(core: C, mut breaks: Breaks) -> Self {
        let started = clock::now();
        breaks.retain(|(at, _)| *at > started);
        Self { core, started, breaks, calls: BTreeMap::new() }
    }
}

impl<C: Core> Core for BrokenAdapters<C> {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        if let Event::CallReceived { call, request, .. } = &event
            && let Some(label) = request.client_request_id()
        {
            self.calls.insert(label.to_owned(), *call);
        }
        let mut effects = self.core.handle(now, event);
        let elapsed = self.started + now.since_start();
        while let Some((_, label)) = self.breaks.pop_front_if(|(at, _)| *at <= elapsed) {
            if let Some(call) = self.calls.remove(&label) {
                effects.extend(self.core.handle(now, Event::CallBroke { call }));
            }
        }
        effects
    }

    /// The event loop uses only the time.
    fn next_deadline(&self) -> Option<Deadline> {
        let next_break = self.breaks.front().map(|(at, _)| {
            let at = Timestamp::from_millis(at.saturating_sub(self.started).as_millis() as u64);
            Deadline { at, why: Why::ProgressDue(CallId(0)) }
        });
        let deadlines = self.core.next_deadline().into_iter().chain(next_break);
        deadlines.min_by_key(|deadline| deadline.at)
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        self.core.editor_report(now)
    }

    fn request_id(&self, call: CallId) -> Option<&RequestId> {
        self.core.request_id(call)
    }

    fn load(&self) -> Load {
        self.core.load()
    }
}
