//! JsonSize: how much there is in a JSON text, before it is parsed. Some texts take fifty times their size as values.

/// For invalid JSON the result is meaningless; the parser reports the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonSize {
    /// The signs `{ [ : ,` outside of strings. There are not more values than that, apart from the first.
    pub tokens: usize,
    /// The deepest level of objects and lists.
    pub depth: usize,
}

/// Every parser here stops at this level. What is deeper is not parsed, so it is not counted.
const PARSED_DEPTH_MAX: usize = 128;

impl JsonSize {
    /// Counts the tokens and levels of a text.
    pub fn of(text: &[u8]) -> Self {
        let (mut tokens, mut depth, mut deepest) = (0_usize, 0_usize, 0_usize);
        let mut signs = text.iter();
        while let Some(sign) = signs.next() {
            match sign {
                b'"' => skip_string(&mut signs),
                b':' | b',' => tokens += 1,
                b'[' | b'{' => {
                    tokens += 1;
                    depth += 1;
                    deepest = deepest.max(depth);
                    if depth > PARSED_DEPTH_MAX {
                        break;
                    }
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Self { tokens, depth: deepest }
    }
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
    use super::JsonSize;

    fn size(text: &str) -> (usize, usize) {
        let JsonSize { tokens, depth } = JsonSize::of(text.as_bytes());
        (tokens, depth)
    }

    #[test]
    fn tokens_and_levels_are_counted() {
        assert_eq!(size("7"), (0, 0));
        assert_eq!(size(r#"{"a":[1,2,{}]}"#), (6, 3));
        assert_eq!(size(&format!("[{}0]", "[],".repeat(1_000))), (2_001, 2));
    }

    #[test]
    fn what_no_parser_reaches_is_not_counted() {
        assert_eq!(size(&"[".repeat(128)), (128, 128));
        assert_eq!(size(&"[".repeat(500_000)), (129, 129));
    }

    #[test]
    fn signs_inside_of_strings_do_not_count() {
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(100), ",".repeat(20_000));
        assert_eq!(size(&text), (2, 1));
        assert_eq!(size(r#"{"a":"\\","b":"never ends"#), (4, 1));
        assert_eq!(size("]]]}}"), (0, 0));
    }
}
