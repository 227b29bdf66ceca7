//! Planting: which server a run has, the genuine one or one with a fault. A fault is planted from outside,
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

use crate::faults::core::Fault;
use crate::faults::shell::{ShellFault, Tampering};
use crate::judge::judged::Judged;
use crate::programs::cast::{Props, VERSION};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planting {
    Nothing,
    Core(Fault),
    Shell(ShellFault),
}

/// Any core, so that the programs around it are built once.
pub(crate) struct AnyCore(Box<dyn Core>);

impl Planting {
    /// Everything that can be wrong.
    pub fn faults() -> impl Iterator<Item = Self> {
        let core = Fault::ALL.into_iter().map(Self::Core);
        core.chain(ShellFault::ALL.into_iter().map(Self::Shell))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Core(fault) => fault.name(),
            Self::Shell(fault) => fault.name(),
        }
    }

    /// The core of a server that starts on `host`, with the model beside it.
    pub(crate) fn core(self, limits: &Limits, boot: Boot, props: &Props, host: &str) -> AnyCore {
        let genuine = || ExecutionCoordinator::new(limits.clone(), boot, VERSION);
        match self {
            Self::Nothing => AnyCore(Box::new(judged(genuine(), limits, boot, props, host))),
            Self::Core(fault) => {
                let planted = fault.plant(limits, |limits| {
                    ExecutionCoordinator::new(limits.clone(), boot, VERSION)
                });
                AnyCore(Box::new(judged(planted, limits, boot, props, host)))
            }
            Self::Shell(fault) => {
                let core = judged(genuine(), limits, boot, props, host);
                AnyCore(Box::new(Tampering::new(fault, core)))
            }
        }
    }

    /// Whether the sockets of the server miss something.
    pub(crate) fn is_drowsy(self) -> bool {
        self == Self::Shell(ShellFault::LoseAWakeUp)
    }
}

fn judged<C: Core>(core: C, limits: &Limits, boot: Boot, props: &Props, host: &str) -> Judged<C> {
    Judged::new(core, limits.clone(), boot, props.verdicts.clone(), props.log.clone(), host)
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
