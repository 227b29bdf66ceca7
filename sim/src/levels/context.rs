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
    /// Stops the running server.
    pub(crate) stop: Rc<RefCell<CancellationToken>>,
    /// Ends the Editors, so that their books can be read.
    pub(crate) finish: CancellationToken,
    pub(crate) breaks: Breaks,
    starts: Rc<RefCell<u32>>,
}

/// The books of the Editors, with the time at which each began.
#[derive(Clone, Default)]
pub(crate) struct EditorBooks(Arc<Mutex<BTreeMap<String, (Duration, Books)>>>);

impl EditorBooks {
    pub(crate) fn all(&self) -> BTreeMap<String, (Duration, Books)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
            stop: Rc::default(),
            finish: CancellationToken::new(),
            starts: Rc::default(),
        }
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
