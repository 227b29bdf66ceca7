//! RunContext: what everything in one run shares.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coordination::Boot;
use mock_unity::Books;
use tokio_util::sync::CancellationToken;

use crate::faults::Fault;
use crate::judge::checked_core::Violations;
use crate::levels::broken_adapters::Breaks;
use crate::record::calls::CallRecords;
use crate::record::log::Log;
use crate::scenario::Scenario;

/// The version of server and plugin, so that a release changes no trace.
pub(crate) const VERSION: &str = "1.0.0";

/// What all programs of a run share.
#[derive(Clone)]
pub(crate) struct RunContext {
    pub(crate) log: Log,
    pub(crate) violations: Violations,
    pub(crate) calls: CallRecords,
    pub(crate) books: EditorBooks,
    /// The fault that is planted in its servers.
    pub(crate) fault: Fault,
    /// Stops the running server of a host.
    stops: Rc<RefCell<BTreeMap<String, CancellationToken>>>,
    /// Ends the Editors, so that their books can be read.
    pub(crate) finish: CancellationToken,
    pub(crate) breaks: Breaks,
    starts: Rc<RefCell<u32>>,
}

/// The books of the Editors, with the time at which each began.
#[derive(Clone, Default)]
pub(crate) struct EditorBooks(Arc<Mutex<BTreeMap<String, (Duration, Books)>>>);

impl EditorBooks {
    /// How many Editors have handed in their books.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn take(&self) -> BTreeMap<String, (Duration, Books)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, editor: &str, starts: Duration, books: Books) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(editor.to_owned(), (starts, books));
    }
}

impl RunContext {
    pub(crate) fn new(fault: Fault, log: Log, scenario: &Scenario) -> Self {
        Self {
            breaks: scenario.breaks(),
            fault,
            log,
            violations: Violations::default(),
            calls: CallRecords::default(),
            books: EditorBooks::default(),
            stops: Rc::default(),
            finish: CancellationToken::new(),
            starts: Rc::default(),
        }
    }

    /// A server starts on this host. Returns what will stop it.
    pub(crate) fn next_stop(&self, host: &str) -> CancellationToken {
        let stop = CancellationToken::new();
        self.stops.borrow_mut().insert(host.to_owned(), stop.clone());
        stop
    }

    /// Asks the server on this host to stop.
    pub(crate) fn stop(&self, host: &str) {
        self.stops.borrow().get(host).into_iter().for_each(CancellationToken::cancel);
    }

    /// Each start of a server has its own boot id.
    pub(crate) fn next_boot(&self) -> Boot {
        let mut starts = self.starts.borrow_mut();
        *starts += 1;
        let boot = Boot::new(&format!("s{starts}"));
        let Some(boot) = boot else { unreachable!("s and a number is a boot") };
        boot
    }
}
