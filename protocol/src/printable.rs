//! Text from a peer, made fit for a log line, a terminal or an error message.

/// At most `max` characters of `text` with control characters and direction marks escaped.
pub fn printable(text: &str, max: usize) -> String {
    let mut clean = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == max {
            clean.push('…');
            break;
        }
        if character.is_control() || is_direction_mark(character) {
            clean.extend(character.escape_unicode());
        } else {
            clean.push(character);
        }
    }
    clean
}

/// Characters that change how the text around them is shown, or that hide text.
fn is_direction_mark(character: char) -> bool {
    matches!(
        character,
        '\u{061C}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_and_direction_marks_are_escaped_and_length_is_bounded() {
        assert_eq!(printable("a\u{1b}[31m\nb", 40), "a\\u{1b}[31m\\u{a}b");
        assert_eq!(printable("x\u{202E}y\u{2066}\u{9b}", 40), "x\\u{202e}y\\u{2066}\\u{9b}");
        assert_eq!(printable("日本語", 3), "日本語");
        assert_eq!(printable("日本語", 2), "日本…");
        assert_eq!(printable("", 0), "");
    }
}
