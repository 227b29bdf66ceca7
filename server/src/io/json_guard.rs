//! Looks over a message of an agent before it is parsed: some texts take fifty times their size as values.

use std::fmt;

/// More than any call has; a thousandth of what a text of the allowed size can hold.
const VALUES_MAX: usize = 10_000;
/// Deeper than any call lies.
const DEPTH_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Batch,
    TooMany,
    TooDeep,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("batches are not served; send one message at a time"),
            Self::TooMany => write!(f, "a message may have {VALUES_MAX} values"),
            Self::TooDeep => write!(f, "a message may be {DEPTH_MAX} levels deep"),
        }
    }
}

/// Whether it is JSON at all is not looked at.
pub(super) fn check(text: &[u8]) -> Result<(), Refused> {
    if text.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refused::Batch);
    }
    let (mut depth, mut values) = (0_usize, 0_usize);
    let mut signs = text.iter();
    while let Some(sign) = signs.next() {
        match sign {
            b'"' => skip_string(&mut signs),
            b'[' | b'{' => {
                depth += 1;
                values += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' | b':' => values += 1,
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(Refused::TooDeep);
        }
        if values > VALUES_MAX {
            return Err(Refused::TooMany);
        }
    }
    Ok(())
}

/// To its closing quote.
fn skip_string(signs: &mut std::slice::Iter<'_, u8>) {
    while let Some(sign) = signs.next() {
        match sign {
            b'\\' => drop(signs.next()),
            b'"' => return,
            _ => {}
        }
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
        assert_eq!(check(wide(9_000).as_bytes()), Ok(()));
        assert_eq!(check(wide(10_000).as_bytes()), Err(Refused::TooMany));
        let keys = format!("{{{}\"a\":0}}", "\"a\":0,".repeat(6_000));
        assert_eq!(check(keys.as_bytes()), Err(Refused::TooMany));
        assert_eq!(check(b" \t\n[{}]"), Err(Refused::Batch));
    }

    #[test]
    fn signs_inside_of_texts_do_not_count() {
        let text = format!("{{\"a\":\"{}\\\"{}\"}}", "[".repeat(100), ",".repeat(20_000));
        assert_eq!(check(text.as_bytes()), Ok(()));
        assert_eq!(check(b"{\"a\":\"\\\\\",\"b\":\"never ends"), Ok(()));
        assert_eq!(check(b"]]]}}"), Ok(()), "the parser says what is wrong with it");
    }
}
