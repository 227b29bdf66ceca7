//! What the plugin sends: it is recorded, compared with the rules of the whole run, and understood.

use protocol::{DecodeError, FromUnity, JsonSize, PluginHello, codec};
use tokio::time::Instant;

use super::{
    ALREADY_ACTIVE, AcceptedHello, FRAME_MAX, Phase, Plugin, REPLACED, Session, Socket, TOKENS_MAX,
    Welcome,
};
use crate::listener::{Arrived, Event};
use crate::record::Fact;
use crate::rules::Rule;

impl Plugin {
    pub(super) fn on_arrived(&mut self, arrived: Arrived) {
        let Arrived { socket, at, event } = arrived;
        match event {
            Event::Opened { orders } => {
                let opened_in = self.record.push(at, socket, Fact::Opened, "the plugin connected");
                self.sockets.insert(
                    socket,
                    Socket {
                        opened_at: at,
                        opened_in,
                        orders,
                        phase: Phase::BeforeHello,
                        frame_max: FRAME_MAX,
                        last_seq: 0,
                        last_seq_in: None,
                        pings: 0,
                        pongs: 0,
                    },
                );
            }
            Event::Refused(why) => self.refused = Some(why),
            Event::Text(text) => self.on_text(at, socket, &text),
            Event::Binary(bytes) => {
                let what = format!("a binary frame of {bytes} bytes");
                let index = self.record.push(at, socket, Fact::Invalid, &what);
                self.break_rule(Rule::Text, format!("The plugin sent {what}."), vec![index]);
            }
            Event::Broken(why) => {
                let index = self.record.push(at, socket, Fact::Invalid, &why);
                self.break_rule(Rule::Valid, why, vec![index]);
            }
            Event::Ended { code, reason } => self.on_ended(at, socket, code, &reason),
        }
    }

    fn on_ended(&mut self, at: Instant, id: u64, code: Option<u16>, reason: &str) {
        let text = match code {
            Some(code) => format!("the socket has ended: {code} {reason}"),
            None => "the socket has ended without a close frame".to_owned(),
        };
        let ended = self.sockets.remove(&id);
        if ended.is_none_or(|socket| socket.phase == Phase::Closed) {
            self.record.push(at, id, Fact::Done, &text); // Certify has ended it.
            return;
        }
        self.record.push(at, id, Fact::Ended { code }, &text);
        if self.session_socket() == Some(id) {
            self.session = None;
        }
    }

    fn on_text(&mut self, at: Instant, id: u64, text: &str) {
        let decoded = codec::decode::<FromUnity>(text.as_bytes());
        let fact = match &decoded {
            Ok(message) => Fact::Received { message: Box::new(message.clone()), bytes: text.len() },
            Err(_) => Fact::Invalid,
        };
        let index = self.record.push(at, id, fact, text);
        let Some(socket) = self.sockets.get(&id) else { return };
        let (max, phase) = (socket.frame_max, socket.phase);
        if text.len() > max {
            let what = format!("A frame has {} bytes; the limit is {max}.", text.len());
            self.break_rule(Rule::Size, what, vec![index]);
        }
        let tokens = JsonSize::of(text.as_bytes()).tokens;
        if tokens > TOKENS_MAX {
            let what = format!("A frame has {tokens} tokens; the limit is {TOKENS_MAX}.");
            self.break_rule(Rule::Size, what, vec![index]);
        }
        match (decoded, phase) {
            (Err(error), _) => self.on_invalid(id, index, phase, &error),
            (Ok(FromUnity::Hello(hello)), Phase::BeforeHello) => {
                self.on_hello(at, id, index, hello)
            }
            (Ok(_), Phase::BeforeHello) => {
                self.turn_away(
                    id,
                    "The first frame of a socket is not hello.".to_owned(),
                    vec![index],
                );
            }
            (Ok(message), Phase::Open | Phase::Closed) => self.on_message(id, index, message),
        }
    }

    fn on_invalid(&mut self, id: u64, index: usize, phase: Phase, error: &DecodeError) {
        self.break_rule(Rule::Valid, sentence(&error.to_string()), vec![index]);
        if phase == Phase::BeforeHello {
            let why = format!("The first frame is not a valid hello: {error}.");
            self.turn_away(id, why, vec![index]);
        }
        for request in &error.about {
            self.on_broken_answer(request, index, error);
        }
    }

    fn on_hello(&mut self, at: Instant, id: u64, index: usize, hello: PluginHello) {
        self.check_attempt(index, &hello);
        if let Some(present) = &self.session {
            let names = |hello: &PluginHello| hello.editor_instance_id.clone();
            let same = names(&hello).is_some() && names(&hello) == names(&present.hello);
            if !same {
                self.note("rejected a second Editor: the plugin under test is still connected");
                return self.reject(id, ALREADY_ACTIVE);
            }
            let replaced = present.socket;
            self.session = None;
            self.close_socket(replaced, 1000, REPLACED);
        }
        let max = match self.welcome {
            Welcome::Accept { max_message_bytes } => max_message_bytes,
            Welcome::RejectOnce => {
                self.welcome = Welcome::USUAL;
                return self.reject(id, ALREADY_ACTIVE);
            }
        };
        if let Some(last) = self.hellos.last()
            && hello.plugin_session_id.is_some()
            && last.hello.plugin_session_id.is_some()
            && last.hello.plugin_session_id != hello.plugin_session_id
        {
            self.forget_open_requests(index);
        }
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        (socket.phase, socket.frame_max) = (Phase::Open, max);
        let took = at.saturating_duration_since(socket.opened_at);
        self.bad_hello = None;
        self.offered = None;
        self.hellos.push(AcceptedHello { socket: id, took, hello: hello.clone() });
        self.session = Some(Session { socket: id, state: hello.state, hello });
        self.greet(id, max);
        self.ping();
    }

    fn check_attempt(&mut self, index: usize, hello: &PluginHello) {
        let Some(last) = self.hellos.last().map(|last| &last.hello) else { return };
        let same = last.editor_instance_id == hello.editor_instance_id;
        if let (true, Some(before), Some(now)) =
            (same, last.connect_attempt_seq, hello.connect_attempt_seq)
            && now <= before
        {
            let what = format!("connect_attempt_seq is {now} after {before}.");
            self.break_rule(Rule::Attempt, what, vec![index]);
        }
    }

    fn on_message(&mut self, id: u64, index: usize, message: FromUnity) {
        match &message {
            FromUnity::Hello(_) => {
                let what = "The plugin sent a second hello on one socket.";
                self.break_rule(Rule::HelloFirst, what, vec![index]);
            }
            FromUnity::Capability(offered) => {
                self.offered = Some(offered.tools.iter().map(|tool| tool.name.clone()).collect());
            }
            FromUnity::EditorStatus(status) => {
                if self.check_seq(id, index, status.seq)
                    && let Some(session) = self.session.as_mut().filter(|now| now.socket == id)
                {
                    session.state = status.state;
                }
            }
            FromUnity::Pong(pong) => {
                if let Some(socket) = self.sockets.get_mut(&id) {
                    socket.pongs += 1;
                }
                let is_new = pong.seq.is_none_or(|seq| self.check_seq(id, index, seq));
                if let (true, Some(state), Some(session)) = (
                    is_new,
                    pong.editor_state,
                    self.session.as_mut().filter(|now| now.socket == id),
                ) {
                    session.state = state;
                }
            }
            FromUnity::Result(_)
            | FromUnity::SubmitJobResult(_)
            | FromUnity::JobStatus(_)
            | FromUnity::CancelResult(_)
            | FromUnity::Error(_) => self.on_answer(id, index, message),
        }
    }

    /// Whether it is larger than the last one.
    fn check_seq(&mut self, id: u64, index: usize, seq: u64) -> bool {
        let Some(socket) = self.sockets.get_mut(&id) else { return false };
        let (last, last_in) = (socket.last_seq, socket.last_seq_in);
        if seq <= last {
            let what = match last_in {
                Some(_) => format!("seq is {seq} after {last}."),
                None => format!("The first seq of a session is {seq}; it starts at 1."),
            };
            self.break_rule(Rule::Seq, what, last_in.into_iter().chain([index]).collect());
            return false;
        }
        (socket.last_seq, socket.last_seq_in) = (seq, Some(index));
        true
    }
}

/// With a capital letter and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}
