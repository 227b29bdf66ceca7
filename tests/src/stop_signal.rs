//! How a program is asked to end: by a signal on Unix, by an event of its console on Windows.

use std::process::{Child, Command};

/// One way to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopSignal(&'static str);

impl StopSignal {
    /// What Ctrl-C sends; `None` if this cannot be tried here.
    pub fn interrupt() -> Option<Self> {
        Self::all().first().copied()
    }

    /// Every other way.
    pub fn others() -> &'static [Self] {
        Self::all().get(1..).unwrap_or_default()
    }
}

#[cfg(unix)]
impl StopSignal {
    /// Every way of this system, what Ctrl-C sends first.
    fn all() -> &'static [Self] {
        &[Self("-INT"), Self("-TERM"), Self("-HUP")]
    }

    pub fn send(self, to: &Child) {
        let pid = to.id().to_string();
        assert!(Command::new("kill").args([self.0, &pid]).status().unwrap().success());
    }
}

/// On Unix a signal reaches one process.
#[cfg(unix)]
pub fn with_own_console(_command: &mut Command) {}

/// The variable with the path of the program that `tests/windows/console_event.c` is built into.
#[cfg(windows)]
const CONSOLE_EVENT: &str = "CONSOLE_EVENT";

#[cfg(windows)]
impl StopSignal {
    /// Every way of this system. None if there is no program that can send them.
    fn all() -> &'static [Self] {
        if std::env::var_os(CONSOLE_EVENT).is_none() {
            #[expect(clippy::print_stderr, reason = "a test that does nothing should say so")]
            {
                eprintln!("NOT TRIED: {CONSOLE_EVENT} is not set");
            }
            return &[];
        }
        &[Self("c"), Self("break")]
    }

    pub fn send(self, to: &Child) {
        let pid = to.id().to_string();
        let mut sender = Command::new(std::env::var_os(CONSOLE_EVENT).unwrap());
        with_own_console(&mut sender); // It leaves this console for that of the process.
        assert!(sender.args([&pid, self.0]).status().unwrap().success());
    }
}

/// An event of a console reaches every program of it, the test too.
#[cfg(windows)]
pub fn with_own_console(command: &mut Command) {
    use std::os::windows::process::CommandExt as _;

    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    command.creation_flags(CREATE_NO_WINDOW);
}
