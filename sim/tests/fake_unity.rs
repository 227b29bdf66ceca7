//! The fake Unity must notice what it is there to notice.

use coordination::ConnectionId;
use protocol::{Execute, GetJobStatus, Json, ToUnity};
use sim::random::schedule::fake_unity::FakeUnity;

fn execute(request: &str, client: &str) -> ToUnity {
    ToUnity::Execute(Execute {
        request_id: request.into(),
        client_request_id: Some(client.to_owned()),
        tool_name: "read_console".to_owned(),
        params: Json::Null,
        timeout_ms: 1,
    })
}

const ON: ConnectionId = ConnectionId(1);

#[test]
fn a_request_or_a_call_that_comes_twice_is_noticed() {
    let mut unity = FakeUnity::new();
    assert_eq!(unity.receive(ON, &execute("r1", "c1"), 0), Ok(()));
    unity.answer(0);
    let again = unity.receive(ON, &execute("r1", "c2"), 0);
    assert_eq!(again, Err("r1 was sent twice".to_owned()));
    let renamed = unity.receive(ON, &execute("r2", "c1"), 0);
    assert_eq!(renamed, Err("the call c1 was sent twice".to_owned()));
}

#[test]
fn a_second_request_on_a_socket_is_noticed_until_the_first_is_answered() {
    let mut unity = FakeUnity::new();
    assert_eq!(unity.receive(ON, &execute("r1", "c1"), 0), Ok(()));
    let second = unity.receive(ON, &execute("r2", "c2"), 60_000);
    assert_eq!(second, Err("r2 was sent while r1 was unanswered".to_owned()));
    unity.answer(0);
    assert_eq!(unity.receive(ON, &execute("r3", "c3"), 60_000), Ok(()));
}

#[test]
fn a_question_may_be_followed_by_another_request_after_five_seconds() {
    let mut unity = FakeUnity::new();
    let ask = ToUnity::GetJobStatus(GetJobStatus { request_id: "r1".into(), job_id: "u1".into() });
    assert_eq!(unity.receive(ON, &ask, 0), Ok(()));
    assert!(unity.receive(ON, &execute("r2", "c2"), 4_999).is_err());
    assert_eq!(unity.receive(ON, &execute("r3", "c3"), 5_000), Ok(()));
}

#[test]
fn the_books_hold_what_ran_and_not_what_only_came() {
    let mut unity = FakeUnity::new();
    assert_eq!(unity.receive(ON, &execute("r1", "c1"), 0), Ok(()));
    assert_eq!((unity.books.got("c1"), unity.books.ran("c1")), (true, 0));
    unity.execute();
    unity.execute();
    unity.answer(0);
    assert_eq!(unity.books.ran("c1"), 1);
}
