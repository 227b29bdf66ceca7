//! Driver: a program that takes the words of mock-unity on stdin and is, or drives, the Editor under test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the program may take to end after `quit`.
const QUIT_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

pub(crate) struct Driver {
    program: String,
    process: Child,
    words: Sender<String>,
    /// The last line of its stderr: it says why the program ended.
    last_line: Arc<Mutex<String>>,
}

impl Driver {
    /// Starts the program. `{port}` in the command line is replaced.
    pub(crate) fn start(command_line: &str, port: u16) -> Result<Self, String> {
        let mut parts = split(command_line)?.into_iter();
        let program = parts.next().ok_or("--driver: the program is missing")?;
        let arguments = parts.map(|part| part.replace("{port}", &port.to_string()));
        let mut command = Command::new(&program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command
            .spawn()
            .map_err(|error| format!("--driver: {program} does not start: {error}"))?;
        let (words, typed) = channel::<String>();
        let stdin = process.stdin.take();
        // A thread: a program that reads slowly must not stop the checks.
        std::thread::spawn(move || {
            let Some(mut stdin) = stdin else { return };
            for word in typed {
                if writeln!(stdin, "{word}").and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let last_line = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = process.stderr.take() {
            let last_line = Arc::clone(&last_line);
            std::thread::spawn(move || {
                for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                    let line = protocol::printable(&String::from_utf8_lossy(&line), 200);
                    *last_line.lock().unwrap_or_else(PoisonError::into_inner) = line;
                }
            });
        }
        Ok(Self { program, process, words, last_line })
    }

    pub(crate) fn type_word(&self, word: &str) {
        // A program that has ended takes no words; `end` says so.
        self.words.send(word.to_owned()).unwrap_or_default();
    }

    /// How it ended, if it has.
    pub(crate) fn end(&mut self) -> Option<String> {
        let status = self.process.try_wait().ok()??;
        let line = self.last_line.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let line = if line.is_empty() { line } else { format!(": {line}") };
        Some(format!("The driver {} has ended ({status}){line}.", self.program))
    }

    pub(crate) fn quit(mut self) {
        self.type_word("quit");
        let until = Instant::now() + QUIT_TIMEOUT;
        while self.end().is_none() && Instant::now() < until {
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It fails if the program has ended.
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

/// Splits a command line at spaces outside of quotes. A backslash is a plain character: it is in the paths of Windows.
fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut parts, mut part, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                part.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => parts.extend(part.take()),
            (Some(_) | None, _) => part.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("--driver: a {open} is not closed"));
    }
    parts.extend(part);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_command_line_is_split_at_spaces_outside_of_quotes() {
        assert_eq!(split("a  --b c").unwrap(), ["a", "--b", "c"]);
        assert_eq!(
            split(r#""C:\Program Files\x" 'a "b"' """#).unwrap(),
            [r"C:\Program Files\x", r#"a "b""#, ""]
        );
        assert!(split("a 'b").unwrap_err().contains("not closed"));
    }
}
