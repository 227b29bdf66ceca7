//! The links between the server and the Editors, and what they hold back.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Millis, millis};
use crate::scenario::LinkFault;
use crate::scenario::{SERVER, Scenario};

/// What is sent over a connection.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    Text(String),
    Binary(usize),
    Close {
        code: Option<u16>,
        reason: &'static str,
    },
    /// The server has accepted the connection.
    Accepted,
    End,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Server,
    Unity,
}

/// The link of one Editor.
struct EditorLink {
    latency: Duration,
    lossy_to_server: bool,
    lossy_to_unity: bool,
    held: bool,
}

pub(super) struct Links {
    usual: Duration,
    links: BTreeMap<&'static str, EditorLink>,
    /// Each with its Editor.
    held: Vec<(&'static str, Held)>,
}

/// What a link holds back.
pub(super) enum Held {
    Packet { socket: usize, to: Side, packet: Packet },
    Dial { socket: usize },
}

impl Links {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let usual = scenario.latency;
        let link = || EditorLink {
            latency: usual,
            lossy_to_server: false,
            lossy_to_unity: false,
            held: false,
        };
        let links = scenario.editors.iter().map(|editor| (editor.name, link())).collect();
        Self { usual, links, held: Vec::new() }
    }

    pub(super) fn change(&mut self, fault: LinkFault, from: &str, to: &str, is_broken: bool) {
        let editor = if from == SERVER { to } else { from };
        let Some(link) = self.links.get_mut(editor) else { return };
        match fault {
            LinkFault::Partition => {
                link.lossy_to_server = is_broken;
                link.lossy_to_unity = is_broken;
            }
            LinkFault::Lose if to == SERVER => link.lossy_to_server = is_broken,
            LinkFault::Lose => link.lossy_to_unity = is_broken,
            LinkFault::Hold => link.held = is_broken,
            LinkFault::Latency(latency) => {
                link.latency = if is_broken { latency } else { self.usual }
            }
        }
    }

    pub(super) fn latency(&self, editor: &str) -> Millis {
        self.links.get(editor).map_or(1, |link| millis(link.latency))
    }

    pub(super) fn usual(&self) -> Millis {
        millis(self.usual)
    }

    pub(super) fn loses(&self, editor: &str, to: Side) -> bool {
        self.links.get(editor).is_some_and(|link| match to {
            Side::Server => link.lossy_to_server,
            Side::Unity => link.lossy_to_unity,
        })
    }

    pub(super) fn holds(&self, editor: &str) -> bool {
        self.links.get(editor).is_some_and(|link| link.held)
    }

    pub(super) fn hold(&mut self, editor: &'static str, held: Held) {
        self.held.push((editor, held));
    }

    /// Packets of links that hold nothing back any more.
    pub(super) fn released(&mut self) -> Vec<Held> {
        let links = &self.links;
        let is_free = |editor: &str| links.get(editor).is_none_or(|link| !link.held);
        let free = self.held.extract_if(.., |(editor, _)| is_free(editor));
        free.map(|(_, held)| held).collect()
    }
}
