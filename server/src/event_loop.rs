//! The event loop: the only owner of the core. It gives the core its time, and awaits nothing but the next event,
//! so no peer can hold up another.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protocol::ToUnity;
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{EVENTS_MAX, FRAMES_MAX, PANICS_MAX, REPORTS_MAX};
use crate::clock::WallClock;
use crate::live::{Entering, Tap};
use crate::transition_log::TransitionLog;
use coordination::{
    CallId, ConnectionId, Core, EditorReport, Effect, Event, Failure, Outcome, ProgressReport,
    Timestamp, ValidCall,
};

/// What a socket is to do.
pub enum Outgoing<T> {
    Frame(T),
    Close { code: u16, reason: &'static str },
}

/// How adapters reach the core.
#[derive(Clone)]
pub struct CoordinatorHandle {
    inbox: mpsc::Sender<Message>,
    /// Frames are decoded one at a time: a decoded frame takes many times its size, and there are many sockets.
    decoding: Arc<Semaphore>,
    numbers: Arc<AtomicU64>,
}

pub struct Inbox(mpsc::Receiver<Message>);

enum Message {
    Event(Event),
    /// With the permit to decode, which is free again when it was handled.
    Decoded {
        event: Event,
        place: Option<OwnedSemaphorePermit>,
    },
    Call {
        event: Event,
        call: CallId,
        caller: Caller,
    },
    Unity {
        on: ConnectionId,
        bridge: Bridge,
    },
    Look(oneshot::Sender<EditorReport>),
}

impl Message {
    /// The loop has ended in order: a call did not run.
    fn refuse(self) {
        if let Self::Call { caller, .. } = self {
            caller.outcome.send(Err(Failure::stopping())).unwrap_or_default();
        }
    }
}

/// Where the answer to a call goes, and what the log says of it.
struct Caller {
    outcome: oneshot::Sender<Outcome>,
    progress: Option<mpsc::Sender<ProgressReport>>,
    label: CallLabel,
}

/// How a call is named in the log.
pub(crate) struct CallLabel {
    pub(crate) tool: &'static str,
    client_request_id: Option<String>,
    /// What the page calls its agent.
    agent: String,
}

impl CallLabel {
    pub(crate) fn client_request_id(&self) -> Option<&str> {
        self.client_request_id.as_deref()
    }
}

struct Bridge {
    outbox: mpsc::Sender<Outgoing<ToUnity>>,
    admitted: CancellationToken,
    told_to_close: CancellationToken,
    dropped: CancellationToken,
}

/// A call the core has, seen from its adapter.
pub(crate) struct OpenCall {
    pub(crate) id: CallId,
    outcome: oneshot::Receiver<Outcome>,
    /// If the agent wants reports.
    progress: Option<mpsc::Receiver<ProgressReport>>,
}

pub(crate) enum News {
    Progress(ProgressReport),
    /// The one answer; nothing comes after it.
    Outcome(Outcome),
}

impl OpenCall {
    pub(crate) async fn news(&mut self) -> News {
        let progress = async {
            match &mut self.progress {
                Some(reports) => reports.recv().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            Some(report) = progress => News::Progress(report),
            // The loop is gone, and nobody knows what it did with the call.
            outcome = &mut self.outcome => {
                News::Outcome(outcome.unwrap_or_else(|_| Err(Failure::broken_after_sending())))
            }
        }
    }
}

/// A socket the core knows, seen from its bridge.
pub(crate) struct UnityPort {
    pub(crate) id: ConnectionId,
    pub(crate) outbox: mpsc::Receiver<Outgoing<ToUnity>>,
    /// Its hello was accepted.
    pub(crate) admitted: CancellationToken,
    /// Its outbox ends with a close.
    pub(crate) told_to_close: CancellationToken,
    /// The socket was too slow: drop it.
    pub(crate) dropped: CancellationToken,
}

pub fn channel() -> (CoordinatorHandle, Inbox) {
    let (inbox, messages) = mpsc::channel(EVENTS_MAX);
    let decoding = Arc::new(Semaphore::new(1));
    (CoordinatorHandle { inbox, decoding, numbers: Arc::default() }, Inbox(messages))
}

impl CoordinatorHandle {
    pub async fn tell(&self, event: Event) {
        self.deliver(Message::Event(event)).await;
    }

    /// The event is made when the one before it was handled.
    pub(crate) async fn tell_decoded(&self, event: impl FnOnce() -> Event) {
        let place = self.decoding.clone().acquire_owned().await.ok();
        self.deliver(Message::Decoded { event: event(), place }).await;
    }

    #[cfg(test)]
    pub(crate) async fn call(&self, request: ValidCall, wants_progress: bool) -> OpenCall {
        self.call_by(String::new(), request, wants_progress).await
    }

    /// `agent`: what the page calls the agent.
    pub(crate) async fn call_by(
        &self,
        agent: String,
        request: ValidCall,
        wants_progress: bool,
    ) -> OpenCall {
        let call = CallId(self.next_number());
        let (outcome, answer) = oneshot::channel();
        let (progress, reports) = wants_progress.then(|| mpsc::channel(REPORTS_MAX)).unzip();
        let label = CallLabel {
            tool: request.tool().name,
            client_request_id: request.client_request_id().map(str::to_owned),
            agent,
        };
        let event = Event::CallReceived { call, request, wants_progress };
        let caller = Caller { outcome, progress, label };
        self.deliver(Message::Call { event, call, caller }).await;
        OpenCall { id: call, outcome: answer, progress: reports }
    }

    pub(crate) async fn unity_opened(&self) -> UnityPort {
        let on = ConnectionId(self.next_number());
        let (outbox, frames) = mpsc::channel(FRAMES_MAX);
        let (admitted, dropped) = (CancellationToken::new(), CancellationToken::new());
        let told_to_close = CancellationToken::new();
        let bridge = Bridge {
            outbox,
            admitted: admitted.clone(),
            told_to_close: told_to_close.clone(),
            dropped: dropped.clone(),
        };
        self.deliver(Message::Unity { on, bridge }).await;
        UnityPort { id: on, outbox: frames, admitted, told_to_close, dropped }
    }

    /// The present state; `None` once the loop has ended.
    pub(crate) async fn look(&self) -> Option<EditorReport> {
        let (report, answer) = oneshot::channel();
        self.deliver(Message::Look(report)).await;
        answer.await.ok()
    }

    /// A message for a loop that has ended is dropped.
    async fn deliver(&self, message: Message) {
        match self.inbox.try_send(message) {
            Ok(()) => {}
            // In a box: the inbox is hardly ever full, and a large future is slow to move.
            Err(TrySendError::Full(message)) => {
                let sent = Box::pin(self.inbox.send(message)).await;
                sent.unwrap_or_else(|SendError(message)| message.refuse());
            }
            Err(TrySendError::Closed(message)) => message.refuse(),
        }
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Runs until the core says that everything has stopped.
pub async fn run<C: Core>(core: C, inbox: Inbox, clock: WallClock) {
    run_tapped(core, inbox, clock, Tap::off()).await;
}

/// The same for a server that shows what happens.
pub(crate) async fn run_tapped<C: Core>(core: C, mut inbox: Inbox, clock: WallClock, tap: Tap) {
    let started = Instant::now();
    tap.begin(started);
    let mut server = EventLoop {
        core,
        log: TransitionLog { clock },
        tap,
        started,
        callers: BTreeMap::new(),
        bridges: BTreeMap::new(),
        decoding: None,
        stopped: false,
        panics: 0,
    };
    while !server.stopped {
        let deadline = server.core.next_deadline().map(|deadline| deadline.at.since_start());
        let event = tokio::select! {
            biased; // Deterministic. `handle` expires deadlines on every event, so none starves.
            message = inbox.0.recv() => match message {
                Some(message) => server.admit(message),
                None => return,
            },
            () = until(server.started, deadline) => Some(Event::DeadlineReached),
        };
        if let Some(event) = event {
            server.transition(event);
        }
        server.decoding = None;
    }
    // Calls that came too late.
    inbox.0.close();
    while let Some(message) = inbox.0.recv().await {
        message.refuse();
    }
}

async fn until(started: Instant, deadline: Option<Duration>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(started + deadline).await,
        None => std::future::pending().await,
    }
}

/// The core and the channels to its callers and sockets. Holds no policy.
struct EventLoop<C> {
    core: C,
    log: TransitionLog,
    tap: Tap,
    started: Instant,
    callers: BTreeMap<CallId, Caller>,
    bridges: BTreeMap<ConnectionId, Bridge>,
    /// The place of the frame that is being handled.
    decoding: Option<OwnedSemaphorePermit>,
    stopped: bool,
    /// Panics of the core in a row.
    panics: u32,
}

impl<C: Core> EventLoop<C> {
    fn now(&self) -> Timestamp {
        Timestamp::default() + self.started.elapsed()
    }

    fn admit(&mut self, message: Message) -> Option<Event> {
        match message {
            Message::Event(event) => Some(event),
            Message::Decoded { event, place } => {
                self.decoding = place;
                Some(event)
            }
            Message::Call { event, call, caller } => {
                self.callers.insert(call, caller);
                Some(event)
            }
            Message::Unity { on, bridge } => {
                self.bridges.insert(on, bridge);
                Some(Event::UnityOpened { on })
            }
            Message::Look(report) => {
                // The asker may have left.
                report.send(self.core.editor_report(self.now())).unwrap_or_default();
                None
            }
        }
    }

    /// One event, and what follows from doing what the core decided about it.
    fn transition(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            self.log.event(&event, &self.core);
            self.forget_port_of(&event);
            let now = self.now();
            let entering = self.show(now, &event);
            let effects = self.decide(now, event);
            self.tap.entered(now, entering, &effects, &self.core);
            for effect in effects {
                let caller = self.caller_of(&effect).map(|caller| &caller.label);
                self.log.effect(now, &effect, caller, &self.core);
                self.tap.effect(now, &effect, &self.core);
                events.extend(self.perform(effect));
            }
            self.tap.settle(now, &self.core);
        }
    }

    fn show(&mut self, now: Timestamp, event: &Event) -> Option<Entering> {
        self.tap.event(now, event, &self.core);
        let Event::CallReceived { call, request, .. } = event else { return None };
        let agent = &self.callers.get(call)?.label.agent;
        self.tap.entering(*call, request, agent)
    }

    /// A panic in the core is a defect, but not the end: no call is left behind, and each gets the guarantee that is
    /// true. The panic is logged where it happens.
    fn decide(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        match catch_unwind(AssertUnwindSafe(|| self.core.handle(now, event))) {
            Ok(effects) => {
                self.panics = 0;
                effects
            }
            Err(panic) => {
                self.panics += 1;
                let callers = self.callers.keys().copied().collect();
                let recovered = Event::Recovered { callers };
                let recover = AssertUnwindSafe(|| self.core.handle(now, recovered));
                let effects = catch_unwind(recover).unwrap_or_else(|_| self.give_up());
                if self.panics > PANICS_MAX {
                    self.give_up();
                    resume_unwind(panic); // It will not recover: an end is better than a loop.
                }
                effects
            }
        }
    }

    /// The core cannot say what became of the calls, so it is unknown whether they were sent.
    fn give_up(&mut self) -> Vec<Effect> {
        self.tap.give_up();
        for caller in std::mem::take(&mut self.callers).into_values() {
            caller.outcome.send(Err(Failure::broken_after_sending())).unwrap_or_default();
        }
        Vec::new()
    }

    /// Nothing will be sent there any more.
    fn forget_port_of(&mut self, event: &Event) {
        match event {
            Event::CallCancelled { call } => drop(self.callers.remove(call)),
            Event::UnityClosed { on, .. } => drop(self.bridges.remove(on)),
            Event::PortBound
            | Event::PortHeld { .. }
            | Event::CallReceived { .. }
            | Event::CallBroke { .. }
            | Event::UnityOpened { .. }
            | Event::UnityFrame { .. }
            | Event::UnityNotSent { .. }
            | Event::StopRequested
            | Event::Recovered { .. }
            | Event::DeadlineReached => {}
        }
    }

    fn caller_of(&self, effect: &Effect) -> Option<&Caller> {
        match effect {
            Effect::Reply { call, .. } | Effect::Progress { call, .. } => self.callers.get(call),
            Effect::Send { .. } | Effect::Close { .. } | Effect::Note(_) | Effect::Stopped => None,
        }
    }

    /// Never waits. A frame that no socket took is an event of its own.
    fn perform(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Reply { call, outcome, .. } => {
                if let Some(caller) = self.callers.remove(&call) {
                    // An agent that has left does not want its answer.
                    caller.outcome.send(outcome).unwrap_or_default();
                }
                None
            }
            Effect::Progress { call, report } => {
                let caller = self.callers.get(&call);
                if let Some(progress) = caller.and_then(|caller| caller.progress.as_ref()) {
                    // The next report says more than one that did not fit.
                    progress.try_send(report).unwrap_or_default();
                }
                None
            }
            Effect::Send { on, frame } => match self.post(on, Outgoing::Frame(frame)) {
                Some(Outgoing::Frame(frame)) => Some(Event::UnityNotSent { on, frame }),
                Some(Outgoing::Close { .. }) | None => None,
            },
            Effect::Close { on, code, reason } => {
                self.post(on, Outgoing::Close { code: code as u16, reason });
                None
            }
            Effect::Note(_) => None,
            Effect::Stopped => {
                self.stopped = true;
                None
            }
        }
    }

    /// Returns what the socket does not take. Such a socket is dropped.
    fn post(&self, on: ConnectionId, outgoing: Outgoing<ToUnity>) -> Option<Outgoing<ToUnity>> {
        let Some(bridge) = self.bridges.get(&on) else { return Some(outgoing) };
        let begun_or_ended = match outgoing {
            Outgoing::Frame(ToUnity::Hello(_)) => Some(&bridge.admitted), // Sent only to the Editor.
            Outgoing::Frame(_) => None,
            Outgoing::Close { .. } => Some(&bridge.told_to_close),
        };
        let sent = bridge.outbox.try_send(outgoing);
        begun_or_ended.inspect(|token| token.cancel());
        let refused = sent.err()?;
        bridge.dropped.cancel();
        Some(refused.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use coordination::{Boot, ClosedBy, Deadline, ExecutionCoordinator, Limits, RawCall, validate};
    use protocol::{Map, codec};

    use super::*;
    use crate::clock::EPOCH;

    /// A core that does what it should and then panics, so that nobody hears of it.
    struct Panics {
        core: ExecutionCoordinator,
        at: fn(&Event) -> bool,
    }

    impl Core for Panics {
        fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
            let panics = (self.at)(&event);
            let effects = self.core.handle(now, event);
            assert!(!panics, "a planted defect");
            effects
        }

        fn next_deadline(&self) -> Option<Deadline> {
            self.core.next_deadline()
        }

        fn editor_report(&self, now: Timestamp) -> EditorReport {
            self.core.editor_report(now)
        }
    }

    /// What a `read_console` is told by a core that panics at such an event.
    async fn told(at: fn(&Event) -> bool, answers: bool) -> String {
        let (core, inbox) = channel();
        let boot = Boot::new("t").unwrap();
        let decisions = ExecutionCoordinator::new(Limits::default(), boot, "1");
        tokio::spawn(run(Panics { core: decisions, at }, inbox, EPOCH));
        core.tell(Event::PortBound).await;
        let port = core.unity_opened().await;
        let frame =
            |text: &str| Event::UnityFrame { on: port.id, frame: codec::decode(text.as_bytes()) };
        core.tell(frame(
            r#"{"type":"hello","protocol_version":1,"plugin_version":"1","state":"ready"}"#,
        ))
        .await;
        let request = validate(RawCall { tool: "read_console".to_owned(), arguments: Map::new() });
        let mut call = core.call(request.unwrap(), false).await;
        if answers {
            let answer = r#"{"type":"result","protocol_version":1,"request_id":"req-t-1","status":"ok","result":{"entries":[],"count":0,"truncated":false}}"#;
            core.tell(frame(answer)).await;
        }
        let answered = async {
            loop {
                if let News::Outcome(outcome) = call.news().await {
                    return outcome.unwrap_err();
                }
            }
        };
        let hour = Duration::from_secs(3_600);
        let failure = tokio::time::timeout(hour, answered).await.expect("it is left behind");
        format!("{} {}", failure.code, failure.guarantee.text())
    }

    #[tokio::test(start_paused = true)]
    async fn a_core_that_panics_ten_times_in_a_row_goes_on_and_ends_with_the_next() {
        let (core, inbox) = channel();
        let decisions = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
        let running = tokio::spawn(run(Panics { core: decisions, at: |_| true }, inbox, EPOCH));
        for _ in 0..PANICS_MAX {
            core.tell(Event::PortBound).await;
        }
        assert!(core.look().await.is_some(), "it goes on");
        core.tell(Event::PortBound).await;
        let hour = Duration::from_secs(3_600);
        let ended = tokio::time::timeout(hour, running).await.expect("it goes on");
        assert!(ended.unwrap_err().is_panic());
    }

    #[tokio::test(start_paused = true)]
    async fn panics_that_are_not_in_a_row_are_not_counted_together() {
        let (core, inbox) = channel();
        let decisions = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
        let at = |event: &Event| matches!(event, Event::PortBound);
        tokio::spawn(run(Panics { core: decisions, at }, inbox, EPOCH));
        for _ in 0..2 * PANICS_MAX {
            core.tell(Event::PortBound).await;
            core.tell(Event::CallCancelled { call: CallId(7) }).await;
        }
        assert!(core.look().await.is_some(), "it goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_of_a_call_that_was_cancelled_and_of_a_socket_that_is_closed() {
        let (core, inbox) = channel();
        let decisions = ExecutionCoordinator::new(Limits::default(), Boot::new("t").unwrap(), "1");
        tokio::spawn(run(decisions, inbox, EPOCH));
        core.tell(Event::PortBound).await;
        let request = validate(RawCall { tool: "read_console".to_owned(), arguments: Map::new() });
        let mut call = core.call(request.unwrap(), false).await;
        let mut port = core.unity_opened().await;
        let other = core.unity_opened().await;
        assert!(port.id != other.id, "each socket has a number of its own");
        core.tell(Event::CallCancelled { call: call.id }).await;
        core.tell(Event::UnityClosed { on: port.id, by: ClosedBy::Anyone }).await;
        core.look().await;
        assert!(call.outcome.try_recv() == Err(oneshot::error::TryRecvError::Closed));
        let ended = port.outbox.try_recv().err();
        assert_eq!(ended, Some(mpsc::error::TryRecvError::Disconnected));
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_is_left_behind_when_a_frame_makes_the_core_panic() {
        let at = |event: &Event| {
            matches!(event, Event::UnityFrame { frame: Ok(protocol::FromUnity::Result(_)), .. })
        };
        assert_eq!(told(at, true).await, "ERR_INVALID_RESPONSE unknown");
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_is_left_behind_when_a_deadline_makes_the_core_panic() {
        let at = |event: &Event| matches!(event, Event::DeadlineReached);
        assert_eq!(told(at, false).await, "ERR_INVALID_RESPONSE unknown");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_arrival_makes_the_core_panic_is_answered() {
        let at = |event: &Event| matches!(event, Event::CallReceived { .. });
        assert_eq!(told(at, false).await, "ERR_REQUEST_TIMEOUT unknown");
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_is_left_behind_when_the_core_cannot_recover() {
        let at =
            |event: &Event| matches!(event, Event::CallReceived { .. } | Event::Recovered { .. });
        assert_eq!(told(at, false).await, "ERR_INVALID_RESPONSE unknown");
    }
}
