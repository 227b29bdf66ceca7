//! The event loop: the only owner of the core. It gives the core its time, and awaits nothing but the next event,
//! so no peer can hold up another.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use protocol::ToUnity;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::budget::{EVENTS_MAX, FRAMES_MAX, PANICS_MAX, REPORTS_MAX};
use crate::transition_log;
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

/// Where the answer to a call goes, and what the log says of it.
struct Caller {
    outcome: oneshot::Sender<Outcome>,
    progress: mpsc::Sender<ProgressReport>,
    label: CallLabel,
}

/// How a call is named in the log.
pub(crate) struct CallLabel {
    pub(crate) tool: &'static str,
    pub(crate) client_request_id: Option<String>,
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
    progress: mpsc::Receiver<ProgressReport>,
}

pub(crate) enum News {
    Progress(ProgressReport),
    /// The one answer; nothing comes after it.
    Outcome(Outcome),
}

impl OpenCall {
    pub(crate) async fn news(&mut self) -> News {
        tokio::select! {
            biased;
            Some(report) = self.progress.recv() => News::Progress(report),
            // The loop is gone only when every call it had is answered.
            outcome = &mut self.outcome => {
                News::Outcome(outcome.unwrap_or_else(|_| Err(Failure::stopping())))
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

    pub(crate) async fn call(&self, request: ValidCall, wants_progress: bool) -> OpenCall {
        let call = CallId(self.next_number());
        let (outcome, answer) = oneshot::channel();
        let (progress, reports) = mpsc::channel(REPORTS_MAX);
        let label = CallLabel {
            tool: request.tool().name,
            client_request_id: request.client_request_id().map(str::to_owned),
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

    /// A message for a loop that has ended is dropped: its sender sees that the channel for the answer is closed.
    async fn deliver(&self, message: Message) {
        self.inbox.send(message).await.unwrap_or_default();
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Runs until the core says that everything has stopped.
pub async fn run<C: Core>(core: C, mut inbox: Inbox) {
    let mut server = EventLoop {
        core,
        started: Instant::now(),
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
            transition_log::event(&event);
            self.forget_port_of(&event);
            for effect in self.decide(event) {
                let caller = self.caller_of(&effect);
                transition_log::effect(&effect, caller.map(|caller| &caller.label));
                events.extend(self.perform(effect));
            }
        }
    }

    /// A panic in the core is a defect, but not the end: the caller gets the guarantee that is true.
    fn decide(&mut self, event: Event) -> Vec<Effect> {
        let now = self.now();
        let call = if let Event::CallReceived { call, .. } = &event { Some(*call) } else { None };
        match self.handle(now, event) {
            Some(effects) => effects,
            None => call.map(|call| self.break_off(now, call)).unwrap_or_default(),
        }
    }

    /// `None` if the core panicked, which is logged where it happens.
    fn handle(&mut self, now: Timestamp, event: Event) -> Option<Vec<Effect>> {
        let handled = catch_unwind(AssertUnwindSafe(|| self.core.handle(now, event)));
        self.panics = if handled.is_ok() { 0 } else { self.panics + 1 };
        match handled {
            // It will not recover: an end is better than a loop.
            Err(panic) if self.panics > PANICS_MAX => resume_unwind(panic),
            handled => handled.ok(),
        }
    }

    fn break_off(&mut self, now: Timestamp, call: CallId) -> Vec<Effect> {
        let effects = self.handle(now, Event::CallBroke { call }).unwrap_or_default();
        let answers =
            |effect: &Effect| matches!(effect, Effect::Reply { call: of, .. } if *of == call);
        if !effects.iter().any(answers)
            && let Some(caller) = self.callers.remove(&call)
        {
            // The core lost track of it, so it is unknown whether it was sent.
            caller.outcome.send(Err(Failure::broken_after_sending())).unwrap_or_default();
        }
        effects
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
                if let Some(caller) = self.callers.get(&call) {
                    // The next report says more than one that did not fit.
                    caller.progress.try_send(report).unwrap_or_default();
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
