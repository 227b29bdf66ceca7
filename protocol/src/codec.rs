//! Codec: turns one text frame into one message, and back. It never panics on input.
//!
//! The codec reads and writes the envelope (`type`, `protocol_version`). The message types hold only
//! the other fields.

use std::{fmt, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::strict_json::{DUPLICATE_KEY, StrictJson};
use crate::{PROTOCOL_VERSION, RequestId, printable};

/// Characters of a peer's text that an error message may quote.
const QUOTE_MAX: usize = 200;
/// Bytes of a request id: longer than any that the server makes.
const REQUEST_ID_MAX: usize = 64;
/// How many requests a frame that cannot be read may mention.
const MENTIONS_MAX: usize = 64;

/// One direction of the wire: [`FromUnity`](crate::FromUnity) or [`ToUnity`](crate::ToUnity).
pub trait Message: Serialize + Sized {
    /// Reads the fields of a message of this type. Returns `None` if this direction has no such type.
    fn from_body(message_type: &str, body: Body) -> Option<serde_json::Result<Self>>;
}

/// Declares one direction of the wire from one table: the enum, its list of message types and its
/// decoder. A message type that is not in the table can be neither sent nor received.
macro_rules! direction {
    (
        $(#[$about:meta])*
        $name:ident {
            $($(#[$doc:meta])* $wire:literal => $variant:ident($body:ty) $(read by $read:path)?,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type")]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $wire)] $variant($body),)+
        }

        impl $name {
            /// Every `type` of this direction.
            pub const TYPES: &[&str] = &[$($wire),+];
        }

        impl Message for $name {
            fn from_body(message_type: &str, body: Body) -> Option<serde_json::Result<Self>> {
                match message_type {
                    $($wire => Some($crate::codec::read!(body $($read)?).map(Self::$variant)),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use direction;

macro_rules! read {
    ($body:ident) => {
        $body.parse()
    };
    ($body:ident $read:path) => {
        $read($body)
    };
}
pub(crate) use read;

/// The JSON object of a frame. Only [`decode`] makes one, after it has checked the envelope.
pub struct Body(Map<String, Value>);

impl Body {
    /// Takes a value out that is not to be copied.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.get_mut(name).map(Value::take).filter(|value| !value.is_null())
    }

    pub(crate) fn parse<T: DeserializeOwned>(self) -> serde_json::Result<T> {
        serde_json::from_value(Value::Object(self.0))
    }
}

/// Why a frame is not a message.
///
/// `Display` gives one sentence without control characters, which is safe to log. The server sends that
/// sentence back to the plugin in an `error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// What is wrong.
    pub problem: Problem,
    /// The requests that the frame may be about: its `request_id` if the frame can be read that far, otherwise every
    /// request id that its text has between quotes, at most 64.
    pub about: Vec<RequestId>,
}

/// What is wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The frame is not UTF-8 or not JSON, or it is nested deeper than 127 levels.
    NotJson {
        /// What the parser reports, with line and column.
        problem: String,
    },
    /// The frame is JSON, but not an object.
    NotAnObject,
    /// An object in the frame, at any depth, has the same key twice.
    DuplicateKey {
        /// Which key, with line and column.
        problem: String,
    },
    /// The field `type` is missing or is not a string.
    MissingType,
    /// The field `protocol_version` is missing.
    MissingVersion,
    /// `protocol_version` is not [`PROTOCOL_VERSION`].
    WrongVersion,
    /// This direction of the wire has no such message type.
    UnknownType {
        /// The type, shortened and escaped.
        name: String,
    },
    /// A known message type with a field that is missing or wrong.
    BadField {
        /// The message type and what is wrong with the field.
        problem: String,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { problem } => write!(f, "the frame is not JSON: {problem}"),
            Self::NotAnObject => f.write_str("the frame is not a JSON object"),
            Self::DuplicateKey { problem } => write!(f, "the frame has a {problem}"),
            Self::MissingType => f.write_str("the frame has no type"),
            Self::MissingVersion => f.write_str("the frame has no protocol_version"),
            Self::WrongVersion => write!(f, "protocol_version must be {PROTOCOL_VERSION}"),
            Self::UnknownType { name } => write!(f, "unknown message type \"{name}\""),
            Self::BadField { problem } => write!(f, "the message has a bad field: {problem}"),
        }
    }
}

/// The end of every frame: `type` is the first field, `protocol_version` the last.
const ENVELOPE: &str = ",\"protocol_version\":1}";

/// Encodes a message as the text of one frame, envelope included.
pub fn encode<M: Message>(message: &M) -> String {
    let Ok(mut frame) = serde_json::to_string(message) else {
        unreachable!("a message has text keys and plain values");
    };
    frame.pop(); // The closing brace. The object has at least `type`, so a comma may follow.
    frame.push_str(ENVELOPE);
    frame
}

/// The length in bytes of the frame that [`encode`] would make, without making it.
pub fn encoded_len<M: Message>(message: &M) -> usize {
    json_len(message) - 1 + ENVELOPE.len()
}

/// The length in bytes of a value as JSON, without writing it. Its keys must be texts.
pub fn json_len(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => unreachable!("a message has text keys and plain values"),
    }
}

/// A writer that only counts bytes.
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

/// Parses a JSON text and rejects objects that have the same key twice.
///
/// # Errors
/// Says what is wrong, in at most 200 characters and without control characters.
pub fn parse_json(text: &[u8]) -> Result<Value, String> {
    let parsed = serde_json::from_slice(text).map(|StrictJson(value)| value);
    parsed.map_err(|error| printable(&error.to_string(), QUOTE_MAX))
}

/// Decodes the text of one frame.
///
/// Unknown fields are ignored, so that a newer peer may send more.
///
/// # Errors
/// See [`DecodeError`]. The session can go on: only this frame is lost.
pub fn decode<M: Message>(frame: &[u8]) -> Result<M, DecodeError> {
    let unreadable = |problem| DecodeError { problem, about: mentioned_requests(frame) };
    let object = match parse_json(frame) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err(unreadable(Problem::NotAnObject)),
        Err(problem) if problem.starts_with(DUPLICATE_KEY) => {
            return Err(unreadable(Problem::DuplicateKey { problem }));
        }
        Err(problem) => return Err(unreadable(Problem::NotJson { problem })),
    };
    let request_id = object.get("request_id").and_then(Value::as_str).map(RequestId::from);
    let wrong = |problem| DecodeError { problem, about: request_id.into_iter().collect() };
    let Some(Value::String(message_type)) = object.get("type").cloned() else {
        return Err(wrong(Problem::MissingType));
    };
    match object.get("protocol_version") {
        None => return Err(wrong(Problem::MissingVersion)),
        Some(version) if version.as_u64() == Some(PROTOCOL_VERSION) => {}
        Some(_) => return Err(wrong(Problem::WrongVersion)),
    }
    match M::from_body(&message_type, Body(object)) {
        Some(Ok(message)) => Ok(message),
        Some(Err(error)) => {
            let problem = printable(&format!("{message_type}: {error}"), QUOTE_MAX);
            Err(wrong(Problem::BadField { problem }))
        }
        None => {
            let name = printable(&message_type, QUOTE_MAX);
            Err(wrong(Problem::UnknownType { name }))
        }
    }
}

/// The request ids that the text of a frame has between quotes.
fn mentioned_requests(frame: &[u8]) -> Vec<RequestId> {
    let is_quote = |byte: &u8| *byte == b'"';
    let first = frame.iter().position(is_quote).map_or(frame.len(), |quote| quote + 1);
    let last = frame.iter().rposition(is_quote).unwrap_or_default();
    let mut found: Vec<RequestId> = Vec::new();
    for text in frame.get(first..last).unwrap_or_default().split(is_quote) {
        let is_id = text.starts_with(b"req-")
            && text.len() <= REQUEST_ID_MAX
            && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        let Some(text) = str::from_utf8(text).ok().filter(|_| is_id) else { continue };
        if found.len() < MENTIONS_MAX && found.iter().all(|known| known.0 != text) {
            found.push(RequestId::from(text));
        }
    }
    found
}
