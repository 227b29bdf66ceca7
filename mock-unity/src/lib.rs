//! mock-unity plays the Unity plugin, for work on agents, on the server or on the protocol without Unity.
//!
//! | what | where |
//! |---|---|
//! | the Editor with its plugin, without sockets or clocks | [`MockEditor`] |
//! | what a person or a script can make it do | [`Command`] |
//! | what arrived and what ran | [`Books`] |
//! | how it behaves from the start | [`Settings`], [`Suite`] |
//! | the tools that it can run | [`TOOLS`] |
//! | commands at given times, from a file | [`script`] |
//! | the same Editor over a real or simulated network | [`session`] |
//!
//! It depends only on `protocol` and shares no code with the decisions of the server, so its books are
//! evidence in tests.
//!
//! # Drive an Editor without sockets
//!
//! Inputs and the time go in, outputs come out. The same seed and the same inputs give the same outputs.
//!
//! ```
//! use std::time::Duration;
//!
//! use mock_unity::{Input, MockEditor, Output, Settings};
//!
//! let mut editor = MockEditor::new(Settings::default());
//! let start = Duration::ZERO;
//! assert_eq!(editor.handle(start, Input::Tick), [Output::Dial]);
//! let outputs = editor.handle(start, Input::Connected);
//! assert!(matches!(&outputs[..], [Output::Send(hello)] if hello.contains("plugin_version")));
//!
//! // A server that sends a ping gets a pong at once.
//! let ping = r#"{"type":"ping","protocol_version":1}"#;
//! let outputs = editor.handle(start, Input::Frame(ping.to_owned()));
//! assert!(matches!(&outputs[..], [Output::Send(pong)] if pong.contains("pong")));
//! assert!(editor.books().arrived.is_empty(), "a ping is not a request");
//! ```
//!
//! `examples/without_sockets.rs` adds a request and a command.

#![warn(missing_docs)]

mod backoff;
mod books;
mod command;
mod console;
mod editor;
mod json_style;
mod room;
pub mod script;
pub mod session;
mod settings;
mod suite;
mod words;

pub use books::{Arrival, Books, Execution, Given, JobRecord};
pub use command::{Command, Misanswer, WORDS};
pub use console::{Entry, LogType};
pub use editor::{Input, MockEditor, MockTool, Output, TOOLS};
pub use json_style::{JSON_STYLES, JsonStyle};
pub use settings::{CancelPolicy, PongPolicy, PongSeq, Reconnect, Settings};
pub use suite::{Suite, Test, TestMode, TestOutcome};
pub use words::{parse_duration, show_duration};
