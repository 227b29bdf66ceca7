//! Signals, and the death of the parent, on Linux and macOS.

use std::io;
use std::os::unix::process::parent_id;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use crate::budget::PARENT_CHECK;

/// SIGINT, SIGTERM and SIGHUP: from here on they do not end the process themselves.
pub struct StopSignals([Option<Signal>; 3]);

impl StopSignals {
    /// A signal that cannot be caught keeps what the system does with it.
    pub fn catch() -> Self {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Self(kinds.map(|kind| signal(kind).ok()))
    }

    pub async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = next(interrupt) => {}
            () = next(terminate) => {}
            () = next(hangup) => {}
        }
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether there is a process with this id, of any user; `None` if that cannot be known.
pub fn process_is_alive(pid: u32) -> Option<bool> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => Some(true),
        Err(rustix::io::Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

/// Ends when the process that started this one is gone: another one adopts its children.
pub async fn parent_death() {
    let parent = parent_id();
    while parent_id() == parent {
        sleep(PARENT_CHECK).await;
    }
}

/// The system's own words are enough.
pub(super) fn explain_bind(error: io::Error) -> io::Error {
    error
}

/// Every terminal understands escape sequences.
pub fn shows_colours() -> bool {
    true
}
