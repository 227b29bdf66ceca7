//! What an agent that waits is promised: signs of life, and that nobody cuts its wait short.

use std::time::Duration;

use protocol::Json;

use super::{PromiseChecker, Rules, SETTLES, text};
use crate::judge::promises::agents::{Kind, OpenRequest};
use crate::record::log::Wire;

/// An agent that asked for progress gets the first report within this time.
const FIRST_PROGRESS: Duration = Duration::from_millis(1_000);
/// Then it never waits longer than this for the next one.
const NEXT_PROGRESS: Duration = Duration::from_millis(1_500);

/// The progress that an agent has asked for.
pub(super) struct ProgressWatch {
    token: Json,
    /// When the call arrived or was last reported on.
    last_at: Duration,
    has_begun: bool,
}

impl ProgressWatch {
    pub(super) fn of(request: &Json, at: Duration) -> Option<Self> {
        let token = request.pointer("/params/_meta/progressToken")?.clone();
        Some(Self { token, last_at: at, has_begun: false })
    }

    /// The call is open at this moment: its agent must have heard of it.
    pub(super) fn check(&self, at: Duration) -> Result<(), String> {
        let limit = if self.has_begun { NEXT_PROGRESS } else { FIRST_PROGRESS };
        let silent = at.saturating_sub(self.last_at);
        if silent > limit + SETTLES {
            return Err(format!("its agent got no progress for {silent:?}"));
        }
        Ok(())
    }
}

impl PromiseChecker<'_> {
    pub(super) fn on_progress(
        &mut self,
        at: Duration,
        wire: &Wire,
        progress: &Json,
    ) -> Result<(), String> {
        let token = progress.pointer("/params/progressToken");
        let of_wire = self.open.iter_mut().filter(|((of, _), _)| of == wire);
        let mut watched = of_wire.filter_map(|(_, request)| request.watch.as_mut());
        let Some(watch) = watched.find(|watch| Some(&watch.token) == token) else {
            return Err(format!("{} got progress that it did not ask for", wire.client));
        };
        watch.check(at)?;
        (watch.last_at, watch.has_begun) = (at, true);
        self.coverage.mark("an agent got progress");
        Ok(())
    }

    /// An answer before the end of `wait_ms` must show something new.
    pub(super) fn check_wait(
        &mut self,
        at: Duration,
        request: &OpenRequest,
        told: &Json,
    ) -> Result<(), String> {
        let asked = request.asked.get("wait_ms").and_then(Json::as_u64).unwrap_or_default();
        let wait = Duration::from_millis(asked);
        if wait.is_zero() || !matches!(request.kind, Kind::Job | Kind::Status) {
            return Ok(());
        }
        let is_early = at + SETTLES < request.at + wait;
        let (job, state) = (text(told, "job_id"), text(told, "state"));
        let has_ended = matches!(state.as_str(), "succeeded" | "failed" | "timeout" | "cancelled");
        if !is_early || has_ended {
            let how = if is_early { "ended with its job" } else { "ended by time" };
            self.coverage.count("a wait_ms ", how);
            return Ok(());
        }
        if request.kind == Kind::Job {
            return Err(format!("{job} is {state}, but wait_ms is not over"));
        }
        // The only change that is not the end: it was sent, or came back unsent.
        let sent_at = self.jobs.get(&job).and_then(|label| self.submitted_at.get(label));
        let has_changed = sent_at.is_none_or(|sent| *sent + SETTLES >= request.at);
        let questions = request.questions.max(self.waiting_questions());
        let has_room = questions < self.rules.queue_max;
        if state == "queued" || has_changed || !has_room {
            return Ok(());
        }
        Err(format!("{job} is still {state}, but wait_ms is not over"))
    }

    /// A call that was given up because it waited has waited as long as it may.
    pub(super) fn check_given_up(
        &mut self,
        at: Duration,
        wire: &Wire,
        request: &OpenRequest,
        error: &Json,
    ) -> Result<(), String> {
        let for_unity = request.is_for_unity();
        if !for_unity {
            return Ok(());
        }
        let label = request.label.as_deref().unwrap_or_default();
        if self.editors.has_changed_since(at.saturating_sub(self.settles(label))) {
            return Ok(()); // Another Editor has taken the place of the one that it waited for.
        }
        if self.servers.are_ending(wire, label) {
            return Ok(());
        }
        let relayed = self.arrived.get(label).filter(|_| self.servers.has_passed_on(label));
        self.check_waited(at, relayed.copied().unwrap_or(request.at), error)
    }

    pub(super) fn check_waited(
        &mut self,
        at: Duration,
        since: Duration,
        error: &Json,
    ) -> Result<(), String> {
        let code = text(error, "code");
        let limit = match code.as_str() {
            "ERR_EDITOR_NOT_READY" => self.limit_of(error),
            "ERR_COMPILE_TIMEOUT" => self.rules.compile_grace,
            _ => return Ok(()),
        };
        let is_refused = error.get("retryable") == Some(&Json::Bool(false));
        if is_refused {
            return Ok(()); // It did not fail because it waited.
        }
        let waited = at.saturating_sub(since);
        if waited + SETTLES < limit {
            return Err(format!("{code} after {waited:?}, but the limit is {limit:?}"));
        }
        if limit == Duration::from_secs(60) {
            self.coverage.mark("waited a minute for a compile");
        }
        Ok(())
    }

    /// How long a call waits for an Editor, or behind other calls. Without a reason it may be either.
    fn limit_of(&self, error: &Json) -> Duration {
        let Rules { reconnect_wait, queue_wait, .. } = self.rules;
        match error.pointer("/details/waiting_reason").and_then(Json::as_str) {
            Some("busy") => queue_wait,
            Some(_) => reconnect_wait,
            None => reconnect_wait.min(queue_wait),
        }
    }
}
