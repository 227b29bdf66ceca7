//! A run as one self-contained page: a lane for each program, and time to scale.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use protocol::Json;
use serde_json::json;

use crate::levels::run::Run;
use crate::record::log::{Crossing, RecordKind, Wire, WireMessage};
use crate::record::trace::{self, Line, Sign};
use crate::scenario::{NETWORK, SERVER, Scenario};

const TEMPLATE: &str = include_str!("html/page.html");

pub fn page(name: &str, scenario: &Scenario, run: &Run) -> String {
    let lanes = lanes(scenario);
    let data = json!({
        "lanes": lanes,
        "ends": millis(run.simulated),
        "messages": messages(run, scenario),
        "notes": notes(run, &lanes),
        "faults": faults(run, &lanes),
        "bands": bands(run),
        "failures": run.failures,
    });
    // No data can end the script or begin a comment.
    let data = data.to_string().replace('<', "\\u003c");
    let name = escape(&name.replace("::", ": ").replace('_', " "));
    let why = escape(&scenario.why);
    // One pass: a value that contains a placeholder stays as it is.
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((what, after)) = after.split_once("}}") else { break };
        page += before;
        page += match what {
            "name" => &name,
            "why" => &why,
            "data" => &data,
            _ => "",
        };
        rest = after;
    }
    page + rest
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn millis(at: Duration) -> u64 {
    at.as_millis() as u64
}

/// Agents, servers, Editors, from left to right.
fn lanes(scenario: &Scenario) -> Vec<String> {
    let agents = scenario.agents.keys().cloned();
    let own = scenario.agents.keys().map(|agent| scenario.server_of(agent));
    let own = own.filter(|server| server != SERVER);
    let editors = scenario.editors.iter().map(|editor| editor.name.to_owned());
    agents.chain(own).chain([SERVER.to_owned()]).chain(editors).collect()
}

/// Each message with the times at both ends; a lost message has no second one.
fn messages(run: &Run, scenario: &Scenario) -> Vec<Json> {
    let mut arrivals: BTreeMap<(Wire, Arc<str>), VecDeque<Duration>> = BTreeMap::new();
    for record in &run.records {
        if let RecordKind::Crossing { host, wire, crossing: Crossing::Received(_) } = &record.what {
            let arrived = arrivals.entry((wire.clone(), host.clone())).or_default();
            arrived.push_back(record.at);
        }
    }
    let mut texts = Texts::new(run);
    let mut messages = Vec::new();
    for record in &run.records {
        let RecordKind::Crossing { host, wire, crossing: Crossing::Sent(message) } = &record.what
        else {
            continue;
        };
        let to = if *host == wire.client { &wire.server } else { &wire.client };
        let got = arrivals.get_mut(&(wire.clone(), to.clone())).and_then(VecDeque::pop_front);
        let is_heartbeat = matches!(type_of(message), "ping" | "pong");
        if is_heartbeat && got.is_some() && !scenario.shows_heartbeats {
            continue;
        }
        let by_server = *host == wire.server;
        let seen = if by_server { record.at } else { got.unwrap_or(record.at) };
        let (label, is_error) = texts.of(by_server, seen, message);
        messages.push(json!({
            "from": host,
            "to": to,
            "sent": millis(record.at),
            "got": got.map(millis),
            "text": label,
            "error": is_error,
            "body": body(message),
        }));
    }
    messages
}

fn type_of(message: &WireMessage) -> &str {
    match message {
        WireMessage::Json(json) => json.get("type").and_then(Json::as_str).unwrap_or_default(),
        WireMessage::Text(_)
        | WireMessage::Binary(_)
        | WireMessage::Close { .. }
        | WireMessage::Get(_)
        | WireMessage::Status(_) => "",
    }
}

fn body(message: &WireMessage) -> String {
    let whole = match message {
        WireMessage::Json(json) => format!("{json:#}"),
        WireMessage::Text(text) => text.clone(),
        WireMessage::Binary(length) => format!("{length} bytes"),
        WireMessage::Close { code, reason } => {
            format!("close {} {reason}", code.unwrap_or_default())
        }
        WireMessage::Get(path) => format!("GET {path}"),
        WireMessage::Status(status) => format!("HTTP {status}"),
    };
    protocol::printable(&whole.replace('\n', "\u{1}"), 4_000).replace("\\u{1}", "\n")
}

/// The lines of the trace, found by time and content of a message.
struct Texts<'a>(Vec<&'a Line>);

impl<'a> Texts<'a> {
    fn new(run: &'a Run) -> Self {
        let said = |line: &&Line| matches!(line.sign, Sign::In | Sign::Out);
        Self(run.lines().iter().filter(said).collect())
    }

    /// `at`: when the server sent or received it.
    fn of(&mut self, by_server: bool, at: Duration, message: &WireMessage) -> (String, bool) {
        let sign = if by_server { Sign::Out } else { Sign::In };
        let fits = |line: &&Line| {
            line.sign == sign && line.at == at && line.body == trace::json_of(message)
        };
        match self.0.iter().position(fits).map(|index| self.0.remove(index)) {
            Some(line) => {
                let text = format!("{} {}", line.what, line.fields);
                let is_error = text.contains("ERR_") || line.what == "close";
                (text, is_error)
            }
            None => (trace::describe(message), false),
        }
    }
}

/// Events that are not messages. States and faults are drawn as bands.
fn notes(run: &Run, lanes: &[String]) -> Vec<Json> {
    let note = |line: &Line| {
        let of_lane = line.actor.split('#').next().unwrap_or_default();
        let drawn = matches!(line.sign, Sign::Event | Sign::End) && line.what != "state";
        let lane = lanes.iter().find(|lane| *lane == of_lane);
        let lane = lane.map_or(SERVER, |lane| lane.as_str());
        (drawn && line.actor != NETWORK).then(|| {
            json!({ "lane": lane, "at": millis(line.at), "text": format!("{} {}", line.what, line.fields) })
        })
    };
    run.lines().iter().filter_map(note).collect()
}

/// The faults of links, from when to when.
fn faults(run: &Run, lanes: &[String]) -> Vec<Json> {
    let of_network = |line: &&Line| line.actor == NETWORK;
    let lines: Vec<&Line> = run.lines().iter().filter(of_network).collect();
    let mut faults = Vec::new();
    for line in lines.iter().filter(|line| line.what == "fails") {
        let ends = lines.iter().find(|other| {
            other.what == "recovers" && other.fields == line.fields && other.at > line.at
        });
        let lane = lanes.iter().find(|lane| {
            let words = line.fields.replace("->", " ");
            words.split(' ').any(|word| word == lane.as_str() && word != SERVER)
        });
        faults.push(json!({
            "lane": lane,
            "from": millis(line.at),
            "to": millis(ends.map_or(run.simulated, |ends| ends.at)),
            "text": line.fields,
        }));
    }
    faults
}

/// On the lane of the server: why calls wait. On the lane of an Editor: the state it reports.
fn bands(run: &Run) -> Vec<Json> {
    let mut bands = Bands { open: BTreeMap::new(), done: Vec::new() };
    for line in run.lines().iter().filter(|line| line.sign == Sign::Event) {
        match line.what.as_str() {
            "state" => {
                let reason = line.fields.split("waits_for=").nth(1).unwrap_or_default();
                let shown = (reason != "nothing").then(|| format!("waiting: {reason}"));
                bands.turn(&line.actor, line.at, shown);
            }
            "ended" | "is killed" => bands.turn(&line.actor, line.at, None),
            _ => {}
        }
    }
    for record in &run.records {
        let RecordKind::Crossing { host, wire, crossing } = &record.what else { continue };
        if !trace::is_unity(host) || *host != wire.client {
            continue;
        }
        if let Some(state) = said_state(crossing) {
            bands.turn(host, record.at, (state != "ready").then_some(state));
        }
    }
    bands.end(run.simulated);
    bands.done
}

fn said_state(crossing: &Crossing) -> Option<String> {
    let Crossing::Sent(WireMessage::Json(frame)) = crossing else { return None };
    let is_state = matches!(frame.get("type")?.as_str()?, "hello" | "editor_status");
    is_state.then(|| frame.get("state")?.as_str().map(str::to_owned)).flatten()
}

struct Bands {
    open: BTreeMap<String, (Duration, String)>,
    done: Vec<Json>,
}

impl Bands {
    fn turn(&mut self, lane: &str, at: Duration, what: Option<String>) {
        if self.open.get(lane).map(|(_, what)| what) == what.as_ref() {
            return;
        }
        self.close(lane, at);
        if let Some(what) = what {
            self.open.insert(lane.to_owned(), (at, what));
        }
    }

    fn close(&mut self, lane: &str, at: Duration) {
        if let Some((from, what)) = self.open.remove(lane) {
            let band =
                json!({ "lane": lane, "from": millis(from), "to": millis(at), "text": what });
            self.done.push(band);
        }
    }

    fn end(&mut self, at: Duration) {
        while let Some(lane) = self.open.keys().next().cloned() {
            self.close(&lane, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::levels::run::{Level, run};
    use crate::scenario::parse;

    #[test]
    fn a_page_has_lost_messages_faults_and_bands_and_needs_nothing_else() {
        let scenario = parse(
            "why: <a & b> {{data}}\nserver: { request_reconnect_wait_ms: 500 }\nsteps:\n  - { at: 1s, network: lose server->unity, for: 1s }\n  - { at: 1100ms, call: read_console, as: r1, with: { timeout_ms: 500 }, error: ERR_REQUEST_TIMEOUT, guarantee: unknown }\n  - { at: 3s, unity: compile 1s }\n  - { at: 3100ms, call: get_editor_state, as: s1, ok: {} }\nexpect: { executed: [] }\n",
        );
        let scenario = scenario.unwrap();
        let page = super::page("topic::a_name", &scenario, &run(Level::Full, &scenario));
        assert!(page.contains("topic: a name") && page.contains("&lt;a &amp; b&gt; {{data}}"));
        assert!(page.contains("\"got\":null"), "a message was lost");
        assert!(page.contains("\"text\":\"lose server->unity\""));
        assert!(page.contains("\"text\":\"compiling\"") && page.contains("waiting: compiling"));
        for outside in ["http://", "https://", "src=", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
