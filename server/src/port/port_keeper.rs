//! PortKeeper: gets the port, or finds out who has it and tries again until it is free. While another
//! unity-mcp has it, calls are relayed there.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tracing::info;

use crate::event_loop::CoordinatorHandle;
use crate::http::access::Doorkeeper;
use crate::http::{HttpHost, Surroundings};
use crate::network::{Listener, Network};
use crate::port::relay::Target;
pub use crate::port::relay::{Holder, identify};
use coordination::Event;

/// From one attempt to the next; the contract asks for two seconds at most, probe included.
const RETRY: Duration = Duration::from_millis(500);

pub(crate) struct PortKeeper<N: Network> {
    pub(crate) network: N,
    pub(crate) port: u16,
    pub(crate) core: CoordinatorHandle,
    pub(crate) relay_to: watch::Sender<Option<Target>>,
    pub(crate) surroundings: Surroundings,
    pub(crate) allowed_origins: Vec<String>,
    /// What agents and the plugin must show, if anything.
    pub(crate) token: Option<String>,
}

impl<N: Network> PortKeeper<N> {
    /// Serves on `listener`, or on the port as soon as it can be had.
    pub(crate) async fn keep(self, listener: Option<N::Listener>) {
        let listener = match listener {
            Some(listener) => listener,
            None => self.wait_for_port().await,
        };
        self.relay_to.send_replace(None);
        self.core.tell(Event::PortBound).await;
        let port = listener.port();
        info!(
            "listening on http://127.0.0.1:{port}/mcp, Unity is expected at ws://127.0.0.1:{port}/unity"
        );
        let doorkeeper = Doorkeeper::new(port, self.allowed_origins, self.token.as_deref());
        Arc::new(HttpHost::new(self.surroundings, doorkeeper)).serve(listener).await;
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
            // A holder that does not answer may be busy, or about to go or to come.
            let patience = if is_one_of_ours(announced.as_ref()) { 8 } else { 2 };
            let holder = holder.or_else(|| (unanswered >= patience).then_some(Holder::Silent));
            let target = self.target_of(holder.as_ref());
            if holder.is_some() && (&holder, &target) != (&announced, &known) {
                self.announce(holder.as_ref(), &target).await;
                (announced, known) = (holder, target);
            }
            sleep(RETRY).await;
        }
    }

    /// Where calls are passed on to; an error if the token that is needed there cannot be had.
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
        self.relay_to.send_replace(target.clone().ok().flatten());
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

fn is_one_of_ours(holder: Option<&Holder>) -> bool {
    matches!(holder, Some(Holder::UnityMcp { .. }))
}
