//! How much there is in a JSON text, before it is parsed: some texts take fifty times their size as values.

/// Of what is no JSON it says something, and the parser says what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonSize {
    /// Never less than the values and keys there are, and hardly more.
    pub values: usize,
    pub depth: usize,
}

impl JsonSize {
    pub fn of(text: &[u8]) -> Self {
        let (mut depth, mut deepest, mut values) = (0_usize, 0_usize, 1_usize);
        let mut signs = text.iter();
        while let Some(sign) = signs.next() {
            match sign {
                b'"' => skip_string(&mut signs),
                b'[' | b'{' => {
                    depth += 1;
                    values += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' | b':' => values += 1,
                _ => {}
            }
        }
        Self { values, depth: deepest }
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
        let JsonSize { values, depth } = JsonSize::of(text.as_bytes());
        (values, depth)
    }

    #[test]
    fn values_keys_and_levels_are_counted() {
        assert_eq!(size("7"), (1, 0));
        assert_eq!(size(r#"{"a":[1,2,{}]}"#), (7, 3));
        assert_eq!(size(&format!("[{}0]", "[],".repeat(1_000))), (2_002, 2));
    }

    #[test]
    fn signs_inside_of_texts_do_not_count() {
        let text = format!(r#"{{"a":"{}\"{}"}}"#, "[".repeat(100), ",".repeat(20_000));
        assert_eq!(size(&text), (3, 1));
        assert_eq!(size(r#"{"a":"\\","b":"never ends"#), (5, 1));
        assert_eq!(size("]]]}}"), (1, 0));
    }
}
