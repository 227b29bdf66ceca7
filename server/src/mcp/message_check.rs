//! Checks a message of an agent before it is parsed: parsed, some texts take fifty times their size.

use std::fmt;

use protocol::{Json, JsonSize};

use crate::budget::{REQUEST_DEPTH_MAX, REQUEST_LABEL_BYTES_MAX, REQUEST_TOKENS_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Batch,
    TooManyValues,
    TooDeep,
    LongLabel,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("batches are not supported; send one message at a time"),
            Self::TooManyValues => f.write_str("the message has too many values"),
            Self::TooDeep => write!(f, "the message has more than {REQUEST_DEPTH_MAX} levels"),
            Self::LongLabel => write!(
                f,
                "the id or the progress token has more than {REQUEST_LABEL_BYTES_MAX} bytes"
            ),
        }
    }
}

/// Invalid JSON passes: the parser reports what is wrong with it.
pub(crate) fn check(text: &[u8]) -> Result<(), Refused> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refused::Batch);
    }
    let JsonSize { tokens, depth } = JsonSize::of(text);
    if depth > REQUEST_DEPTH_MAX {
        return Err(Refused::TooDeep);
    }
    if tokens > REQUEST_TOKENS_MAX {
        return Err(Refused::TooManyValues);
    }
    let Ok(message) = serde_json::from_slice::<Json>(text) else { return Ok(()) };
    let labels = ["/id", "/params/_meta/progressToken"].map(|path| message.pointer(path));
    let is_short = |label: &Json| label.to_string().len() <= REQUEST_LABEL_BYTES_MAX;
    if labels.into_iter().flatten().all(is_short) { Ok(()) } else { Err(Refused::LongLabel) }
}

#[cfg(test)]
mod tests {
    use super::{Refused, check};

    #[test]
    fn what_would_take_too_much_to_parse_is_refused_before() {
        let nested = |depth| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(nested(63).as_bytes()), Ok(()));
        assert_eq!(check(nested(64).as_bytes()), Err(Refused::TooDeep));
        let wide = |values| format!("{{\"a\":[{}0]}}", "0,".repeat(values));
        assert_eq!(check(wide(997).as_bytes()), Ok(()));
        assert_eq!(check(wide(998).as_bytes()), Err(Refused::TooManyValues));
        assert_eq!(check(b" \t\n[{}]"), Err(Refused::Batch));
    }

    #[test]
    fn what_every_answer_repeats_is_short() {
        let label = |length| "x".repeat(length);
        for message in [
            |label| format!(r#"{{"id":"{label}","method":"ping"}}"#),
            |label| format!(r#"{{"id":1,"params":{{"_meta":{{"progressToken":"{label}"}}}}}}"#),
            |label| format!(r#"{{"id":["{label}"]}}"#),
        ] as [fn(String) -> String; 3]
        {
            assert_eq!(check(message(label(200)).as_bytes()), Ok(()));
            assert_eq!(check(message(label(300)).as_bytes()), Err(Refused::LongLabel));
        }
        assert_eq!(check(format!(r#"{{"id":1,"params":"{}"}}"#, label(300)).as_bytes()), Ok(()));
    }
}
