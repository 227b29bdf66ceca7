//! ChildServer: a server that a command starts for itself. It ends with the command, because its stdin does.

use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

use tokio::time::sleep;

use super::client::{Client, NoServer};
use crate::budget::{COMMAND_LOOK, COMMAND_START_TIMEOUT, COMMAND_STOP_TIMEOUT};
use crate::port::holder::Holder;

pub(super) struct ChildServer {
    process: Child,
    stdin: Option<ChildStdin>,
}

impl ChildServer {
    /// Starts this program as a server over stdio, with these flags.
    pub(super) fn start(flags: &[String]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--stdio", "--log-level", "error"]).args(flags);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let stdin = process.stdin.take();
        Ok(Self { process, stdin })
    }

    /// Waits until a server listens on the port: this one, or another that was faster.
    pub(super) async fn listening(&mut self, port: u16) -> Result<Client, String> {
        let until = Instant::now() + COMMAND_START_TIMEOUT;
        loop {
            match Client::find(port).await {
                Ok(client) => return Ok(client),
                // It may be about to listen, or about to answer.
                Err(NoServer::Nobody | NoServer::Held(Holder::Silent)) => {}
                Err(held) => return Err(held.error(port).message().to_owned()),
            }
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(format!("Nothing ran, because the server ended at once ({status})."));
            }
            if Instant::now() > until {
                return Err("Nothing ran, because the server did not start in time.".to_owned());
            }
            sleep(COMMAND_LOOK).await;
        }
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let until = Instant::now() + COMMAND_STOP_TIMEOUT;
        while let Ok(None) = self.process.try_wait() {
            if Instant::now() > until {
                // Killing fails if it has ended.
                self.process.kill().unwrap_or_default();
                self.process.wait().map(drop).unwrap_or_default();
                return;
            }
            std::thread::sleep(COMMAND_LOOK); // The standard library cannot wait for a process with a timeout.
        }
    }
}
