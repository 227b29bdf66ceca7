//! Values that are written as words: times, commands of Unity, faults of links.

use std::borrow::Cow;
use std::time::Duration;

use mock_unity::{Command, parse_duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::scenario::LinkFault;

/// `500ms`, `3s`, `1.5s`, `2m`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time(pub(super) Duration);

/// A word of mock-unity with its arguments.
#[derive(Clone, Debug)]
pub(super) struct UnityWords {
    pub(super) text: String,
    pub(super) command: Command,
}

/// `partition unity`, `hold agent`, `lose unity->server`, `latency unity 200ms`.
#[derive(Clone, Debug)]
pub(super) struct NetworkWords {
    pub(super) text: String,
    pub(super) fault: LinkFault,
    pub(super) from: String,
    pub(super) to: String,
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for UnityWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let command = Command::parse(&text).map_err(D::Error::custom)?;
        Ok(Self { text, command })
    }
}

impl<'de> Deserialize<'de> for NetworkWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (fault, from, to) = network_words(&text).map_err(D::Error::custom)?;
        Ok(Self { text, fault, from, to })
    }
}

/// A fault of a link, and its two hosts.
pub(crate) fn network_words(text: &str) -> Result<(LinkFault, String, String), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (fault, link) = match words.as_slice() {
        ["partition", link] => (LinkFault::Partition, link),
        ["hold", link] => (LinkFault::Hold, link),
        ["lose", link] if link.contains("->") => (LinkFault::Lose, link),
        ["latency", link, time] => (LinkFault::Latency(parse_duration(time)?), link),
        _ => {
            return Err(format!(
                "\"{text}\" is no fault of a link; write \"partition unity\", \
                 \"hold unity\", \"lose unity->server\" or \"latency unity 200ms\""
            ));
        }
    };
    let (from, to) = link.split_once("->").unwrap_or((link, super::SERVER));
    Ok((fault, from.to_owned(), to.to_owned()))
}

macro_rules! words {
    ($type:ident, $about:literal, $pattern:literal) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $about, "pattern": $pattern })
            }
        }
    };
}

words!(Time, "500ms, 3s, 1.5s or 2m", "^[0-9]+(\\.[0-9]+)?(ms|s|m)$");
words!(UnityWords, "A word of mock-unity with its arguments: compile 3s", "^[a-z]+( .+)?$");
words!(
    NetworkWords,
    "partition unity, hold unity, lose unity->server or latency unity 200ms",
    "^(partition|hold|lose|latency) .+$"
);
