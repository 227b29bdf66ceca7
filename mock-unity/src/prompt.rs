//! The prompt: words typed while the mock runs.

use std::io::{BufRead as _, Write as _};

use mock_unity::session::Order;
use mock_unity::{Command, WORDS};
use tokio::sync::mpsc;

use crate::display::{Style, write_line};

/// Reads in a thread of its own; the end of stdin is not the end of the mock.
pub(crate) fn start(orders: mpsc::Sender<Order>, style: Style) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if let Some(order) = understand(line.trim(), style)
                && orders.blocking_send(order).is_err()
            {
                return;
            }
        }
    });
}

fn understand(line: &str, style: Style) -> Option<Order> {
    match line {
        "" => None,
        "quit" | "exit" => Some(Order::Quit),
        "status" => Some(Order::Describe),
        "help" => {
            help(style);
            None
        }
        words => match Command::parse(words) {
            Ok(command) => Some(Order::Do(command)),
            Err(problem) => {
                // stdout may be for programs.
                writeln!(std::io::stderr(), "mock-unity: {problem}").unwrap_or_default();
                None
            }
        },
    }
}

fn help(style: Style) {
    let own = [
        ("status", "", "how things are"),
        ("help", "", "this"),
        ("quit", "", "close the connection and end"),
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
