//! The full level: hosts, links and virtual time from turmoil. The only file that uses turmoil.
//!
//! In reality all programs run on one machine. Here each has its own host, so that links can fail and programs be
//! killed one by one. A port still belongs to the machine: one program holds it, and others find that program by the
//! port alone.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use turmoil::net::{TcpListener, TcpStream};
use unity_mcp::network::{Accepted, Listener, Network};

use crate::levels::clock::Clock;
use crate::levels::closing_order::{ClosesLast, ClosingOrder};
use crate::levels::hosts::{HostNetwork, Hosts};
use crate::record::log::{Log, Wire};
use crate::record::recorded_stream::{RecordedStream, StreamOrigin};
use crate::scenario::LinkFault;

/// Pipes are connections to this port, which no program binds.
const PIPES: u16 = 1;
/// One step of virtual time.
const TICK: Duration = Duration::from_millis(1);

pub(crate) type Stream = RecordedStream<TcpStream>;

pub(crate) struct TurmoilHosts {
    sim: turmoil::Sim<'static>,
    network: TurmoilNetwork,
}

impl TurmoilHosts {
    /// `latency`: how long each message takes in each direction.
    pub(crate) fn new(seed: u64, latency: Duration, log: Log) -> Self {
        Clock::Turmoil.use_it();
        let sim = turmoil::Builder::new()
            .rng_seed(seed)
            .epoch(UNIX_EPOCH)
            .tick_duration(TICK)
            .min_message_latency(latency)
            .max_message_latency(latency)
            .tcp_capacity(1024)
            .simulation_duration(Duration::from_secs(86_400))
            .build();
        Self { sim, network: TurmoilNetwork { host: String::new(), shared: Arc::default(), log } }
    }
}

impl Hosts for TurmoilHosts {
    type Network = TurmoilNetwork;

    fn host<F, R>(&mut self, name: &str, software: F)
    where
        F: Fn(TurmoilNetwork) -> R + 'static,
        R: Future<Output = ()> + 'static,
    {
        let network = TurmoilNetwork { host: name.to_owned(), ..self.network.clone() };
        self.sim.host(name, move || {
            let running = software(network.clone());
            let (network, last) = (network.clone(), ClosesLast(network.closing_order()));
            async move {
                running.await;
                network.shared().ended.push(network.host.clone());
                std::future::pending::<()>().await;
                drop(last);
                Ok(())
            }
        });
    }

    /// One tick. Then the system closes what programs that have ended left open.
    fn step(&mut self, _until: Duration) -> Result<(), String> {
        self.sim.step().map_err(|error| error.to_string())?;
        let ended = std::mem::take(&mut self.network.shared().ended);
        ended.iter().for_each(|host| self.crash(host));
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        self.sim.elapsed()
    }

    fn crash(&mut self, host: &str) {
        if !self.sim.is_host_running(host) {
            return;
        }
        let mut shared = self.network.shared();
        shared.closing.entry(host.to_owned()).or_default().begin();
        shared.pipes.remove(host);
        drop(shared);
        self.sim.crash(host);
    }

    fn start(&mut self, host: &str) {
        self.crash(host);
        self.sim.bounce(host);
    }

    fn break_link(&mut self, fault: LinkFault, from: &str, to: &str) {
        match fault {
            LinkFault::Partition => self.sim.partition(from, to),
            LinkFault::Hold => self.sim.hold(from, to),
            LinkFault::Lose => self.sim.partition_oneway(from, to),
            LinkFault::Latency(latency) => self.sim.set_link_latency(from, to, latency),
        }
    }

    fn restore_link(&mut self, fault: LinkFault, from: &str, to: &str, usual: Duration) {
        match fault {
            LinkFault::Partition => self.sim.repair(from, to),
            LinkFault::Hold => self.sim.release(from, to),
            LinkFault::Lose => self.sim.repair_oneway(from, to),
            LinkFault::Latency(_) => self.sim.set_link_latency(from, to, usual),
        }
    }
}

/// Virtual time since the start, on any host.
pub(crate) fn elapsed() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

/// The network as one program sees it.
#[derive(Clone)]
pub(crate) struct TurmoilNetwork {
    host: String,
    shared: Arc<Mutex<Shared>>,
    log: Log,
}

#[derive(Default)]
struct Shared {
    /// The host that holds each port.
    ports: BTreeMap<u16, String>,
    closing: BTreeMap<String, ClosingOrder>,
    /// Programs that wait for an agent to open their pipes. A host without a program does not even refuse.
    pipes: BTreeSet<String>,
    /// Programs that have ended by themselves.
    ended: Vec<String>,
}

impl HostNetwork for TurmoilNetwork {
    async fn own_pipes(&self) -> io::Result<Stream> {
        let listener = TcpListener::bind(("0.0.0.0", PIPES)).await?;
        self.shared().pipes.insert(self.host.clone());
        let (stream, from) = listener.accept().await?;
        self.shared().pipes.remove(&self.host);
        Ok(RecordedStream::lines(stream, self.origin(self.wire_from(from))))
    }

    async fn pipes_of(&self, host: &str) -> io::Result<Stream> {
        if !self.shared().pipes.contains(host) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let stream = TcpStream::connect((host, PIPES)).await?;
        let wire = self.wire_to(host, &stream)?;
        Ok(RecordedStream::lines(stream, self.origin(wire)))
    }
}

impl TurmoilNetwork {
    fn wire_to(&self, host: &str, stream: &TcpStream) -> io::Result<Wire> {
        let number = stream.local_addr()?.port();
        Ok(Wire { client: self.host.as_str().into(), server: host.into(), number })
    }

    fn wire_from(&self, from: SocketAddr) -> Wire {
        let client = turmoil::reverse_lookup(from.ip()).unwrap_or_default();
        Wire { client: client.into(), server: self.host.as_str().into(), number: from.port() }
    }

    fn origin(&self, wire: Wire) -> StreamOrigin {
        let (host, log) = (self.host.as_str().into(), self.log.clone());
        StreamOrigin { host, wire, log, closing_order: self.closing_order() }
    }

    fn closing_order(&self) -> ClosingOrder {
        self.shared().closing.entry(self.host.clone()).or_default().clone()
    }

    fn holder(&self, port: u16) -> Option<String> {
        self.shared().ports.get(&port).cloned()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Network for TurmoilNetwork {
    type Stream = Stream;
    type Listener = TurmoilListener;

    async fn bind(&self, port: u16) -> io::Result<TurmoilListener> {
        if self.holder(port).is_some() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let listener = TcpListener::bind(("0.0.0.0", port)).await?;
        self.shared().ports.insert(port, self.host.clone());
        Ok(TurmoilListener { listener, port, network: self.clone() })
    }

    async fn connect(&self, port: u16) -> io::Result<Stream> {
        let Some(holder) = self.holder(port) else {
            return Err(io::ErrorKind::ConnectionRefused.into());
        };
        // A host without a program does not answer. The machine that it stands for refuses.
        let is_gone = async {
            while self.holder(port).as_ref() == Some(&holder) {
                tokio::time::sleep(TICK).await;
            }
        };
        let stream = tokio::select! {
            biased;
            connected = TcpStream::connect((holder.as_str(), port)) => connected?,
            () = is_gone => return Err(io::ErrorKind::ConnectionRefused.into()),
        };
        let wire = self.wire_to(&holder, &stream)?;
        Ok(RecordedStream::http(stream, self.origin(wire)))
    }
}

/// A port that a program holds until it drops this.
pub(crate) struct TurmoilListener {
    listener: TcpListener,
    port: u16,
    network: TurmoilNetwork,
}

impl Listener for TurmoilListener {
    type Stream = Stream;

    fn port(&self) -> u16 {
        self.port
    }

    async fn accept(&mut self) -> io::Result<Accepted<Stream>> {
        let (stream, from) = self.listener.accept().await?;
        let place = self.network.origin(self.network.wire_from(from));
        let stream = RecordedStream::http(stream, place);
        Ok(Accepted { stream, same_user: Box::pin(std::future::ready(Some(true))) })
    }
}

impl Drop for TurmoilListener {
    fn drop(&mut self) {
        self.network.shared().ports.remove(&self.port);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use super::TurmoilHosts;
    use crate::levels::hosts::Hosts;
    use crate::record::log::Log;

    #[test]
    fn a_panic_in_a_task_of_a_program_does_not_pass_unseen() {
        let mut hosts = TurmoilHosts::new(1, Duration::from_millis(1), Log::default());
        hosts.host("server", |_| async {
            tokio::spawn(async { panic!("as asked for") });
            std::future::pending().await
        });
        let mut step = || hosts.step(Duration::MAX);
        let stepped = catch_unwind(AssertUnwindSafe(|| step().and_then(|()| step())));
        assert!(!matches!(stepped, Ok(Ok(()))));
    }
}
