//! PortKeeper: yields a listener on the port. As long as another program holds the port, it finds out which one, says
//! so, and tries again.

use std::io::ErrorKind;

use coordination::Event;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::info;

use super::holder::{Holder, identify};
use super::relay::Target;
use crate::budget::{PORT_RETRY, PORT_SILENT_ATTEMPTS, PORT_SILENT_ATTEMPTS_OF_OURS};
use crate::event_loop::CoordinatorHandle;
use crate::network::Network;

pub(crate) struct PortKeeper<N: Network> {
    pub(crate) network: N,
    pub(crate) port: u16,
    pub(crate) core: CoordinatorHandle,
    pub(crate) holder: watch::Sender<Option<Target>>,
}

impl<N: Network> PortKeeper<N> {
    /// Ends when the port is ours.
    pub(crate) async fn listener(self) -> N::Listener {
        let listener = self.wait_for_port().await;
        self.holder.send_replace(None);
        listener
    }

    async fn wait_for_port(&self) -> N::Listener {
        let (mut announced, mut known) = (None, Ok(None));
        let mut unanswered = 0;
        loop {
            let holder = match self.network.bind(self.port).await {
                Ok(listener) => return listener,
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    identify(&self.network, self.port).await
                }
                Err(error) => Some(Holder::System(error.to_string())),
            };
            unanswered = if holder.is_some() { 0 } else { unanswered + 1 };
            // A holder that does not answer may be busy, ending or starting.
            let attempts = match announced {
                Some(Holder::UnityMcp { .. }) => PORT_SILENT_ATTEMPTS_OF_OURS,
                Some(
                    Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_),
                )
                | None => PORT_SILENT_ATTEMPTS,
            };
            let holder = holder.or_else(|| (unanswered >= attempts).then_some(Holder::Silent));
            let target = self.target_of(holder.as_ref());
            if holder.is_some() && (&holder, &target) != (&announced, &known) {
                self.announce(holder.as_ref(), &target).await;
                (announced, known) = (holder, target);
            }
            sleep(PORT_RETRY).await;
        }
    }

    /// Where calls are passed on to; an error if the token that is required there cannot be read.
    fn target_of(&self, holder: Option<&Holder>) -> Result<Option<Target>, String> {
        let port = self.port;
        match holder {
            Some(Holder::UnityMcp { requires_token: false, .. }) => {
                Ok(Some(Target { port, token: None }))
            }
            Some(Holder::UnityMcp { requires_token: true, .. }) => match token::read() {
                Ok(token) => Ok(token.map(|token| Target { port, token: Some(token) })),
                Err(error) => Err(error.to_string()),
            },
            Some(Holder::Stranger | Holder::OfAnotherUser | Holder::Silent | Holder::System(_))
            | None => Ok(None),
        }
    }

    async fn announce(&self, holder: Option<&Holder>, target: &Result<Option<Target>, String>) {
        let (port, description) = (self.port, holder.map(Holder::describe).unwrap_or_default());
        self.holder.send_replace(target.clone().ok().flatten());
        match target {
            Ok(Some(_)) => info!("port {port} is held by {description}: calls are relayed to it"),
            Ok(None) => self.core.tell(Event::PortHeld { port, holder: description }).await,
            Err(problem) => {
                let holder = format!("{description}, but {problem}");
                self.core.tell(Event::PortHeld { port, holder }).await;
            }
        }
    }
}
