//! Upstream: the one place that decides where a request runs, here or at the unity-mcp that holds the port.

use coordination::{Failure, Tool};
use rmcp::model::ErrorData;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::relay::{Passed, Progress, Relay, Request, Target};
use super::relay_log::RelayLog;
use crate::network::Network;

/// Who holds the port, as far as the port keeper knows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum PortState {
    /// Requests wait until it is known.
    NotKnown,
    /// Requests run here.
    Ours,
    /// Requests are passed on.
    HeldByUnityMcp(Target),
    /// Requests run here: the core knows the holder and names it.
    HeldByOther,
}

#[derive(Clone)]
pub(crate) struct Upstream {
    relay: Relay,
    port: watch::Receiver<PortState>,
}

impl Upstream {
    pub(crate) fn new<N: Network>(network: N, port: watch::Receiver<PortState>) -> Self {
        Self { relay: Relay::new(network), port }
    }

    /// Requests run here now.
    pub(crate) fn is_here(&self) -> bool {
        matches!(*self.port.borrow(), PortState::Ours | PortState::HeldByOther)
    }

    /// Runs a request of `tool`. A `Failure` is that of the relay; everything else is the answer, from here or from
    /// the holder, whose progress reports go to `progress`. A request that has not been sent follows the port.
    pub(crate) async fn run<T, R: DeserializeOwned + Into<T>>(
        &self,
        tool: &Tool,
        request: Request,
        here: impl Future<Output = Result<T, ErrorData>>,
        progress: &mpsc::Sender<Progress>,
        cancelled: &CancellationToken,
    ) -> Result<Result<T, ErrorData>, Failure> {
        let log = RelayLog::new(tool, request.client_request_id.as_deref());
        let mut port = self.port.clone();
        loop {
            let state = port.borrow_and_update().clone();
            match state {
                PortState::NotKnown => {}
                PortState::Ours | PortState::HeldByOther => return Ok(here.await),
                PortState::HeldByUnityMcp(target) if target.catalog < request.needs => {
                    return Err(Failure::holder_lacks(request.needs).for_tool(tool));
                }
                PortState::HeldByUnityMcp(target) => {
                    let dialled = tokio::select! {
                        biased;
                        dialled = self.relay.dial(&target, &request) => dialled,
                        () = cancelled.cancelled() => {
                            log.cancelled();
                            return Err(Failure::stopping()); // Nothing was sent.
                        }
                    };
                    let passed = match dialled {
                        Ok(dialled) => tokio::select! {
                            biased; // An answer goes out even if the conversation is about to end.
                            passed = dialled.send(progress) => passed,
                            () = cancelled.cancelled() => {
                                log.cancelled();
                                return Err(Failure::stopped_while_running().for_tool(tool));
                            }
                        },
                        Err(passed) => passed,
                    };
                    if let Some(ended) = ended::<R>(passed, &log) {
                        return ended.map(|answer| answer.map(Into::into));
                    }
                }
            }
            // Nothing was sent. The port keeper says in each of its rounds who holds the port.
            tokio::select! {
                biased;
                changed = port.changed() => changed.map_err(|_| Failure::stopping())?,
                () = cancelled.cancelled() => return Err(Failure::stopping()),
            }
        }
    }
}

/// How a request ended at the holder; `None` if nobody is there.
fn ended<R: DeserializeOwned>(
    passed: Passed,
    log: &RelayLog<'_>,
) -> Option<Result<Result<R, ErrorData>, Failure>> {
    let failure = match passed {
        Passed::NobodyThere => return None,
        Passed::Unreachable(why) => Failure::holder_unreachable(&why),
        Passed::NotWritable => Failure::malformed_request(),
        Passed::NoRoom => Failure::too_much_unanswered(),
        Passed::Lost => Failure::holder_lost(),
        Passed::Answer(Ok(result)) => match R::deserialize(&result) {
            Ok(answer) => {
                log.answered(&result);
                return Some(Ok(Ok(answer)));
            }
            Err(_) => Failure::holder_lost(), // It makes no sense.
        },
        Passed::Answer(Err(error)) => {
            log.refused(&error);
            return Some(Ok(Err(error)));
        }
    };
    let failure = failure.for_tool(log.tool);
    log.failed(&failure);
    Some(Err(failure))
}
