//! `since`, `before` and cursors that are not known.

use serde_json::json;

use super::{filled, read, text};
use crate::check::{Outcome, Stop, failed, not_tried};
use crate::run::Run;

/// An Editor may log something at any time.
const ATTEMPTS: usize = 5;
const UNSUPPORTED: &str =
    "The answer has no cursor, so agents cannot read only what is new. Number your entries.";
const STRANGER: &str = "certify-stranger-7";

pub(super) async fn since(run: &mut Run) -> Outcome {
    filled(run).await?;
    for _ in 0..ATTEMPTS {
        let Some(cursor) = newest(run).await? else { return not_tried(UNSUPPORTED) };
        let later = read(run, json!({ "since": cursor })).await?;
        if later.is_lost {
            return failed("cursor_lost is true for the newest cursor.");
        }
        if later.cursor.as_deref() != Some(&cursor) {
            continue; // There is a newer entry.
        }
        if later.entries.is_empty() {
            return Ok("There was nothing since the newest cursor.".to_owned());
        }
        return failed(format!("It gave {} entries since the newest cursor.", later.entries.len()));
    }
    not_tried("The console did not stand still.")
}

async fn newest(run: &mut Run) -> Result<Option<String>, Stop> {
    Ok(read(run, json!({ "max_entries": 1 })).await?.cursor)
}

pub(super) async fn before(run: &mut Run) -> Outcome {
    let all = filled(run).await?;
    let Some(last) = all.entries.last() else { return not_tried("The console is empty.") };
    let Some(cursor) = text(last, "cursor") else {
        return not_tried("The entries have no cursor, so agents cannot read further back.");
    };
    let older = read(run, json!({ "before": cursor })).await?;
    if older.is_lost {
        return failed("cursor_lost is true for the cursor of an entry that it just gave.");
    }
    if older.entries.iter().any(|entry| text(entry, "cursor") == Some(cursor)) {
        return failed("It gave the entry of the cursor itself.");
    }
    let expected = all.entries.len() - 1;
    if older.entries.len() < expected || (!all.is_truncated && older.entries.len() > expected) {
        let got = older.entries.len();
        return failed(format!("It gave {got} entries; {expected} are older than the cursor."));
    }
    Ok(format!("It gave the {expected} entries before the newest one."))
}

pub(super) async fn stranger(run: &mut Run) -> Outcome {
    if newest(run).await?.is_none() {
        return not_tried(UNSUPPORTED);
    }
    for name in ["since", "before"] {
        let answer = read(run, json!({ name: STRANGER })).await?;
        if !answer.is_lost {
            return failed(format!("cursor_lost is not true for an unknown cursor in {name}."));
        }
    }
    Ok("cursor_lost is true for since and for before.".to_owned())
}
