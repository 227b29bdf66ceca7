//! Heartbeats.

use std::time::Duration;

use crate::check::{Check, Needs, Outcome, Topic};
use crate::run::Run;

const PINGS: usize = 10;
const INTERVAL: Duration = Duration::from_millis(50);

pub(crate) const TOPIC: Topic = Topic {
    title: "pings",
    checks: &[Check {
        name: "Every ping is answered within a second",
        needs: Needs::Nothing,
        run: |run| Box::pin(answered(run)),
    }],
};

async fn answered(run: &mut Run) -> Outcome {
    let mut slowest = Duration::ZERO;
    for _ in 0..PINGS {
        slowest = slowest.max(run.ping().await?);
        run.plugin.pause(INTERVAL).await;
    }
    Ok(format!("The slowest of {PINGS} pongs took {} ms.", slowest.as_millis()))
}
