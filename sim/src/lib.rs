//! Simulations of unity-mcp, judged from outside.
//!
//! Whole programs over a simulated network, in virtual time:
//!
//! | file | what it is |
//! |---|---|
//! | `scenario` | a YAML file: what happens when, and what must come of it |
//! | `run` | runs a scenario |
//! | `cast` | the programs: the real server, the mock Unity, real MCP clients |
//! | `agent`, `http_client` | an MCP client that does what it is told and keeps a diary |
//! | `net` | hosts, links, ports and time; the only file that names turmoil |
//! | `wiretap`, `sniffer`, `log` | what crossed the wires, read from their bytes |
//! | `closing_order` | the order in which a killed program's sockets close |
//! | `trace`, `html` | the same as lines, and as a picture |
//! | `checks` | what must be true of every run |
//! | `judged` | the core inside that server, with the model beside it |
//! | `plan`, `shrink` | a random scenario, and a smaller one that finds the same |
//!
//! Random schedules against the core alone:
//!
//! | file | what it is |
//! |---|---|
//! | `schedule` | a schedule: words that decode into steps; a seed gives one |
//! | `world` | runs a schedule: agents, a fake Unity and the time around one core |
//! | `fake_unity` | a Unity that keeps its own books of what it got and what it ran |
//! | `model` | an independent, simpler model that predicts every answer |
//! | `ledger` | promises compared with the books of Unity |
//! | `planted` | faults planted from outside, which the suite must find |
//! | `seen` | what must have been seen for a run to count |

mod agent;
mod cast;
mod checks;
mod closing_order;
pub mod fake_unity;
pub mod files;
pub mod html;
mod http_client;
mod judged;
mod ledger;
mod log;
mod model;
mod net;
pub mod plan;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a fault tampers with a few variants and leaves the rest alone"
)]
pub mod planted;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod seen;
pub mod shrink;
mod sniffer;
mod trace;
mod wiretap;
pub mod world;
