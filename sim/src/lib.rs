//! Simulations of unity-mcp, judged from outside.
//!
//! | folder | what it is |
//! |---|---|
//! | `scenario` | what happens when, and what must come of it: a YAML file |
//! | `levels` | runs a scenario: the two cores alone, whole programs in one runtime, or whole programs over simulated TCP |
//! | `programs` | the real server, the mock Unity, real MCP clients |
//! | `record` | what crossed the wires, as lines and as a picture |
//! | `judge` | what must be true of every run, and what a run must have seen |
//! | `faults` | faults planted in a server, which the suite must find |
//! | `random` | random scenarios, and smaller ones that find the same |

pub mod faults;
pub mod judge;
pub mod levels;
mod programs;
pub mod random;
pub mod record;
pub mod scenario;
