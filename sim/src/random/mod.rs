//! Random scenarios: drawn from a seed, run by `levels`, and shrunk when they find something. Uses `scenario` only.

pub mod plan;
mod rng;
pub mod shrink;
