//! SPEC 13.8 to 13.11: how long an id counts, and what a plugin says of it.

use crate::check::{check, trace};

#[test]
fn an_answer_is_replayed_after_ten_minutes() {
    check(
        r#"
        catalog 1.1
        limit heartbeat_interval 3600000
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 1 call 1 ok {"path":"A"}
        600000 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 600000 call 2 ok replayed {"path":"A"}
    "#,
    );
}

#[test]
fn an_answer_is_replayed_while_the_server_stops() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"A"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"A","additive":false} timeout=30000 client=x
        1 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}
        -> 1 call 1 ok {"path":"A"}
        2 stop
        -> 2 unity 1 close 1001 the server is stopping
        3 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 3 call 2 ok replayed {"path":"A"}
        4 call 3 open_scene {"client_request_id":"y","path":"A"}
        -> 4 call 3 ERR_EDITOR_NOT_READY not_executed retryable wait_for_editor
    "#,
    );
}

#[test]
fn an_id_that_the_book_knows_for_something_else_can_still_be_settled() {
    check(
        r#"
        catalog 1.1
        0 ready 1 {"request_book":"b"}
        0 call 1 open_scene {"client_request_id":"x","path":"B"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"B","additive":false} timeout=30000 client=x
        1 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_INVALID_REQUEST","message":"used before"}}
        -> 1 call 1 ERR_INVALID_REQUEST unknown final inspect_then_retry unity=ERR_INVALID_REQUEST
        2 call 2 open_scene {"client_request_id":"x","path":"A"}
        -> 2 unity 1 execute req-t-2 open_scene {"path":"A","additive":false} timeout=30000 client=x
        3 unity 1 result {"request_id":"req-t-2","status":"ok","result":{"path":"A"}}
        -> 3 call 2 ok {"path":"A"}
    "#,
    );
}

#[test]
fn an_id_that_is_rejected_by_a_plugin_without_a_book_is_not_sent_again() {
    check(
        r#"
        catalog 1.1
        0 ready 1
        0 call 1 open_scene {"client_request_id":"x","path":"B"}
        -> 0 unity 1 execute req-t-1 open_scene {"path":"B","additive":false} timeout=30000 client=x
        1 unity 1 error {"request_id":"req-t-1","error":{"code":"ERR_INVALID_REQUEST","message":"odd"}}
        -> 1 call 1 ERR_INVALID_REQUEST unknown final inspect_then_retry unity=ERR_INVALID_REQUEST
        2 call 2 open_scene {"client_request_id":"x","path":"B"}
        -> 2 call 2 ERR_INVALID_REQUEST unknown final inspect_then_retry unity=ERR_INVALID_REQUEST replayed
    "#,
    );
}

#[test]
fn a_book_with_a_name_over_the_limit_settles_nothing() {
    let script = |length: usize| {
        let book = "b".repeat(length);
        [
            "catalog 1.1".to_owned(),
            format!(r#"0 ready 1 {{"request_book":"{book}"}}"#),
            r#"0 call 1 open_scene {"client_request_id":"x","path":"A","timeout_ms":1}"#.to_owned(),
            "1 tick".to_owned(),
            r#"2 unity 1 result {"request_id":"req-t-1","status":"ok","result":{"path":"A"}}"#
                .to_owned(),
            r#"3 call 2 open_scene {"client_request_id":"x","path":"A"}"#.to_owned(),
        ]
        .join("\n")
    };
    assert!(trace(&script(256)).contains("execute req-t-2"), "it is asked");
    assert!(!trace(&script(257)).contains("execute req-t-2"), "it is not asked");
}
