//! What a log needs: states, waits, and the names and times of every request.

use coordination::{
    Boot, CallId, CallTimes, ConnectionId, Core, Effect, Event, ExecutionCoordinator, Limits,
    RawCall, Timestamp, validate,
};
use protocol::codec::decode;
use protocol::{Json, RequestId};

use super::check::check;

#[test]
fn every_change_of_state_is_noted_whatever_frame_reports_it() {
    check(
        r#"
        show states
        0 bound
        -> 0 note StateChanged { server: WaitingEditor, editor: None, waiting: Some(Disconnected) }
        0 compiling 1
        -> 0 note StateChanged { server: Ready, editor: Some(Compiling), waiting: Some(Compiling) }
        1000 unity 1 pong {"editor_state":"reloading","seq":2}
        -> 1000 note StateChanged { server: Ready, editor: Some(Reloading), waiting: Some(Reloading) }
        2000 closedwith 1 1001
        -> 2000 note SessionEnded { on: ConnectionId(1), why: SocketClosed }
        -> 2000 note StateChanged { server: WaitingEditor, editor: Some(Reloading), waiting: Some(Reloading) }
        3000 ready 2
        -> 3000 note StateChanged { server: Ready, editor: Some(Ready), waiting: None }
        4000 unity 2 editor_status {"state":"ready","seq":3}
        5000 close 2
        -> 5000 note SessionEnded { on: ConnectionId(2), why: SocketClosed }
        -> 5000 note StateChanged { server: WaitingEditor, editor: None, waiting: Some(Disconnected) }
        6000 stop
        -> 6000 stopped
        -> 6000 note StateChanged { server: Stopped, editor: None, waiting: Some(Disconnected) }
    "#,
    );
}

#[test]
fn a_call_that_cannot_be_sent_notes_why_it_waits() {
    check(
        r#"
        show states
        0 call 1 read_console
        -> 0 note CallWaits { call: CallId(1), request_id: RequestId("req-t-1"), reason: "disconnected" }
        100 ready 1
        -> 100 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        -> 100 note StateChanged { server: Ready, editor: Some(Ready), waiting: None }
        200 call 2 read_console
        -> 200 note CallWaits { call: CallId(2), request_id: RequestId("req-t-2"), reason: "busy" }
        300 unity 1 editor_status {"state":"compiling","seq":1}
        -> 300 note StateChanged { server: Ready, editor: Some(Compiling), waiting: Some(Compiling) }
        400 call 3 read_console
        -> 400 note CallWaits { call: CallId(3), request_id: RequestId("req-t-3"), reason: "compiling" }
    "#,
    );
}

#[test]
fn a_new_job_notes_its_request_even_if_its_call_is_cancelled() {
    check(
        r#"
        show states
        0 ready 1
        -> 0 note StateChanged { server: Ready, editor: Some(Ready), waiting: None }
        100 call 1 run_tests {"wait_ms":5000,"client_request_id":"mine"}
        -> 100 note JobIssued { names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: Some("mine"), job: Some(job-t-1) } }
        -> 100 unity 1 submit_job req-t-1 run_tests {"mode":"all"} timeout=300000 client=mine
        -> 100 note JobChanged { job: job-t-1, state: Running }
        200 cancel 1
        -> 200 note CallCancelled { call: CallId(1), names: RequestNames { request_id: RequestId("req-t-1"), client_request_id: Some("mine"), job: Some(job-t-1) } }
    "#,
    );
}

#[test]
fn the_editor_state_lists_active_jobs_and_the_last_ten_that_ended() {
    let mut script = String::from("0 ready 1\n");
    for job in 1..=13 {
        let at = job * 100;
        script += &format!(
            "{at} call {job} run_tests\n{at} call 10{job} cancel_job {{\"job_id\":\"job-t-{job}\"}}\n"
        );
    }
    script += "2000 call 200 get_editor_state\n";
    let trace = super::check::trace(&script);
    let state = trace.lines().last().unwrap_or_default();
    let jobs: Vec<&str> = state.split(' ').filter(|word| word.starts_with("job-t-")).collect();
    // The first is being submitted, the others never left the queue.
    let ended: Vec<String> = (4..=13).rev().map(|job| format!("job-t-{job}")).collect();
    assert_eq!(jobs[0], "job-t-1", "{trace}");
    assert_eq!(jobs[1..], ended, "{trace}");
    assert!(state.contains("job-t-13 run_tests Cancelled since 1300"), "{trace}");
}

struct Server(ExecutionCoordinator);

impl Server {
    fn new() -> Self {
        let core = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
        let mut server = Self(core);
        server.at(0, Event::PortBound);
        server
    }

    fn at(&mut self, millis: u64, event: Event) -> Vec<Effect> {
        self.0.handle(Timestamp::from_millis(millis), event)
    }

    fn open(&mut self, millis: u64, on: u64) {
        let on = ConnectionId(on);
        self.at(millis, Event::UnityOpened { on });
        self.unity(millis, on.0, r#"{"type":"hello","plugin_version":"1","state":"ready"}"#);
    }

    fn unity(&mut self, millis: u64, on: u64, frame: &str) -> Vec<Effect> {
        let frame = frame.replacen('{', "{\"protocol_version\":1,", 1);
        let on = ConnectionId(on);
        self.at(millis, Event::UnityFrame { on, frame: decode(frame.as_bytes()) })
    }

    fn call(&mut self, millis: u64, number: u64, tool: &str, arguments: Json) -> Vec<Effect> {
        let arguments = arguments.as_object().cloned().unwrap();
        let request = validate(RawCall { tool: tool.to_owned(), arguments }).unwrap();
        let call = CallId(number);
        self.at(millis, Event::CallReceived { call, request, wants_progress: false })
    }

    /// `client_request_id` and job of a request.
    fn names(&self, request_id: &str) -> String {
        let names = Core::names(&self.0, &RequestId(request_id.to_owned()));
        let Some(names) = names else { return "unknown".to_owned() };
        let job = names.job.map(|job| job.to_string());
        format!("{:?} {:?}", names.client_request_id, job).replace("Some(", "").replace(')', "")
    }
}

/// When the call that these effects answer arrived and when it was served.
fn times(effects: &[Effect]) -> (u64, Option<u64>) {
    let times = effects.iter().find_map(|effect| {
        if let Effect::Reply { times, .. } = effect { Some(*times) } else { None }
    });
    let CallTimes { arrived, served } = times.unwrap();
    let millis = |at: Timestamp| u64::try_from(at.since_start().as_millis()).unwrap();
    (millis(arrived), served.map(millis))
}

const ACCEPTED: &str =
    r#"{"type":"submit_job_result","request_id":"req-t-2","status":"accepted","job_id":"u1"}"#;

#[test]
fn every_request_on_the_wire_has_the_names_of_its_call_and_its_job() {
    let mut server = Server::new();
    server.open(0, 1);
    server.call(0, 1, "read_console", json(r#"{"client_request_id":"a"}"#));
    server.call(0, 2, "run_tests", json(r#"{"client_request_id":"b"}"#));
    let console = r#"{"type":"result","request_id":"req-t-1","status":"ok","result":{"entries":[],"count":0,"truncated":false}}"#;
    server.unity(10, 1, console);
    server.unity(20, 1, ACCEPTED);
    server.call(30, 3, "get_job_status", json(r#"{"job_id":"job-t-1","client_request_id":"c"}"#));
    server.call(40, 4, "cancel_job", json(r#"{"job_id":"job-t-1"}"#));
    let status = r#"{"type":"job_status","request_id":"req-t-3","job_id":"u1","state":"running"}"#;
    server.unity(50, 1, status);

    assert_eq!(server.names("req-t-1"), r#""a" None"#);
    assert_eq!(server.names("req-t-2"), r#""b" "job-t-1""#);
    assert_eq!(server.names("req-t-3"), r#""c" "job-t-1""#);
    assert_eq!(server.names("req-t-5"), r#"None "job-t-1""#);
    assert_eq!(server.names("req-t-9"), "unknown");
}

#[test]
fn a_cancel_beside_the_lane_has_the_name_of_its_job() {
    let mut server = Server::new();
    server.open(0, 1);
    server.call(0, 1, "run_tests", json("{}"));
    server.at(10, Event::UnityClosed { on: ConnectionId(1), by: coordination::ClosedBy::Anyone });
    server.open(20, 2);
    server.call(30, 2, "cancel_job", json(r#"{"job_id":"job-t-1"}"#));
    assert_eq!(server.names("req-t-3"), r#"None "job-t-1""#);
}

#[test]
fn the_oldest_names_are_forgotten() {
    let mut server = Server::new();
    server.open(0, 1);
    for number in 1..=65 {
        server.call(0, number, "read_console", json("{}"));
        let answer = format!(
            r#"{{"type":"result","request_id":"req-t-{number}","status":"ok","result":{{"entries":[],"count":0,"truncated":false}}}}"#
        );
        server.unity(0, 1, &answer);
    }
    assert_eq!(server.names("req-t-1"), "unknown");
    assert_eq!(server.names("req-t-2"), "None None");
    assert_eq!(server.names("req-t-65"), "None None");
}

#[test]
fn an_answer_says_when_its_call_arrived_and_when_it_was_sent() {
    let mut server = Server::new();
    server.call(100, 1, "read_console", json("{}"));
    server.open(400, 1);
    let console = r#"{"type":"result","request_id":"req-t-1","status":"ok","result":{"entries":[],"count":0,"truncated":false}}"#;
    assert_eq!(times(&server.unity(900, 1, console)), (100, Some(400)));
}

#[test]
fn a_call_that_was_never_sent_was_never_served() {
    let mut server = Server::new();
    server.call(100, 1, "read_console", json("{}"));
    assert_eq!(times(&server.at(2_600, Event::DeadlineReached)), (100, None));
    assert_eq!(times(&server.call(3_000, 2, "get_editor_state", json("{}"))), (3_000, Some(3_000)));
}

#[test]
fn a_call_that_waits_for_its_job_was_served_when_the_job_was_sent() {
    let mut server = Server::new();
    server.open(0, 1);
    server.call(0, 1, "read_console", json("{}"));
    server.call(100, 2, "run_tests", json(r#"{"wait_ms":60000}"#));
    let console = r#"{"type":"result","request_id":"req-t-1","status":"ok","result":{"entries":[],"count":0,"truncated":false}}"#;
    server.unity(300, 1, console);
    server.unity(400, 1, ACCEPTED);
    server.at(1_400, Event::DeadlineReached);
    let status = r#"{"type":"job_status","request_id":"req-t-3","job_id":"u1","state":"failed"}"#;
    assert_eq!(times(&server.unity(1_500, 1, status)), (100, Some(300)));
}

#[test]
fn a_call_that_came_back_unsent_was_not_served() {
    check(
        r#"
        show states
        0 ready 1
        -> 0 note StateChanged { server: Ready, editor: Some(Ready), waiting: None }
        100 call 1 read_console
        -> 100 unity 1 execute req-t-1 read_console {"max_entries":50,"stack_traces":true} timeout=10000
        200 notsent 1
        -> 200 note SessionEnded { on: ConnectionId(1), why: NotWritable }
        -> 200 unity 1 close 1001 the socket does not take frames
        -> 200 note StateChanged { server: WaitingEditor, editor: None, waiting: Some(Disconnected) }
        -> 2700 call 1 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor waiting=disconnected
        3000 tick
    "#,
    );
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}
