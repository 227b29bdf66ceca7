//! The port: who holds it, and how calls reach the holder.

pub mod port_keeper;
pub(crate) mod relay;
