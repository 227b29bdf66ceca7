//! What the promises notice, on wires that are written by hand.

use mock_unity::{Books, Execution};
use protocol::{JobState, JobStatus, RequestId, UnityJobId};
use serde_json::json;

use super::*;
use crate::scenario::SERVER;

/// What is said at a time: milliseconds, who (`#2` is the second connection), and what.
type Said = (u64, &'static str, Json);

/// The server's end of the pipes of an agent and of the socket of Unity.
fn records(said: &[Said]) -> Vec<Record> {
    let record = |(at, who, message): &Said| {
        let client = if who.contains("unity") { "unity" } else { "ann" };
        let number = if who.contains("#2") { 2 } else { 1 };
        let wire = Wire { client: client.into(), server: SERVER.into(), number };
        let text = message.as_str().map(|text| WireMessage::Text(text.to_owned()));
        let message = text.unwrap_or_else(|| WireMessage::Json(message.clone()));
        let crossing = match (message, who.split(' ').next()) {
            (WireMessage::Text(end), _) if end == "the end" => Crossing::Ended,
            (message, Some("to")) => Crossing::Sent(message),
            (message, _) => Crossing::Received(message),
        };
        let what = RecordKind::Crossing { host: SERVER.into(), wire, crossing };
        Record { at: Duration::from_millis(*at), what }
    };
    said.iter().map(record).collect()
}

/// One after the other, a millisecond each.
fn failures(said: &[(&'static str, Json)], ran: &[&str]) -> Vec<String> {
    let timed = (1..).zip(said).map(|(at, (who, what))| (at, *who, what.clone()));
    judge(&records(&timed.collect::<Vec<_>>()), &books_with(ran), Rules::default()).0
}

fn timed(said: &[Said], books: Books) -> String {
    let rules = Rules {
        is_forged: false,
        reconnect_wait: Duration::from_millis(2_500),
        compile_grace: Duration::from_secs(60),
        queue_wait: Duration::from_secs(120),
        poll_interval: Duration::from_secs(1),
        queue_max: 32,
        has_relays: false,
        detour: Duration::ZERO,
    };
    let books = AllBooks::from([("unity".to_owned(), (Duration::ZERO, books))]);
    judge(&records(said), &books, rules).0.concat()
}

fn call(id: u64, label: &str) -> (&'static str, Json) {
    let arguments = json!({ "client_request_id": label });
    let params = json!({ "name": "read_console", "arguments": arguments });
    ("from ann", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

fn answer(id: u64) -> (&'static str, Json) {
    let result = json!({ "structuredContent": { "entries": [], "truncated": false } });
    ("to ann", json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn error(id: u64, guarantee: &str) -> (&'static str, Json) {
    let details = json!({ "execution_guarantee": guarantee, "recovery_action": "retry" });
    let error = json!({ "error": { "code": "ERR_REQUEST_TIMEOUT", "details": details } });
    let content = json!([{ "type": "text", "text": error.to_string() }]);
    let result = json!({ "isError": true, "content": content });
    ("to ann", json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn execute(id: &str, label: &str) -> (&'static str, Json) {
    ("to unity", json!({ "type": "execute", "request_id": id, "client_request_id": label }))
}

fn result(id: &str) -> (&'static str, Json) {
    console(id, &json!([]))
}

fn console(id: &str, entries: &Json) -> (&'static str, Json) {
    let result = json!({ "entries": entries, "truncated": false });
    ("from unity", json!({ "type": "result", "request_id": id, "result": result }))
}

/// The books of a Unity that ran these calls.
fn books_with(ran: &[&str]) -> AllBooks {
    let execution = |call: &&str| Execution {
        at: Duration::ZERO,
        request_id: RequestId("r1".to_owned()),
        client_request_id: Some((*call).to_owned()),
        tool_name: "read_console".to_owned(),
    };
    let executed = ran.iter().map(execution).collect();
    let books = Books { executed, ..Books::default() };
    AllBooks::from([("unity".to_owned(), (Duration::ZERO, books))])
}

#[test]
fn what_is_right_passes_and_each_broken_promise_is_noticed() {
    let hello = ("to unity", json!({ "type": "hello" }));
    let cancel = json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let cancel = ("from ann", cancel);
    let right = [hello.clone(), call(1, "a"), execute("r1", "a"), result("r1"), answer(1)];
    assert_eq!(failures(&right, &["a"]), Vec::<String>::new());
    assert!(failures(&right, &[]).concat().contains("never ran"));
    let others = console("r1", &json!([{ "type": "log", "message": "x" }]));
    let told = [hello.clone(), call(1, "a"), execute("r1", "a"), others, answer(1)];
    assert!(failures(&told, &["a"]).concat().contains("truncated says"));
    let pause = (0..40).map(|_| ("to unity", json!({ "type": "ping" })));
    let late: Vec<_> = right.iter().take(4).cloned().chain(pause).chain([answer(1)]).collect();
    assert!(failures(&late, &["a"]).concat().contains("not passed on"));
    for (said, noticed) in [
        (vec![call(1, "a"), answer(1), answer(1)], "does not wait for"),
        (vec![call(1, "a"), cancel, answer(1)], "does not wait for"),
        (vec![("to ann", json!("println was here"))], "not MCP"),
        (vec![execute("r1", "a")], "not the session"),
        (vec![hello.clone(), execute("r1", "a"), result("r1"), execute("r1", "a")], "sent twice"),
        (vec![hello.clone(), execute("r1", "a"), execute("r2", "b")], "while Unity had r1"),
        (
            vec![
                hello.clone(),
                call(1, "a"),
                call(2, "b"),
                execute("r2", "b"),
                result("r2"),
                execute("r1", "a"),
            ],
            "a came before b",
        ),
        (vec![hello, call(1, "a"), error(1, "not_executed"), execute("r1", "a")], "after its end"),
        (vec![call(1, "a"), error(1, "unknown")], "a was never sent"),
        (vec![call(1, "a"), error(1, "")], "without a guarantee"),
    ] {
        let failures = failures(&said, &[]);
        assert!(
            failures.iter().any(|failure| failure.contains(noticed)),
            "{noticed}: {failures:?}"
        );
    }
}

#[test]
fn a_promise_that_the_books_refute_is_noticed_of_calls_and_of_jobs() {
    let mut checker =
        PromiseChecker { ran: vec!["a".to_owned(), "t".to_owned()], ..PromiseChecker::default() };
    assert!(checker.on_failure("a", "not_executed").is_err());
    let accepted = json!({ "job_id": "job-1", "state": "queued" });
    assert_eq!(checker.on_result(Duration::ZERO, Some("t".to_owned()), &accepted), Ok(()));
    let failed = json!({
        "job_id": "job-1",
        "state": "failed",
        "error": {
            "code": "ERR_REQUEST_TIMEOUT",
            "details": { "execution_guarantee": "not_executed", "recovery_action": "retry" },
        },
    });
    assert!(checker.on_result(Duration::ZERO, None, &failed).unwrap_err().contains("t ran"));
    let succeeded = json!({ "job_id": "job-1", "state": "succeeded" });
    assert!(checker.on_result(Duration::ZERO, None, &succeeded).unwrap_err().contains("became"));
}

/// A call of a tool that asks for progress.
fn asks(id: u64, tool: &str, mut with: Json) -> Json {
    with["client_request_id"] = format!("call{id}").into();
    let params = json!({ "name": tool, "arguments": with, "_meta": { "progressToken": id } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn told(id: u64, result: Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "structuredContent": result } })
}

fn progress(id: u64) -> Json {
    json!({ "method": "notifications/progress", "params": { "progressToken": id } })
}

fn from_unity(kind: &str, id: &str, fields: Json) -> Json {
    let mut frame = json!({ "type": kind, "request_id": id });
    let more = fields.as_object().cloned().unwrap_or_default();
    frame.as_object_mut().unwrap().extend(more);
    frame
}

/// A session with a job that Unity has accepted.
fn job() -> Vec<Said> {
    let hello = json!({ "type": "hello", "state": "ready" });
    let submitted = json!({ "client_request_id": "call1", "timeout_ms": 60_000 });
    vec![
        (0, "from unity", hello.clone()),
        (0, "to unity", hello),
        (10, "from ann", asks(1, "run_tests", json!({}))),
        (10, "to unity", from_unity("submit_job", "r1", submitted)),
        (10, "to ann", told(1, json!({ "job_id": "job-1", "state": "queued" }))),
        (20, "from unity", from_unity("submit_job_result", "r1", json!({ "job_id": "tests-1" }))),
    ]
}

/// After that, what happens.
fn after(mut begin: Vec<Said>, more: &[Said]) -> Vec<Said> {
    begin.extend_from_slice(more);
    begin
}

#[test]
fn an_agent_that_waits_hears_of_it_and_is_not_sent_away_too_early() {
    let call = || (0, "from ann", asks(1, "run_tests", json!({ "wait_ms": 2_400 })));
    let ended = |at| (at, "to ann", told(1, json!({ "job_id": "job-1", "state": "cancelled" })));
    let accepted = |at| (at, "to ann", told(1, json!({ "job_id": "job-1", "state": "queued" })));
    let heard = [call(), (900, "to ann", progress(1)), (2_400, "to ann", progress(1))];
    assert_eq!(timed(&after(heard.to_vec(), &[accepted(2_400)]), Books::default()), "");
    assert!(timed(&[call(), ended(1_100)], Books::default()).contains("no progress for 1.1s"));
    let rarely = [call(), (900, "to ann", progress(1)), ended(2_600)];
    assert!(timed(&rarely, Books::default()).contains("no progress for 1.7s"));
    let early = timed(&[call(), accepted(300)], Books::default());
    assert!(early.contains("wait_ms is not over"), "{early}");
    let details =
        json!({ "execution_guarantee": "not_executed", "recovery_action": "wait_for_editor" });
    let error = json!({ "code": "ERR_EDITOR_NOT_READY", "retryable": true, "details": details });
    let content = json!([{ "type": "text", "text": json!({ "error": error }).to_string() }]);
    let failed = json!({ "isError": true, "content": content });
    let failed = (400, "to ann", json!({ "jsonrpc": "2.0", "id": 1, "result": failed }));
    let given_up = timed(&[call(), failed], Books::default());
    assert!(given_up.contains("but the limit is 2.5s"), "{given_up}");
}

#[test]
fn unity_is_asked_about_a_job_in_time_and_gets_the_cancel_that_was_promised() {
    let ask =
        |at| (at, "to unity", from_unity("get_job_status", "r2", json!({ "job_id": "tests-1" })));
    let later = (1_400, "to unity", json!({ "type": "ping" }));
    let in_time = after(job(), &[ask(1_020), later.clone()]);
    assert_eq!(timed(&in_time, Books::default()), "");
    let late = timed(&after(job(), std::slice::from_ref(&later)), Books::default());
    assert!(late.contains("was not asked about call1"), "{late}");
    let promised = [
        (100, "from ann", asks(2, "cancel_job", json!({ "job_id": "job-1" }))),
        (100, "to ann", told(2, json!({ "job_id": "job-1", "status": "cancel_requested" }))),
    ];
    let promised = after(job(), &promised);
    let ping = (900, "to unity", json!({ "type": "ping" }));
    let lost = timed(&after(promised.clone(), std::slice::from_ref(&ping)), Books::default());
    assert!(lost.contains("promised and not sent"), "{lost}");
    for target in [json!({ "target_job_id": "tests-1" }), json!({ "target_request_id": "r1" })] {
        let cancel = (101, "to unity", from_unity("cancel", "r2", target));
        let sent = after(promised.clone(), &[cancel, ping.clone()]);
        assert_eq!(timed(&sent, Books::default()), "");
    }
}

#[test]
fn a_job_waits_while_an_answer_that_came_with_the_end_of_its_session_may_be_lost() {
    let said = |answered: u64, last: &[Said]| {
        let hello = json!({ "type": "hello", "state": "ready" });
        let sent = json!({ "timeout_ms": 4_000 });
        let more = [
            (30, "to unity", from_unity("execute", "r2", sent)),
            (answered, "from unity", from_unity("result", "r2", json!({ "result": {} }))),
            (60, "from unity", "the end".into()),
            (100, "from unity#2", hello.clone()),
            (100, "to unity#2", hello),
        ];
        timed(&after(after(job(), &more), last), Books::default())
    };
    let ping = (1_400, "to unity#2", json!({ "type": "ping" }));
    let asked_about = |answered| said(answered, std::slice::from_ref(&ping));
    assert!(!asked_about(60).contains("was not asked about"), "{}", asked_about(60));
    assert!(asked_about(59).contains("was not asked about call1"), "{}", asked_about(59));

    let promised = [
        (110, "from ann", asks(2, "cancel_job", json!({ "job_id": "job-1" }))),
        (110, "to ann", told(2, json!({ "job_id": "job-1", "status": "cancel_requested" }))),
        (900, "to unity#2", json!({ "type": "ping" })),
    ];
    let cancelled = |answered| said(answered, &promised);
    assert_eq!(cancelled(60), "");
    assert!(cancelled(59).contains("promised and not sent"), "{}", cancelled(59));
    // A server that sends something else does not wait.
    let [asked, told, last] = promised.clone();
    let other = (120, "to unity#2", from_unity("execute", "r3", json!({ "timeout_ms": 4_000 })));
    let other_answer = (130, "from unity#2", from_unity("result", "r3", json!({ "result": {} })));
    let busy = said(60, &[asked, told, other, other_answer, last]);
    assert!(busy.contains("promised and not sent"), "{busy}");
}

#[test]
fn a_job_whose_acceptance_came_with_the_end_of_its_session_need_not_be_asked_about() {
    let said = |ended: u64| {
        let hello = json!({ "type": "hello", "state": "ready" });
        let more = [
            (ended, "from unity", "the end".into()),
            (100, "from unity#2", hello.clone()),
            (100, "to unity#2", hello),
            (200, "to unity#2", from_unity("execute", "r2", json!({ "timeout_ms": 4_000 }))),
            (210, "from unity#2", from_unity("result", "r2", json!({ "result": {} }))),
            (1_400, "to unity#2", json!({ "type": "ping" })),
        ];
        timed(&after(job(), &more), Books::default())
    };
    assert!(!said(20).contains("was not asked about"), "{}", said(20));
    assert!(said(21).contains("was not asked about call1"), "{}", said(21));
}

#[test]
fn what_unity_gave_is_what_an_agent_gets() {
    let entries = json!([{ "type": "log", "message": "x" }]);
    let console = json!({ "entries": entries, "truncated": false });
    let given = [(RequestId("r1".to_owned()), Given::Result(console.clone()))];
    let Books { executed, .. } = books_with(&["call1"]).remove("unity").unwrap().1;
    let books = Books { executed, given: given.into(), ..Books::default() };
    let sent = json!({ "client_request_id": "call1" });
    let read = |answer: Json| {
        let said = [
            (0, "to unity", json!({ "type": "hello" })),
            (1, "from ann", asks(1, "read_console", json!({}))),
            (1, "to unity", from_unity("execute", "r1", sent.clone())),
            (5, "from unity", from_unity("result", "r1", json!({ "result": {} }))),
            (5, "to ann", told(1, answer)),
        ];
        timed(&said, books.clone())
    };
    assert_eq!(read(console), "");
    let empty = read(json!({ "entries": [], "count": 0, "truncated": true }));
    assert!(empty.contains("1 entries are missing"), "{empty}");

    let result = json!({ "summary": { "total": 1, "passed": 1 }, "failed_tests": [] });
    let status = JobStatus {
        request_id: RequestId("r2".to_owned()),
        job_id: UnityJobId("tests-1".to_owned()),
        state: JobState::Succeeded,
        progress: None,
        result: Some(result.clone()),
        error: None,
    };
    let given = [(RequestId("r2".to_owned()), Given::Job(Box::new(status)))];
    let books = Books { given: given.into(), ..Books::default() };
    let ended = json!({ "state": "succeeded" });
    let tell = |report: Json| {
        let said = [
            (500, "to unity", from_unity("get_job_status", "r2", json!({ "job_id": "tests-1" }))),
            (502, "from unity", from_unity("job_status", "r2", ended.clone())),
            (600, "from ann", asks(2, "get_job_status", json!({ "job_id": "job-1" }))),
            (600, "to ann", told(2, report)),
        ];
        timed(&after(job(), &said), books.clone())
    };
    let right = json!({ "job_id": "job-1", "state": "succeeded", "result": result });
    assert_eq!(tell(right), "");
    let nothing = tell(json!({ "job_id": "job-1", "state": "succeeded" }));
    assert!(nothing.contains("has no result"), "{nothing}");
    let running = tell(json!({ "job_id": "job-1", "state": "running" }));
    assert!(running.contains("Unity has reported its end"), "{running}");
}

#[test]
fn requests_of_two_sessions_do_not_overlap() {
    let sent = |label: &str| json!({ "client_request_id": label });
    let begin = [
        (0, "to unity", json!({ "type": "hello" })),
        (1, "to unity", from_unity("execute", "r1", sent("a"))),
        (2, "from unity", json!("the end")),
        (3, "to unity#2", json!({ "type": "hello" })),
    ];
    let second = (9, "to unity#2", from_unity("execute", "r2", sent("b")));
    let overlap = timed(&after(begin.to_vec(), std::slice::from_ref(&second)), Books::default());
    assert!(overlap.contains("r1 of an earlier session"), "{overlap}");
    let done = (5, "from unity#2", from_unity("result", "r1", json!({ "result": {} })));
    assert_eq!(timed(&after(begin.to_vec(), &[done, second]), Books::default()), "");
}
