//! What programs of a simulation run on: hosts, links between them, and virtual time. `net` has it from
//! turmoil, `memory` from one paused runtime.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::time::Duration;

use unity_mcp::network::Network;

/// What the network between two hosts can suffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Everything is lost, and connections that lose something never recover.
    Partition,
    /// Everything is late: it arrives when the fault ends.
    Hold,
    /// What goes from the first host to the second is lost.
    Lose,
    /// Everything takes this long.
    Latency(Duration),
}

pub(crate) trait Stage {
    type Machine: Machine;

    /// `software` runs on it now, and anew after each `start`.
    fn host<F, R>(&mut self, name: &str, software: F)
    where
        F: Fn(Self::Machine) -> R + 'static,
        R: Future<Output = ()> + 'static;

    /// Lets some time pass, but not more than until then.
    fn step(&mut self, until: Duration) -> Result<(), String>;

    fn elapsed(&self) -> Duration;

    /// The program on the host is killed; the system closes its sockets.
    fn crash(&mut self, host: &str);

    fn start(&mut self, host: &str);

    fn break_link(&mut self, fault: Fault, from: &str, to: &str);

    /// `usual` is the latency without a fault.
    fn mend_link(&mut self, fault: Fault, from: &str, to: &str, usual: Duration);
}

/// The network as one program sees it.
pub(crate) trait Machine: Network {
    /// The pipes of a program on this host, once somebody has started it.
    fn own_pipes(&self) -> impl Future<Output = io::Result<Self::Stream>>;

    /// Starts the program on `host` and holds its pipes.
    fn pipes_of(&self, host: &str) -> impl Future<Output = io::Result<Self::Stream>>;
}

/// Who knows what time it is in the simulation that runs on this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    Turmoil,
    /// A paused runtime, which began then.
    Paused(tokio::time::Instant),
    /// Nobody but whoever sets it.
    Set(Duration),
}

thread_local! {
    static CLOCK: Cell<Clock> = const { Cell::new(Clock::Turmoil) };
}

impl Clock {
    pub(crate) fn use_it(self) {
        CLOCK.set(self);
    }
}

/// Virtual time since the start, wherever it is asked.
pub(crate) fn now() -> Duration {
    match CLOCK.get() {
        Clock::Turmoil => crate::levels::turmoil::elapsed(),
        Clock::Paused(began) => began.elapsed(),
        Clock::Set(at) => at,
    }
}
