//! Events for the core alone, for a tool that counts instructions: what does one cost with many calls in line and many
//! jobs in the books?
//!
//! `core-events CALLS JOBS ROUNDS`: in each round a call arrives, and Unity answers the one that it has. CALLS are in line all
//! the time, and JOBS have ended before.

use std::time::Duration;

use coordination::{
    Boot, CallId, ConnectionId, Effect, Event, ExecutionCoordinator, Limits, RawCall, Timestamp,
    validate,
};
use protocol::{FromUnity, Json, ToUnity, codec, json};

const UNITY: ConnectionId = ConnectionId(1);

struct Bench {
    core: ExecutionCoordinator,
    now: Timestamp,
    calls: u64,
    /// What Unity was sent last.
    sent: Option<ToUnity>,
}

impl Bench {
    fn handle(&mut self, event: Event) {
        self.now = self.now + Duration::from_millis(1);
        for effect in self.core.handle(self.now, event) {
            match effect {
                Effect::Send { frame: ToUnity::Ping(_), .. } => {
                    self.says(json!({ "type": "pong", "protocol_version": 1 }));
                }
                Effect::Send { frame, .. } => self.sent = Some(frame),
                _ => {}
            }
        }
    }

    /// Until the server does something by itself.
    fn wait(&mut self) {
        let deadline = self.core.next_deadline().unwrap();
        self.now = self.now.max(deadline.at);
        self.handle(Event::DeadlineReached);
    }

    fn call(&mut self, tool: &str) {
        self.calls += 1;
        let raw = RawCall { tool: tool.to_owned(), arguments: Default::default() };
        let (call, request) = (CallId(self.calls), validate(raw).unwrap());
        self.handle(Event::CallReceived { call, request, wants_progress: false });
    }

    fn says(&mut self, frame: Json) {
        let frame = codec::decode::<FromUnity>(frame.to_string().as_bytes());
        assert!(frame.is_ok());
        self.handle(Event::UnityFrame { on: UNITY, frame });
    }

    /// Unity answers what it was sent last.
    fn answer(&mut self) {
        let mut answer = match self.sent.take() {
            Some(ToUnity::Execute(sent)) => json!({
                "type": "result", "request_id": sent.request_id, "status": "ok",
                "result": { "entries": [], "truncated": false },
            }),
            Some(ToUnity::SubmitJob(sent)) => json!({
                "type": "submit_job_result", "request_id": sent.request_id,
                "status": "accepted", "job_id": format!("tests-{}", self.calls),
            }),
            Some(ToUnity::GetJobStatus(sent)) => json!({
                "type": "job_status", "request_id": sent.request_id, "job_id": sent.job_id,
                "state": "succeeded", "result": { "summary": { "total": 1, "passed": 1, "failed": 0 } },
            }),
            other => panic!("Unity has nothing to answer: {other:?}"),
        };
        answer["protocol_version"] = json!(1);
        self.says(answer);
    }

    /// A job from the call to its end.
    fn job(&mut self) {
        self.call("run_tests");
        self.answer();
        while self.sent.is_none() {
            self.wait();
        }
        self.answer();
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let [calls, jobs, rounds] = numbers[..] else { panic!("core-events CALLS JOBS ROUNDS") };
    let core = ExecutionCoordinator::new(Limits::default(), Boot::new("bench").unwrap(), "0");
    let mut bench = Bench { core, now: Timestamp::default(), calls: 0, sent: None };
    bench.handle(Event::PortBound);
    bench.handle(Event::UnityOpened { on: UNITY });
    let hello = json!({
        "type": "hello", "protocol_version": 1, "plugin_version": "0", "state": "ready",
    });
    bench.says(hello);
    bench.sent = None;
    (0..jobs).for_each(|_| bench.job());
    bench.call("read_console"); // Unity has it.
    (1..calls).for_each(|_| bench.call("read_console"));
    for _ in 0..rounds {
        bench.answer();
        bench.call("read_console");
    }
}
