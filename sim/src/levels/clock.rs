//! The clock of the simulation that runs on this thread.

use std::cell::Cell;
use std::time::Duration;

/// Where the current time comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    #[cfg(feature = "programs")]
    Turmoil,
    /// A paused runtime, which began then.
    #[cfg(feature = "programs")]
    Paused(tokio::time::Instant),
    /// The core level sets it before each event.
    Set(Duration),
}

thread_local! {
    static CLOCK: Cell<Clock> = const { Cell::new(Clock::Set(Duration::ZERO)) };
}

impl Clock {
    pub(crate) fn use_it(self) {
        CLOCK.set(self);
    }
}

/// Virtual time since the start of the simulation.
pub(crate) fn now() -> Duration {
    match CLOCK.get() {
        #[cfg(feature = "programs")]
        Clock::Turmoil => super::turmoil::elapsed(),
        #[cfg(feature = "programs")]
        Clock::Paused(began) => began.elapsed(),
        Clock::Set(at) => at,
    }
}
