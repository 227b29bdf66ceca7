//! mock-unity, as the tests of this folder start it. They make it misbehave, so its frames are not checked.

use std::ops::{Deref, DerefMut};
use std::process::Command;

use harness::agent::HttpAgent;
use harness::editor::{Editor, Program, without_token};
use harness::server::Server;

pub(crate) struct Mock(Editor);

impl Mock {
    pub(crate) fn start(port: u16, flags: &[&str]) -> Self {
        let port = port.to_string();
        let seed: &[&str] = if flags.contains(&"--seed") { &[] } else { &["--seed", "1"] };
        Self::run(&[&["--json", "--port", &port], seed, flags].concat())
    }

    pub(crate) fn run(flags: &[&str]) -> Self {
        Self::run_with(flags, without_token)
    }

    pub(crate) fn run_with(flags: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
        Self(Editor::run(Program::MockUnity, flags, prepare))
    }
}

impl Deref for Mock {
    type Target = Editor;

    fn deref(&self) -> &Editor {
        &self.0
    }
}

impl DerefMut for Mock {
    fn deref_mut(&mut self) -> &mut Editor {
        &mut self.0
    }
}

/// A server and a mock that is connected to it.
pub(crate) fn connected(server_flags: &[&str], mock_flags: &[&str]) -> (Server, HttpAgent, Mock) {
    let mut server = Server::start(server_flags);
    let port = server.port();
    let mut mock = Mock::start(port, mock_flags);
    mock.gets("capability");
    (server, HttpAgent { port }, mock)
}
