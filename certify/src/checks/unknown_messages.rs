//! What a newer server may send.

use serde_json::json;

use crate::check::{Check, Needs, Outcome, Topic, failed};
use crate::plugin::Plugin;
use crate::run::{ANSWER_WAIT, PONG_WAIT, Run};

pub(crate) const TOPIC: Topic = Topic {
    title: "messages of a newer server",
    checks: &[
        Check {
            name: "An unknown message type does not end the session",
            needs: Needs::Nothing,
            run: |run| Box::pin(unknown_type(run)),
        },
        Check {
            name: "Unknown fields do not end the session",
            needs: Needs::Nothing,
            run: |run| Box::pin(unknown_fields(run)),
        },
    ],
};

async fn unknown_type(run: &mut Run) -> Outcome {
    let socket = run.plugin.session_socket();
    run.plugin.send_text(r#"{"type":"certify_unknown","note":"ignore me","protocol_version":1}"#);
    run.ping().await?;
    same_session(run, socket)
}

async fn unknown_fields(run: &mut Run) -> Outcome {
    let socket = run.plugin.session_socket();
    let Some(ping) = run.plugin.ping_with_unknown_field() else {
        return failed("The session has ended.");
    };
    let answered =
        |plugin: &Plugin| socket.filter(|socket| plugin.is_answered(*socket, ping)).map(|_| ());
    if run.plugin.wait(PONG_WAIT, answered).await.is_none() {
        return failed("A ping with an unknown field was not answered within 1 s.");
    }
    if run.plugin.offers("read_console") {
        let params = json!({ "max_entries": 1, "stack_traces": true, "certify_unknown": [1] });
        let id = run.plugin.send_execute("read_console", params)?;
        run.plugin.answer(&id, ANSWER_WAIT).await?;
    }
    same_session(run, socket)
}

fn same_session(run: &Run, socket: Option<u64>) -> Outcome {
    if run.plugin.session_socket() == socket {
        return Ok("The session went on.".to_owned());
    }
    failed("The session has ended.")
}
