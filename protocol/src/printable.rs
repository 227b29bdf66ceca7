//! Makes text from a peer safe for a log line, a terminal or an error message.

/// Escapes control characters, direction marks and invisible characters, and cuts the text after `max`
/// characters. A text that is cut ends with `…`, which `max` does not count.
pub fn printable(text: &str, max: usize) -> String {
    if text.len() <= max && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned(); // As most texts are.
    }
    let mut clean = String::new();
    let mut left = max;
    for character in text.chars() {
        let is_plain = !character.is_control() && !is_hidden(character);
        let escaped = character.escape_unicode();
        let Some(rest) = left.checked_sub(if is_plain { 1 } else { escaped.len() }) else {
            clean.push('…');
            break;
        };
        if is_plain {
            clean.push(character);
        } else {
            clean.extend(escaped);
        }
        left = rest;
    }
    clean
}

/// Escapes control, direction and invisible characters in a JSON text. The JSON means the same.
pub fn printable_json(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_control() || is_hidden(character) {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            clean.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            clean.push(character);
        }
    }
    clean
}

/// Characters that hide text or change how the text around them is shown: Unicode's format characters,
/// default ignorable characters and line separators.
fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{00AD}'
            | '\u{034F}'
            | '\u{0600}'..='\u{0605}'
            | '\u{061C}'
            | '\u{06DD}'
            | '\u{070F}'
            | '\u{0890}'..='\u{0891}'
            | '\u{08E2}'
            | '\u{115F}'..='\u{1160}'
            | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFB}'
            | '\u{110BD}'
            | '\u{110CD}'
            | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

#[cfg(test)]
mod tests {
    use super::{printable, printable_json};

    #[test]
    fn control_characters_and_direction_marks_are_escaped_and_length_is_bounded() {
        assert_eq!(printable("a\u{1b}[31m\nb", 40), "a\\u{1b}[31m\\u{a}b");
        assert_eq!(printable("x\u{202E}y\u{2066}\u{9b}", 40), "x\\u{202e}y\\u{2066}\\u{9b}");
        assert_eq!(printable("a\u{ad}\u{3164}\u{e0100}b", 40), "a\\u{ad}\\u{3164}\\u{e0100}b");
        assert_eq!(printable("\u{34f}\u{fe0f}\u{1d173}", 40), "\\u{34f}\\u{fe0f}\\u{1d173}");
        assert_eq!(printable("日本語", 3), "日本語");
        assert_eq!(printable("日本語", 2), "日本…");
        assert_eq!(printable("", 0), "");
        assert_eq!(printable("a\u{1b}b", 8), "a\\u{1b}b");
        assert_eq!(printable("a\u{1b}b", 7), "a\\u{1b}…", "an escape counts as its length");
        assert_eq!(printable("a\u{1b}b", 6), "a…");
    }

    #[test]
    fn json_that_is_made_printable_means_the_same() {
        let text = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}\"日本";
        let json = crate::Json::from(text).to_string();
        let clean = printable_json(&json);
        assert!(clean.chars().all(|sign| !sign.is_control() && sign != '\u{202e}'), "{clean}");
        assert_eq!(serde_json::from_str::<String>(&clean).unwrap(), text);
        assert!(clean.ends_with("日本\""));
    }
}
