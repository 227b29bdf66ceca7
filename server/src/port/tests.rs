//! The port keeper and the upstream against real sockets. The clock of tokio stands still while anything happens, so
//! waiting costs no time.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use coordination::{
    Boot, Catalog, Core, Deadline, EditorReport, Effect, Event, ExecutionCoordinator, Failure,
    Guarantee, Limits, RawCall, Timestamp, ValidCall, validate,
};
use futures_util::FutureExt as _;
use protocol::{Json, Map};
use rmcp::model::ErrorData;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::port_keeper::PortKeeper;
use super::relay::{Passed, Relay, Request, Target};
use super::upstream::{PortState, Upstream};
use crate::budget::RELAY_WAITING_MAX;
use crate::clock::EPOCH;
use crate::event_loop::{self, CoordinatorHandle, News};
use crate::network::Network;

/// TCP on the loopback, as far as the system plays along.
#[derive(Clone)]
enum TestNetwork {
    Works,
    /// A dial gets no answer.
    DialHangs,
    /// The holder has closed the connection before it is used.
    ClosesFirst,
    NoDescriptors,
    /// Only the first bind finds a descriptor.
    BindsOnce(Arc<AtomicBool>),
}

impl Network for TestNetwork {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn bind(&self, port: u16) -> io::Result<TcpListener> {
        match self {
            Self::BindsOnce(tried) if tried.swap(true, Ordering::Relaxed) => Err(no_descriptors()),
            Self::NoDescriptors => Err(no_descriptors()),
            Self::Works | Self::DialHangs | Self::ClosesFirst | Self::BindsOnce(_) => {
                TcpListener::bind(("127.0.0.1", port)).await
            }
        }
    }

    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        match self {
            Self::Works | Self::BindsOnce(_) => TcpStream::connect(("127.0.0.1", port)).await,
            Self::ClosesFirst => {
                let stream = TcpStream::connect(("127.0.0.1", port)).await?;
                assert_eq!(stream.peek(&mut [0]).await?, 0);
                Ok(stream)
            }
            Self::DialHangs => std::future::pending().await,
            Self::NoDescriptors => Err(no_descriptors()),
        }
    }
}

fn no_descriptors() -> io::Error {
    io::Error::other("no descriptor is left")
}

/// A program that holds a port and answers as the test says.
struct FakeHolder(TcpListener);

impl FakeHolder {
    async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    fn target(&self) -> Target {
        Target { port: self.port(), token: None, catalog: Catalog::V1_0 }
    }

    /// The next request, as far as its first piece goes.
    async fn request(&self) -> (TcpStream, String) {
        let (mut stream, _) = self.0.accept().await.unwrap();
        let mut piece = vec![0; 64 * 1024];
        let length = stream.read(&mut piece).await.unwrap();
        piece.truncate(length);
        (stream, String::from_utf8(piece).unwrap())
    }

    async fn answer(stream: TcpStream, body: Json) {
        Self::answer_with(stream, "200 OK", "application/json", &body.to_string()).await;
    }

    async fn answer_with(mut stream: TcpStream, status: &str, kind: &str, body: &str) {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length:");
        let answer = format!("{head} {}\r\n\r\n{body}", body.len());
        // A relay that has read enough closes.
        stream.write_all(answer.as_bytes()).await.unwrap_or_default();
        stream.shutdown().await.unwrap_or_default();
    }

    /// Answers the question what it is.
    async fn identify_itself(&self) {
        let (stream, request) = self.request().await;
        assert!(request.starts_with("GET /healthz "), "{request}");
        let health = json!({ "name": env!("CARGO_PKG_NAME"), "version": "1", "pid": 7 });
        Self::answer(stream, health).await;
    }
}

/// A port that nobody listens on, and that nobody else gets.
struct DeadPort(TcpSocket);

impl DeadPort {
    fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    fn held(&self) -> PortState {
        held(self.0.local_addr().unwrap().port())
    }
}

// The port keeper.

/// A core that counts how often it hears of a holder.
struct Counts {
    core: ExecutionCoordinator,
    holders: Arc<AtomicUsize>,
}

impl Core for Counts {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        let is_holder = matches!(event, Event::PortHeld { .. });
        self.holders.fetch_add(usize::from(is_holder), Ordering::Relaxed);
        self.core.handle(now, event)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        self.core.next_deadline()
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        self.core.editor_report(now)
    }
}

/// A keeper at work, what it says, and its core.
fn keep(network: TestNetwork, port: u16) -> (watch::Receiver<PortState>, CoordinatorHandle) {
    keep_counting(network, port, Arc::default())
}

fn keep_counting(
    network: TestNetwork,
    port: u16,
    holders: Arc<AtomicUsize>,
) -> (watch::Receiver<PortState>, CoordinatorHandle) {
    let (core, inbox) = event_loop::channel();
    let decisions = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
    tokio::spawn(event_loop::run(Counts { core: decisions, holders }, inbox, EPOCH));
    let (state, states) = watch::channel(PortState::NotKnown);
    let keeper = PortKeeper { network, port, core: core.clone(), state };
    tokio::spawn(async move {
        let _listener = keeper.listener(None).await;
        std::future::pending::<()>().await;
    });
    (states, core)
}

/// Waits for this state and returns how long it took.
async fn time_until(states: &mut watch::Receiver<PortState>, expected: PortState) -> Duration {
    let began = Instant::now();
    let reached = states.wait_for(|state| *state == expected);
    timeout(Duration::from_secs(60), reached).await.unwrap().unwrap();
    began.elapsed()
}

fn read_console() -> ValidCall {
    validate(RawCall { tool: "read_console".to_owned(), arguments: Map::new() }).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_silent_holder_of_the_port_is_named_within_two_seconds() {
    let holder = FakeHolder::new().await; // It accepts nothing.
    let (mut states, core) = keep(TestNetwork::Works, holder.port());
    let took = time_until(&mut states, PortState::HeldByOther).await;
    assert!(took <= Duration::from_secs(2), "{took:?}");
    // The core knows it before the first call is let through.
    let mut call = core.call(read_console(), false).await;
    let News::Outcome(Err(failure)) = call.news().await else { panic!("it has run") };
    assert!(failure.message().contains(&holder.port().to_string()), "{}", failure.message());
}

#[tokio::test(start_paused = true)]
async fn the_core_hears_of_a_holder_at_once_and_only_once() {
    let holder = FakeHolder::new().await;
    let holders = Arc::new(AtomicUsize::new(0));
    let (mut states, core) = keep_counting(TestNetwork::Works, holder.port(), holders.clone());
    let heard = || holders.load(Ordering::Relaxed);
    time_until(&mut states, PortState::HeldByOther).await;
    core.look().await;
    assert_eq!(heard(), 1);
    sleep(Duration::from_secs(60)).await; // Some more rounds.
    core.look().await;
    assert_eq!(heard(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_known_unity_mcp_is_not_given_up_after_missed_probes() {
    let holder = FakeHolder::new().await;
    let (mut states, _core) = keep(TestNetwork::Works, holder.port());
    holder.identify_itself().await;
    let relaying = PortState::HeldByUnityMcp(holder.target());
    time_until(&mut states, relaying.clone()).await;
    states.mark_unchanged();
    for _ in 0..3 {
        drop(holder.request().await); // No answer.
        assert!(!states.has_changed().unwrap());
    }
    let (kept_waiting, _) = holder.request().await; // None for as long as the keeper waits for it.
    holder.identify_itself().await;
    drop(kept_waiting);
    states.changed().await.unwrap();
    assert!(*states.borrow() == relaying);
    // A program that took its place and says nothing is not a unity-mcp for ever.
    let took = time_until(&mut states, PortState::HeldByOther).await;
    assert!(took > Duration::from_secs(5), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_bind_that_fails_for_another_reason_says_nothing_about_a_known_unity_mcp() {
    let holder = FakeHolder::new().await;
    let network = TestNetwork::BindsOnce(Arc::default());
    let (mut states, _core) = keep(network, holder.port());
    holder.identify_itself().await;
    time_until(&mut states, PortState::HeldByUnityMcp(holder.target())).await;
    let given_up = states.wait_for(|state| *state == PortState::HeldByOther);
    timeout(Duration::from_secs(60), given_up).await.map(|_| ()).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_port_that_becomes_free_is_taken_within_half_a_second() {
    let holder = FakeHolder::new().await;
    let (mut states, _core) = keep(TestNetwork::Works, holder.port());
    holder.identify_itself().await;
    time_until(&mut states, PortState::HeldByUnityMcp(holder.target())).await;
    drop(holder);
    let took = time_until(&mut states, PortState::Ours).await;
    assert!(took <= Duration::from_millis(500), "{took:?}");
}

// The upstream.

/// What became of a request: the answer or the failure, and whether it ran here.
type Ran = (Result<Result<Json, ErrorData>, Failure>, bool);

fn request(call: &ValidCall, may_wait: bool) -> Request {
    Request {
        from: "test",
        method: "tools/call",
        name: call.tool().name.to_owned(),
        params: json!({ "name": call.tool().name, "arguments": {} }),
        client_request_id: None,
        needs: Catalog::V1_0,
        knows_tasks: false,
        may_wait,
    }
}

async fn run(
    network: TestNetwork,
    port: watch::Receiver<PortState>,
    cancelled: &CancellationToken,
) -> Ran {
    let call = read_console();
    let request = request(&call, true);
    let ran_here = Cell::new(false);
    let here = async {
        ran_here.set(true);
        Ok(json!("here"))
    };
    let (progress, mut reports) = mpsc::channel(1);
    let upstream = Upstream::new(network, port);
    let ran = upstream.run::<Json, Json>(call.tool(), request, here, &progress, cancelled);
    let reported = async { while reports.recv().await.is_some() {} };
    let ran = tokio::select! { ran = ran => ran, () = reported => unreachable!() };
    (ran, ran_here.get())
}

/// The failure of a request that must not run here while the port is another's.
async fn failure_at(network: TestNetwork, port: u16) -> Failure {
    let (_state, states) = watch::channel(held(port));
    let never = CancellationToken::new();
    let ended = timeout(Duration::from_secs(120), run(network, states, &never)).await;
    let (ran, ran_here) = ended.expect("it waits for ever");
    assert!(!ran_here);
    ran.unwrap_err()
}

fn held(port: u16) -> PortState {
    PortState::HeldByUnityMcp(Target { port, token: None, catalog: Catalog::V1_0 })
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_larger_catalogue_is_not_passed_on() {
    let holder = FakeHolder::new().await;
    let call = read_console();
    let request = Request { needs: Catalog::V1_1, ..request(&call, true) };
    let (_state, states) = watch::channel(held(holder.port()));
    let (progress, _reports) = mpsc::channel(1);
    let never = CancellationToken::new();
    let here = async { Ok(json!("here")) };
    let upstream = Upstream::new(TestNetwork::Works, states);
    let ran = upstream.run::<Json, Json>(call.tool(), request, here, &progress, &never).await;
    let failure = ran.unwrap_err();
    assert_eq!(brief(&failure), "ERR_INVALID_REQUEST not_executed");
    assert!(holder.0.accept().now_or_never().is_none(), "nothing was dialled");
}

/// `code guarantee` of a failure.
fn brief(failure: &Failure) -> String {
    format!("{} {}", failure.code, failure.guarantee.text())
}

#[tokio::test(start_paused = true)]
async fn no_request_runs_before_the_holder_of_the_port_is_known() {
    let (state, states) = watch::channel(PortState::NotKnown);
    let never = CancellationToken::new();
    let mut running = Box::pin(run(TestNetwork::Works, states, &never));
    timeout(Duration::from_secs(60), running.as_mut()).await.map(|_| ()).unwrap_err();
    state.send_replace(PortState::Ours);
    let (ran, ran_here) = running.await;
    assert_eq!((ran, ran_here), (Ok(Ok(json!("here"))), true));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_finds_nobody_follows_the_port() {
    let (gone, gone_too) = (DeadPort::new(), DeadPort::new());
    let (state, states) = watch::channel(gone.held());
    let never = CancellationToken::new();
    let mut running = Box::pin(run(TestNetwork::Works, states, &never));
    timeout(Duration::from_secs(60), running.as_mut()).await.map(|_| ()).unwrap_err();
    state.send_replace(gone_too.held()); // The next one has ended too.
    timeout(Duration::from_secs(60), running.as_mut()).await.map(|_| ()).unwrap_err();
    let next = FakeHolder::new().await;
    state.send_replace(held(next.port()));
    let answered = async {
        let (stream, request) = next.request().await;
        assert!(request.starts_with("POST /mcp "), "{request}");
        FakeHolder::answer(stream, json!({ "jsonrpc": "2.0", "id": 1, "result": "there" })).await;
    };
    let ((ran, ran_here), ()) = tokio::join!(running, answered);
    assert_eq!((ran, ran_here), (Ok(Ok(json!("there"))), false));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_next_holder_can_be_cancelled() {
    let gone = DeadPort::new();
    for state in [gone.held(), PortState::NotKnown] {
        let (_state, states) = watch::channel(state);
        let cancelled = CancellationToken::new();
        let mut running = Box::pin(run(TestNetwork::Works, states, &cancelled));
        timeout(Duration::from_secs(60), running.as_mut()).await.map(|_| ()).unwrap_err();
        cancelled.cancel();
        let (ran, ran_here) = running.await;
        assert!(!ran_here);
        assert_eq!(brief(&ran.unwrap_err()), "ERR_EDITOR_NOT_READY not_executed");
    }
}

#[tokio::test]
async fn calls_that_wait_leave_room_for_a_cancel() {
    let relay = Relay::new(TestNetwork::DialHangs);
    let PortState::HeldByUnityMcp(target) = held(1) else { unreachable!("it is held") };
    let (waits, cancels) = (request(&read_console(), true), request(&read_console(), false));
    let dial = |request| Box::pin(relay.dial(&target, request));
    let mut waiting: Vec<_> = (0..RELAY_WAITING_MAX).map(|_| dial(&waits)).collect();
    for dialled in &mut waiting {
        assert!(dialled.now_or_never().is_none(), "it waits for the holder");
    }
    assert!(matches!(dial(&waits).now_or_never(), Some(Err(Passed::NoRoom))));
    assert!(dial(&cancels).now_or_never().is_none(), "there is room for it");
}

#[tokio::test(start_paused = true)]
async fn a_request_of_which_nothing_was_written_follows_the_port() {
    let ending = FakeHolder::new().await;
    let (state, states) = watch::channel(held(ending.port()));
    let never = CancellationToken::new();
    let mut running = Box::pin(run(TestNetwork::ClosesFirst, states, &never));
    let ends = async { drop(ending.0.accept().await) };
    let waits = timeout(Duration::from_secs(60), running.as_mut());
    let (waited, ()) = tokio::join!(waits, ends);
    waited.map(|_| ()).unwrap_err();
    state.send_replace(PortState::Ours);
    let (ran, ran_here) = running.await;
    assert_eq!((ran, ran_here), (Ok(Ok(json!("here"))), true));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_before_it_was_sent_did_not_run() {
    let (_state, states) = watch::channel(held(1));
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let (ran, ran_here) = run(TestNetwork::DialHangs, states, &cancelled).await;
    assert!(!ran_here);
    assert_eq!(brief(&ran.unwrap_err()), "ERR_EDITOR_NOT_READY not_executed");
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_cannot_be_reached_is_reported_and_nothing_runs_here() {
    for (network, why) in [
        (TestNetwork::NoDescriptors, "(no descriptor is left)"),
        (TestNetwork::DialHangs, "(it did not accept a connection in time)"),
    ] {
        let failure = failure_at(network, 1).await;
        assert_eq!(brief(&failure), "ERR_EDITOR_NOT_READY not_executed");
        assert!(failure.retryable && failure.message().contains(why), "{}", failure.message());
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_holder_refuses_unread_does_not_run_here() {
    let holder = FakeHolder::new().await;
    let refused = async {
        let (mut stream, _) = holder.request().await;
        let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-type: text/plain\r\ncontent-length: 0";
        stream.write_all(format!("{refusal}\r\n\r\n").as_bytes()).await.unwrap();
    };
    let (failure, ()) = tokio::join!(failure_at(TestNetwork::Works, holder.port()), refused);
    assert_eq!(brief(&failure), "ERR_EDITOR_NOT_READY not_executed");
    assert!(failure.message().contains("status 401"), "{}", failure.message());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_and_lost_is_never_run_again() {
    let holder = FakeHolder::new().await;
    let lost = async { drop(holder.request().await) };
    let (failure, ()) = tokio::join!(failure_at(TestNetwork::Works, holder.port()), lost);
    assert_eq!(brief(&failure), "ERR_UNITY_DISCONNECTED unknown");
    // Nor is it passed on a second time.
    timeout(Duration::from_secs(60), holder.request()).await.map(|_| ()).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_stops_answering_is_not_waited_for_for_ever() {
    let holder = FakeHolder::new().await;
    let began = Instant::now();
    let silent = async { holder.request().await };
    let (failure, _open) = tokio::join!(failure_at(TestNetwork::Works, holder.port()), silent);
    assert_eq!(failure.guarantee, Guarantee::Unknown);
    assert!(began.elapsed() < Duration::from_secs(60));
}

/// What becomes of a request that the holder answers like this.
async fn answered_with(status: &str, kind: &str, body: &str) -> Result<Json, String> {
    let holder = FakeHolder::new().await;
    let (_state, states) = watch::channel(held(holder.port()));
    let never = CancellationToken::new();
    let answer = async {
        let (stream, _) = holder.request().await;
        FakeHolder::answer_with(stream, status, kind, body).await;
    };
    let both = async { tokio::join!(run(TestNetwork::Works, states, &never), answer) };
    let ((ran, ran_here), ()) = timeout(Duration::from_secs(20), both).await.unwrap();
    assert!(!ran_here);
    match ran {
        Ok(answer) => answer.map_err(|error| error.message.into_owned()),
        Err(failure) => Err(brief(&failure)),
    }
}

#[tokio::test]
async fn only_plain_text_that_is_not_a_success_says_that_a_request_was_not_read() {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32600, "message": "no" } });
    let body = body.to_string();
    let json = "application/json";
    assert_eq!(answered_with("400 Bad Request", json, &body).await, Err("no".to_owned()));
    let refused = answered_with("400 Bad Request", "text/plain", "no").await;
    assert_eq!(refused, Err("ERR_EDITOR_NOT_READY not_executed".to_owned()));
    let full = answered_with("503 Service Unavailable", "text/plain", "no").await;
    assert_eq!(full, Err("ERR_QUEUE_FULL not_executed".to_owned()));
    let odd = answered_with("200 OK", "text/plain", "ok").await;
    assert_eq!(odd, Err("ERR_UNITY_DISCONNECTED unknown".to_owned()));
}

#[tokio::test]
async fn a_stream_of_events_may_be_long_but_no_event_may_be() {
    let report = |length: usize| {
        let text = "x".repeat(length);
        format!("data: {}\n\n", json!({ "params": { "message": text } }))
    };
    let answer = format!("data: {}\n\n", json!({ "jsonrpc": "2.0", "id": 1, "result": "there" }));
    let stream = "text/event-stream";
    let many = report(10_000).repeat(300) + &answer;
    assert_eq!(answered_with("200 OK", stream, &many).await, Ok(json!("there")));
    let large = report(900_000) + &answer;
    assert_eq!(answered_with("200 OK", stream, &large).await, Ok(json!("there")));
    let too_large = report(2_000_000) + &answer;
    let lost = Err("ERR_UNITY_DISCONNECTED unknown".to_owned());
    assert_eq!(answered_with("200 OK", stream, &too_large).await, lost);
}
