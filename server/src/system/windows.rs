//! Windows has no signals: the console of a program sends it events.

use std::io::{self, ErrorKind};

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

/// Ctrl-C, Ctrl-Break, the console closing and the system shutting down.
pub struct StopSignals(Option<(CtrlC, CtrlBreak, CtrlClose, CtrlShutdown)>);

impl StopSignals {
    /// A signal that cannot be caught keeps what the system does with it.
    pub fn catch() -> Self {
        let all = || io::Result::Ok((ctrl_c()?, ctrl_break()?, ctrl_close()?, ctrl_shutdown()?));
        Self(all().ok())
    }

    pub async fn next(&mut self) {
        let Some((c, break_, close, shutdown)) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = c.recv() => {}
            _ = break_.recv() => {}
            _ = close.recv() => {}
            _ = shutdown.recv() => {}
        }
    }
}

/// Whether there is a process with this id, of any user; `None` if that cannot be known. The program that
/// lists processes is part of Windows.
pub fn process_is_alive(pid: u32) -> Option<bool> {
    let filter = format!("PID eq {pid}");
    let listed = std::process::Command::new("tasklist")
        .args(["/FI", &filter, "/FO", "CSV", "/NH"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    // A line of a process has its id in quotes; the line that says that there is none has no quotes.
    Some(String::from_utf8_lossy(&listed.stdout).contains(&format!("\"{pid}\"")))
}

/// Windows tells nobody that a parent has died. The pipe of such a parent is closed, which stdin shows.
pub async fn parent_death() {
    std::future::pending().await
}

/// Windows reserves ranges of ports, for Hyper-V and WSL for example, and says only that access is forbidden.
pub(super) fn explain_bind(error: io::Error) -> io::Error {
    if error.kind() != ErrorKind::PermissionDenied {
        return error;
    }
    let message = format!(
        "Windows has reserved it, or another program uses it exclusively; choose another with --port. \
         `netsh interface ipv4 show excludedportrange protocol=tcp` lists the reserved ports ({error})"
    );
    io::Error::new(ErrorKind::PermissionDenied, message)
}

/// An older console shows escape sequences as they are until it is asked to understand them.
pub fn shows_colours() -> bool {
    anstyle_query::windows::enable_ansi_colors() == Some(true)
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::explain_bind;

    #[test]
    fn a_reserved_port_is_explained_and_other_errors_are_left_as_they_are() {
        let reserved = explain_bind(io::Error::from_raw_os_error(10_013));
        assert_eq!(reserved.kind(), ErrorKind::PermissionDenied);
        let message = reserved.to_string();
        assert!(message.contains("excludedportrange") && message.contains("10013"), "{message}");
        let in_use = explain_bind(io::Error::from_raw_os_error(10_048));
        assert_eq!(in_use.raw_os_error(), Some(10_048));
    }
}
