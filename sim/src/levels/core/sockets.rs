//! Sockets: connections of the Editors, as the shells at both ends would have them.

use coordination::{ClosedBy, ConnectionId, Event};
use mock_unity::Input;
use protocol::codec::decode as frame_of;
use protocol::{ToUnity, codec};
use serde_json::json;

use super::wires::{Held, Parcel, Side};
use super::{Happening, Millis, World};
use crate::record::log::{Crossing, Message, Wire};
use crate::record::sniffer;
use crate::scenario::SERVER;

/// How long a peer has to close after it was told to.
const CLOSE_MAX: Millis = 1_000;
/// How long an attempt to connect may take.
const PATIENCE: Millis = 5_000;

pub(super) struct Socket {
    editor: usize,
    wire: Wire,
    server: End,
    unity: End,
    /// Something was lost on the way there: nothing after it arrives.
    broken_to_server: bool,
    broken_to_unity: bool,
    last_at_server: Millis,
    last_at_unity: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Not there yet.
    Dialing,
    Open,
    /// The goodbye was said, the other end's is awaited.
    Closing,
    Closed,
}

impl World<'_> {
    fn note(&self, socket: usize, at: Side, crossing: Crossing) {
        let Some(socket) = self.sockets.get(socket) else { return };
        let host = match at {
            Side::Server => SERVER,
            Side::Unity => &socket.wire.client,
        };
        self.props.log.crossing(host, &socket.wire, crossing);
    }

    fn editor_of(&self, socket: usize) -> Option<(usize, &'static str)> {
        let editor = self.sockets.get(socket)?.editor;
        Some((editor, self.editors.get(editor)?.name))
    }

    // Dialling.

    /// An attempt to connect; what becomes of it at once, if anything does.
    pub(super) fn dial(&mut self, editor: usize) -> Option<Input> {
        let actor = self.editors.get_mut(editor)?;
        let name = actor.name;
        if self.server.is_none()
            || self.wires.loses(name, Side::Server)
            || self.wires.loses(name, Side::Unity)
        {
            return Some(Input::DialFailed);
        }
        actor.is_dialing = true;
        let socket = self.sockets.len();
        actor.socket = Some(socket);
        self.connections = self.connections.wrapping_add(1);
        let wire =
            Wire { client: name.to_owned(), server: SERVER.to_owned(), number: self.connections };
        self.sockets.push(Socket {
            editor,
            wire,
            server: End::Dialing,
            unity: End::Dialing,
            broken_to_server: false,
            broken_to_unity: false,
            last_at_server: 0,
            last_at_unity: 0,
        });
        if self.wires.holds(name) {
            self.wires.hold(name, Held::Dial { socket });
        } else {
            self.dial_on(socket);
        }
        None
    }

    /// The connection is made, then the upgrade asked for: three ways until the server knows of it.
    pub(super) fn dial_on(&mut self, socket: usize) {
        let Some((_, name)) = self.editor_of(socket) else { return };
        self.plan(self.now + 3 * self.wires.latency(name), Happening::Reaches { socket });
        self.plan(self.now + PATIENCE, Happening::DialFails { socket });
    }

    pub(super) fn on_upgrade(&mut self, socket: usize) {
        let Some((_, name)) = self.editor_of(socket) else { return };
        let is_lost = self.wires.loses(name, Side::Server) || self.wires.loses(name, Side::Unity);
        let Some(known) = self.sockets.get_mut(socket) else { return };
        if known.unity != End::Dialing || is_lost {
            return;
        }
        if self.server.is_none() {
            return self.on_dial_failed(socket);
        }
        known.server = End::Open;
        self.note(socket, Side::Server, Crossing::Opened);
        self.post(socket, Side::Unity, Parcel::Welcome);
        self.tell(Event::UnityOpened { on: connection(socket) });
    }

    pub(super) fn on_dial_failed(&mut self, socket: usize) {
        let Some(known) = self.sockets.get_mut(socket) else { return };
        if known.unity != End::Dialing {
            return;
        }
        known.unity = End::Closed;
        let editor = known.editor;
        self.post(socket, Side::Server, Parcel::End);
        self.forget_socket(editor);
        self.stir(editor, Input::DialFailed);
    }

    // On the way.

    fn post(&mut self, socket: usize, to: Side, parcel: Parcel) {
        let Some((_, name)) = self.editor_of(socket) else { return };
        let loses = self.wires.loses(name, to);
        let arrives = self.now + self.wires.latency(name);
        let Some(known) = self.sockets.get_mut(socket) else { return };
        let (broken, last) = match to {
            Side::Server => (&mut known.broken_to_server, &mut known.last_at_server),
            Side::Unity => (&mut known.broken_to_unity, &mut known.last_at_unity),
        };
        *broken |= loses;
        if *broken {
            return;
        }
        *last = arrives.max(*last); // Nothing overtakes.
        let at = *last;
        if self.wires.holds(name) {
            self.wires.hold(name, Held::Parcel { socket, to, parcel });
        } else {
            self.plan(at, Happening::Arrives { socket, at: to, parcel });
        }
    }

    // At the server.

    pub(super) fn on_parcel_at_server(&mut self, socket: usize, parcel: Parcel) {
        let Some(known) = self.sockets.get(socket) else { return };
        match (known.server, parcel) {
            (End::Open, Parcel::Text(text)) => self.on_text(socket, text),
            (End::Open, Parcel::Binary(length)) => {
                self.note(socket, Side::Server, Crossing::Received(Message::Binary(length)));
                self.refuse(socket, 1003, "text frames only", ClosedBy::Anyone);
            }
            (End::Open | End::Closing, Parcel::Close { code, reason }) => {
                let message = Message::Close { code, reason: reason.to_owned() };
                self.note(socket, Side::Server, Crossing::Received(message));
                self.end_at_server(socket);
            }
            (End::Open | End::Closing, Parcel::End) => self.end_at_server(socket),
            // Nobody reads it any more.
            (End::Dialing | End::Closing | End::Closed, _) | (End::Open, Parcel::Welcome) => {}
        }
    }

    fn on_text(&mut self, socket: usize, text: String) {
        if text.len() > self.scenario.config.limits.message_max_bytes {
            return self.refuse(socket, 1009, "frame over the limit", ClosedBy::FrameTooLarge);
        }
        if self.is_worth_noting(&text) {
            self.note(socket, Side::Server, Crossing::Received(message_of(&text)));
        }
        let (on, frame) = (connection(socket), frame_of(text.as_bytes()));
        self.tell(Event::UnityFrame { on, frame });
    }

    fn is_worth_noting(&self, text: &str) -> bool {
        !(self.props.log.is_brief && sniffer::is_heartbeat(text.as_bytes()))
    }

    /// The peer has broken the rules of WebSocket.
    fn refuse(&mut self, socket: usize, code: u16, reason: &'static str, by: ClosedBy) {
        let message = Message::Close { code: Some(code), reason: reason.to_owned() };
        self.note(socket, Side::Server, Crossing::Sent(message));
        self.post(socket, Side::Unity, Parcel::Close { code: Some(code), reason });
        if let Some(known) = self.sockets.get_mut(socket) {
            known.server = End::Closed;
        }
        self.note(socket, Side::Server, Crossing::Ended);
        self.tell(Event::UnityClosed { on: connection(socket), by });
        self.post(socket, Side::Unity, Parcel::End);
    }

    /// A frame of the core; given back if the socket is not there to take it.
    pub(super) fn send(&mut self, on: ConnectionId, frame: ToUnity) -> Option<Event> {
        let socket = on.0 as usize;
        if self.sockets.get(socket).is_none_or(|socket| socket.server != End::Open) {
            return Some(Event::UnityNotSent { on, frame });
        }
        let text = codec::encode(&frame);
        if self.is_worth_noting(&text) {
            self.note(socket, Side::Server, Crossing::Sent(message_of(&text)));
        }
        self.post(socket, Side::Unity, Parcel::Text(text));
        None
    }

    pub(super) fn say_goodbye(&mut self, on: ConnectionId, code: u16, reason: &'static str) {
        let socket = on.0 as usize;
        match self.sockets.get_mut(socket) {
            Some(known) if known.server == End::Open => known.server = End::Closing,
            Some(_) | None => return,
        }
        let message = Message::Close { code: Some(code), reason: reason.to_owned() };
        self.note(socket, Side::Server, Crossing::Sent(message));
        self.post(socket, Side::Unity, Parcel::Close { code: Some(code), reason });
        self.plan(self.now + CLOSE_MAX, Happening::CloseOver { socket });
    }

    /// This end is closed, and the core knows it.
    pub(super) fn end_at_server(&mut self, socket: usize) {
        match self.sockets.get_mut(socket) {
            Some(known) if matches!(known.server, End::Open | End::Closing) => {
                known.server = End::Closed;
            }
            Some(_) | None => return,
        }
        self.note(socket, Side::Server, Crossing::Ended);
        self.post(socket, Side::Unity, Parcel::End);
        self.tell(Event::UnityClosed { on: connection(socket), by: ClosedBy::Anyone });
    }

    // At Unity.

    pub(super) fn on_parcel_at_unity(&mut self, socket: usize, parcel: Parcel) {
        let Some(known) = self.sockets.get_mut(socket) else { return };
        let editor = known.editor;
        match (known.unity, parcel) {
            (End::Dialing, Parcel::Welcome) => {
                known.unity = End::Open;
                if let Some(actor) = self.editors.get_mut(editor) {
                    actor.is_dialing = false;
                }
                self.stir(editor, Input::Connected);
            }
            (End::Dialing, Parcel::End | Parcel::Close { .. }) => self.on_dial_failed(socket),
            (End::Open, Parcel::Text(text)) => self.stir(editor, Input::Frame(text)),
            (End::Open, Parcel::Close { code, reason }) => {
                known.unity = End::Closing;
                self.post(socket, Side::Server, Parcel::Close { code, reason });
            }
            (End::Open | End::Closing, Parcel::End) => {
                known.unity = End::Closed;
                self.post(socket, Side::Server, Parcel::End);
                self.forget_socket(editor);
                self.stir(editor, Input::Closed);
            }
            (End::Dialing | End::Open | End::Closing | End::Closed, _) => {}
        }
    }

    pub(super) fn say(&mut self, editor: usize, parcel: Parcel) {
        let Some(socket) = self.open_socket(editor) else { return };
        if let Parcel::Text(text) = &parcel
            && self.is_worth_noting(text)
            && text.len() <= self.scenario.config.limits.message_max_bytes
        {
            let message = if self.props.log.is_brief { id_of(text) } else { message_of(text) };
            self.note(socket, Side::Unity, Crossing::Sent(message));
        }
        self.post(socket, Side::Server, parcel);
    }

    /// The Editor lets go of its socket, with or without a word.
    pub(super) fn hang_up(&mut self, editor: usize, word: Parcel) {
        let Some(socket) = self.editors.get(editor).and_then(|actor| actor.socket) else { return };
        if let Some(known) = self.sockets.get_mut(socket) {
            known.unity = End::Closed;
        }
        self.post(socket, Side::Server, word);
        self.forget_socket(editor);
    }

    fn open_socket(&self, editor: usize) -> Option<usize> {
        let socket = self.editors.get(editor)?.socket?;
        self.sockets.get(socket).filter(|known| known.unity == End::Open).map(|_| socket)
    }

    fn forget_socket(&mut self, editor: usize) {
        if let Some(actor) = self.editors.get_mut(editor) {
            actor.is_dialing = false;
            actor.socket = None;
        }
    }
}

fn connection(socket: usize) -> ConnectionId {
    ConnectionId(socket as u64)
}

/// All that judges want to know of what Unity says before it arrives.
fn id_of(text: &str) -> Message {
    let id = text.split_once("\"request_id\":\"").and_then(|(_, rest)| rest.split_once('"'));
    Message::Json(json!({ "request_id": id.map(|(id, _)| id) }))
}

fn message_of(text: &str) -> Message {
    let json = serde_json::from_str(text);
    json.map_or_else(|_| Message::Text(text.to_owned()), Message::Json)
}
