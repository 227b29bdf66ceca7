//! Hosts: where programs run, with links between them and virtual time. `turmoil` and `in_memory` implement it.

use std::future::Future;
use std::io;
use std::time::Duration;

use unity_mcp::network::Network;

use crate::scenario::LinkFault;

pub(crate) trait Hosts {
    type Network: HostNetwork;

    /// Runs `software` on a new host, and again after each `start`.
    fn host<F, R>(&mut self, name: &str, software: F)
    where
        F: Fn(Self::Network) -> R + 'static,
        R: Future<Output = ()> + 'static;

    /// Lets some time pass, at most until `until`.
    fn step(&mut self, until: Duration) -> Result<(), String>;

    fn elapsed(&self) -> Duration;

    /// Kills the program on the host; the system closes its sockets.
    fn crash(&mut self, host: &str);

    fn start(&mut self, host: &str);

    fn break_link(&mut self, fault: LinkFault, from: &str, to: &str);

    /// `usual`: the latency without a fault.
    fn restore_link(&mut self, fault: LinkFault, from: &str, to: &str, usual: Duration);
}

/// The network as one program sees it.
pub(crate) trait HostNetwork: Network {
    /// The pipes of the program on this host, once an agent has started it.
    fn own_pipes(&self) -> impl Future<Output = io::Result<Self::Stream>>;

    /// Starts the program on `host` and holds its pipes.
    fn pipes_of(&self, host: &str) -> impl Future<Output = io::Result<Self::Stream>>;
}
