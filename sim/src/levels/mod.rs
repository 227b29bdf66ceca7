//! The three levels at which a scenario can run, from the two cores alone to whole programs over simulated TCP.
//! A level may use everything except `random` and `commands`.
//!
//! Without the feature `programs` there is the core level alone, and nothing of the server is built but its core.

pub(crate) mod broken_adapters;
pub(crate) mod clock;
#[cfg(feature = "programs")]
pub(crate) mod closing_order;
pub(crate) mod context;
pub(crate) mod core;
#[cfg(feature = "programs")]
pub(crate) mod hosts;
#[cfg(feature = "programs")]
mod in_memory;
#[cfg(feature = "programs")]
mod programs;
pub mod run;
#[cfg(feature = "programs")]
mod turmoil;
