//! Durations in the form that people write.

use std::time::Duration;

/// Reads a duration such as `500ms`, `3s`, `1.5s` or `2m`, up to a day. A number alone is seconds.
///
/// # Errors
/// Says which forms are valid.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let problem = || format!("\"{text}\" is not a duration; write 500ms, 3s, 1.5s or 2m");
    let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let unit = match text.strip_prefix(digits) {
        Some("ms") => 0.001,
        Some("s" | "") => 1.0,
        Some("m") => 60.0,
        Some(_) | None => return Err(problem()),
    };
    let number: f64 = digits.parse().map_err(|_| problem())?;
    let seconds = number * unit;
    if !(0.0..=86_400.0).contains(&seconds) {
        return Err(problem());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Writes a duration in the form that [`parse_duration`] reads: `3s` or `1500ms`.
pub fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parse_duration, show_duration};

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in
            [("500ms", 500), ("3s", 3_000), ("1.5s", 1_500), ("2m", 120_000), ("7", 7_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "3h", "1e9s", "NaN", "inf", "3 s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(show_duration(Duration::from_millis(1_500)), "1500ms");
        assert_eq!(show_duration(Duration::from_secs(3)), "3s");
    }
}
