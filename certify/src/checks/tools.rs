//! Tools that the plugin does not have.

use serde_json::json;

use crate::check::{Check, Needs, Outcome, Topic};
use crate::run::{ANSWER_WAIT, Run, expect_error};

const UNKNOWN: &str = "certify_unknown_tool";

pub(crate) const TOPIC: Topic = Topic {
    title: "unknown tools",
    checks: &[
        Check {
            name: "An execute of an unknown tool is rejected with ERR_UNKNOWN_COMMAND",
            needs: Needs::Nothing,
            run: |run| Box::pin(execute(run)),
        },
        Check {
            name: "A submit_job of an unknown tool is rejected with ERR_UNKNOWN_COMMAND",
            needs: Needs::Nothing,
            run: |run| Box::pin(submit(run)),
        },
    ],
};

async fn execute(run: &mut Run) -> Outcome {
    let id = run.plugin.send_execute(UNKNOWN, json!({}))?;
    let answer = run.plugin.answer(&id, ANSWER_WAIT).await?;
    expect_error("An unknown tool", answer, "ERR_UNKNOWN_COMMAND")
}

async fn submit(run: &mut Run) -> Outcome {
    let id = run.plugin.send_submit(UNKNOWN, json!({}))?;
    let answer = run.plugin.answer(&id, ANSWER_WAIT).await?;
    expect_error("A job of an unknown tool", answer, "ERR_UNKNOWN_COMMAND")
}
