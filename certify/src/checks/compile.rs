//! A compile, and a main thread that is blocked.

use std::time::{Duration, Instant};

use protocol::{EditorState, FromUnity};
use serde_json::json;

use crate::check::{Check, Needs, Outcome, Topic, failed, not_tried};
use crate::plugin::Plugin;
use crate::run::{PONG_WAIT, Run, result_of};

/// How long a compile and the domain reload after it may take.
const READY_WAIT: Duration = Duration::from_secs(60);
const PING_INTERVAL: Duration = Duration::from_millis(100);
const FREEZE: Duration = Duration::from_secs(2);
/// The Editor was not blocked if an answer comes earlier than this.
const FREEZE_MIN: Duration = Duration::from_millis(800);
const FROZEN_PINGS: usize = 5;
/// How long after the end of the block the answer may take.
const AFTERWARDS: Duration = Duration::from_secs(5);

pub(crate) const TOPIC: Topic = Topic {
    title: "compile and blocked main thread",
    checks: &[
        Check {
            name: "A compile is announced, pings are answered during it, and ready comes back",
            needs: Needs::DriverOrPerson,
            run: |run| Box::pin(compile(run)),
        },
        Check {
            name: "While the main thread is blocked pings are answered, and calls after it",
            needs: Needs::Driver,
            run: |run| Box::pin(blocked(run)),
        },
    ],
};

async fn compile(run: &mut Run) -> Outcome {
    let (mark, socket) = (run.plugin.mark(), run.plugin.session_socket());
    let wait =
        run.act("compile 500ms", "In Unity: change a script and save it, so that Unity compiles.");
    let announced = |plugin: &Plugin| {
        let mut received = plugin.record.received_since(mark);
        received.any(|(_, message)| is_status(message, EditorState::Compiling)).then_some(())
    };
    if run.plugin.wait(wait, announced).await.is_none() {
        let why = "No editor_status with compiling came. Send it before the compile starts.";
        return run.no_effect(socket, why);
    }
    let mut pings = 0;
    // A domain reload may end the session at any time.
    while run.plugin.session_socket() == socket && !run.plugin.is_ready() {
        let Some(ping) = run.plugin.ping() else { break };
        let sent_at = Instant::now();
        let is_over = |plugin: &Plugin| {
            let is_lost = plugin.session_socket() != socket;
            let is_answered = socket.is_some_and(|socket| plugin.is_answered(socket, ping));
            (is_lost || is_answered).then_some(is_answered)
        };
        match run.plugin.wait(PONG_WAIT, is_over).await {
            Some(is_answered) => pings += usize::from(is_answered),
            None => return failed("A ping during the compile was not answered within 1 s."),
        }
        run.plugin.pause(PING_INTERVAL.saturating_sub(sent_at.elapsed())).await;
    }
    if run.plugin.wait(READY_WAIT, |plugin| plugin.is_ready().then_some(())).await.is_none() {
        return failed("The Editor was not ready again within 60 s.");
    }
    Ok(format!("{pings} pings were answered during the compile, and ready came back."))
}

pub(super) fn is_status(message: &FromUnity, state: EditorState) -> bool {
    matches!(message, FromUnity::EditorStatus(status) if status.state == state)
}

async fn blocked(run: &mut Run) -> Outcome {
    run.needs_tool("read_console")?;
    let began = Instant::now();
    run.type_and_wait(&format!("freeze {}s", FREEZE.as_secs())).await;
    let params = json!({ "max_entries": 1, "stack_traces": true });
    let id = run.plugin.send_execute("read_console", params)?;
    for _ in 0..FROZEN_PINGS {
        run.ping().await?;
        run.plugin.pause(PING_INTERVAL).await;
    }
    let answer = run.plugin.answer(&id, FREEZE + AFTERWARDS).await?;
    result_of("read_console", answer)?;
    let took = began.elapsed();
    if took < FREEZE_MIN {
        return not_tried("The call was answered at once: the driver did not block the Editor.");
    }
    Ok(format!("{FROZEN_PINGS} pings were answered, and the call after {} ms.", took.as_millis()))
}
