//! A document without its layout: two texts that mean the same have the same tree.

use serde_json::Value;

use super::Content;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    Text(String),
    /// A number, a date, `true`, `null`: as it is written.
    Word(String),
    List(Vec<Self>),
    /// In the order of the file.
    Object(Vec<(String, Self)>),
}

impl Tree {
    /// `None` also if something on the way is not an object.
    pub fn get(&self, path: &[&str]) -> Option<&Self> {
        let mut here = self;
        for key in path {
            here = here.field(key)?;
        }
        Some(here)
    }

    pub fn field(&self, key: &str) -> Option<&Self> {
        let found = self.fields().iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Word(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Text(_) | Self::Word(_) | Self::Object(_) => &[],
        }
    }

    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    pub fn is_empty(&self) -> bool {
        self.is_object() && self.len() == 0
    }

    /// The number of fields of an object.
    pub fn len(&self) -> usize {
        self.fields().len()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.fields().iter().map(|(name, _)| name.as_str()).collect()
    }

    /// For a program that takes JSON. A word that JSON does not have, such as a date, becomes a text.
    pub(crate) fn json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Word(word) => {
                serde_json::from_str(word).unwrap_or_else(|_| Value::from(word.as_str()))
            }
            Self::List(items) => items.iter().map(Self::json).collect(),
            Self::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), value.json())).collect()
            }
        }
    }

    fn fields(&self) -> &[(String, Self)] {
        match self {
            Self::Object(fields) => fields,
            Self::Text(_) | Self::Word(_) | Self::List(_) => &[],
        }
    }

    pub fn says(&self, content: &Content) -> bool {
        match content {
            Content::Value(value) => *self == Self::from(value),
            Content::Fields { set, unset } => {
                set.iter().all(|(key, value)| self.field(key) == Some(&Self::from(value)))
                    && unset.iter().all(|key| self.field(key).is_none())
            }
        }
    }

    /// Without the value at this place, and without the objects on the way that are empty then.
    pub(super) fn without(&self, path: &[&str]) -> Self {
        let (Self::Object(fields), Some((first, rest))) = (self, path.split_first()) else {
            return self.clone();
        };
        let kept = fields.iter().filter_map(|(key, value)| {
            if key != first {
                return Some((key.clone(), value.clone()));
            }
            let value = if rest.is_empty() { return None } else { value.without(rest) };
            (!value.is_empty()).then(|| (key.clone(), value))
        });
        Self::Object(kept.collect())
    }

    pub(super) fn without_fields(&self, set: &[(String, Value)], unset: &[&str]) -> Self {
        let is_ours =
            |key: &String| set.iter().any(|(name, _)| name == key) || unset.contains(&key.as_str());
        let kept = self.fields().iter().filter(|(key, _)| !is_ours(key));
        Self::Object(kept.cloned().collect())
    }
}

impl From<&Value> for Tree {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Word(value.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.clone(), Self::from(value)));
                Self::Object(fields.collect())
            }
        }
    }
}
