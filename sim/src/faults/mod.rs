//! Faults that are planted in a server, so that the suite can show that it finds them. A fault is a wrapper around
//! the core or the network: the server has no switch for any of them.
//!
//! The model checks what a faulty core does. It cannot see a fault of the shell, because the core is right: only
//! the wires, the books of Unity and the agents can show one.

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a fault changes a few variants and passes the rest on"
)]
pub mod core;
#[cfg(feature = "programs")]
pub(crate) mod missed_wakeup;
#[cfg(feature = "programs")]
pub(crate) mod relays;
pub mod shell;
mod told;

use coordination::{
    Boot, CallId, Core, Deadline, EditorReport, Effect, Event, ExecutionCoordinator, Limits, Load,
    Timestamp,
};
use protocol::RequestId;

use crate::judge::checked_core::CheckedCore;
use crate::levels::broken_adapters::BrokenAdapters;
use crate::levels::context::{RunContext, VERSION};
use crate::scenario::Scenario;
use core::CoreFault;
use shell::{FaultyShell, ShellFault};

/// The fault of the servers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Core(CoreFault),
    Shell(ShellFault),
    /// The server forgets which runs have ended (catalogue 1.1).
    ServerForgetsRuns,
    /// The plugin forgets which runs it has begun, and says that it has not.
    PluginForgetsRuns,
}

/// One type for all cores, so that the programs around them are compiled once.
pub(crate) struct AnyCore(Box<dyn Core>);

impl Fault {
    pub fn all() -> impl Iterator<Item = Self> {
        let core = CoreFault::all().map(Self::Core);
        let shell = ShellFault::ALL.into_iter().map(Self::Shell);
        core.chain(shell).chain([Self::ServerForgetsRuns, Self::PluginForgetsRuns])
    }

    /// The scenario with this fault, if the fault is in a setting.
    pub(crate) fn change(self, scenario: &Scenario) -> Option<Scenario> {
        let mut changed = scenario.clone();
        match self {
            Self::None | Self::Core(_) | Self::Shell(_) => return None,
            Self::ServerForgetsRuns => changed.limits.repeats_max = 0,
            Self::PluginForgetsRuns => {
                let editors = changed.editors.iter_mut();
                editors.for_each(|editor| editor.settings.forgets_runs = true);
            }
        }
        Some(changed)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "no fault",
            Self::Core(fault) => fault.name(),
            Self::Shell(fault) => fault.name(),
            Self::ServerForgetsRuns => "the server forgets which runs have ended",
            Self::PluginForgetsRuns => "the plugin forgets which runs it has begun",
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
        let genuine = |limits: &Limits| ExecutionCoordinator::new(limits.clone(), boot, VERSION);
        match self {
            Self::None | Self::ServerForgetsRuns | Self::PluginForgetsRuns => {
                AnyCore::new(checked(genuine(limits), limits, boot, context, host), context)
            }
            Self::Core(fault) => {
                let faulty = fault.plant(limits, genuine);
                AnyCore::new(checked(faulty, limits, boot, context, host), context)
            }
            Self::Shell(fault) => {
                let core = checked(genuine(limits), limits, boot, context, host);
                AnyCore::new(FaultyShell::new(fault, core), context)
            }
        }
    }

    /// Whether it is in the network, so that only a level with whole programs can show it.
    pub fn is_in_network(self) -> bool {
        match self {
            Self::None | Self::Core(_) | Self::ServerForgetsRuns | Self::PluginForgetsRuns => false,
            Self::Shell(fault) => fault.is_in_network(),
        }
    }
}

fn checked<C: Core>(
    core: C,
    limits: &Limits,
    boot: Boot,
    context: &RunContext,
    host: &str,
) -> CheckedCore<C> {
    let (violations, log) = (context.violations.clone(), context.log.clone());
    CheckedCore::new(core, limits.clone(), boot, violations, log, host)
}

impl AnyCore {
    fn new(core: impl Core, context: &RunContext) -> Self {
        if context.breaks.is_empty() {
            return Self(Box::new(core));
        }
        Self(Box::new(BrokenAdapters::new(core, context.breaks.clone())))
    }
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

    fn request_id(&self, call: CallId) -> Option<&RequestId> {
        self.0.request_id(call)
    }

    fn load(&self) -> Load {
        self.0.load()
    }
}
