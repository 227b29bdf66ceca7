//! Adds unity-mcp to the configuration files of MCP clients, and the plugin to a Unity project.
//!
//! A user's file is never lost: what cannot be edited safely is refused, and a file changes in our entry alone.
//!
//! | module | what it is |
//! |---|---|
//! | `environment` | the system and the folders of the user, as a value |
//! | `clients` | one row per client: its files, the form of an entry, what to restart; what is on this machine |
//! | `entry` | the entry that a client needs, and what its entry says |
//! | `edit` | decides the new text of a file; no IO |
//! | `file` | reads a file with limits, and replaces it in one step |
//! | `apply` | one client: which file or command, and what came of it |
//! | `own_command` | the client's own command, where nobody else may change its file |
//! | `unity` | the plugin and the port of a Unity project |
//! | `snippets` | the entries as text for documents |

pub mod apply;
pub mod clients;
pub mod edit;
pub mod entry;
pub mod environment;
pub mod file;
pub mod own_command;
pub mod snippets;
mod survey;
mod system;
pub mod unity;
