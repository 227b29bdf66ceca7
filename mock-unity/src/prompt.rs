//! The prompt: commands that are typed while the mock runs.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use mock_unity::session::Order;
use mock_unity::{Command, WORDS};
use tokio::sync::mpsc;

use crate::display::{Style, write_line};

/// Reads stdin in a separate thread. The mock runs on when stdin ends.
pub(crate) fn start(orders: mpsc::Sender<Order>, style: Style) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { return };
            match understand(String::from_utf8_lossy(&line).trim(), style) {
                Some(Order::Quit) => return quit(&orders),
                Some(order) => orders.blocking_send(order).unwrap_or_default(),
                None => {}
            }
        }
    });
}

/// Asks the session to end, and ends the process after a second in any case.
pub(crate) fn quit(orders: &mpsc::Sender<Order>) {
    // If the queue is full, the timeout below ends the process.
    orders.try_send(Order::Quit).unwrap_or_default();
    std::thread::sleep(Duration::from_secs(1));
    std::process::exit(0);
}

fn understand(line: &str, style: Style) -> Option<Order> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, rest) {
        ("", _) => None,
        ("quit" | "exit", "") => Some(Order::Quit),
        ("status", "") => Some(Order::Describe),
        ("help", "") => {
            help(style);
            None
        }
        ("quit" | "exit" | "status" | "help", _) => {
            complain(&format!("{word} takes no argument"));
            None
        }
        _ => Command::parse(line).map(Order::Do).map_err(|problem| complain(&problem)).ok(),
    }
}

/// On stderr, because a program may read stdout.
fn complain(problem: &str) {
    writeln!(std::io::stderr(), "mock-unity: {problem}").unwrap_or_default();
}

fn help(style: Style) {
    let own = [
        ("status", "", "show the state of Editor and connection"),
        ("help", "", "show this list"),
        ("quit", "", "close the connection and exit"),
    ];
    let lines = WORDS.iter().chain(&own).map(|(word, arguments, about)| {
        let left = format!("{word} {arguments}");
        if left.len() > 30 {
            format!("  {left}\n  {:<30} {about}", "")
        } else {
            format!("  {left:<30} {about}")
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if style == Style::Json {
        writeln!(std::io::stderr(), "{text}").unwrap_or_default();
    } else {
        write_line(&text);
    }
}
