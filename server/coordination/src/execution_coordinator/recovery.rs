//! After a panic: what no answer and no deadline can reach any more is answered now, with the guarantee that is true.

use super::ExecutionCoordinator;
use crate::event::Effect;
use crate::failure::Failure;
use crate::ids::{CallId, JobId};
use crate::request_scheduler::{Lane, Purpose};
use crate::stores::job::{JobPhase, Poll};
use crate::stores::queue::{Item, Ticket};
use crate::stores::request::Phase;
use crate::time::{CallTimes, Timestamp};

impl ExecutionCoordinator {
    pub(super) fn recover(&mut self, now: Timestamp, callers: &[CallId]) {
        for job in self.jobs.active() {
            self.recover_job(now, job);
        }
        for call in self.scheduler.open_calls() {
            if !self.is_reachable(call) {
                self.on_call_broke(now, call);
            }
        }
        let scheduler = &self.scheduler;
        self.repeats.keep_open(|call| scheduler.call(call).is_some());
        // The core has forgotten these: nobody knows whether they were sent.
        let answered = |effects: &[Effect], of: CallId| {
            effects.iter().any(|effect| matches!(effect, Effect::Reply { call, .. } if *call == of))
        };
        for call in callers {
            if self.scheduler.call(*call).is_none() && !answered(&self.effects, *call) {
                let request_id = self.ids.request();
                let outcome = Err(Failure::broken_after_sending());
                let times = CallTimes { arrived: now, served: None };
                self.effects.push(Effect::Reply { call: *call, request_id, times, outcome });
            }
        }
    }

    fn is_reachable(&self, id: CallId) -> bool {
        let Some(call) = self.scheduler.call(id) else { return false };
        match &call.phase {
            Phase::InLine(_) => self.scheduler.position(call.ticket).is_some(),
            Phase::InLane => match self.scheduler.lane() {
                Lane::Taken { purpose: Purpose::Execute { call }, .. } => *call == id,
                Lane::Taken { purpose: Purpose::Status { asker, .. }, .. } => *asker == Some(id),
                Lane::Taken {
                    purpose: Purpose::Submit { .. } | Purpose::Cancel { .. }, ..
                }
                | Lane::Free
                | Lane::Kept { .. } => false,
            },
            Phase::Parked { job, .. } => self.jobs.has_waiter(*job, id),
            Phase::Following { first } => self.is_reachable(*first),
        }
    }

    fn recover_job(&mut self, now: Timestamp, id: JobId) {
        let Some(job) = self.jobs.get(id) else { return };
        let is_asked = matches!(
            self.scheduler.lane(),
            Lane::Taken { purpose: Purpose::Status { job, .. }, .. } if *job == id
        );
        match &job.phase {
            JobPhase::Queued { .. } if !self.is_in_line(id, job.ticket) => {
                self.fail_job(now, id, Failure::broken_before_sending());
            }
            JobPhase::Submitting if !self.is_being_submitted(id) => {
                self.fail_job(now, id, Failure::broken_after_sending());
            }
            // The question about it is gone: it is asked about again.
            JobPhase::Running(running) if running.poll != Poll::Asked || !is_asked => {
                if !matches!(running.poll, Poll::At(_)) {
                    self.scheduler.withdraw_poll(id);
                    self.on_question_over(now, id);
                }
            }
            JobPhase::Queued { .. }
            | JobPhase::Submitting
            | JobPhase::Running(_)
            | JobPhase::Ended(_) => {}
        }
    }

    fn is_in_line(&self, id: JobId, ticket: Ticket) -> bool {
        let mut places = self.scheduler.places().into_iter();
        places.any(|place| place.ticket == ticket && place.item == Item::Job(id))
    }

    fn is_being_submitted(&self, id: JobId) -> bool {
        matches!(
            self.scheduler.lane(),
            Lane::Taken { purpose: Purpose::Submit { job }, .. } if *job == id
        )
    }
}

#[cfg(test)]
mod tests {
    use protocol::codec::decode;
    use protocol::{Json, Map};

    use crate::{
        Boot, CallId, ConnectionId, Effect, Event, ExecutionCoordinator, Limits, RawCall,
        Timestamp, validate,
    };

    /// A core with a ready Editor.
    fn core() -> ExecutionCoordinator {
        let mut core = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
        let on = ConnectionId(1);
        let hello =
            br#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready"}"#;
        for event in [
            Event::PortBound,
            Event::UnityOpened { on },
            Event::UnityFrame { on, frame: decode(hello) },
        ] {
            core.handle(Timestamp::default(), event);
        }
        core
    }

    fn call(core: &mut ExecutionCoordinator, id: u64, tool: &str, wait: u64) {
        let mut arguments = Map::new();
        if wait > 0 {
            arguments.insert("wait_ms".to_owned(), Json::from(wait));
        }
        let request = validate(RawCall { tool: tool.to_owned(), arguments }).unwrap();
        let event = Event::CallReceived { call: CallId(id), request, wants_progress: false };
        core.handle(Timestamp::default(), event);
    }

    /// What each of these calls is told after a panic.
    fn told(core: &mut ExecutionCoordinator, callers: &[u64]) -> Vec<String> {
        let callers = callers.iter().copied().map(CallId).collect();
        let effects = core.handle(Timestamp::default(), Event::Recovered { callers });
        let text = |effect: &Effect| {
            let Effect::Reply { call, outcome, .. } = effect else { return None };
            Some(match outcome {
                Err(failure) => format!("{} {} {}", call.0, failure.code, failure.guarantee.text()),
                Ok(answer) => format!("{} {answer:?}", call.0).chars().take(60).collect(),
            })
        };
        effects.iter().filter_map(text).collect()
    }

    #[test]
    fn what_can_still_be_reached_goes_on() {
        let mut core = core();
        call(&mut core, 1, "read_console", 0);
        call(&mut core, 2, "read_console", 0);
        call(&mut core, 3, "run_tests", 5_000);
        assert_eq!(told(&mut core, &[1, 2, 3]), Vec::<String>::new());
    }

    #[test]
    fn a_call_whose_lane_is_gone_is_unknown() {
        let mut core = core();
        call(&mut core, 1, "read_console", 0);
        core.scheduler.free_lane();
        assert_eq!(told(&mut core, &[1]), ["1 ERR_INVALID_RESPONSE unknown"]);
    }

    #[test]
    fn a_call_that_has_lost_its_place_in_line_did_not_run() {
        let mut core = core();
        call(&mut core, 1, "read_console", 0);
        call(&mut core, 2, "read_console", 0);
        let ticket = core.scheduler.call(CallId(2)).unwrap().ticket;
        core.scheduler.withdraw_job(ticket);
        assert_eq!(told(&mut core, &[1, 2]), ["2 ERR_UNITY_EXECUTION not_executed"]);
    }

    #[test]
    fn a_call_that_the_core_has_forgotten_is_unknown() {
        let mut core = core();
        call(&mut core, 1, "read_console", 0);
        core.scheduler.remove(CallId(1));
        assert_eq!(told(&mut core, &[1]), ["1 ERR_INVALID_RESPONSE unknown"]);
    }

    #[test]
    fn a_job_whose_submission_is_gone_fails_and_its_caller_hears_of_it() {
        let mut core = core();
        call(&mut core, 1, "run_tests", 5_000);
        core.scheduler.free_lane();
        let told = told(&mut core, &[1]).concat();
        assert!(told.contains("1 Job(JobReport { job: job-t-1, state: Failed"), "{told}");
    }

    #[test]
    fn a_queued_job_that_has_lost_its_place_fails_and_its_caller_hears_of_it() {
        let mut core = core();
        call(&mut core, 1, "read_console", 0);
        call(&mut core, 2, "run_tests", 5_000);
        let ticket = core.scheduler.places()[0].ticket;
        core.scheduler.withdraw_job(ticket);
        let told = told(&mut core, &[1, 2]).concat();
        assert!(told.contains("2 Job(JobReport { job: job-t-1, state: Failed"), "{told}");
    }
}
