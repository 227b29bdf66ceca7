//! What an agent gets of Unity's answer. One file per tool: a pure function that the tool's row in the
//! catalogue names. It gets an answer whose shape was checked, and limits the size of what it passes on.

pub(crate) mod assets;
pub(crate) mod compile;
pub(crate) mod console;
pub(crate) mod editor;
pub(crate) mod test_run;

use std::time::Duration;

use protocol::{ErrorBody, Json, Map, Progress, json_len};

/// Makes what an agent gets from what Unity gave. The others are what the agent asked, and how long Unity took.
pub type Tell = fn(Json, &Json, Duration) -> Json;
/// Why an answer is a failure. The arguments are what the agent gets and what it asked.
pub type Problem = fn(&Json, &Json) -> Option<UnwantedOutcome>;

/// An outcome that is a failure although Unity calls it a success: what happened, and what to do next.
#[derive(Debug)]
pub struct UnwantedOutcome {
    pub what: String,
    pub advice: &'static str,
}

/// Characters of one text. A longer text is cut and says so.
const TEXT_MAX: usize = 4_000;
/// Characters of what Unity says about an error.
const ERROR_TEXT_MAX: usize = 2_000;
/// Characters of a name.
const NAME_MAX: usize = 300;
/// Bytes of one list as JSON: what an agent can read. An answer carries it twice, as data and as text.
const LIST_BYTES_MAX: usize = 32 * 1024;

/// What Unity said about an error. Jobs keep it, so its size is limited.
pub(crate) fn error(ErrorBody { code, message, retryable, details }: ErrorBody) -> ErrorBody {
    let details = details.map(|details| match details.to_string() {
        text if text.len() > ERROR_TEXT_MAX => Json::from(cut(&text, ERROR_TEXT_MAX)),
        _ => details,
    });
    ErrorBody { code: name(&code), message: cut(&message, ERROR_TEXT_MAX), retryable, details }
}

pub(crate) fn progress(Progress { done, total, current }: Progress) -> Progress {
    Progress { done, total, current: current.as_deref().map(name) }
}

/// A name that Unity gives.
pub(crate) fn name(name: &str) -> String {
    cut(name, NAME_MAX)
}

/// The beginning of a text that is too long, and how much of it is missing.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned(); // No text has more characters than bytes.
    }
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (beginning, rest) = text.split_at(end);
            format!("{beginning}… ({} more characters)", rest.chars().count())
        }
    }
}

/// A text that is left out if it is empty.
fn full_text(text: &str, max: usize) -> Option<Json> {
    (!text.is_empty()).then(|| Json::from(cut(text, max)))
}

/// An object of these fields, without those that have no value.
fn object<const N: usize>(fields: [(&str, Option<Json>); N]) -> Json {
    let mut object = Map::with_capacity(N);
    object.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Json::Object(object)
}

/// Takes the items of a list out of an object.
fn take_list(object: &mut Json, name: &str) -> Vec<Json> {
    match object.get_mut(name).map(Json::take) {
        Some(Json::Array(items)) => items,
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_))
        | None => Vec::new(),
    }
}

fn text<'a>(object: &'a Json, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Json::as_str)
}

fn number(object: &Json, name: &str) -> Option<u64> {
    object.get(name).and_then(Json::as_u64)
}

/// As many items of a list as fit, each with these texts.
fn named_items<const N: usize>(
    items: &[Json],
    fields: [&'static str; N],
    room: &mut Room,
) -> Vec<Json> {
    let shown = |item: &Json| {
        object(fields.map(|field| (field, text(item, field).map(name).map(Json::from))))
    };
    items.iter().map_while(|item| room.take(|_| shown(item))).collect()
}

fn is_true(object: &Json, name: &str) -> bool {
    object.get(name) == Some(&Json::Bool(true))
}

/// How much of a list still fits.
struct Room {
    items: usize,
    bytes: usize,
}

impl Room {
    fn new(items: usize) -> Self {
        Self { items, bytes: LIST_BYTES_MAX }
    }

    /// The next item, if it fits. `shown` gives it with texts of at most so many characters. The first one is cut
    /// until it fits: a list without it would hide everything behind it.
    fn take(&mut self, shown: impl Fn(usize) -> Json) -> Option<Json> {
        let is_first = self.bytes == LIST_BYTES_MAX;
        let mut text_max = TEXT_MAX;
        let mut item = shown(text_max);
        let mut bytes = json_len(&item);
        while is_first && text_max > 0 && bytes > self.bytes {
            text_max /= 2;
            item = shown(text_max);
            bytes = json_len(&item);
        }
        self.items = self.items.checked_sub(1)?;
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::{ERROR_TEXT_MAX, ErrorBody, Json, NAME_MAX, error};

    #[test]
    fn details_stay_data_up_to_the_limit() {
        let told = |length: usize| {
            let details = Some(Json::from("x".repeat(length - 2))); // With its two quotes.
            let body =
                ErrorBody { code: "C".into(), message: "m".into(), retryable: None, details };
            error(body).details.map(|details| details.to_string().len())
        };
        assert_eq!(told(ERROR_TEXT_MAX), Some(ERROR_TEXT_MAX));
        assert!(told(ERROR_TEXT_MAX + 1) > Some(ERROR_TEXT_MAX + 1), "cut, with a mark");
        let details = Some(Json::from(vec![1, 2]));
        let body = ErrorBody { code: "C".into(), message: "m".into(), retryable: None, details };
        assert_eq!(error(body.clone()).details, body.details);
    }

    #[test]
    fn an_error_without_end_is_cut() {
        let long = "\u{1F600}".repeat(20_000);
        let details = Some(Json::from(vec![long.clone()]));
        let body = ErrorBody { code: long.clone(), message: long, retryable: None, details };
        let ErrorBody { code, message, details, .. } = error(body);
        assert!(code.starts_with(&"\u{1F600}".repeat(NAME_MAX)) && code.len() < 5 * NAME_MAX);
        assert!(message.len() < 5 * ERROR_TEXT_MAX);
        assert!(details.is_some_and(|details| details.to_string().len() < 5 * ERROR_TEXT_MAX));
    }
}
