//! ClosingOrder: the sockets of a killed program close in the order of their wires. A runtime drops its tasks in an
//! order that depends on what else runs in the process, so that runs would differ.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use crate::record::log::Wire;

/// One for each host.
#[derive(Clone, Default)]
pub(crate) struct ClosingOrder(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_killed: bool,
    sockets: Vec<(Wire, Box<dyn Any + Send>)>,
}

impl ClosingOrder {
    /// The program is being killed: sockets are kept until `close_all`.
    pub(crate) fn begin(&self) {
        self.state().is_killed = true;
    }

    /// The owner of this socket has dropped it.
    pub(crate) fn on_drop(&self, wire: Wire, socket: impl Any + Send) {
        let mut state = self.state();
        if state.is_killed {
            state.sockets.push((wire, Box::new(socket)));
        } // Otherwise it is dropped here, which closes it.
    }

    fn close_all(&self) {
        let mut sockets = std::mem::take(&mut *self.state()).sockets;
        sockets.sort_by(|(one, _), (other, _)| one.cmp(other));
        sockets.into_iter().for_each(drop);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program drops this last.
pub(crate) struct ClosesLast(pub(crate) ClosingOrder);

impl Drop for ClosesLast {
    fn drop(&mut self) {
        self.0.close_all();
    }
}
