//! The sockets of the plugin. Names the event loop and the wire; knows nothing of MCP, HTTP or the port.

mod pre_hello_limit;
pub mod unity_bridge_client;
pub mod web_socket;
