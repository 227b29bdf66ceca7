//! Fault: which server a run has, the genuine one or one with a fault. A fault is planted from outside,
//! around the core or around the network; the server has no switch for any of them.
//!
//! A fault of the core is inside of what the model judges. One of the shell is outside: the model sees a core
//! that is right, and only wires, books and agents can tell.

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a fault tampers with a few variants and leaves the rest alone"
)]
pub mod core;
pub(crate) mod missed_wakeup;
pub mod shell;

use coordination::{
    Boot, Deadline, EditorReport, Effect, Event, ExecutionCoordinator, Limits, Timestamp,
};

use crate::faults::core::CoreFault;
use crate::faults::shell::{FaultyShell, ShellFault};
use crate::judge::checked_core::CheckedCore;
use crate::programs::start::{RunContext, VERSION};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Core(CoreFault),
    Shell(ShellFault),
}

/// Any core, so that the programs around it are built once.
pub(crate) struct AnyCore(Box<dyn Core>);

impl Fault {
    /// Everything that can be wrong.
    pub fn faults() -> impl Iterator<Item = Self> {
        let core = CoreFault::ALL.into_iter().map(Self::Core);
        core.chain(ShellFault::ALL.into_iter().map(Self::Shell))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Core(fault) => fault.name(),
            Self::Shell(fault) => fault.name(),
        }
    }

    /// The core of a server that starts on `host`, with the model beside it.
    pub(crate) fn core(
        self,
        limits: &Limits,
        boot: Boot,
        context: &RunContext,
        host: &str,
    ) -> AnyCore {
        let genuine = || ExecutionCoordinator::new(limits.clone(), boot, VERSION);
        match self {
            Self::None => AnyCore(Box::new(judged(genuine(), limits, boot, context, host))),
            Self::Core(fault) => {
                let planted = fault.plant(limits, |limits| {
                    ExecutionCoordinator::new(limits.clone(), boot, VERSION)
                });
                AnyCore(Box::new(judged(planted, limits, boot, context, host)))
            }
            Self::Shell(fault) => {
                let core = judged(genuine(), limits, boot, context, host);
                AnyCore(Box::new(FaultyShell::new(fault, core)))
            }
        }
    }

    /// Whether the sockets of the server miss something.
    pub(crate) fn misses_wakeups(self) -> bool {
        self == Self::Shell(ShellFault::LoseAWakeUp)
    }
}

fn judged<C: Core>(
    core: C,
    limits: &Limits,
    boot: Boot,
    context: &RunContext,
    host: &str,
) -> CheckedCore<C> {
    CheckedCore::new(
        core,
        limits.clone(),
        boot,
        context.violations.clone(),
        context.log.clone(),
        host,
    )
}

impl Core for AnyCore {
    fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        self.0.handle(now, event)
    }

    fn next_deadline(&self) -> Option<Deadline> {
        self.0.next_deadline()
    }

    fn editor_report(&self, now: Timestamp) -> EditorReport {
        self.0.editor_report(now)
    }
}
