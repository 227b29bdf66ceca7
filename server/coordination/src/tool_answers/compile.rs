//! `script_recompile_trigger`: the outcome, and the first errors.

use std::time::Duration;

use protocol::Json;

use super::{Room, UnwantedOutcome, cut, name, number, object, take_list, text};

/// Errors that are listed.
pub(crate) const ERRORS_MAX: usize = 50;

pub(crate) fn tell(mut given: Json, _asked: &Json, _took: Duration) -> Json {
    let errors = take_list(&mut given, "errors");
    let unlisted = number(&given, "errors_left_out").unwrap_or_default();
    let all = unlisted.saturating_add(errors.len() as u64);
    let mut room = Room::new(ERRORS_MAX);
    let fitting = errors.iter().map_while(|error| room.take(|text_max| shown(error, text_max)));
    let listed: Vec<Json> = fitting.collect();
    let left_out = all.saturating_sub(listed.len() as u64);
    let field = |name| (name, given.get(name).cloned());
    let [outcome, reloaded, warnings, duration] =
        ["outcome", "reloaded", "warnings", "duration_ms"].map(field);
    object([
        outcome,
        reloaded,
        ("errors", Some(Json::Array(listed))),
        ("errors_left_out", (left_out > 0).then(|| Json::from(left_out))),
        warnings,
        duration,
    ])
}

/// A compile that failed is a failed job, whatever Unity calls it.
pub(crate) fn problem(told: &Json, _asked: &Json) -> Option<UnwantedOutcome> {
    let what = "The scripts do not compile, so Unity goes on with the old code".to_owned();
    let failed = text(told, "outcome") == Some("failed");
    failed.then_some(UnwantedOutcome { what, advice: "fix the errors in result and call again" })
}

fn shown(error: &Json, text_max: usize) -> Json {
    let named = |field: &'static str| (field, text(error, field).map(name).map(Json::from));
    let counted = |field: &'static str| (field, error.get(field).cloned());
    let message = text(error, "message").unwrap_or_default();
    object([
        named("file"),
        counted("line"),
        counted("column"),
        named("code"),
        ("message", Some(Json::from(cut(message, text_max)))),
        named("assembly"),
    ])
}
