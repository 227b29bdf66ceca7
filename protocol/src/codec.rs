//! Codec: one text frame <-> one message. Never panics, whatever the bytes are.
//!
//! The envelope (`type`, `protocol_version`, `timestamp`) is the codec's business; messages hold
//! only what they mean.

use std::{fmt, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::strict_json::{DUPLICATE_KEY, StrictJson};
use crate::{PROTOCOL_VERSION, RequestId, printable};

/// The most a peer's text may take of an error message, in characters.
const QUOTE_MAX: usize = 200;

/// One direction of the wire.
pub trait Message: Serialize + Sized {
    /// Reads the fields of a message of this type; `None` if this direction has no such type.
    fn from_body(message_type: &str, body: Body) -> Option<serde_json::Result<Self>>;
}

/// The object of a frame, its envelope already read.
pub struct Body(Map<String, Value>);

impl Body {
    pub(crate) fn parse<T: DeserializeOwned>(self) -> serde_json::Result<T> {
        serde_json::from_value(Value::Object(self.0))
    }
}

/// Why a frame is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// No UTF-8 or no JSON, or nested deeper than the parser goes.
    NotJson {
        problem: String,
    },
    NotAnObject,
    DuplicateKey {
        problem: String,
    },
    MissingType,
    MissingVersion,
    WrongVersion,
    UnknownType {
        name: String,
    },
    /// A known message with a field that is missing or wrong.
    BadField {
        /// The request that this is a broken answer to, if that much could be read.
        request_id: Option<RequestId>,
        problem: String,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { problem } => write!(f, "the frame is not JSON: {problem}"),
            Self::NotAnObject => f.write_str("the frame is not a JSON object"),
            Self::DuplicateKey { problem } => write!(f, "the frame has a {problem}"),
            Self::MissingType => f.write_str("the frame has no type"),
            Self::MissingVersion => f.write_str("the frame has no protocol_version"),
            Self::WrongVersion => write!(f, "protocol_version must be {PROTOCOL_VERSION}"),
            Self::UnknownType { name } => write!(f, "unknown message type \"{name}\""),
            Self::BadField { problem, .. } => write!(f, "the message has a bad field: {problem}"),
        }
    }
}

/// How every frame ends: `type` comes first, `protocol_version` last.
const ENVELOPE: &str = ",\"protocol_version\":1}";

/// The frame of a message.
pub fn encode<M: Message>(message: &M) -> String {
    let Ok(mut frame) = serde_json::to_string(message) else {
        unreachable!("a message has text keys and plain values");
    };
    frame.pop(); // The closing brace; `type` stands before it, so a comma is right.
    frame.push_str(ENVELOPE);
    frame
}

/// How long the frame of a message is, without making it.
pub fn encoded_len<M: Message>(message: &M) -> usize {
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, message) {
        Ok(()) => count.0 - 1 + ENVELOPE.len(),
        Err(_) => unreachable!("a message has text keys and plain values"),
    }
}

/// A writer that only counts.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A JSON text in which no key stands twice; `Err` says in bounded, printable words what is wrong.
pub fn parse_json(text: &[u8]) -> Result<Value, String> {
    let parsed = serde_json::from_slice(text).map(|StrictJson(value)| value);
    parsed.map_err(|error| printable(&error.to_string(), QUOTE_MAX))
}

/// The message of a frame.
pub fn decode<M: Message>(frame: &[u8]) -> Result<M, DecodeError> {
    let object = match parse_json(frame) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(DecodeError::NotAnObject),
        Err(problem) if problem.starts_with(DUPLICATE_KEY) => {
            return Err(DecodeError::DuplicateKey { problem });
        }
        Err(problem) => return Err(DecodeError::NotJson { problem }),
    };
    let Some(Value::String(message_type)) = object.get("type").cloned() else {
        return Err(DecodeError::MissingType);
    };
    match object.get("protocol_version") {
        None => return Err(DecodeError::MissingVersion),
        Some(version) if version.as_u64() == Some(PROTOCOL_VERSION) => {}
        Some(_) => return Err(DecodeError::WrongVersion),
    }
    let request_id = object.get("request_id").and_then(Value::as_str).map(RequestId::from);
    match M::from_body(&message_type, Body(object)) {
        Some(parsed) => parsed.map_err(|error| DecodeError::BadField {
            request_id,
            problem: printable(&format!("{message_type}: {error}"), QUOTE_MAX),
        }),
        None => Err(DecodeError::UnknownType { name: printable(&message_type, QUOTE_MAX) }),
    }
}
