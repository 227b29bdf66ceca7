//! LineQueue: lines that wait to be written. Whoever logs never waits, and wakes the thread that writes only if it has
//! been idle for a moment: many calls in a row share one wake-up and one write.

use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::budget::{LOG_BATCH, LOG_WAITING_BYTES_MAX};

#[derive(Default)]
pub(super) struct LineQueue {
    waiting: Mutex<Waiting>,
    /// There are lines for a thread that is idle, or no line will come.
    changed: Condvar,
    /// The last line is written.
    written: Condvar,
}

#[derive(Default)]
struct Waiting {
    text: String,
    /// The thread that writes waits for a line.
    is_idle: bool,
    is_ended: bool,
    is_written: bool,
}

impl LineQueue {
    /// A line that has no room is lost: its reader reads nothing, and the server goes on.
    pub(super) fn push(&self, line: &str) {
        let mut waiting = self.lock();
        if waiting.text.len() + line.len() > LOG_WAITING_BYTES_MAX {
            return;
        }
        waiting.text.push_str(line);
        if std::mem::take(&mut waiting.is_idle) {
            self.changed.notify_one();
        }
    }

    /// Writes until the queue has ended and is empty.
    pub(super) fn write_to(&self, mut output: impl Write) {
        let mut waiting = self.lock();
        while !(waiting.is_ended && waiting.text.is_empty()) {
            let text = std::mem::take(&mut waiting.text);
            if text.is_empty() {
                waiting.is_idle = true;
                let woken = self.changed.wait(waiting);
                waiting = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(waiting);
            // A log that cannot be written must not hurt a call.
            output.write_all(text.as_bytes()).unwrap_or_default();
            let goes_on = |waiting: &mut Waiting| !waiting.is_ended;
            let rested = self.changed.wait_timeout_while(self.lock(), LOG_BATCH, goes_on);
            waiting = rested.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.is_written = true;
        self.written.notify_one();
    }

    /// Waits until everything is written, or for so long.
    pub(super) fn end(&self, max: Duration) {
        let mut waiting = self.lock();
        waiting.is_ended = true;
        self.changed.notify_one();
        let is_unwritten = |waiting: &mut Waiting| !waiting.is_written;
        drop(self.written.wait_timeout_while(waiting, max, is_unwritten));
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use super::{LOG_WAITING_BYTES_MAX, LineQueue};

    const LONG: Duration = Duration::from_secs(60);

    /// Sends each write on. As long as the gate is locked, it does not return from one.
    struct Output {
        writes: Sender<String>,
        gate: Arc<Mutex<()>>,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
            drop(self.gate.lock().unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn queue(gate: &Arc<Mutex<()>>) -> (Arc<LineQueue>, Receiver<String>) {
        let (writes, written) = channel();
        let (queue, gate) = (Arc::new(LineQueue::default()), gate.clone());
        let writer = queue.clone();
        std::thread::spawn(move || writer.write_to(Output { writes, gate }));
        (queue, written)
    }

    #[test]
    fn a_line_is_written_at_once_and_those_that_come_meanwhile_are_written_together() {
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let (queue, written) = queue(&gate);
        queue.push("one\n");
        assert_eq!(written.recv_timeout(LONG).unwrap(), "one\n");
        queue.push("two\n");
        queue.push("three\n");
        drop(held);
        assert_eq!(written.recv_timeout(LONG).unwrap(), "two\nthree\n");
        queue.push("four\n");
        assert_eq!(written.recv_timeout(LONG).unwrap(), "four\n");
    }

    #[test]
    fn the_end_waits_for_the_last_line() {
        let (queue, written) = queue(&Arc::default());
        queue.push("one\n");
        queue.push("two\n");
        queue.end(LONG);
        assert_eq!(written.try_iter().collect::<String>(), "one\ntwo\n");
    }

    #[test]
    fn an_output_that_takes_nothing_holds_up_nobody() {
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        let (queue, written) = queue(&gate);
        queue.push("first\n");
        written.recv_timeout(LONG).unwrap();
        let line = format!("{}\n", "x".repeat(999));
        for _ in 0..10_000 {
            queue.push(&line);
        }
        assert_eq!(queue.lock().text.len(), LOG_WAITING_BYTES_MAX / 1_000 * 1_000);
        let begun = Instant::now();
        queue.end(Duration::from_millis(1));
        assert!(begun.elapsed() < LONG);
        drop(held);
    }
}
