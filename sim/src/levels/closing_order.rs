//! ClosingOrder: a killed program's sockets close in the order of their wires. A runtime that is dropped
//! drops its tasks in an order that depends on what else runs in the process.

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
    /// From now on sockets are kept until `close_all`.
    pub(crate) fn begin(&self) {
        self.state().is_killed = true;
    }

    /// A socket whose owner has let go of it.
    pub(crate) fn let_go(&self, wire: Wire, socket: impl Any + Send) {
        let mut state = self.state();
        if state.is_killed {
            state.sockets.push((wire, Box::new(socket)));
        } // Else it closes here and now.
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

/// Held by a program as the last thing that is dropped of it.
pub(crate) struct ClosesLast(pub(crate) ClosingOrder);

impl Drop for ClosesLast {
    fn drop(&mut self) {
        self.0.close_all();
    }
}
