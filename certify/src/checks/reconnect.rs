//! What the plugin does after the server ends a session.

use std::time::{Duration, Instant};

use protocol::PluginHello;
use serde_json::json;

use crate::check::{Check, Needs, Outcome, Stop, Topic, failed, not_tried};
use crate::plugin::{Plugin, REPLACED, Welcome};
use crate::run::Run;

/// How soon the plugin must be back.
const BACK_WAIT: Duration = Duration::from_secs(5);
/// How long a plugin stays away at least after another session was active.
const REJECTED_WAIT: Duration = Duration::from_secs(2);
/// How long to look whether a replaced plugin comes back.
const REPLACED_WAIT: Duration = Duration::from_secs(5);
/// The main thread is blocked for this long, so that an answer is owed when the socket is dropped.
const FREEZE: &str = "freeze 1500ms";
/// How long a request takes to reach the plugin.
const ARRIVAL: Duration = Duration::from_millis(200);
/// How long an answer that is owed may take.
const OWED_WAIT: Duration = Duration::from_secs(10);

pub(crate) const TOPIC: Topic = Topic {
    title: "reconnect",
    checks: &[
        Check {
            name: "A plugin whose socket is lost is back within 5 s with the same names",
            needs: Needs::Nothing,
            run: |run| Box::pin(lost_socket(run)),
        },
        Check {
            name: "An answer that is owed when the socket is lost comes on the new one",
            needs: Needs::Driver,
            run: |run| Box::pin(owed_answer(run)),
        },
        Check {
            name: "A plugin reconnects after a close with 1001",
            needs: Needs::Nothing,
            run: |run| Box::pin(closed(run, 1001, "the server stops")),
        },
        Check {
            name: "A plugin reconnects after a close with 4408",
            needs: Needs::Nothing,
            run: |run| Box::pin(closed(run, 4408, "a request has blocked Unity for too long")),
        },
    ],
};

/// These keep the plugin away, so they come last.
pub(crate) const LAST: Topic = Topic {
    title: "staying away",
    checks: &[
        Check {
            name: "A rejected plugin waits at least 2 s while another session is active",
            needs: Needs::Nothing,
            run: |run| Box::pin(rejected(run)),
        },
        Check {
            name: "A plugin that was replaced by a newer connection does not come back",
            needs: Needs::Nothing,
            run: |run| Box::pin(replaced(run)),
        },
    ],
};

/// How certify ends a session.
#[derive(Clone, Copy)]
pub(super) enum Loss {
    Drop,
    Close(u16, &'static str),
}

/// Ends the session and waits for the next one. Returns its hello and how long it took.
pub(super) async fn lose(run: &mut Run, how: Loss) -> Result<(PluginHello, Duration), Stop> {
    let mark = run.plugin.mark();
    let began = Instant::now();
    match how {
        Loss::Drop => run.plugin.drop_socket(),
        Loss::Close(code, reason) => run.plugin.close(code, reason),
    }
    match run.plugin.wait(BACK_WAIT, |plugin| plugin.hello_since(mark)).await {
        Some(hello) => Ok((hello, began.elapsed())),
        None => failed("The plugin did not come back within 5 s."),
    }
}

async fn closed(run: &mut Run, code: u16, reason: &'static str) -> Outcome {
    let (_, took) = lose(run, Loss::Close(code, reason)).await?;
    Ok(format!("It was back after {} ms.", took.as_millis()))
}

async fn lost_socket(run: &mut Run) -> Outcome {
    let Some(before) = run.plugin.hello().cloned() else { return failed("There is no session.") };
    let (after, took) = lose(run, Loss::Drop).await?;
    if before.editor_instance_id != after.editor_instance_id {
        return failed("editor_instance_id has changed, but it is the same Editor.");
    }
    if before.plugin_session_id != after.plugin_session_id {
        return failed(
            "plugin_session_id has changed. A lost socket is no reason to forget requests.",
        );
    }
    if let (Some(earlier), Some(later)) = (before.connect_attempt_seq, after.connect_attempt_seq)
        && later <= earlier
    {
        return failed(format!("connect_attempt_seq is {later} after {earlier}; it must grow."));
    }
    Ok(format!("It was back after {} ms.", took.as_millis()))
}

async fn owed_answer(run: &mut Run) -> Outcome {
    run.needs_tool("read_console")?;
    run.type_and_wait(FREEZE).await;
    let params = json!({ "max_entries": 1, "stack_traces": true });
    let id = run.plugin.send_execute("read_console", params)?;
    run.plugin.pause(ARRIVAL).await;
    if run.plugin.answer_to(&id).is_some() {
        return not_tried(
            "The answer came before the socket was dropped: the Editor was not blocked.",
        );
    }
    let (hello, _) = lose(run, Loss::Drop).await?;
    if run.plugin.is_forgotten(&id) {
        return failed(
            "plugin_session_id has changed. A lost socket is no reason to forget requests.",
        );
    }
    let named = hello.running_request_id.as_ref();
    if let Some(other) = named.filter(|named| **named != id) {
        let other = protocol::printable(&other.0, 80);
        return failed(format!("running_request_id is {other}; the request that runs is {id}."));
    }
    let is_named = named.is_some();
    run.plugin.answer(&id, OWED_WAIT).await?;
    Ok(if is_named {
        "The hello named it as running_request_id, and the answer came later.".to_owned()
    } else {
        "The answer came on the new socket.".to_owned()
    })
}

async fn rejected(run: &mut Run) -> Outcome {
    run.plugin.welcome = Welcome::RejectOnce;
    let mark = run.plugin.mark();
    run.plugin.close(1001, "the server stops");
    let is_done = |plugin: &Plugin| matches!(plugin.welcome, Welcome::Accept { .. }).then_some(());
    if run.plugin.wait(BACK_WAIT, is_done).await.is_none() {
        run.plugin.welcome = Welcome::USUAL;
        return failed("The plugin did not come back within 5 s.");
    }
    let since = run.plugin.mark();
    let again = |plugin: &Plugin| plugin.has_opened_since(since).then_some(());
    let again = run.plugin.wait(REJECTED_WAIT, again).await;
    run.evidence = Some(mark..run.plugin.mark());
    match again {
        None => Ok("It did not try again within 2 s.".to_owned()),
        Some(()) => failed("It tried again within 2 s. Wait some seconds."),
    }
}

async fn replaced(run: &mut Run) -> Outcome {
    let mark = run.plugin.mark();
    run.plugin.close(1000, REPLACED);
    let back = |plugin: &Plugin| plugin.has_opened_since(mark).then_some(());
    match run.plugin.wait(REPLACED_WAIT, back).await {
        None => Ok("It stayed away for 5 s.".to_owned()),
        Some(()) => failed("It came back. Two plugins that replace each other would never stop."),
    }
}
