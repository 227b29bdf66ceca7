//! Checks of a run, and what runs have covered. The evidence is the records, the books of the Editors and what agents
//! received, never what the server reports about itself. Uses `record`, `scenario` and the core.

pub(crate) mod call_outcomes;
pub(crate) mod checked_core;
pub mod coverage;
mod drops;
mod expectations;
pub(crate) mod model;
mod promises;
mod repeats;

pub(crate) use expectations::expectations;
pub(crate) use promises::promises;
pub(crate) use repeats::repeats;
