//! mock-unity: plays the Unity plugin, for work without Unity.
//!
//! | what | where |
//! |---|---|
//! | the Editor and its plugin, without sockets or clocks | [`MockEditor`] |
//! | what it can be told to do, in words | [`Command`] |
//! | what it knows to have happened | [`Books`] |
//! | what it is from the start | [`Settings`], [`Suite`] |
//! | things to do at given times, from a file | [`script`] |
//! | the same over a real or simulated network | [`session`] |
//!
//! It depends on the wire alone and shares no code with the server's decisions: what stands in its
//! books is evidence.

mod backoff;
mod books;
mod command;
mod console;
mod editor;
mod room;
pub mod script;
pub mod session;
mod settings;
mod suite;
mod words;

pub use books::{Arrival, Books, Execution};
pub use command::{Command, Misanswer, WORDS};
pub use console::{Entry, LogType};
pub use editor::{Input, MockEditor, MockTool, Output, TOOLS};
pub use settings::{CancelPolicy, PongPolicy, Reconnect, Settings};
pub use suite::{Suite, Test, TestMode, TestOutcome};
pub use words::{parse_duration, show_duration};
