//! The shell level: all hosts in one paused runtime, over queues of bytes. Shells and bytes are real; time jumps to the
//! next thing that is due.
//!
//! Hosts, links and ports are those of the full level. A killed program cannot be removed from a runtime that it shares,
//! so its connections are cut: what it still does has no effect.

mod byte_queue;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, sleep_until};
use unity_mcp::network::{Accepted, Listener, Network};

use crate::levels::clock::Clock;
use crate::levels::closing_order::ClosingOrder;
use crate::levels::hosts::{HostNetwork, Hosts};
use crate::record::log::{Log, Wire};
use crate::record::recorded_stream::{RecordedStream, StreamOrigin};
use crate::scenario::LinkFault;
use byte_queue::{ByteStream, Handle, Link, pair};

/// The longest time between two checks whether the scenario is done.
const STEP: Duration = Duration::from_millis(250);

pub(crate) type Stream = RecordedStream<ByteStream>;

type Software = Box<dyn Fn(InMemoryNetwork) -> Pin<Box<dyn Future<Output = ()>>>>;

pub(crate) struct InMemoryHosts {
    runtime: Runtime,
    local: LocalSet,
    began: Instant,
    network: InMemoryNetwork,
    software: BTreeMap<String, Software>,
}

impl InMemoryHosts {
    /// `latency`: how long each message takes in each direction.
    pub(crate) fn new(seed: u64, latency: Duration, log: Log) -> Result<Self, String> {
        let mut builder = Builder::new_current_thread();
        builder.enable_time().start_paused(true);
        let mut local = LocalSet::new();
        seed_runtime(&mut builder, &mut local, seed);
        let runtime = builder.build().map_err(|error| error.to_string())?;
        let began = runtime.block_on(async { Instant::now() });
        Clock::Paused(began).use_it();
        let shared = Shared {
            latency,
            ports: BTreeMap::new(),
            pipes: BTreeMap::new(),
            links: BTreeMap::new(),
            ends: Vec::new(),
            connections: 0,
            starts: BTreeMap::new(),
        };
        let shared = Arc::new(Mutex::new(shared));
        let network = InMemoryNetwork { host: String::new(), start: 0, shared, log };
        Ok(Self { runtime, local, began, network, software: BTreeMap::new() })
    }
}

/// All randomness comes from the seed, and a panic in a task ends the run.
#[cfg(tokio_unstable)]
fn seed_runtime(builder: &mut Builder, local: &mut LocalSet, seed: u64) {
    use tokio::runtime::{RngSeed, UnhandledPanic};
    builder.rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()));
    builder.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
}

/// `run` reports this build as unsound.
#[cfg(not(tokio_unstable))]
fn seed_runtime(_builder: &mut Builder, _local: &mut LocalSet, _seed: u64) {}

impl Hosts for InMemoryHosts {
    type Network = InMemoryNetwork;

    fn host<F, R>(&mut self, name: &str, software: F)
    where
        F: Fn(InMemoryNetwork) -> R + 'static,
        R: Future<Output = ()> + 'static,
    {
        let software: Software = Box::new(move |network| Box::pin(software(network)));
        self.software.insert(name.to_owned(), software);
        self.start(name);
    }

    fn step(&mut self, until: Duration) -> Result<(), String> {
        let until = until.min(self.elapsed() + STEP);
        let until = self.began + until;
        self.local.block_on(&self.runtime, async move { sleep_until(until).await });
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        let _inside = self.runtime.enter();
        self.began.elapsed()
    }

    fn crash(&mut self, host: &str) {
        let _inside = self.runtime.enter();
        self.network.cut_off(host);
    }

    fn start(&mut self, host: &str) {
        self.crash(host);
        let start = self.network.shared().starts.get(host).copied().unwrap_or_default();
        let network = InMemoryNetwork { host: host.to_owned(), start, ..self.network.clone() };
        let Some(software) = self.software.get(host) else { return };
        let running = software(network.clone());
        self.local.spawn_local(async move {
            running.await;
            if network.is_alive() {
                network.cut_off(&network.host); // The system closes what the program has left open.
            }
        });
    }

    fn break_link(&mut self, fault: LinkFault, from: &str, to: &str) {
        self.change_link(fault, from, to, |link| match fault {
            LinkFault::Partition | LinkFault::Lose => link.loses(true),
            LinkFault::Hold => link.holds(true),
            LinkFault::Latency(latency) => link.takes(latency),
        });
    }

    fn restore_link(&mut self, fault: LinkFault, from: &str, to: &str, usual: Duration) {
        self.change_link(fault, from, to, |link| match fault {
            LinkFault::Partition | LinkFault::Lose => link.loses(false),
            LinkFault::Hold => link.holds(false),
            LinkFault::Latency(_) => link.takes(usual),
        });
    }
}

impl InMemoryHosts {
    fn change_link(&mut self, fault: LinkFault, from: &str, to: &str, change: impl Fn(&Link)) {
        let _inside = self.runtime.enter();
        change(&self.network.shared().link(from, to));
        if fault != LinkFault::Lose {
            change(&self.network.shared().link(to, from));
        }
    }
}

#[derive(Clone)]
pub(crate) struct InMemoryNetwork {
    host: String,
    /// Which start of the program it belongs to.
    start: u32,
    shared: Arc<Mutex<Shared>>,
    log: Log,
}

struct Shared {
    latency: Duration,
    /// The host that holds each port, and where connections to it go.
    ports: BTreeMap<u16, (String, mpsc::UnboundedSender<Arrival>)>,
    /// Programs that wait for an agent to open their pipes.
    pipes: BTreeMap<String, mpsc::UnboundedSender<Arrival>>,
    /// By the hosts they lead from and to.
    links: BTreeMap<(String, String), Link>,
    /// Every end of a connection, and the host it is on.
    ends: Vec<(String, Handle)>,
    connections: u16,
    /// How often the program of each host has ended.
    starts: BTreeMap<String, u32>,
}

/// A connection that reaches its listener.
type Arrival = (ByteStream, Wire);

impl Shared {
    fn link(&mut self, from: &str, to: &str) -> Link {
        let latency = self.latency;
        let link = self.links.entry((from.to_owned(), to.to_owned()));
        link.or_insert_with(|| Link::new(latency)).clone()
    }
}

impl InMemoryNetwork {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program that has ended, or was killed, reaches nothing.
    fn is_alive(&self) -> bool {
        self.shared().starts.get(&self.host).copied().unwrap_or_default() == self.start
    }

    async fn while_alive(&self) {
        if !self.is_alive() {
            std::future::pending().await
        }
    }

    /// The program on this host is no more.
    fn cut_off(&self, host: &str) {
        let mut shared = self.shared();
        *shared.starts.entry(host.to_owned()).or_default() += 1;
        shared.ports.retain(|_, (holder, _)| holder != host);
        shared.pipes.remove(host);
        let (gone, stay) = shared.ends.drain(..).partition(|(of, _)| of == host);
        shared.ends = stay;
        drop(shared);
        let gone: Vec<(String, Handle)> = gone;
        gone.into_iter().for_each(|(_, end)| end.cut());
    }

    fn origin(&self, wire: Wire) -> StreamOrigin {
        let (host, log) = (self.host.as_str().into(), self.log.clone());
        StreamOrigin { host, wire, log, closing_order: ClosingOrder::default() }
    }

    /// Connects to a listener: one trip there, one trip back.
    async fn dial(
        &self,
        host: &str,
        sender: mpsc::UnboundedSender<Arrival>,
    ) -> io::Result<(ByteStream, Wire)> {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        let (there, back) = {
            let mut shared = self.shared();
            (shared.link(&self.host, host), shared.link(host, &self.host))
        };
        if there.is_lossy() || back.is_lossy() {
            return Err(refused());
        }
        there.released().await;
        sleep(there.latency()).await;
        self.while_alive().await;
        let (near, far) = pair(there, back.clone());
        let number = {
            let mut shared = self.shared();
            shared.connections = shared.connections.wrapping_add(1);
            shared.ends.retain(|(_, end)| end.is_open());
            shared.ends.push((self.host.clone(), near.handle()));
            shared.ends.push((host.to_owned(), far.handle()));
            shared.connections
        };
        let wire = Wire { client: self.host.as_str().into(), server: host.into(), number };
        sender.send((far, wire.clone())).map_err(|_| refused())?;
        sleep(back.latency()).await;
        Ok((near, wire))
    }
}

impl HostNetwork for InMemoryNetwork {
    async fn own_pipes(&self) -> io::Result<Stream> {
        self.while_alive().await;
        let (sender, mut arrivals) = mpsc::unbounded_channel();
        self.shared().pipes.insert(self.host.clone(), sender);
        let (end, wire) = next(&mut arrivals).await;
        Ok(RecordedStream::lines(end, self.origin(wire)))
    }

    async fn pipes_of(&self, host: &str) -> io::Result<Stream> {
        let sender = self.shared().pipes.get(host).cloned();
        let sender = sender.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
        let (end, wire) = self.dial(host, sender).await?;
        Ok(RecordedStream::lines(end, self.origin(wire)))
    }
}

impl Network for InMemoryNetwork {
    type Stream = Stream;
    type Listener = InMemoryListener;

    async fn bind(&self, port: u16) -> io::Result<InMemoryListener> {
        self.while_alive().await;
        let (sender, arrivals) = mpsc::unbounded_channel();
        let mut shared = self.shared();
        if shared.ports.contains_key(&port) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        shared.ports.insert(port, (self.host.clone(), sender));
        drop(shared);
        Ok(InMemoryListener { arrivals, port, network: self.clone() })
    }

    async fn connect(&self, port: u16) -> io::Result<Stream> {
        self.while_alive().await;
        let holder = self.shared().ports.get(&port).cloned();
        let Some((host, sender)) = holder else {
            return Err(io::ErrorKind::ConnectionRefused.into());
        };
        let (end, wire) = self.dial(&host, sender).await?;
        Ok(RecordedStream::http(end, self.origin(wire)))
    }
}

/// A port that a program holds until it drops this or is killed.
pub(crate) struct InMemoryListener {
    arrivals: mpsc::UnboundedReceiver<Arrival>,
    port: u16,
    network: InMemoryNetwork,
}

/// A killed program waits for ever.
async fn next(arrivals: &mut mpsc::UnboundedReceiver<Arrival>) -> Arrival {
    match arrivals.recv().await {
        Some(arrival) => arrival,
        None => std::future::pending().await,
    }
}

impl Listener for InMemoryListener {
    type Stream = Stream;

    fn port(&self) -> u16 {
        self.port
    }

    async fn accept(&mut self) -> io::Result<Accepted<Stream>> {
        let (end, wire) = next(&mut self.arrivals).await;
        let stream = RecordedStream::http(end, self.network.origin(wire));
        Ok(Accepted { stream, same_user: Box::pin(std::future::ready(Some(true))) })
    }
}

impl Drop for InMemoryListener {
    fn drop(&mut self) {
        self.arrivals.close();
        self.network.shared().ports.retain(|_, (_, sender)| !sender.is_closed());
    }
}
