//! The commands of the program, one file each. They use the library and print; nothing uses them.

pub(crate) mod canary;
pub(crate) mod figures;
mod findings;
pub(crate) mod pictures;
mod progress;
pub(crate) mod scenario;
pub(crate) mod swarm;
