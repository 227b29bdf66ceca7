//! JsonStyle: how the mock writes its frames. A server must understand every JSON text that means the same.

use std::fmt::Write as _;

use protocol::Json;
use serde_json::json;

/// How frames are written. The default is what the codec of the protocol writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonStyle {
    /// The keys of every object are in another order.
    pub reversed: bool,
    /// There is whitespace between all tokens.
    pub spaced: bool,
    /// Plain characters of keys and texts are `\u` escapes.
    pub escaped: bool,
    /// Every object has fields that the protocol does not know, except what tools give.
    pub extra: bool,
}

/// Names of the ways to write, as in a command line or a scenario.
pub const JSON_STYLES: [&str; 4] = ["reversed", "spaced", "escaped", "extra"];

/// One of so many plain characters is written as an escape.
const ESCAPED_EVERY: usize = 3;
/// Objects that belong to a tool and not to the protocol.
const OF_TOOLS: [&str; 2] = ["result", "details"];

impl JsonStyle {
    /// Reads a list of [`JSON_STYLES`].
    ///
    /// # Errors
    /// Names the word that is not one of them.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut writes = Self::default();
        for name in names {
            match name {
                "reversed" => writes.reversed = true,
                "spaced" => writes.spaced = true,
                "escaped" => writes.escaped = true,
                "extra" => writes.extra = true,
                _ => return Err(format!("\"{name}\" is not one of {}", JSON_STYLES.join(", "))),
            }
        }
        Ok(writes)
    }

    /// The ways that are on, as [`from_names`](Self::from_names) reads them.
    pub fn names(self) -> Vec<&'static str> {
        let on = [self.reversed, self.spaced, self.escaped, self.extra];
        JSON_STYLES.into_iter().zip(on).filter_map(|(name, on)| on.then_some(name)).collect()
    }

    /// Writes a frame again. What is not JSON stays as it is, and so does what would get longer than `max`.
    pub(crate) fn write(self, frame: String, max: usize) -> String {
        if self == Self::default() {
            return frame;
        }
        let Ok(json) = serde_json::from_str::<Json>(&frame) else { return frame };
        let mut text = String::new();
        self.value(&json, self.extra, &mut text);
        if text.len() > max { frame } else { text }
    }

    fn value(self, json: &Json, with_extra: bool, text: &mut String) {
        match json {
            Json::Object(fields) => {
                let extra = [("x_new".to_owned(), json!([1, { "a": null }]))];
                let extra = extra.iter().filter(|_| with_extra).map(|(name, value)| (name, value));
                let mut fields: Vec<_> = fields.iter().chain(extra).collect();
                if self.reversed {
                    fields.reverse();
                }
                self.list('{', '}', fields.len(), text, |index, text| {
                    let Some((name, value)) = fields.get(index) else { return };
                    let of_tool = OF_TOOLS.contains(&name.as_str()) || *name == "x_new";
                    self.text(name, text);
                    self.space(text);
                    text.push(':');
                    self.space(text);
                    self.value(value, with_extra && !of_tool, text);
                });
            }
            Json::Array(items) => self.list('[', ']', items.len(), text, |index, text| {
                let Some(item) = items.get(index) else { return };
                self.value(item, with_extra, text);
            }),
            Json::String(string) => self.text(string, text),
            Json::Null | Json::Bool(_) | Json::Number(_) => text.push_str(&json.to_string()),
        }
    }

    fn list(
        self,
        open: char,
        close: char,
        count: usize,
        text: &mut String,
        item: impl Fn(usize, &mut String),
    ) {
        text.push(open);
        for index in 0..count {
            if index > 0 {
                text.push(',');
            }
            self.space(text);
            item(index, text);
            self.space(text);
        }
        text.push(close);
    }

    fn space(self, text: &mut String) {
        if self.spaced {
            text.push_str(" \t\r\n");
        }
    }

    fn text(self, string: &str, text: &mut String) {
        if !self.escaped {
            return text.push_str(&Json::from(string).to_string());
        }
        text.push('"');
        for (index, letter) in string.chars().enumerate() {
            if letter.is_ascii_alphanumeric() && index % ESCAPED_EVERY == 0 {
                let _written = write!(text, "\\u{:04x}", u32::from(letter)); // A string takes everything.
            } else if letter == ' ' || letter.is_ascii_alphanumeric() || "_-.:/'".contains(letter) {
                text.push(letter);
            } else {
                let quoted = Json::from(letter.to_string()).to_string();
                text.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
            }
        }
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use protocol::Json;

    use super::{JSON_STYLES, JsonStyle};

    const FRAME: &str =
        r#"{"type":"result","n":1.5,"result":{"a":["\"x\\",null,true,{}],"b":"é\n"}}"#;

    #[test]
    fn another_json_style_means_the_same() {
        let plain: Json = serde_json::from_str(FRAME).unwrap();
        for name in JSON_STYLES {
            let writes = JsonStyle::from_names([name]).unwrap();
            assert_eq!(writes.names(), [name]);
            let text = writes.write(FRAME.to_owned(), usize::MAX);
            let mut read: Json = serde_json::from_str(&text).unwrap();
            let extra = read.as_object_mut().and_then(|fields| fields.remove("x_new"));
            assert_eq!((read, extra.is_some()), (plain.clone(), name == "extra"), "{text}");
            assert_ne!(text, FRAME, "{name}");
            assert_eq!(writes.write(FRAME.to_owned(), 10), FRAME, "no room");
            assert_eq!(writes.write("x".to_owned(), 10), "x", "not JSON");
        }
        assert!(JsonStyle::from_names(["neat"]).unwrap_err().contains("spaced"));
    }
}
