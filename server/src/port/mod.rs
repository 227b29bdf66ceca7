//! The port: which program holds it, and where a request runs. Names the event loop and the network.

pub mod holder;
pub(crate) mod port_keeper;
pub(crate) mod relay;
mod relay_log;
pub(crate) mod upstream;

#[cfg(test)]
mod tests;
