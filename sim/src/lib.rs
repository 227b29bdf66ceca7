//! Simulations of unity-mcp, judged from outside.
//!
//! Programs in virtual time:
//!
//! | file | what it is |
//! |---|---|
//! | `scenario` | a YAML file: what happens when, and what must come of it |
//! | `run` | runs a scenario at one of three levels |
//! | `cast` | the programs: the real server, the mock Unity, real MCP clients |
//! | `agent`, `http_client` | an MCP client that does what it is told and keeps a diary |
//! | `stage` | what programs run on: hosts, links, time |
//! | `net` | the full level: a stage of turmoil's; the only file that names it |
//! | `memory`, `queue` | the shell level: the same programs in one runtime, over queues of bytes |
//! | `bare` | the core level: the core of the server and that of the mock, and nothing else |
//! | `wiretap`, `sniffer`, `log` | what crossed the wires, read from their bytes |
//! | `closing_order` | the order in which a killed program's sockets close |
//! | `trace`, `html` | the same as lines, and as a picture |
//! | `checks` | what must be true of every run |
//! | `tally` | what a run has seen, and what it must have seen |
//! | `judged` | the core inside that server, with the model beside it |
//! | `plan`, `shrink` | a random scenario, and a smaller one that finds the same |
//! | `planting` | the genuine server, or one with a fault in its core (`planted`) or its shell (`shell_fault`, `drowsy`) |
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
mod bare;
mod cast;
mod checks;
mod closing_order;
mod drowsy;
pub mod fake_unity;
pub mod files;
pub mod html;
mod http_client;
mod judged;
mod ledger;
mod log;
mod memory;
mod model;
mod net;
pub mod plan;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a fault tampers with a few variants and leaves the rest alone"
)]
pub mod planted;
pub mod planting;
mod queue;
pub mod run;
pub mod scenario;
pub mod schedule;
pub mod seen;
pub mod shell_fault;
pub mod shrink;
mod sniffer;
mod stage;
pub mod tally;
mod trace;
mod wiretap;
pub mod world;
