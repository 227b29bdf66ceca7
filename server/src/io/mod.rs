//! The shell. It does what the core decides and decides nothing itself.
//!
//! | file | what it is |
//! |---|---|
//! | `event_loop` | the only owner of the core and the only reader of the clock |
//! | `transition_log` | one line of log per event and effect |
//! | `http_host` | one listener: `/unity`, `/mcp`, `/healthz` |
//! | `guests`, `patience` | how many connections there may be, and how long they may keep one waiting |
//! | `presence` | whether a peer is still there while its request is answered |
//! | `bodies`, `json_guard` | how large a request may be, and how much there may be in it |
//! | `doorkeeper` | who is let in, by the head of a request |
//! | `web_socket` | texts over a WebSocket, and its proper end |
//! | `unity_bridge_client` | a socket of the plugin: texts to frames and back |
//! | `threshold` | how much a socket may say before it is the Editor's |
//! | `mcp_endpoint_adapter` | MCP requests to calls, outcomes to MCP results |
//! | `tool_schemas` | the catalogue as MCP tools |
//! | `rendering`, `digest` | answers and failures as JSON, and what of Unity's part in them is told |
//! | `tool_results`, `task_view` | the same as results of MCP, and jobs as its tasks |
//! | `stdio_transport`, `line_reader` | MCP over two byte streams, bounded |
//! | `port_keeper` | gets the port, finds out who has it, and tries again |
//! | `relay` | calls passed on to the unity-mcp that has the port |
//! | `network` | what the server needs of a network, so that a simulated one will do |

pub mod bodies;
mod digest;
pub mod doorkeeper;
pub mod event_loop;
mod guests;
pub mod http_host;
mod json_guard;
mod line_reader;
pub mod mcp_endpoint_adapter;
pub mod network;
mod patience;
pub mod port_keeper;
mod presence;
pub(crate) mod relay;
pub mod rendering;
pub mod stdio_transport;
pub(crate) mod task_view;
mod threshold;
mod tool_results;
mod tool_schemas;
mod transition_log;
pub mod unity_bridge_client;
pub mod web_socket;
