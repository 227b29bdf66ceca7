//! The Unity of the demo: the mock, or the real plugin in EditorHost.

use std::path::Path;
use std::time::Duration;

use mock_unity::session::{self, Order, Passing};
use mock_unity::{Books, Command, MockEditor, Settings};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::editor_host::EditorHost;
use super::unity_says;
use crate::display::Style;
use crate::prompt;

/// How long a domain reload after a compile takes.
pub(super) const RELOAD_TIME: Duration = Duration::from_millis(1_500);

pub(super) enum Unity {
    Mock { orders: mpsc::Sender<Order>, books: JoinHandle<Books> },
    Plugin(Box<EditorHost>),
}

impl Unity {
    pub(super) fn mock(port: u16) -> Self {
        let (orders, received) = mpsc::channel(16);
        let books = tokio::spawn(play_mock(port, received));
        Self::Mock { orders, books }
    }

    pub(super) fn plugin(program: &Path, port: u16) -> Result<Self, String> {
        EditorHost::start(program, port).map(|host| Self::Plugin(Box::new(host)))
    }

    /// If Unity has ended, the next call fails.
    pub(super) async fn order(&self, words: &str) {
        match self {
            Self::Mock { orders, .. } => {
                if let Ok(command) = Command::parse(words) {
                    orders.send(Order::Do(command)).await.unwrap_or_default();
                }
            }
            Self::Plugin(host) => host.order(words).await,
        }
    }

    /// From here on, a person types commands.
    pub(super) fn read_commands(&self) {
        match self {
            Self::Mock { orders, .. } => prompt::start(orders.clone(), Style::text()),
            Self::Plugin(host) => host.read_commands(),
        }
    }

    /// Waits until Unity takes no more commands.
    pub(super) async fn closed(&self) {
        match self {
            Self::Mock { orders, .. } => orders.closed().await,
            Self::Plugin(host) => host.closed().await,
        }
    }

    /// Lets it quit. Returns what it has seen, as a sentence.
    pub(super) async fn end(self) -> Result<String, String> {
        match self {
            Self::Mock { orders, books } => {
                orders.send(Order::Quit).await.unwrap_or_default();
                let books = books.await.map_err(|error| error.to_string())?;
                Ok(format!(
                    "{} requests arrived, {} of them ran a tool, {} arrived twice, at most {} at a time.",
                    books.arrived.len(),
                    books.executed.len(),
                    books.sent_twice().len(),
                    books.unanswered_max
                ))
            }
            Self::Plugin(host) => host.end().await,
        }
    }
}

async fn play_mock(port: u16, orders: mpsc::Receiver<Order>) -> Books {
    let settings = Settings { reload_time: Some(RELOAD_TIME), ..Settings::default() };
    let mut unity = MockEditor::new(settings);
    let tap = |_: Duration, passing: Passing<'_>| match passing {
        Passing::Tell(line) => unity_says(line),
        Passing::Connected => unity_says("connected"),
        Passing::Gone(_) => unity_says("disconnected"),
        Passing::ToServer(_)
        | Passing::FromServer(_)
        | Passing::Binary(_)
        | Passing::DialFailed(_) => {}
    };
    session::run(&mut unity, port, || crate::dial(port), orders, tap).await;
    unity.books().clone()
}
