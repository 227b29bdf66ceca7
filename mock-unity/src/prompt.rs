//! The prompt: commands that are typed while the mock runs.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use mock_unity::session::Order;
use mock_unity::{Command, WORDS};
use textwrap::{Options, fill};
use tokio::sync::mpsc;

use crate::display::{self, Style, write_line};
use crate::terminal::{LineEditor, Typed, columns};

/// A server that does not answer is not waited for longer than this.
const QUIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Reads commands in a separate thread. When stdin ends, the mock runs on; on a terminal, Ctrl-D quits.
pub(crate) fn start(orders: mpsc::Sender<Order>, style: Style) {
    let editor = if style == Style::Json { None } else { LineEditor::open() };
    std::thread::spawn(move || match editor {
        Some(editor) => read_terminal(editor, &orders, style),
        None => read_pipe(&orders, style),
    });
}

fn read_terminal(mut editor: LineEditor, orders: &mpsc::Sender<Order>, style: Style) {
    loop {
        match editor.read() {
            Typed::Line(line) => {
                if obey(&line, orders, style) {
                    return;
                }
            }
            Typed::Interrupt => return quit(orders),
            Typed::End => {
                write_line("Ctrl-D: quitting");
                return quit(orders);
            }
        }
    }
}

fn read_pipe(orders: &mpsc::Sender<Order>, style: Style) {
    for line in std::io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { return };
        if obey(&String::from_utf8_lossy(&line), orders, style) {
            return;
        }
    }
}

/// True if it was the last command.
fn obey(line: &str, orders: &mpsc::Sender<Order>, style: Style) -> bool {
    match understand(line.trim(), style) {
        Some(Order::Quit) => {
            quit(orders);
            return true;
        }
        Some(order) => orders.blocking_send(order).unwrap_or_default(),
        None => {}
    }
    false
}

/// Asks the session to end, and ends the process after a while in any case.
pub(crate) fn quit(orders: &mpsc::Sender<Order>) {
    // If the queue is full, the timeout below ends the process.
    orders.try_send(Order::Quit).unwrap_or_default();
    std::thread::sleep(QUIT_TIMEOUT);
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
            complain(&format!("{word} takes no argument"), style);
            None
        }
        _ => Command::parse(line).map(Order::Do).map_err(|problem| complain(&problem, style)).ok(),
    }
}

/// On stderr if a program may read stdout. On a terminal it must not disturb the line being typed.
fn complain(problem: &str, style: Style) {
    if style != Style::Json && std::io::stdout().is_terminal() {
        write_line(&style.paint(display::Colour::Red, problem));
    } else {
        writeln!(std::io::stderr(), "mock-unity: {problem}").unwrap_or_default();
    }
}

fn help(style: Style) {
    let options = || Options::new(columns().min(100));
    let own = [
        ("status", "", "show the state of Editor and connection"),
        ("help", "", "show this list"),
        ("quit", "", "close the connection and exit; Ctrl-C and Ctrl-D do the same"),
    ];
    let lines = WORDS.iter().chain(&own).map(|(word, arguments, about)| {
        let left = format!("{word} {arguments}");
        let column = " ".repeat(33);
        if left.len() > 30 {
            let left = fill(&left, options().initial_indent("  ").subsequent_indent("      "));
            let about = fill(about, options().initial_indent(&column).subsequent_indent(&column));
            format!("{left}\n{about}")
        } else {
            let left = format!("  {left:<30} ");
            fill(about, options().initial_indent(&left).subsequent_indent(&column))
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if style == Style::Json {
        writeln!(std::io::stderr(), "{text}").unwrap_or_default();
    } else {
        write_line(&text);
    }
}
