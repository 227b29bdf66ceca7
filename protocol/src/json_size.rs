//! How much there is in a JSON text, before it is parsed: some texts take fifty times their size as values.

/// Of what is no JSON it says something, and the parser says what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonSize {
    /// What it takes when it is parsed, in values: texts beside, it is never much more. A list begins with room
    /// for four, and a map with a node that has room for eleven keys and values.
    pub weight: usize,
    pub depth: usize,
}

/// Where every parser here gives up. What comes then takes nothing, and is not looked at.
const PARSED_DEPTH_MAX: usize = 128;

impl JsonSize {
    pub fn of(text: &[u8]) -> Self {
        let (mut depth, mut deepest, mut weight) = (0_usize, 0_usize, 1_usize);
        let mut signs = text.iter();
        while let Some(sign) = signs.next() {
            weight += match sign {
                b'{' => 20,
                b'[' => 4,
                b':' => 3,
                b',' => 2,
                _ => 0,
            };
            match sign {
                b'"' => skip_string(&mut signs),
                b'[' | b'{' => {
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
        Self { weight, depth: deepest }
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
        let JsonSize { weight, depth } = JsonSize::of(text.as_bytes());
        (weight, depth)
    }

    #[test]
    fn lists_and_maps_weigh_what_they_take_and_levels_are_counted() {
        assert_eq!(size("7"), (1, 0));
        assert_eq!(size(r#"{"a":[1,2,{}]}"#), (1 + 20 + 3 + 4 + 2 + 2 + 20, 3));
        assert_eq!(size(&format!("[{}0]", "[],".repeat(1_000))), (6_005, 2));
    }

    #[test]
    fn what_no_parser_reaches_weighs_nothing() {
        assert_eq!(size(&"[".repeat(128)), (1 + 128 * 4, 128));
        assert_eq!(size(&"[".repeat(500_000)), (1 + 129 * 4, 129));
    }

    #[test]
    fn signs_inside_of_texts_do_not_count() {
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(100), ",".repeat(20_000));
        assert_eq!(size(&text), (24, 1));
        assert_eq!(size(r#"{"a":"\\","b":"never ends"#), (29, 1));
        assert_eq!(size("]]]}}"), (1, 0));
    }
}
