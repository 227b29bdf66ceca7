//! Unity: the sockets of the plugin.

mod pre_hello_limit;
pub mod unity_bridge_client;
pub mod web_socket;
