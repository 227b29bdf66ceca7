//! Viewer: one reader of the history, as server-sent events. It reads in small portions and with pauses, so that
//! calls never wait for it.

use std::time::Duration;

use hyper::body::Bytes;
use page::Event;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Live;
use super::drawing;
use super::history::History;
use crate::budget::{PAGE_BATCH, PAGE_BATCH_RECORDS_MAX, PAGE_PORTION_RECORDS};

pub(crate) struct Viewer {
    live: Live,
    number: u64,
    news: watch::Receiver<()>,
    /// It was too slow.
    dropped: CancellationToken,
    keep_alive: Option<Duration>,
    /// The number of the record that is read next.
    next: u64,
    /// What it has got besides the records.
    agents: usize,
    about: u64,
    stage: Stage,
}

enum Stage {
    Begin,
    /// In the list of events of the snapshot, which ends before this record.
    Snapshot {
        end: u64,
    },
    /// Single events follow, up to the one before this record.
    Events {
        end: u64,
    },
    /// It has read what there was.
    Waiting,
}

impl Live {
    /// `None` if there are enough viewers. `dropped` is cancelled when it is too slow.
    pub(crate) fn viewer(
        &self,
        keep_alive: Option<Duration>,
        dropped: CancellationToken,
    ) -> Option<Viewer> {
        let news = self.news.subscribe();
        let number = self.lock().enter(dropped.clone())?;
        let live = self.clone();
        let (agents, about, stage) = (0, 0, Stage::Begin);
        Some(Viewer { live, number, news, dropped, keep_alive, next: 0, agents, about, stage })
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.live.lock().leave(self.number);
    }
}

impl Viewer {
    /// The next bytes of the stream; `None` if it was too slow.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        yield_now().await; // Calls come between two portions.
        loop {
            if self.dropped.is_cancelled() {
                return None;
            }
            if matches!(self.stage, Stage::Waiting) && self.wait_for_news().await.is_none() {
                return Some(Bytes::from_static(b":\n\n"));
            }
            let text = self.read();
            if !text.is_empty() {
                return Some(text.into());
            }
        }
    }

    /// `None` if the stream has been silent for long.
    async fn wait_for_news(&mut self) -> Option<()> {
        self.news.mark_unchanged();
        if !self.is_behind() {
            let silence = async {
                match self.keep_alive {
                    Some(time) => sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // The sender is a part of `live`, so it exists.
                _changed = self.news.changed() => {}
                () = silence => return None,
            }
        }
        sleep(PAGE_BATCH).await; // What comes together is read together.
        Some(())
    }

    fn is_behind(&self) -> bool {
        let history = self.live.lock();
        history.end() != self.next || history.about().1 != self.about
    }

    fn read(&mut self) -> String {
        let live = self.live.clone();
        let mut history = live.lock();
        let text = match self.stage {
            Stage::Begin => self.begin(&history),
            Stage::Snapshot { end } => self.snapshot(&history, end),
            Stage::Waiting => self.news(&history),
            Stage::Events { end } => self.events(&history, end),
        };
        history.has_read(self.number, self.next);
        text
    }

    fn begin(&mut self, history: &History) -> String {
        let (about, changes) = history.about();
        (self.next, self.agents, self.about) = (history.first(), history.agents(), changes);
        self.stage = Stage::Snapshot { end: history.end() };
        let (lanes, state) = (history.lanes(), drawing::state(&history.known));
        let base = Event::State { at: history.oldest_at(), state: drawing::state(&history.base) };
        format!(
            "event: snapshot\ndata: {{\"about\":{},\"lanes\":{},\"state\":{},\"now\":{},\"events\":[{}",
            json(about),
            json(&lanes),
            json(&state),
            history.now(),
            json(&base),
        )
    }

    fn snapshot(&mut self, history: &History, end: u64) -> String {
        let mut text = String::new();
        let portion = end.min(self.next + PAGE_PORTION_RECORDS);
        while self.next < portion {
            for event in self.take(history) {
                text += ",";
                text += &json(&event);
            }
        }
        if self.next == end {
            text += "]}\n\n";
            self.stage = Stage::Waiting;
        }
        text
    }

    fn news(&mut self, history: &History) -> String {
        let mut text = String::new();
        for lane in history.agent_lanes(self.agents) {
            text += &format!("event: lane\ndata: {}\n\n", json(&lane));
        }
        self.agents = history.agents();
        let (about, changes) = history.about();
        if self.about != changes {
            self.about = changes;
            text += &format!("event: about\ndata: {}\n\n", json(about));
        }
        let end = history.end();
        if end - self.next > PAGE_BATCH_RECORDS_MAX {
            let skipped = end - self.next - PAGE_BATCH_RECORDS_MAX;
            self.next += skipped;
            text += &event_line(&drawing::left_out(history.now(), skipped));
        }
        text + &self.events(history, end)
    }

    fn events(&mut self, history: &History, end: u64) -> String {
        let mut text = String::new();
        let portion = end.min(self.next + PAGE_PORTION_RECORDS);
        while self.next < portion {
            self.take(history).iter().for_each(|event| text += &event_line(event));
        }
        self.stage = if self.next == end { Stage::Waiting } else { Stage::Events { end } };
        text
    }

    fn take(&mut self, history: &History) -> Vec<Event> {
        let record = history.record(self.next);
        self.next += 1;
        record.map(|record| drawing::events(record, history)).unwrap_or_default()
    }
}

fn event_line(event: &Event) -> String {
    format!("event: event\ndata: {}\n\n", json(event))
}

fn json(value: &impl Serialize) -> String {
    // These types have text keys and plain values.
    serde_json::to_string(value).unwrap_or_default()
}
