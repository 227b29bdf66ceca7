//! Random schedules against the core of the server, judged from outside.
//!
//! | file | what it is |
//! |---|---|
//! | `schedule` | a schedule: words that decode into steps; a seed gives one |
//! | `world` | runs a schedule: agents, a fake Unity and the time around one core |
//! | `fake_unity` | a Unity that keeps its own books of what it got and what it ran |
//! | `model` | an independent, simpler model that predicts every answer |
//! | `planted` | faults planted from outside, which the suite must find |
//! | `seen` | what must have been seen for a run to count |

pub mod fake_unity;
mod model;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a fault tampers with a few variants and leaves the rest alone"
)]
pub mod planted;
pub mod schedule;
pub mod seen;
pub mod world;
