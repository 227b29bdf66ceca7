//! What must be true of a run. A run is judged by its records, by the books of the Editors and by what agents
//! were told, never by what the server says of itself.

pub(crate) mod call_outcomes;
pub(crate) mod checked_core;
pub mod coverage;
mod drops;
mod expectations;
pub(crate) mod model;
mod promises;

pub(crate) use expectations::expectations;
pub(crate) use promises::promises;
