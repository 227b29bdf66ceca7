//! Looks over a message of an agent before it is parsed: some texts take fifty times their size as values.

use std::fmt;

use protocol::{Json, JsonSize};

/// More than any message weighs, clients' words about themselves included.
const WEIGHT_MAX: usize = 4_000;
/// Deeper than any call lies.
const DEPTH_MAX: usize = 64;
/// Bytes of what a request is answered under: every report and every answer says it again.
const LABEL_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Batch,
    TooHeavy,
    TooDeep,
    LongLabel,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("batches are not served; send one message at a time"),
            Self::TooHeavy => f.write_str("a message may not have so many values"),
            Self::TooDeep => write!(f, "a message may be {DEPTH_MAX} levels deep"),
            Self::LongLabel => {
                write!(f, "the id and the progress token of a request may have {LABEL_MAX} bytes")
            }
        }
    }
}

/// What is no JSON is let through: the parser says what is wrong with it.
pub(crate) fn check(text: &[u8]) -> Result<(), Refused> {
    check_size(text)?;
    let Ok(message) = serde_json::from_slice::<Json>(text) else { return Ok(()) };
    let labels = ["/id", "/params/_meta/progressToken"].map(|path| message.pointer(path));
    match labels.into_iter().flatten().all(|label| label.to_string().len() <= LABEL_MAX) {
        true => Ok(()),
        false => Err(Refused::LongLabel),
    }
}

fn check_size(text: &[u8]) -> Result<(), Refused> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refused::Batch);
    }
    let JsonSize { weight, depth } = JsonSize::of(text);
    if depth > DEPTH_MAX {
        Err(Refused::TooDeep)
    } else if weight > WEIGHT_MAX {
        Err(Refused::TooHeavy)
    } else {
        Ok(())
    }
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
        assert_eq!(check(wide(1_900).as_bytes()), Ok(()));
        assert_eq!(check(wide(2_000).as_bytes()), Err(Refused::TooHeavy));
        let keys = format!("{{{}\"a\":0}}", "\"a\":0,".repeat(900));
        assert_eq!(check(keys.as_bytes()), Err(Refused::TooHeavy));
        let maps = format!("{{\"a\":[{}0]}}", "{},".repeat(200));
        assert_eq!(check(maps.as_bytes()), Err(Refused::TooHeavy));
        assert_eq!(check(b" \t\n[{}]"), Err(Refused::Batch));
    }

    #[test]
    fn what_is_said_again_with_every_answer_is_short() {
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
