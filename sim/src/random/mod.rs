//! Random scenarios. A plan is drawn from a seed here and run by `levels`; what it finds is made smaller here.

pub mod plan;
mod rng;
pub mod shrink;
