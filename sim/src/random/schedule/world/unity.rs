//! What Unity does, well or badly.

use coordination::Core;
use coordination::{ClosedBy, ConnectionId, Event};
use protocol::{
    DecodeError, EditorState, EditorStatus, ExecuteOutcome, FromUnity, OfferedTool, OfferedTools,
    RequestId,
};

use super::World;
use crate::random::schedule::fake_unity::{FakeUnity, console, error, result};

impl<S: Core> World<S> {
    pub(super) fn connect(&mut self, word: u64) -> Result<(), String> {
        if self.unity.on.is_some() {
            return Ok(());
        }
        let on = self.open()?;
        let hello = self.unity.hello(on, state(word), word >> 4);
        self.say(Ok(hello))
    }

    pub(super) fn open(&mut self) -> Result<ConnectionId, String> {
        self.meet_deadlines(self.now)?;
        self.connections += 1;
        let on = ConnectionId(self.connections);
        self.handle(Event::UnityOpened { on })?;
        Ok(on)
    }

    /// A second socket says hello: the same Editor anew, or another one.
    pub(super) fn intrude(&mut self, word: u64) -> Result<(), String> {
        if self.unity.on.is_none() {
            return Ok(());
        }
        let on = self.open()?;
        if word.is_multiple_of(2) {
            // The Editor itself: its old socket is half open, and it talks on the new one.
            let hello = self.unity.hello(on, EditorState::Ready, word >> 4);
            return self.say(Ok(hello));
        }
        self.intruder = Some(on);
        let mut other = FakeUnity::new();
        other.restart();
        let hello = other.hello(on, EditorState::Ready, word >> 4);
        self.frame(on, Ok(hello))
    }

    pub(super) fn drop_socket(&mut self, by: ClosedBy) -> Result<(), String> {
        let Some(on) = self.unity.on.take() else { return Ok(()) };
        self.closed(on, by)
    }

    pub(super) fn lose_unity(&mut self, forget: impl FnOnce(&mut FakeUnity)) -> Result<(), String> {
        let on = self.unity.on.take();
        for inbound in &self.unity.inbox {
            self.model.seen.mark(if inbound.executed {
                "executed and the answer was lost"
            } else {
                "sent and never run"
            });
        }
        forget(&mut self.unity);
        on.map_or(Ok(()), |on| self.closed(on, ClosedBy::Anyone))
    }

    pub(super) fn closed(&mut self, on: ConnectionId, by: ClosedBy) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        self.model.on_closed(self.now, on, by);
        self.handle(Event::UnityClosed { on, by })
    }

    pub(super) fn report_state(&mut self, state: EditorState) -> Result<(), String> {
        if self.unity.on.is_none() {
            return Ok(());
        }
        self.unity.state = state;
        let seq = self.unity.next_seq();
        self.say(Ok(FromUnity::EditorStatus(EditorStatus { state, seq })))
    }

    pub(super) fn stale_status(&mut self, word: u64) -> Result<(), String> {
        let seq = self.unity.seq();
        self.say(Ok(FromUnity::EditorStatus(EditorStatus { state: state(word), seq })))
    }

    pub(super) fn stray(&mut self, word: u64) -> Result<(), String> {
        let open: Vec<&RequestId> =
            self.unity.inbox.iter().map(|inbound| &inbound.request_id).collect();
        let request = RequestId(format!("req-m-{}", word % 300));
        if open.contains(&&request) {
            return Ok(()); // That would be an answer.
        }
        // A request that Unity has forgotten may still be waited for: then this is its answer.
        let frame = match word >> 16 & 3 {
            0 => error(Some(request), "OWN_CODE"),
            _ => result(request, ExecuteOutcome::Ok(console())),
        };
        self.say(Ok(frame))
    }

    pub(super) fn garbage(&mut self, word: u64) -> Result<(), String> {
        let problem = String::new();
        let times = if word.is_multiple_of(16) { 11 } else { 1 };
        for _ in 0..times {
            let frame = match word >> 8 & 3 {
                0 => Err(DecodeError::UnknownType { name: "x".to_owned() }),
                1 => {
                    let request_id =
                        self.unity.inbox.front().map(|inbound| inbound.request_id.clone());
                    if request_id.is_some() && times == 1 {
                        self.unity.inbox.pop_front();
                        Err(DecodeError::BadField { request_id, problem: problem.clone() })
                    } else {
                        Err(DecodeError::MissingType)
                    }
                }
                2 if times == 1 => Ok(self.unity.hello_again()),
                _ => Err(DecodeError::NotJson { problem: problem.clone() }),
            };
            self.say(frame)?;
        }
        Ok(())
    }

    pub(super) fn offer(&mut self, word: u64) -> Result<(), String> {
        let names: &[&str] = match word % 3 {
            0 => &["read_console", "run_tests"],
            1 => &["run_tests"],
            _ => &["read_console"],
        };
        let tools = names.iter().map(|name| OfferedTool { name: (*name).to_owned() }).collect();
        self.say(Ok(FromUnity::Capability(OfferedTools { tools })))
    }

    /// Unity says something on its socket, if it has one.
    pub(super) fn say(&mut self, frame: Result<FromUnity, DecodeError>) -> Result<(), String> {
        self.meet_deadlines(self.now)?;
        self.unity.on.map_or(Ok(()), |on| self.frame(on, frame))
    }

    pub(super) fn frame(
        &mut self,
        on: ConnectionId,
        frame: Result<FromUnity, DecodeError>,
    ) -> Result<(), String> {
        self.model.on_frame(self.now, on, &frame);
        self.handle(Event::UnityFrame { on, frame })
    }
}

pub(super) fn state(word: u64) -> EditorState {
    match word % 4 {
        0 | 1 => EditorState::Ready,
        2 => EditorState::Compiling,
        _ => EditorState::Reloading,
    }
}
