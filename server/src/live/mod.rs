//! Live: what people see at `/`. The event loop puts what happens into a bounded history; viewers read from it. Nothing
//! here waits, and nothing decides: it shows what the core was told and what it did.

mod calls;
mod drawing;
mod frames;
mod history;
mod record;
mod tap;
mod viewer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use page::About;
use tokio::sync::watch;

use history::History;
pub(crate) use tap::{Entering, Tap};
pub(crate) use viewer::Viewer;

/// The history, shared by the tap and the viewers. They work on one thread, so nobody waits for the lock.
#[derive(Clone)]
pub(crate) struct Live {
    history: Arc<Mutex<History>>,
    /// Changes when there is something new, if there is a viewer.
    news: watch::Sender<()>,
    shows_bodies: bool,
}

impl Live {
    pub(crate) fn new(about: About, shows_bodies: bool) -> Self {
        let history = Arc::new(Mutex::new(History::new(about)));
        Self { history, news: watch::Sender::new(()), shows_bodies }
    }

    pub(crate) fn set_port(&self, port: u16) {
        self.set_about(|about| about.port = port);
    }

    fn set_about(&self, change: impl FnOnce(&mut About)) {
        self.lock().set_about(change);
        self.news.send_replace(());
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
