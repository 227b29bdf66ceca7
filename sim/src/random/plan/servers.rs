//! Plans with two or three servers: the first has the port, the others relay the calls of their agents to it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::steps::Kind;
use crate::random::rng::Rng;
use crate::scenario::{Agent, Speaks, Via};

/// What a plan can do to a server: by the agent that started it, `None` for the first.
pub(super) type Server = Option<String>;

/// One agent of the first server, one or two with their own, and perhaps one that uses whichever has the port.
pub(super) fn draw_agents(rng: &mut Rng, has_stdio: bool) -> BTreeMap<String, Agent> {
    let mut agents = BTreeMap::new();
    let mut add = |name: &str, via, speaks, joins| {
        let joins = Duration::from_millis(joins);
        agents.insert(name.to_owned(), Agent { joins, via, speaks });
    };
    let via = if has_stdio { Via::Stdio } else { Via::Http };
    add("a", via, Speaks::Modern, 0);
    add("b", Via::OwnServer, rng.pick(&[Speaks::Modern, Speaks::Legacy]), rng.pick(&[0, 100]));
    if rng.one_in(2) {
        add("c", Via::OwnServer, Speaks::Modern, rng.pick(&[0, 50]));
    }
    if rng.one_in(3) {
        add("d", Via::Http, Speaks::Modern, 100);
    }
    agents
}

/// Servers come and go. Nothing is forged, because then the wires do not show what Unity has.
pub(super) fn change_weights(rng: &mut Rng, weights: &mut [(Kind, u64)]) {
    for (kind, weight) in weights {
        if *kind == Kind::Server {
            *weight = rng.between(4, 12);
        }
        if *kind == Kind::Forge {
            *weight = 0;
        }
    }
}

/// The servers that end during a plan. A server with pipes comes back only if its agent starts it again, which a plan
/// with one server does not do.
pub(super) fn that_end(agents: &BTreeMap<String, Agent>) -> Vec<Server> {
    let own = agents.iter().filter(|(_, agent)| agent.via == Via::OwnServer);
    let own: Vec<Server> = own.map(|(name, _)| Some(name.clone())).collect();
    if own.is_empty() && agents.values().any(|agent| agent.via == Via::Stdio) {
        return Vec::new();
    }
    [None].into_iter().chain(own).collect()
}

/// The agents that make a call in the end: in a plan with one server the first, else all, and those that use whichever
/// server has the port come last.
pub(super) fn probing(agents: &BTreeMap<String, Agent>) -> Vec<String> {
    let has_relays = agents.values().any(|agent| agent.via == Via::OwnServer);
    let mut probing: Vec<(bool, &String)> =
        agents.iter().map(|(name, agent)| (agent.via == Via::Http, name)).collect();
    if has_relays {
        probing.sort();
    }
    let count = if has_relays { probing.len() } else { 1 };
    probing.into_iter().take(count).map(|(_, name)| name.clone()).collect()
}
