//! PortKeeper: yields a listener on the port. As long as another program holds the port, it finds out which one, says
//! so, and tries again.

use std::io::ErrorKind;
use std::time::Duration;

use coordination::Event;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::info;

use super::holder::{Holder, identify};
use super::relay::Target;
use super::upstream::PortState;
use crate::budget::{PORT_RETRY, PORT_SILENT_TIMEOUT, PORT_SILENT_TIMEOUT_OF_OURS};
use crate::event_loop::CoordinatorHandle;
use crate::network::Network;

pub(crate) struct PortKeeper<N: Network> {
    pub(crate) network: N,
    pub(crate) port: u16,
    pub(crate) core: CoordinatorHandle,
    /// Sent again in each round: a request that found nobody at the port waits for that.
    pub(crate) state: watch::Sender<PortState>,
}

/// The holder, and where requests are passed on to. If it gets none, what agents see of it.
type Known = (Holder, Result<Target, String>);

impl<N: Network> PortKeeper<N> {
    /// Ends when the port is ours. `bound` is its listener if it was free at the start.
    pub(crate) async fn listener(self, bound: Option<N::Listener>) -> N::Listener {
        let listener = match bound {
            Some(listener) => listener,
            None => self.wait_for_port().await,
        };
        self.core.tell(Event::PortBound).await; // Before any request that has waited for it.
        self.state.send_replace(PortState::Ours);
        listener
    }

    async fn wait_for_port(&self) -> N::Listener {
        let mut known: Option<Known> = None;
        let mut heard_at = Instant::now();
        loop {
            let silent_at = heard_at + silent_timeout(known.as_ref());
            let found = match self.network.bind(self.port).await {
                Ok(listener) => {
                    info!("port {} is free: this server takes it", self.port);
                    return listener;
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    timeout_at(silent_at, identify(&self.network, self.port)).await.ok().flatten()
                }
                Err(error) => match &known {
                    // No descriptor is left, for example. That says nothing about the holder.
                    Some((holder @ Holder::UnityMcp { .. }, _)) => Some(holder.clone()),
                    Some(_) | None => Some(Holder::System(error.to_string())),
                },
            };
            let is_silent = Instant::now() >= silent_at;
            if let Some(holder) = found.or_else(|| is_silent.then_some(Holder::Silent)) {
                heard_at = Instant::now();
                known = Some(self.tell(holder, known).await);
            }
            sleep(PORT_RETRY).await;
        }
    }

    /// Tells the core, or the log, if it is news. Tells the requests that wait in any case.
    async fn tell(&self, holder: Holder, known: Option<Known>) -> Known {
        let port = self.port;
        let target = self.target_of(&holder);
        let now = (holder, target);
        let is_news = known.as_ref() != Some(&now);
        let (holder, target) = &now;
        match target {
            Ok(target) => {
                if is_news {
                    let holder = holder.describe();
                    info!("port {port} is held by {holder}: calls are relayed to it");
                }
                self.state.send_replace(PortState::HeldByUnityMcp(target.clone()));
            }
            Err(shown) => {
                if is_news {
                    self.core.tell(Event::PortHeld { port, holder: shown.clone() }).await;
                }
                self.state.send_replace(PortState::HeldByOther);
            }
        }
        now
    }

    /// The token is read again in each round: it may have been repaired.
    fn target_of(&self, holder: &Holder) -> Result<Target, String> {
        let port = self.port;
        match holder {
            Holder::UnityMcp { requires_token: false, catalog, .. } => {
                Ok(Target { port, token: None, catalog: *catalog })
            }
            Holder::UnityMcp { requires_token: true, catalog, .. } => match token::read() {
                Ok(Some(token)) => Ok(Target { port, token: Some(token), catalog: *catalog }),
                Ok(None) => Err(holder.describe()),
                Err(problem) => Err(format!("{}, but {problem}", holder.describe())),
            },
            Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_) => {
                Err(holder.describe())
            }
        }
    }
}

/// How long the holder may leave every question without an answer. It may be busy, ending or starting.
fn silent_timeout(known: Option<&Known>) -> Duration {
    match known {
        Some((Holder::UnityMcp { .. }, _)) => PORT_SILENT_TIMEOUT_OF_OURS,
        Some((
            Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_),
            _,
        ))
        | None => PORT_SILENT_TIMEOUT,
    }
}
