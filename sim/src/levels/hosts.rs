//! What programs of a simulation run on: hosts, links between them, and virtual time. `net` has it from
//! turmoil, `memory` from one paused runtime.

use std::future::Future;
use std::io;
use std::time::Duration;

use unity_mcp::network::Network;

/// What the network between two hosts can suffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// Everything is lost, and connections that lose something never recover.
    Partition,
    /// Everything is late: it arrives when the fault ends.
    Hold,
    /// What goes from the first host to the second is lost.
    Lose,
    /// Everything takes this long.
    Latency(Duration),
}

pub(crate) trait Hosts {
    type Network: HostNetwork;

    /// `software` runs on it now, and anew after each `start`.
    fn host<F, R>(&mut self, name: &str, software: F)
    where
        F: Fn(Self::Network) -> R + 'static,
        R: Future<Output = ()> + 'static;

    /// Lets some time pass, but not more than until then.
    fn step(&mut self, until: Duration) -> Result<(), String>;

    fn elapsed(&self) -> Duration;

    /// The program on the host is killed; the system closes its sockets.
    fn crash(&mut self, host: &str);

    fn start(&mut self, host: &str);

    fn break_link(&mut self, fault: LinkFault, from: &str, to: &str);

    /// `usual` is the latency without a fault.
    fn restore_link(&mut self, fault: LinkFault, from: &str, to: &str, usual: Duration);
}

/// The network as one program sees it.
pub(crate) trait HostNetwork: Network {
    /// The pipes of a program on this host, once somebody has started it.
    fn own_pipes(&self) -> impl Future<Output = io::Result<Self::Stream>>;

    /// Starts the program on `host` and holds its pipes.
    fn pipes_of(&self, host: &str) -> impl Future<Output = io::Result<Self::Stream>>;
}
