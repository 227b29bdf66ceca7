//! Order, `max_entries`, `types` and `contains`.

use serde_json::json;

use super::{Console, LOGGED, filled, read, text};
use crate::check::{Outcome, failed, not_tried};
use crate::run::Run;

pub(super) async fn oldest_first(run: &mut Run) -> Outcome {
    let all = filled(run).await?;
    if run.has_driver() {
        let place = |wanted: &str| {
            all.entries.iter().rposition(|entry| text(entry, "message") == Some(wanted))
        };
        let places: Vec<_> = LOGGED.iter().map(|(_, message)| place(message)).collect();
        if !places.is_sorted() || places.contains(&None) {
            return failed("Entries that were logged one after the other are in another order.");
        }
        return Ok("Entries that were logged one after the other are in this order.".to_owned());
    }
    let numbers: Option<Vec<u64>> =
        all.entries.iter().map(|entry| last_number(text(entry, "cursor")?)).collect();
    match numbers {
        Some(numbers) if numbers.len() > 1 => {
            if numbers.is_sorted() {
                Ok(format!("The numbers in {} cursors grow.", numbers.len()))
            } else {
                failed("The numbers in the cursors of the entries do not grow.")
            }
        }
        Some(_) => not_tried("The console has fewer than two entries."),
        None => not_tried("The entries have no cursors with numbers. Use --driver."),
    }
}

/// The digits at the end of a cursor. PROTOCOL.md says to number the entries.
fn last_number(cursor: &str) -> Option<u64> {
    let start = cursor.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    cursor.get(start..)?.parse().ok()
}

pub(super) async fn max_entries(run: &mut Run) -> Outcome {
    let before = filled(run).await?;
    if before.entries.len() < 2 {
        return not_tried("The console has fewer than two entries.");
    }
    let one = read(run, json!({ "max_entries": 1 })).await?;
    // Something may have been logged in between.
    let after = read(run, json!({})).await?;
    if one.entries.len() != 1 {
        return failed(format!("With max_entries 1 it gave {} entries.", one.entries.len()));
    }
    if one.last() != before.last() && one.last() != after.last() {
        return failed("With max_entries 1 it gave another entry than the newest one.");
    }
    if !one.is_truncated {
        return failed("It left entries out, but truncated is false.");
    }
    Ok("With max_entries 1 it gave the newest entry, and truncated is true.".to_owned())
}

pub(super) async fn types(run: &mut Run) -> Outcome {
    let all = filled(run).await?;
    let newest = all.entries.last().and_then(|entry| text(entry, "type"));
    let Some(wanted) = newest.map(str::to_owned) else {
        return not_tried("The console is empty.");
    };
    let of_type = |console: &Console| {
        let entries = console.entries.iter();
        entries.filter(|entry| text(entry, "type") == Some(&wanted)).count()
    };
    let some = read(run, json!({ "types": [wanted] })).await?;
    if of_type(&some) != some.entries.len() {
        return failed(format!("Asked for type {wanted}, it gave entries of other types."));
    }
    if of_type(&some) == 0 {
        return failed(format!("Asked for type {wanted}, it gave nothing."));
    }
    let others = all.entries.len() - of_type(&all);
    Ok(format!("It gave {} of type {wanted}, and none of the {others} others.", some.entries.len()))
}

pub(super) async fn contains(run: &mut Run) -> Outcome {
    let all = filled(run).await?;
    let found = if run.has_driver() { Some("cERTIFY".to_owned()) } else { a_word(&all) };
    let Some(word) = found else {
        return not_tried("No entry has a word of four letters to look for.");
    };
    let some = read(run, json!({ "contains": word })).await?;
    let has_it = |message: &str| message.to_lowercase().contains(&word.to_lowercase());
    if !(0..some.entries.len()).all(|index| some.message(index).is_some_and(has_it)) {
        return failed(format!("Asked for \"{word}\", it gave entries without it."));
    }
    if some.entries.is_empty() {
        return failed(format!("Asked for \"{word}\", it gave nothing; case must be ignored."));
    }
    Ok(format!("Asked for \"{word}\", it gave {} that have it.", some.entries.len()))
}

/// A word of the newest message that has one, with its case changed.
fn a_word(all: &Console) -> Option<String> {
    let is_plain =
        |word: &&str| word.len() >= 4 && word.chars().all(|letter| letter.is_ascii_alphabetic());
    let messages = (0..all.entries.len()).rev().filter_map(|index| all.message(index));
    let word = messages.flat_map(str::split_whitespace).find(is_plain)?;
    let swap = |letter: char| {
        if letter.is_ascii_lowercase() {
            letter.to_ascii_uppercase()
        } else {
            letter.to_ascii_lowercase()
        }
    };
    Some(word.chars().map(swap).collect())
}

#[cfg(test)]
mod tests {
    use super::last_number;

    #[test]
    fn the_number_of_a_cursor_is_at_its_end() {
        assert_eq!(last_number("7f3a-118"), Some(118));
        assert_eq!(last_number("12"), Some(12));
        assert_eq!(last_number("abc"), None);
    }
}
