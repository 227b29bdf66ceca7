//! The checks, one file per topic.

mod cancel;
mod compile;
mod frame_limit;
mod hello;
mod pings;
mod read_console;
mod reconnect;
pub(crate) mod reload;
pub(crate) mod run_tests;
mod tools;
mod unknown_messages;
pub(crate) mod whole_run;

use crate::check::Topic;

/// In the order in which they run. The last topic ends the session for good.
pub(crate) const TOPICS: &[&Topic] = &[
    &hello::TOPIC,
    &pings::TOPIC,
    &unknown_messages::TOPIC,
    &tools::TOPIC,
    &read_console::TOPIC,
    &frame_limit::TOPIC,
    &run_tests::TOPIC,
    &cancel::TOPIC,
    &reconnect::TOPIC,
    &compile::TOPIC,
    &reload::TOPIC,
    &reconnect::LAST,
];
