//! The three levels at which a scenario can run, from the two cores alone to whole programs over simulated TCP.
//! A level may use everything except `random` and `commands`.

pub(crate) mod clock;
pub(crate) mod closing_order;
pub(crate) mod core;
pub(crate) mod hosts;
mod in_memory;
pub mod run;
mod turmoil;
