//! When a job was issued and when it changed last: a task shows both.

use coordination::{
    Answer, Boot, CallId, ConnectionId, Effect, Event, ExecutionCoordinator, JobTimes, Limits,
    RawCall, Timestamp, validate,
};
use protocol::codec;

const UNITY: ConnectionId = ConnectionId(1);

struct Server(ExecutionCoordinator);

impl Server {
    fn at(&mut self, millis: u64, event: Event) -> Vec<Effect> {
        self.0.handle(Timestamp::from_millis(millis), event)
    }

    fn unity(&mut self, millis: u64, frame: &str) {
        let frame = frame.replacen('{', "{\"protocol_version\":1,", 1);
        self.at(millis, Event::UnityFrame { on: UNITY, frame: codec::decode(frame.as_bytes()) });
    }

    fn call(&mut self, millis: u64, number: u64, tool: &str, arguments: &str) -> Vec<Effect> {
        let arguments = serde_json::from_str(arguments).unwrap();
        let request = validate(RawCall { tool: tool.to_owned(), arguments }).unwrap();
        let call = CallId(number);
        self.at(millis, Event::CallReceived { call, request, wants_progress: false })
    }

    /// Issued and changed, as a status call sees them without asking Unity.
    fn times(&mut self, millis: u64, number: u64) -> (u64, u64) {
        self.at(millis, Event::UnityClosed { on: UNITY, by: coordination::ClosedBy::Anyone });
        told(&self.call(millis, number, "get_job_status", "{\"job_id\":\"job-t-1\"}"))
    }
}

fn told(effects: &[Effect]) -> (u64, u64) {
    let times = effects.iter().find_map(|effect| match effect {
        Effect::Reply { outcome: Ok(Answer::JobAccepted { times, .. }), .. } => Some(*times),
        Effect::Reply { outcome: Ok(Answer::Job(report)), .. } => Some(report.times),
        Effect::Reply { .. }
        | Effect::Progress { .. }
        | Effect::Send { .. }
        | Effect::Close { .. }
        | Effect::Note(_)
        | Effect::Stopped => None,
    });
    let JobTimes { issued, changed, .. } = times.unwrap();
    let millis = |at: Timestamp| u64::try_from(at.since_start().as_millis()).unwrap();
    (millis(issued), millis(changed))
}

/// A job that was issued at 100, sent then, and accepted at 200.
fn running() -> Server {
    let core = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
    let mut server = Server(core);
    server.at(0, Event::PortBound);
    server.at(0, Event::UnityOpened { on: UNITY });
    server.unity(0, r#"{"type":"hello","plugin_version":"1","state":"ready"}"#);
    assert_eq!(told(&server.call(100, 1, "run_tests", "{}")), (100, 100));
    server.unity(
        200,
        r#"{"type":"submit_job_result","request_id":"req-t-1","status":"accepted","job_id":"u"}"#,
    );
    server
}

fn status(state: &str, done: u64, request: u64) -> String {
    format!(
        r#"{{"type":"job_status","request_id":"req-t-{request}","job_id":"u","state":"{state}","progress":{{"done":{done},"total":9}}}}"#
    )
}

#[test]
fn what_agents_do_not_see_is_no_change_of_a_job() {
    assert_eq!(running().times(900, 2), (100, 100), "running since it was sent, accepted or not");
}

#[test]
fn progress_is_a_change_and_the_same_progress_is_none() {
    let mut server = running();
    server.at(1_200, Event::DeadlineReached); // It is asked about.
    server.unity(1_300, &status("running", 1, 2));
    server.at(2_300, Event::DeadlineReached);
    server.unity(2_400, &status("running", 1, 3));
    assert_eq!(server.times(2_500, 2), (100, 1_300));
}

#[test]
fn the_end_is_the_last_change() {
    let mut server = running();
    server.at(1_200, Event::DeadlineReached);
    server.unity(1_300, &status("cancelled", 1, 2));
    assert_eq!(server.times(9_000, 2), (100, 1_300));
}
