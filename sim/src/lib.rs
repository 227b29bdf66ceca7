//! Simulations of unity-mcp in virtual time, checked from outside.
//!
//! | folder | what it is |
//! |---|---|
//! | `scenario` | what happens when, and what is expected: a YAML file |
//! | `levels` | runs a scenario: the two cores alone, whole programs in one runtime, or whole programs over simulated TCP |
//! | `programs` | the real server, the mock Unity, real MCP clients |
//! | `record` | what crossed the wires, as a trace and as a page |
//! | `judge` | checks of every run, and what runs must cover |
//! | `faults` | faults planted in a server, which the suite must find |
//! | `random` | random scenarios, and how they are shrunk |

#![cfg_attr(
    not(feature = "programs"),
    expect(dead_code, reason = "some of it serves the programs alone")
)]

pub mod faults;
pub mod judge;
pub mod levels;
#[cfg(feature = "programs")]
mod programs;
pub mod random;
pub mod record;
pub mod scenario;
