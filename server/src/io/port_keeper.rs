//! PortKeeper: gets the port, or finds out who has it and tries again until it is free. While another
//! unity-mcp has it, calls are relayed there.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use tracing::info;

use super::doorkeeper::Doorkeeper;
use super::event_loop::CoordinatorHandle;
use super::http_host::{HttpHost, Surroundings};
use super::network::{Listener, Network};
pub use super::relay::{Holder, identify};
use crate::coordination::Event;

/// From one attempt to the next; the contract asks for two seconds at most, probe included.
const RETRY: Duration = Duration::from_millis(500);

pub(crate) struct PortKeeper<N: Network> {
    pub(crate) network: N,
    pub(crate) port: u16,
    pub(crate) core: CoordinatorHandle,
    pub(crate) relay_to: watch::Sender<Option<u16>>,
    pub(crate) surroundings: Surroundings,
    pub(crate) allowed_origins: Vec<String>,
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
        let doorkeeper = Doorkeeper::new(port, self.allowed_origins);
        Arc::new(HttpHost::new(self.surroundings, doorkeeper)).serve(listener).await;
    }

    async fn wait_for_port(&self) -> N::Listener {
        let mut announced = None;
        let mut silent = false;
        loop {
            let holder = match self.network.bind(self.port).await {
                Ok(listener) => return listener,
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    identify(&self.network, self.port).await
                }
                Err(error) => Some(Holder::System(error.to_string())),
            };
            // A holder that does not answer may be about to go or to come: it is asked twice.
            let holder = holder.or_else(|| silent.then_some(Holder::Stranger));
            silent = holder.is_none();
            if let Some(holder) = holder.filter(|holder| announced.as_ref() != Some(holder)) {
                self.announce(&holder).await;
                announced = Some(holder);
            }
            sleep(RETRY).await;
        }
    }

    async fn announce(&self, holder: &Holder) {
        let (port, description) = (self.port, holder.describe());
        let is_one_of_ours = matches!(holder, Holder::UnityMcp { .. });
        self.relay_to.send_replace(is_one_of_ours.then_some(port));
        if is_one_of_ours {
            info!("port {port} is held by {description}: calls are relayed to it");
        } else {
            self.core.tell(Event::PortHeld { port, holder: description }).await;
        }
    }
}
