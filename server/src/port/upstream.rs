//! Upstream: the one place that decides where a request runs, here or at the unity-mcp that holds the port.

use coordination::{Failure, Tool};
use rmcp::model::ErrorData;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::relay::{Passed, Relay, Request, Target};
use crate::network::Network;

#[derive(Clone)]
pub(crate) struct Upstream {
    relay: Relay,
    /// The unity-mcp that holds the port, if it is not this one.
    holder: watch::Receiver<Option<Target>>,
}

impl Upstream {
    pub(crate) fn new<N: Network>(network: N, holder: watch::Receiver<Option<Target>>) -> Self {
        Self { relay: Relay::new(network), holder }
    }

    /// Runs a request of `tool`. A `Failure` is that of the relay; everything else is the answer, from here or from
    /// the holder, whose progress reports go to `progress`.
    pub(crate) async fn run<T, R: DeserializeOwned + Into<T>>(
        &self,
        tool: &Tool,
        request: impl FnOnce() -> Request,
        here: impl Future<Output = Result<T, ErrorData>>,
        progress: &mpsc::Sender<String>,
        cancelled: &CancellationToken,
    ) -> Result<Result<T, ErrorData>, Failure> {
        let target = self.holder.borrow().clone();
        let Some(target) = target else { return Ok(here.await) };
        let passed = tokio::select! {
            biased;
            passed = self.relay.pass_on::<R>(&target, request(), progress) => passed,
            () = cancelled.cancelled() => return Err(Failure::stopped_while_running().for_tool(tool)),
        };
        match passed {
            Passed::NotSent => Ok(here.await),
            Passed::Answer(answer) => Ok(answer.map(Into::into)),
            Passed::NoRoom => Err(Failure::too_much_unanswered()),
            Passed::Lost => Err(Failure::holder_lost().for_tool(tool)),
        }
    }
}
