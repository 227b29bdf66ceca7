//! Trace: one line for each message at the server, each step and each change of the state that agents can ask for.
//! docs/TESTING.md explains the columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use protocol::{Json, printable};

use crate::record::log::{Crossing, JOB_NOTE, Record, RecordKind, Wire, WireMessage};
use crate::scenario::{SERVER, UNITY, UNITY2};

/// Longer values are cut.
const VALUE_MAX: usize = 60;

/// One line, with what the page needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) at: Duration,
    pub(crate) actor: String,
    pub(crate) sign: Sign,
    pub(crate) what: String,
    pub(crate) fields: String,
    /// The whole message, if it is one.
    pub(crate) body: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Into the server.
    In,
    /// Out of the server.
    Out,
    /// A connection ended.
    End,
    /// An event that is not a message.
    Event,
}

impl Line {
    pub(crate) fn render(&self) -> String {
        let sign = match self.sign {
            Sign::In => '>',
            Sign::Out => '<',
            Sign::End => 'x',
            Sign::Event => '*',
        };
        let seconds = self.at.as_secs_f64();
        let line =
            format!("{seconds:>9.3}s  {:<13} {sign} {:<17} {}", self.actor, self.what, self.fields);
        // Unity's text must not control the terminal.
        printable(line.trim_end(), usize::MAX)
    }
}

pub(crate) fn render(lines: &[Line]) -> String {
    lines.iter().map(|line| line.render() + "\n").collect()
}

/// The server's side of everything, without the frames of the types in `hidden`.
pub(crate) fn lines(records: &[Record], hidden: &'static [&'static str]) -> Vec<Line> {
    by_record(records, hidden).into_iter().flatten().collect()
}

/// The line of each record that has one.
pub(crate) fn by_record(records: &[Record], hidden: &'static [&'static str]) -> Vec<Option<Line>> {
    let mut writer = Writer { hidden, ..Writer::default() };
    records.iter().map(|record| writer.line(record)).collect()
}

#[derive(Default)]
struct Writer {
    hidden: &'static [&'static str],
    /// Numbers of the plugin's connections, in the order of their arrival.
    sockets: BTreeMap<Wire, usize>,
    counts: BTreeMap<Arc<str>, usize>,
    /// Requests of agents without an answer, by connection and id.
    open: BTreeMap<(Wire, String), String>,
    /// The calls that progress is reported for, by connection and token.
    tokens: BTreeMap<(Wire, String), String>,
    /// Connections whose end has a line.
    ended: BTreeSet<Wire>,
}

impl Writer {
    fn line(&mut self, record: &Record) -> Option<Line> {
        match &record.what {
            RecordKind::Note { kind: JOB_NOTE, .. } => None,
            RecordKind::Note { actor, kind, text } => Some(Line {
                at: record.at,
                actor: actor.clone(),
                sign: Sign::Event,
                what: (*kind).to_owned(),
                fields: text.clone(),
                body: None,
            }),
            // The page uses the other end.
            RecordKind::Crossing { host, wire, .. } if *host != wire.server => None,
            RecordKind::Crossing { wire, crossing, .. } => {
                let (sign, what, fields, body) = if is_unity(&wire.client) {
                    self.unity(wire, crossing)?
                } else {
                    self.agent(wire, crossing)?
                };
                Some(Line { at: record.at, actor: self.actor(wire), sign, what, fields, body })
            }
        }
    }

    fn actor(&self, wire: &Wire) -> String {
        match self.sockets.get(wire) {
            Some(number) => format!("{}#{number}", wire.client),
            None => wire.client.to_string(),
        }
    }

    fn unity(&mut self, wire: &Wire, crossing: &Crossing) -> Option<Columns> {
        match crossing {
            Crossing::Opened => {
                let count = self.counts.entry(wire.client.clone()).or_default();
                *count += 1;
                self.sockets.insert(wire.clone(), *count);
                None
            }
            Crossing::Received(message) => self.frame(Sign::In, message),
            Crossing::Sent(message) => self.frame(Sign::Out, message),
            Crossing::Ended => Some((Sign::End, "closed".into(), String::new(), None)),
        }
    }

    fn frame(&self, sign: Sign, message: &WireMessage) -> Option<Columns> {
        let (what, fields) = match message {
            WireMessage::Json(frame) => {
                let what = frame.get("type").and_then(Json::as_str).unwrap_or("(no type)");
                if self.hidden.contains(&what) {
                    return None;
                }
                (what.to_owned(), frame_fields(frame))
            }
            WireMessage::Text(text) => ("(not JSON)".to_owned(), short(text)),
            WireMessage::Binary(length) => ("(binary)".to_owned(), format!("{length} bytes")),
            WireMessage::Close { code, reason } => {
                let code = code.map(|code| code.to_string()).unwrap_or_default();
                ("close".to_owned(), format!("{code} {reason}").trim().to_owned())
            }
            WireMessage::Get(path) => ("GET".to_owned(), path.clone()),
            WireMessage::Status(status) => ("(HTTP)".to_owned(), status.to_string()),
        };
        Some((sign, what, fields, json_of(message)))
    }

    fn agent(&mut self, wire: &Wire, crossing: &Crossing) -> Option<Columns> {
        match crossing {
            Crossing::Opened => None,
            Crossing::Received(WireMessage::Json(request)) => {
                let (what, fields) = self.request(wire, request);
                Some((Sign::In, what, fields, Some(request.clone())))
            }
            Crossing::Sent(WireMessage::Json(answer)) => {
                let (what, fields) = self.answer(wire, answer);
                Some((Sign::Out, what, fields, Some(answer.clone())))
            }
            Crossing::Sent(message) => self.frame(Sign::Out, message),
            Crossing::Received(message) => self.frame(Sign::In, message),
            Crossing::Ended => {
                if !self.ended.insert(wire.clone()) {
                    return None;
                }
                let open: Vec<String> = self
                    .open
                    .extract_if(.., |(of, _), _| of == wire)
                    .map(|(_, label)| label)
                    .collect();
                if open.is_empty() {
                    return None; // One request, one connection: its end says nothing.
                }
                Some((Sign::End, "closed".into(), format!("open: {}", open.join(", ")), None))
            }
        }
    }

    fn request(&mut self, wire: &Wire, request: &Json) -> (String, String) {
        let method = request.get("method").and_then(Json::as_str).unwrap_or("(no method)");
        let params = request.get("params");
        let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
        let (what, fields) = match method {
            "tools/call" => {
                let tool = text(params.and_then(|params| params.get("name"))).unwrap_or_default();
                let mut arguments =
                    params.and_then(|params| params.get("arguments")).cloned().unwrap_or_default();
                let label =
                    arguments.as_object_mut().and_then(|all| all.remove("client_request_id"));
                let label = text(label.as_ref()).unwrap_or_else(|| "?".to_owned());
                if let Some(id) = request.get("id") {
                    self.open.insert((wire.clone(), id.to_string()), label.clone());
                }
                if let Some(token) = request.pointer("/params/_meta/progressToken") {
                    self.tokens.insert((wire.clone(), token.to_string()), label.clone());
                }
                let given = arguments.as_object().is_some_and(|all| !all.is_empty());
                let given = if given { short(&arguments.to_string()) } else { String::new() };
                ("call".to_owned(), format!("{label} {tool} {given}"))
            }
            "notifications/cancelled" => {
                let id = params.and_then(|params| params.get("requestId"));
                let id = id.map(Json::to_string).unwrap_or_default();
                let label = self.open.remove(&(wire.clone(), id));
                ("cancel".to_owned(), label.unwrap_or_default())
            }
            _ => {
                if let Some(id) = request.get("id") {
                    self.open.insert((wire.clone(), id.to_string()), method.to_owned());
                }
                let task = text(params.and_then(|params| params.get("taskId")));
                (method.to_owned(), task.unwrap_or_default())
            }
        };
        (what, fields.trim_end().to_owned())
    }

    fn answer(&mut self, wire: &Wire, answer: &Json) -> (String, String) {
        if answer.get("method").and_then(Json::as_str) == Some("notifications/progress") {
            let of = |name: &str| answer.pointer(&format!("/params/{name}")).cloned();
            let token = of("progressToken").unwrap_or_default().to_string();
            let label = self.tokens.get(&(wire.clone(), token)).map_or("?", String::as_str);
            let progress = of("progress").and_then(|progress| progress.as_f64()).unwrap_or(0.0);
            let message = of("message").unwrap_or_default();
            let message = message.as_str().unwrap_or_default();
            return ("progress".to_owned(), format!("{label} #{progress} {message}"));
        }
        if answer.get("jsonrpc").is_none() {
            return ("answer".to_owned(), frame_fields(answer));
        }
        let id = answer.get("id").map(Json::to_string).unwrap_or_default();
        let label = self.open.remove(&(wire.clone(), id)).unwrap_or_else(|| "?".to_owned());
        let fields = match outcome_of(answer) {
            Outcome::Ok(Json::Null) => String::new(),
            Outcome::Ok(result) => format!("ok {}", frame_fields(&result)),
            Outcome::Failed { code, guarantee, .. } => format!("{code} {guarantee}"),
        };
        ("answer".to_owned(), format!("{label} {fields}").trim_end().to_owned())
    }
}

type Columns = (Sign, String, String, Option<Json>);

/// What an answer of the server says.
pub(crate) enum Outcome {
    Ok(Json),
    /// `error` is the whole error object.
    Failed {
        code: String,
        guarantee: String,
        error: Json,
    },
}

pub(crate) fn outcome_of(answer: &Json) -> Outcome {
    let text = |value: &Json, pointer: &str| {
        value.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    if let Some(error) = answer.get("error") {
        let code = error.get("code").map(Json::to_string).unwrap_or_default();
        let named = text(error, "/data/code");
        let guarantee = text(error, "/data/details/execution_guarantee");
        let error = error.get("data").cloned().unwrap_or_default();
        return Outcome::Failed { code: format!("{code} {named}"), guarantee, error };
    }
    let Some(result) = answer.get("result") else { return Outcome::Ok(Json::Null) };
    if result.get("isError") == Some(&Json::Bool(true)) {
        let mut told: Json =
            serde_json::from_str(&text(result, "/content/0/text")).unwrap_or_default();
        let error = told.get_mut("error").map(Json::take).unwrap_or_default();
        let guarantee = text(&error, "/details/execution_guarantee");
        return Outcome::Failed { code: text(&error, "/code"), guarantee, error };
    }
    if result.get("taskId").is_some() {
        return Outcome::Ok(result.clone()); // It is about a task.
    }
    Outcome::Ok(result.get("structuredContent").cloned().unwrap_or_default())
}

/// Describes a message that has no line.
pub(crate) fn describe(message: &WireMessage) -> String {
    let WireMessage::Json(json) = message else { return String::new() };
    let text = |pointer: &str| json.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
    match (text("/type"), text("/method")) {
        ("", "") => "answer".to_owned(),
        ("", method) => {
            let label = text("/params/arguments/client_request_id");
            format!("{method} {label} {}", text("/params/name")).trim_end().to_owned()
        }
        (kind, _) => format!("{kind} {}", frame_fields(json)),
    }
}

pub(crate) fn is_unity(host: &str) -> bool {
    host == UNITY || host == UNITY2
}

pub(crate) fn is_server(host: &str) -> bool {
    host.starts_with(SERVER)
}

pub(crate) fn json_of(message: &WireMessage) -> Option<Json> {
    match message {
        WireMessage::Json(json) => Some(json.clone()),
        WireMessage::Text(text) => Some(text.clone().into()),
        WireMessage::Binary(_)
        | WireMessage::Close { .. }
        | WireMessage::Get(_)
        | WireMessage::Status(_) => None,
    }
}

/// Fields that are shown without their name, in this order.
const UNNAMED: [&str; 7] =
    ["request_id", "job_id", "taskId", "target_job_id", "tool_name", "state", "status"];
/// Shorter names of fields.
const SHORTER: [(&str, &str); 7] = [
    ("client_request_id", "for"),
    ("editor_instance_id", "editor"),
    ("plugin_session_id", "session"),
    ("connect_attempt_seq", "attempt"),
    ("plugin_version", "plugin"),
    ("server_version", "server"),
    ("editor_state", "editor"),
];
/// Fields that every frame has, that change with each release, or that repeat what the trace shows. The book has the name
/// of its Editor.
const OMITTED: [&str; 8] = [
    "type",
    "timestamp",
    "version",
    "_meta",
    "resultType",
    "request_book",
    "unchanged_ms",
    "last_disconnect",
];

fn frame_fields(frame: &Json) -> String {
    let Some(all) = frame.as_object() else { return short(&frame.to_string()) };
    let unnamed = UNNAMED.iter().filter_map(|name| all.get(*name)).filter(|value| !value.is_null());
    let named = all.iter().filter(|(name, value)| {
        let usual = *name == "protocol_version" && value.as_u64() == Some(1);
        let left_out = UNNAMED.contains(&name.as_str()) || OMITTED.contains(&name.as_str());
        !left_out && !usual && !value.is_null()
    });
    let named = named.map(|(name, value)| {
        let name =
            SHORTER.iter().find(|(long, _)| long == name).map_or(name.as_str(), |pair| pair.1);
        match name {
            "error" | "cancel_error" => error_field(value),
            "tools" => format!("tools={}", names(value)),
            _ => format!("{name}={}", shown(value)),
        }
    });
    unnamed.map(shown).chain(named).collect::<Vec<_>>().join(" ")
}

fn error_field(error: &Json) -> String {
    let text = |name: &str| error.get(name).and_then(Json::as_str).map(short).unwrap_or_default();
    let guarantee = error.pointer("/details/execution_guarantee").and_then(Json::as_str);
    let guarantee = guarantee.map(|guarantee| format!(" {guarantee}")).unwrap_or_default();
    format!("{}{guarantee} \"{}\"", text("code"), text("message"))
}

fn names(tools: &Json) -> String {
    let name = |tool: &Json| tool.get("name").and_then(Json::as_str).map(short);
    let names = tools.as_array().into_iter().flatten().filter_map(name);
    names.collect::<Vec<_>>().join(",")
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| short(&value.to_string()), short)
}

fn short(text: &str) -> String {
    printable(text, VALUE_MAX)
}
