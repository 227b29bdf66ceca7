//! StateStores: plain data with methods that keep it consistent. No policy, no waiting.
//! Each store is a private field of the one manager that writes it.

pub(super) mod capability;
pub(super) mod connection;
pub(super) mod job;
pub(super) mod names;
pub(super) mod queue;
pub(super) mod request;
pub(super) mod version;
