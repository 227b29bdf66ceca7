//! Shape: what a JSON value must look like. One table serves the validator, the answers of Unity, the schemas and
//! the documents.

use protocol::Json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Integer {
        min: u64,
        max: u64,
    },
    /// Any number that is not negative.
    Number,
    Flag,
    Text,
    /// So many characters at the most.
    Line {
        max: usize,
    },
    OneOf(&'static [&'static str]),
    /// At least one of.
    SomeOf(&'static [&'static str]),
    List(&'static Self),
    /// Other fields are allowed: a newer plugin may send more.
    Object(&'static [Field]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub required: bool,
}

impl Shape {
    /// `Err` says what was expected, and where inside the value if not at its top.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        let fits = match self {
            Self::Integer { min, max } => {
                value.as_u64().is_some_and(|number| (*min..=*max).contains(&number))
            }
            Self::Number => value.as_f64().is_some_and(|number| number >= 0.0),
            Self::Flag => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Line { max } => {
                value.as_str().is_some_and(|text| text.chars().nth(*max).is_none())
            }
            Self::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::SomeOf(words) => value.as_array().is_some_and(|items| {
                let known = |item: &Json| item.as_str().is_some_and(|word| words.contains(&word));
                !items.is_empty() && items.iter().all(known)
            }),
            Self::List(item) => return self.check_list(item, value),
            Self::Object(fields) => return self.check_object(fields, value),
        };
        if fits { Ok(()) } else { Err(format!("must be {}", self.words())) }
    }

    fn check_list(&self, item: &Self, value: &Json) -> Result<(), String> {
        let items = value.as_array().ok_or_else(|| format!("must be {}", self.words()))?;
        for (index, value) in items.iter().enumerate() {
            item.check(value).map_err(|problem| format!("[{index}] {problem}"))?;
        }
        Ok(())
    }

    fn check_object(&self, fields: &[Field], value: &Json) -> Result<(), String> {
        let object = value.as_object().ok_or_else(|| format!("must be {}", self.words()))?;
        for field in fields {
            match object.get(field.name) {
                None | Some(Json::Null) if !field.required => {}
                None => return Err(format!("{} is missing", field.name)),
                Some(value) => {
                    field
                        .shape
                        .check(value)
                        .map_err(|problem| format!("{} {problem}", field.name))?;
                }
            }
        }
        Ok(())
    }

    /// The shape in words: "an integer from 1 to 2000".
    pub fn words(&self) -> String {
        match self {
            Self::Integer { min, max: u64::MAX } => format!("an integer of at least {min}"),
            Self::Integer { min, max } => format!("an integer from {min} to {max}"),
            Self::Number => "a number of at least 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Text => "a string".to_owned(),
            Self::Line { max } => format!("a string of at most {max} characters"),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::SomeOf(words) => format!("a list of one or more of {}", words.join(", ")),
            Self::List(_) => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        }
    }
}
