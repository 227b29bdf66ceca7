//! What happened, in the order in which it is drawn: a cause is above its effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use page::{Event, Lane};
use protocol::Json;

use super::calls::Calls;
use super::pairs::{Pairs, other_end};
use super::state::Known;
use crate::levels::run::{Level, Run};
use crate::record::log::{Crossing, JOB_NOTE, Record, RecordKind, Wire, WireMessage};
use crate::record::trace::{self, Line, Sign};
use crate::scenario::{NETWORK, SERVER, Scenario};

/// Longer bodies are cut.
const BODY_MAX: usize = 4_000;

pub(super) fn events(run: &Run, scenario: &Scenario, lanes: &[Lane], level: Level) -> Vec<Event> {
    let lines = trace::by_record(&run.records, run.hidden);
    let pairs = Pairs::new(&run.records);
    let mut teller = Teller {
        records: &run.records,
        lines: &lines,
        pairs: &pairs,
        lanes,
        shows_heartbeats: scenario.shows_heartbeats,
        calls: Calls::default(),
        known: Known::default(),
        sessions: BTreeMap::new(),
        said: BTreeMap::new(),
        // The core level records no arrival at Unity.
        has_arrivals: level != Level::Core,
        events: Vec::new(),
    };
    for number in order(&run.records) {
        teller.record(number);
    }
    teller.events
}

/// Unity's own record of what it ran is added at the end of a run. Of the records of a moment it belongs after the
/// request, if that was sent in the same moment, and before all others.
fn order(records: &[Record]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut begin = 0;
    for moment in records.chunk_by(|one, other| one.at == other.at) {
        let end = begin + moment.len();
        let (ran, rest): (Vec<usize>, Vec<usize>) =
            (begin..end).partition(|number| records.get(*number).and_then(ran_request).is_some());
        let first = order.len();
        order.extend(rest);
        for number in ran {
            let request = records.get(number).and_then(ran_request);
            let sends = |other: &usize| records.get(*other).and_then(sent_request) == request;
            let place = order.iter().skip(first).position(sends);
            order.insert(place.map_or(first, |place| first + place + 1), number);
        }
        begin = end;
    }
    order
}

fn ran_request(record: &Record) -> Option<&str> {
    match &record.what {
        RecordKind::Note { kind: "ran", text, .. } => text.split(' ').next(),
        RecordKind::Note { .. } | RecordKind::Crossing { .. } => None,
    }
}

fn sent_request(record: &Record) -> Option<&str> {
    let RecordKind::Crossing { host, crossing: Crossing::Sent(WireMessage::Json(frame)), .. } =
        &record.what
    else {
        return None;
    };
    let request = frame.get("request_id").and_then(Json::as_str);
    request.filter(|_| trace::is_server(host))
}

struct Teller<'a> {
    records: &'a [Record],
    lines: &'a [Option<Line>],
    pairs: &'a Pairs,
    lanes: &'a [Lane],
    shows_heartbeats: bool,
    calls: Calls,
    known: Known,
    /// The connection of each Editor that has a session.
    sessions: BTreeMap<Arc<str>, Wire>,
    /// The state that each Editor said last, if it is not ready.
    said: BTreeMap<Arc<str>, Option<String>>,
    has_arrivals: bool,
    events: Vec<Event>,
}

impl Teller<'_> {
    fn record(&mut self, number: usize) {
        let Some(record) = self.records.get(number) else { return };
        let at = record.at.as_millis() as u64;
        match &record.what {
            RecordKind::Note { kind, text, .. } => self.note(number, at, kind, text),
            RecordKind::Crossing { host, wire, crossing } => match crossing {
                Crossing::Opened => {}
                Crossing::Sent(message) => self.sent(number, at, host, wire, message),
                Crossing::Received(message) => {
                    if self.pairs.is_alone(number) {
                        self.alone(number, at, host, wire, message);
                    }
                    self.arrived(host, wire, message);
                }
                Crossing::Ended => self.ended(number, at, host, wire),
            },
        }
        let queue = self.calls.waiting();
        self.events.extend(self.known.tell(at, queue));
    }

    /// What the server learns when a message arrives.
    fn arrived(&mut self, host: &str, wire: &Wire, message: &WireMessage) {
        if let WireMessage::Json(frame) = message
            && trace::is_server(host)
            && trace::is_unity(&wire.client)
        {
            let call = self.calls.of_frame(frame);
            self.known.received(frame, call.as_deref());
        }
    }

    /// A message whose sending is not recorded.
    fn alone(&mut self, number: usize, at: u64, host: &str, wire: &Wire, message: &WireMessage) {
        let from = other_end(host, wire).to_owned();
        if let WireMessage::Json(request) = message {
            self.events.extend(self.calls.begin(at, wire, request));
        }
        let call = self.call_of(wire, message);
        let line = self.lines.get(number).and_then(Option::as_ref);
        self.events.push(event(at, None, false, (&from, host), line, message, call));
    }

    fn sent(&mut self, number: usize, at: u64, host: &str, wire: &Wire, message: &WireMessage) {
        let to = other_end(host, wire);
        let arrival = self.pairs.arrival(number);
        let got = arrival.and_then(|arrival| self.records.get(arrival));
        let got = got.map(|record| record.at.as_millis() as u64);
        let is_lost = got.is_none() && self.has_arrivals && self.pairs.knows(to);
        if matches!(type_of(message), "ping" | "pong") && !is_lost && !self.shows_heartbeats {
            return;
        }
        let by_server = trace::is_server(host);
        if let WireMessage::Json(json) = message {
            if self.is_agent(host) {
                self.events.extend(self.calls.begin(at, wire, json));
            }
            if by_server && trace::is_unity(&wire.client) {
                let call = self.calls.of_frame(json);
                self.known.sent(json, call.as_deref());
                self.events.extend(call.and_then(|call| self.calls.serve(at, &call)));
                if type_of(message) == "hello" {
                    self.sessions.insert(wire.client.clone(), wire.clone());
                }
            }
        }
        let call = self.call_of(wire, message);
        // The line of the trace is at the server's end.
        let line = if by_server && host == &*wire.server { Some(number) } else { arrival };
        let line = line.and_then(|line| self.lines.get(line)).and_then(Option::as_ref);
        self.events.push(event(at, got, is_lost, (host, to), line, message, call));
        if let (WireMessage::Json(answer), true, false) = (message, self.is_agent(to), is_lost) {
            self.events.extend(self.calls.answered(got.unwrap_or(at), wire, answer));
        }
        if trace::is_unity(host) {
            self.unity_said(at, host, wire, message);
        }
    }

    /// An Editor that says its state is in it from then on.
    fn unity_said(&mut self, at: u64, host: &str, wire: &Wire, message: &WireMessage) {
        let WireMessage::Json(frame) = message else { return };
        let kind = type_of(message);
        if matches!(kind, "hello" | "editor_status")
            && let Some(state) = frame.get("state").and_then(Json::as_str)
        {
            let text = (state != "ready").then(|| state.to_owned());
            self.said.insert(wire.client.clone(), text.clone());
            self.events.push(Event::LaneState { at, lane: host.to_owned(), text });
        }
    }

    fn ended(&mut self, number: usize, at: u64, host: &str, wire: &Wire) {
        if self.is_agent(host) {
            self.events.extend(self.calls.lost_with(at, wire));
        }
        if let Some(line) = self.lines.get(number).and_then(Option::as_ref) {
            self.push_note(at, line);
        }
        if host == &*wire.server && self.sessions.get(&wire.client) == Some(wire) {
            self.sessions.remove(&wire.client);
            let why = self.said.remove(&wire.client).flatten();
            let why = why.map(|state| format!(": {state}")).unwrap_or_default();
            let (lane, text) = (wire.client.to_string(), Some(format!("no session{why}")));
            self.events.push(Event::LaneState { at, lane, text });
        }
    }

    fn note(&mut self, number: usize, at: u64, kind: &str, text: &str) {
        if kind == JOB_NOTE {
            self.known.job(text);
        }
        let Some(line) = self.lines.get(number).and_then(Option::as_ref) else { return };
        if line.actor == NETWORK {
            self.fault(number, at, line);
            return;
        }
        match kind {
            "state" => {
                self.known.turn(text);
                let waits = self.known.waits_for().map(|reason| format!("calls wait: {reason}"));
                let lane = line.actor.clone();
                self.events.push(Event::LaneState { at, lane, text: waits });
                return;
            }
            "ended" | "is killed" if trace::is_server(&line.actor) => {
                self.known.end();
                let lane = line.actor.clone();
                self.events.push(Event::LaneState { at, lane, text: None });
            }
            _ => {}
        }
        self.push_note(at, line);
        if kind == "cancels" {
            self.events.extend(self.calls.cancelled(at, text));
        }
    }

    fn push_note(&mut self, at: u64, line: &Line) {
        if !matches!(line.sign, Sign::Event | Sign::End) {
            return;
        }
        let of_lane = line.actor.split('#').next().unwrap_or_default();
        let lane = self.lanes.iter().find(|lane| lane.id == of_lane);
        let lane = lane.map_or(SERVER, |lane| lane.id.as_str()).to_owned();
        let number =
            line.actor.split_once('#').map(|(_, number)| format!(" (connection {number})"));
        let text = format!("{} {}", line.what, line.fields);
        let text = format!("{}{}", text.trim_end(), number.unwrap_or_default());
        let mut words = line.fields.split([' ', ',']).rev();
        let call = words.find(|word| self.calls.agent_of(word).is_some()).map(str::to_owned);
        self.events.push(Event::Note { at, lane, text, call });
    }

    /// A fault of a link lasts until a line with the same words says that it recovers.
    fn fault(&mut self, number: usize, at: u64, line: &Line) {
        if line.what != "fails" {
            return;
        }
        let after = self.lines.iter().skip(number).flatten();
        let ends = after.clone().find(|other| {
            other.actor == NETWORK && other.what == "recovers" && other.fields == line.fields
        });
        let words = line.fields.replace("->", " ");
        let is_named =
            |lane: &&Lane| lane.id != SERVER && words.split(' ').any(|word| word == lane.id);
        let lane = self.lanes.iter().find(is_named).map_or(SERVER, |lane| lane.id.as_str());
        self.events.push(Event::Fault {
            at,
            until: ends.map(|line| line.at.as_millis() as u64),
            lane: lane.to_owned(),
            text: line.fields.clone(),
        });
    }

    fn call_of(&mut self, wire: &Wire, message: &WireMessage) -> Option<String> {
        let WireMessage::Json(json) = message else { return None };
        if trace::is_unity(&wire.client) {
            self.calls.of_frame(json)
        } else {
            self.calls.of_mcp(wire, json)
        }
    }

    fn is_agent(&self, host: &str) -> bool {
        !trace::is_server(host) && !trace::is_unity(host)
    }
}

fn event(
    at: u64,
    got: Option<u64>,
    lost: bool,
    (from, to): (&str, &str),
    line: Option<&Line>,
    message: &WireMessage,
    call: Option<String>,
) -> Event {
    let (what, text) = match line {
        Some(line) => (line.what.clone(), line.fields.clone()),
        None => {
            let told = match message {
                WireMessage::Close { code, reason } => {
                    let code = code.map(|code| format!("{code} ")).unwrap_or_default();
                    format!("close {code}{reason}")
                }
                WireMessage::Text(_) => "(not JSON)".to_owned(),
                WireMessage::Binary(length) => format!("(binary) {length} bytes"),
                WireMessage::Get(path) => format!("GET {path}"),
                WireMessage::Status(status) => format!("HTTP {status}"),
                WireMessage::Json(_) => trace::describe(message),
            };
            let (what, text) = told.split_once(' ').unwrap_or((&told, ""));
            (what.to_owned(), text.trim_end().to_owned())
        }
    };
    let error = what == "close" || what == "error" || text.contains("ERR_");
    let text = if what == "answer" { without_outcome(&text) } else { text };
    let body = Some(body(message));
    let got = got.filter(|got| *got != at);
    Event::Message {
        at,
        got,
        lost,
        from: from.into(),
        to: to.into(),
        what,
        text,
        call,
        error,
        body,
    }
}

/// The outcome has its own place beside the label.
fn without_outcome(text: &str) -> String {
    let (label, rest) = text.split_once(' ').unwrap_or((text, ""));
    match rest.strip_prefix("ok") {
        Some(fields) => format!("{label}{fields}").trim_end().to_owned(),
        None if rest.contains("ERR_") => label.to_owned(),
        None => text.to_owned(),
    }
}

fn type_of(message: &WireMessage) -> &str {
    let WireMessage::Json(json) = message else { return "" };
    json.get("type").and_then(Json::as_str).unwrap_or_default()
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
    // Unity's text must not control the reader's terminal or browser; lines stay lines.
    protocol::printable(&whole.replace('\n', "\u{1}"), BODY_MAX).replace("\\u{1}", "\n")
}
