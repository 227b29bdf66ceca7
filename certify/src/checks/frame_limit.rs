//! A server with a small limit for frames.

use std::time::Duration;

use serde_json::json;

use crate::check::{Check, Needs, Outcome, Stop, Topic, failed, not_tried};
use crate::checks::reconnect::{Loss, lose};
use crate::plugin::Welcome;
use crate::record::Fact;
use crate::run::{ANSWER_WAIT, Run, result_of};

/// The smallest limit that a server may have.
const SMALL: usize = 16 * 1024;
/// Together much larger than the limit, and each of them a sixth of it.
const ENTRIES: usize = 30;
const ENTRY_BYTES: usize = 2_700;
/// How long the driver may take to log them.
const LOG_WAIT: Duration = Duration::from_secs(1);

pub(crate) const TOPIC: Topic = Topic {
    title: "size of frames",
    checks: &[Check {
        name: "An answer is cut to a limit of 16 KiB",
        needs: Needs::Nothing,
        run: |run| Box::pin(small_limit(run)),
    }],
};

async fn small_limit(run: &mut Run) -> Outcome {
    run.needs_tool("read_console")?;
    for number in 0..ENTRIES {
        let text = "x".repeat(ENTRY_BYTES);
        run.type_word(&format!("log error \"certify large {number} {text}\""));
    }
    if run.has_driver() {
        run.plugin.pause(LOG_WAIT).await;
    }
    let whole = console_bytes(run).await?;
    if whole <= SMALL {
        return not_tried(format!(
            "The whole console takes {whole} bytes. Log more than 16 KiB, or use --driver."
        ));
    }
    run.plugin.welcome = Welcome::Accept { max_message_bytes: SMALL };
    let lost = lose(run, Loss::Close(1001, "the server stops")).await;
    let cut = match lost {
        Ok(_) => console_bytes(run).await,
        Err(stop) => Err(stop),
    };
    // Whatever happened, the checks that follow need the usual limit.
    run.plugin.welcome = Welcome::USUAL;
    lose(run, Loss::Close(1001, "the server stops")).await?;
    let cut = cut?;
    if cut > SMALL {
        return failed(format!("The answer has {cut} bytes; the limit was {SMALL}."));
    }
    Ok(format!("With a limit of {SMALL} bytes the answer has {cut} instead of {whole}."))
}

/// The size of the frame with the whole console.
async fn console_bytes(run: &mut Run) -> Result<usize, Stop> {
    let params = json!({ "max_entries": 2_000, "stack_traces": true });
    let id = run.plugin.send_execute("read_console", params)?;
    let answer = run.plugin.answer(&id, ANSWER_WAIT).await?;
    result_of("read_console", answer)?;
    let entry = run.plugin.answer_to(&id).and_then(|answer| run.plugin.record.get(answer.index));
    match entry.map(|entry| &entry.fact) {
        Some(Fact::Received { bytes, .. }) => Ok(*bytes),
        Some(Fact::Opened | Fact::Invalid | Fact::Sent | Fact::Ended { .. } | Fact::Done)
        | None => failed("The answer is not in the record."),
    }
}
