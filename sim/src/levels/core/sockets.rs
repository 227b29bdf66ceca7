//! The WebSocket connections of the Editors, as the shells at both ends see them.

use coordination::{ClosedBy, ConnectionId, Event};
use mock_unity::Input;
use protocol::codec::decode as frame_of;
use protocol::{ToUnity, codec};
use serde_json::json;

use super::links::{Held, Packet, Side};
use super::{CoreLevel, Millis, TimedEvent};
use crate::record::log::{Crossing, Wire, WireMessage};
use crate::record::message_parser;
use crate::scenario::SERVER;

/// How long Unity has to answer a close.
const CLOSE_TIMEOUT: Millis = 1_000;
/// How long an attempt to connect may take.
const DIAL_TIMEOUT: Millis = 5_000;

pub(super) struct Socket {
    editor: usize,
    wire: Wire,
    server: SocketState,
    unity: SocketState,
    /// A packet to the server was lost: nothing after it arrives.
    broken_to_server: bool,
    broken_to_unity: bool,
    last_at_server: Millis,
    last_at_unity: Millis,
    /// Of the close that Unity has got.
    close_reason: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SocketState {
    Dialing,
    Open,
    /// This end has sent a close and waits for the other.
    Closing,
    Closed,
}

impl CoreLevel<'_> {
    fn note(&self, socket: usize, at: Side, crossing: Crossing) {
        let Some(socket) = self.sockets.get(socket) else { return };
        let host = match at {
            Side::Server => &socket.wire.server,
            Side::Unity => &socket.wire.client,
        };
        self.context.log.crossing(host, &socket.wire, crossing);
    }

    fn editor_of(&self, socket: usize) -> Option<(usize, &'static str)> {
        let editor = self.sockets.get(socket)?.editor;
        Some((editor, self.editors.get(editor)?.name))
    }

    // Dialling.

    /// An attempt to connect; `Some` if it fails at once.
    pub(super) fn dial(&mut self, editor: usize) -> Option<Input> {
        let host = self.editors.get_mut(editor)?;
        let name = host.name;
        if self.server.is_none()
            || self.links.loses(name, Side::Server)
            || self.links.loses(name, Side::Unity)
        {
            return Some(Input::DialFailed);
        }
        host.is_dialing = true;
        let socket = self.sockets.len();
        host.socket = Some(socket);
        self.connections = self.connections.wrapping_add(1);
        let wire = Wire { client: name.into(), server: SERVER.into(), number: self.connections };
        self.sockets.push(Socket {
            editor,
            wire,
            server: SocketState::Dialing,
            unity: SocketState::Dialing,
            broken_to_server: false,
            broken_to_unity: false,
            last_at_server: 0,
            last_at_unity: 0,
            close_reason: "",
        });
        if self.links.holds(name) {
            self.links.hold(name, Held::Dial { socket });
        } else {
            self.dial_on(socket);
        }
        None
    }

    /// TCP first, then the upgrade: three trips until the server sees it.
    pub(super) fn dial_on(&mut self, socket: usize) {
        let Some((_, name)) = self.editor_of(socket) else { return };
        self.schedule(self.now + 3 * self.links.latency(name), TimedEvent::Reaches { socket });
        self.schedule(self.now + DIAL_TIMEOUT, TimedEvent::DialFails { socket });
    }

    pub(super) fn on_upgrade(&mut self, socket: usize) {
        let Some((_, name)) = self.editor_of(socket) else { return };
        let is_lost = self.links.loses(name, Side::Server) || self.links.loses(name, Side::Unity);
        let Some(known) = self.sockets.get_mut(socket) else { return };
        if known.unity != SocketState::Dialing || is_lost {
            return;
        }
        if self.server.is_none() {
            return self.on_dial_failed(socket);
        }
        known.server = SocketState::Open;
        self.note(socket, Side::Server, Crossing::Opened);
        self.post(socket, Side::Unity, Packet::Accepted);
        self.handle(Event::UnityOpened { on: connection(socket) });
    }

    pub(super) fn on_dial_failed(&mut self, socket: usize) {
        let Some(known) = self.sockets.get_mut(socket) else { return };
        if known.unity != SocketState::Dialing {
            return;
        }
        known.unity = SocketState::Closed;
        let editor = known.editor;
        self.post(socket, Side::Server, Packet::End);
        self.forget_socket(editor);
        self.drive_editor(editor, Input::DialFailed);
    }

    // In transit.

    fn post(&mut self, socket: usize, to: Side, packet: Packet) {
        let Some((_, name)) = self.editor_of(socket) else { return };
        let loses = self.links.loses(name, to);
        let arrives = self.now + self.links.latency(name);
        let Some(known) = self.sockets.get_mut(socket) else { return };
        let (broken, last) = match to {
            Side::Server => (&mut known.broken_to_server, &mut known.last_at_server),
            Side::Unity => (&mut known.broken_to_unity, &mut known.last_at_unity),
        };
        *broken |= loses;
        if *broken {
            return;
        }
        *last = arrives.max(*last); // Packets keep their order.
        let at = *last;
        if self.links.holds(name) {
            self.links.hold(name, Held::Packet { socket, to, packet });
        } else {
            self.schedule(at, TimedEvent::Arrives { socket, at: to, packet });
        }
    }

    // At the server.

    pub(super) fn on_packet_at_server(&mut self, socket: usize, packet: Packet) {
        let Some(known) = self.sockets.get(socket) else { return };
        match (known.server, packet) {
            (SocketState::Open, Packet::Text(text)) => self.on_text(socket, text),
            (SocketState::Open, Packet::Binary(length)) => {
                self.note(socket, Side::Server, Crossing::Received(WireMessage::Binary(length)));
                self.refuse(socket, 1003, "text frames only", ClosedBy::Anyone);
            }
            (SocketState::Open | SocketState::Closing, Packet::Close { code, reason }) => {
                let message = WireMessage::Close { code, reason: reason.to_owned() };
                self.note(socket, Side::Server, Crossing::Received(message));
                let by = code.map_or(ClosedBy::Anyone, |code| ClosedBy::Plugin { code });
                self.end_at_server_by(socket, by);
            }
            (SocketState::Open | SocketState::Closing, Packet::End) => self.end_at_server(socket),
            // This end does not read any more.
            (SocketState::Dialing | SocketState::Closing | SocketState::Closed, _)
            | (SocketState::Open, Packet::Accepted) => {}
        }
    }

    fn on_text(&mut self, socket: usize, text: String) {
        if text.len() > self.scenario.limits.message_max_bytes {
            return self.refuse(socket, 1009, "frame over the limit", ClosedBy::FrameTooLarge);
        }
        if self.is_recorded(&text) {
            self.note(socket, Side::Server, Crossing::Received(message_of(&text)));
        }
        let (on, frame) = (connection(socket), frame_of(text.as_bytes()));
        self.handle(Event::UnityFrame { on, frame });
    }

    fn is_recorded(&self, text: &str) -> bool {
        !self.context.log.is_brief || message_parser::is_checked(text.as_bytes())
    }

    /// Unity has broken the rules of the WebSocket.
    fn refuse(&mut self, socket: usize, code: u16, reason: &'static str, by: ClosedBy) {
        let message = WireMessage::Close { code: Some(code), reason: reason.to_owned() };
        self.note(socket, Side::Server, Crossing::Sent(message));
        self.post(socket, Side::Unity, Packet::Close { code: Some(code), reason });
        if let Some(known) = self.sockets.get_mut(socket) {
            known.server = SocketState::Closed;
        }
        self.closed_at_server(socket, by);
    }

    /// A frame that a closed socket cannot send comes back.
    pub(super) fn send(&mut self, on: ConnectionId, frame: ToUnity) -> Option<Event> {
        let socket = on.0 as usize;
        if self.sockets.get(socket).is_none_or(|socket| socket.server != SocketState::Open) {
            return Some(Event::UnityNotSent { on, frame });
        }
        let text = codec::encode(&frame);
        if self.is_recorded(&text) {
            self.note(socket, Side::Server, Crossing::Sent(message_of(&text)));
        }
        self.post(socket, Side::Unity, Packet::Text(text));
        None
    }

    pub(super) fn close_socket(&mut self, on: ConnectionId, code: u16, reason: &'static str) {
        let socket = on.0 as usize;
        match self.sockets.get_mut(socket) {
            Some(known) if known.server == SocketState::Open => known.server = SocketState::Closing,
            Some(_) | None => return,
        }
        let message = WireMessage::Close { code: Some(code), reason: reason.to_owned() };
        self.note(socket, Side::Server, Crossing::Sent(message));
        self.post(socket, Side::Unity, Packet::Close { code: Some(code), reason });
        self.schedule(self.now + CLOSE_TIMEOUT, TimedEvent::CloseOver { socket });
    }

    /// The server's end is closed.
    pub(super) fn end_at_server(&mut self, socket: usize) {
        self.end_at_server_by(socket, ClosedBy::Anyone);
    }

    fn end_at_server_by(&mut self, socket: usize, by: ClosedBy) {
        match self.sockets.get_mut(socket) {
            Some(known) if matches!(known.server, SocketState::Open | SocketState::Closing) => {
                known.server = SocketState::Closed;
            }
            Some(_) | None => return,
        }
        self.closed_at_server(socket, by);
    }

    /// The socket tells the event loop a little later. Until then it gives back what is sent to it.
    fn closed_at_server(&mut self, socket: usize, by: ClosedBy) {
        self.note(socket, Side::Server, Crossing::Ended);
        self.post(socket, Side::Unity, Packet::End);
        self.schedule(self.now + 1, TimedEvent::ClosedAtServer { socket, by });
    }

    // At Unity.

    pub(super) fn on_packet_at_unity(&mut self, socket: usize, packet: Packet) {
        let Some(known) = self.sockets.get_mut(socket) else { return };
        let editor = known.editor;
        match (known.unity, packet) {
            (SocketState::Dialing, Packet::Accepted) => {
                known.unity = SocketState::Open;
                if let Some(host) = self.editors.get_mut(editor) {
                    host.is_dialing = false;
                }
                self.drive_editor(editor, Input::Connected);
            }
            (SocketState::Dialing, Packet::End | Packet::Close { .. }) => {
                self.on_dial_failed(socket)
            }
            (SocketState::Open, Packet::Text(text)) => {
                self.drive_editor(editor, Input::Frame(text))
            }
            (SocketState::Open, Packet::Close { code, reason }) => {
                known.unity = SocketState::Closing;
                known.close_reason = reason;
                self.post(socket, Side::Server, Packet::Close { code, reason });
            }
            (SocketState::Open | SocketState::Closing, Packet::End) => {
                known.unity = SocketState::Closed;
                let reason = known.close_reason.to_owned();
                self.post(socket, Side::Server, Packet::End);
                self.forget_socket(editor);
                self.drive_editor(editor, Input::Closed { reason });
            }
            (
                SocketState::Dialing
                | SocketState::Open
                | SocketState::Closing
                | SocketState::Closed,
                _,
            ) => {}
        }
    }

    pub(super) fn send_from_unity(&mut self, editor: usize, packet: Packet) {
        let Some(socket) = self.open_socket(editor) else { return };
        if let Packet::Text(text) = &packet
            && self.is_recorded(text)
            && text.len() <= self.scenario.limits.message_max_bytes
        {
            let is_brief = self.context.log.is_brief;
            let message = if is_brief { id_of(text) } else { Some(message_of(text)) };
            if let Some(message) = message {
                self.note(socket, Side::Unity, Crossing::Sent(message));
            }
        }
        self.post(socket, Side::Server, packet);
    }

    /// The Editor closes its socket, with a close frame or without.
    pub(super) fn close_from_unity(&mut self, editor: usize, packet: Packet) {
        let Some(socket) = self.editors.get(editor).and_then(|host| host.socket) else { return };
        if let Some(known) = self.sockets.get_mut(socket) {
            known.unity = SocketState::Closed;
        }
        self.post(socket, Side::Server, packet);
        self.forget_socket(editor);
    }

    fn open_socket(&self, editor: usize) -> Option<usize> {
        let socket = self.editors.get(editor)?.socket?;
        self.sockets.get(socket).filter(|known| known.unity == SocketState::Open).map(|_| socket)
    }

    fn forget_socket(&mut self, editor: usize) {
        if let Some(host) = self.editors.get_mut(editor) {
            host.is_dialing = false;
            host.socket = None;
        }
    }
}

pub(super) fn connection(socket: usize) -> ConnectionId {
    ConnectionId(socket as u64)
}

/// The checks need only the id of what Unity sends.
fn id_of(text: &str) -> Option<WireMessage> {
    match text.split_once("\"request_id\":\"") {
        Some((_, rest)) => {
            let id = rest.split_once('"').map(|(id, _)| id);
            Some(WireMessage::Json(json!({ "request_id": id })))
        }
        // As the codec writes it: it names no request.
        None if text.starts_with("{\"type\":") => None,
        None => Some(message_of(text)),
    }
}

fn message_of(text: &str) -> WireMessage {
    let json = serde_json::from_str(text);
    json.map_or_else(|_| WireMessage::Text(text.to_owned()), WireMessage::Json)
}
